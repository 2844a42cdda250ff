"""What a store takes on disk, beside what its vectors should take."""

from __future__ import annotations

from pathlib import Path

from harness.world import World

from memorybase.core.operations import store_sizes
from memorybase.core.settings import Settings
from memorybase.core.vectors.pgvector import PgVectorStore
from memorybase.core.vectors.stores import VectorStores


def compared(world: World) -> None:
    """As after the sweeper's next comparison."""
    world.settle()
    world.sweep()


def test_vectors_take_four_bytes_a_value_in_chroma(world: World) -> None:
    world.new_base(threshold=1)
    world.say("s", "a", "b", "c")
    compared(world)
    (size,) = store_sizes.measure(world.services)
    assert (size.store, size.chunks) == ("chroma", 3)
    assert size.vector_bytes == 3 * world.embedder.dimension * 4
    assert size.disk_bytes is None  # no folder of the embedded stack


def test_the_folder_of_the_embedded_stack_is_measured(world: World) -> None:
    folder = world.services.settings.data_dir / "chroma" / "segment"
    folder.mkdir(parents=True)
    (folder / "data.bin").write_bytes(b"x" * 100_000)
    assert 100_000 <= (store_sizes.disk_bytes(world.services, "chroma") or 0) < 200_000


def test_the_folder_of_a_former_stack_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "chroma").mkdir()
    for url, folder in (("http://127.0.0.1:8001", tmp_path / "chroma"), ("http://chroma.internal:8000", None)):
        assert store_sizes._local_folder(Settings(data_dir=tmp_path, chroma_url=url), "chroma") == folder


def test_pgvector_says_what_it_takes(pgvector_url: str) -> None:
    store = PgVectorStore(pgvector_url, pool_size=1)
    try:
        store.create_collection("mb-size.pgvector", {"owner": "test"})
        assert store.disk_bytes() > 0
        several = VectorStores({"pgvector": store}, ("pgvector",))
        assert several.store("pgvector") is store
    finally:
        store.delete_collection("mb-size.pgvector")
        store.close()
