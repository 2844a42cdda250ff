"""Several vector stores as one: each call reaches the store that has the collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import numpy as np
import pytest
from harness.doubles import InMemoryVectors
from harness.rows import each_row

from memorybase import wiring
from memorybase.core.errors import CollectionMissing, VectorStoreUnavailable
from memorybase.core.settings import Settings
from memorybase.core.vector_stores import VECTOR_STORES, VectorStoreKind, VectorStoreName
from memorybase.core.vectors import collection_names
from memorybase.core.vectors.store import CollectionRef, VectorRecord
from memorybase.core.vectors.stores import VectorStores, store_named, store_names

VECTOR = np.ones(4, dtype=np.float32)
POSTGRES = "postgresql://nobody@127.0.0.1:1/none"


def test_each_vector_store_is_a_choice_with_an_address_and_an_adapter(tmp_path: Path) -> None:
    stores = VECTOR_STORES.values()
    urls = {store.url: POSTGRES if store.server == "PostgreSQL" else "http://127.0.0.1:1" for store in stores}
    services = wiring.build(Settings.model_validate({"data_dir": tmp_path, **urls}))

    assert services.settings.vector_stores_in_use == services.settings.known_vector_stores == get_args(VectorStoreName)
    assert set(store_names(services.vectors)) == set(VECTOR_STORES) == set(get_args(VectorStoreName))
    wiring.close(services)


class WithQdrant(Settings):
    vector_store: Any = "chroma"
    qdrant_url: str = ""

    @property
    def resolved_qdrant_url(self) -> str:
        return self.qdrant_url


@each_row(
    ("given", "stores"),
    [
        ({}, ("chroma",)),
        ({"qdrant_url": "http://q"}, ("chroma", "qdrant")),
        ({"vector_store": "qdrant", "qdrant_url": "http://q"}, ("qdrant",)),
        (
            {"vector_store": "qdrant", "qdrant_url": "http://q", "chroma_url": "http://c", "pgvector_url": POSTGRES},
            ("qdrant", "chroma", "pgvector"),
        ),
    ],
)
def test_a_third_vector_store_is_known_by_its_entry(given: dict[str, Any], stores: tuple[str, ...]) -> None:
    qdrant = VectorStoreKind(label="Qdrant", url="qdrant_url", suffix=".qdrant", value_bytes=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(VECTOR_STORES, "qdrant", qdrant)  # type: ignore[misc, arg-type]
        settings = WithQdrant(**given)

        assert settings.vector_stores_in_use == settings.known_vector_stores == stores
        for store in settings.known_vector_stores:
            assert collection_names.store_of(collection_names.of_knowledge_base(uuid4(), store)) == store


@pytest.fixture
def chroma() -> InMemoryVectors:
    return InMemoryVectors()


@pytest.fixture
def pgvector() -> InMemoryVectors:
    return InMemoryVectors()


@pytest.fixture
def stores(chroma: InMemoryVectors, pgvector: InMemoryVectors) -> VectorStores:
    return VectorStores({"chroma": chroma, "pgvector": pgvector}, ("pgvector",))


def test_the_name_says_which_store_has_a_collection() -> None:
    base = uuid4()
    for name in (collection_names.of_generation(base, 3, "pgvector"), f"mb-{base}-g3-0a1b2c3d.pgvector"):
        assert collection_names.store_of(name) == "pgvector"
        assert collection_names.owner(name) == collection_names.Owner(base, None)
    for name in (collection_names.of_generation(base, 3, "chroma"), f"mb-{base}-g3"):
        assert collection_names.store_of(name) == "chroma"
        assert collection_names.owner(name) == collection_names.Owner(base, None)
    for store in ("chroma", "pgvector"):
        name = collection_names.of_knowledge_base(base, store)  # type: ignore[arg-type]
        assert (collection_names.store_of(name), collection_names.owner(name)) == (store, (None, base))
    assert collection_names.owner(f"mb-{base}-g3-0a1b2c3d.other") is None


def test_each_collection_is_in_the_store_of_its_name(
    stores: VectorStores, chroma: InMemoryVectors, pgvector: InMemoryVectors
) -> None:
    refs = [stores.create_collection(name, {}) for name in ("base-one", "base-two.pgvector")]
    for ref in refs:
        stores.upsert(ref, [VectorRecord("a", VECTOR, "text", {"session_id": "s"})])

    assert (chroma.names(), pgvector.names()) == (["base-one"], ["base-two.pgvector"])
    assert {each.ref for each in stores.list_collections()} == set(refs)
    for ref in refs:
        assert stores.collection_exists(ref)
        assert stores.count(ref) == 1
        assert [hit.id for hit in stores.query(ref, VECTOR, 1)] == ["a"]
    stores.delete_collection("base-two.pgvector")
    assert (chroma.names(), pgvector.names()) == (["base-one"], [])


def test_only_the_stores_that_must_work_are_checked(
    stores: VectorStores, chroma: InMemoryVectors, pgvector: InMemoryVectors
) -> None:
    chroma.away = True
    stores.ping()
    stores.check_writes()
    pgvector.read_only = True

    with pytest.raises(VectorStoreUnavailable):
        stores.check_writes()
    assert not chroma.calls


def test_collections_of_a_store_without_a_url_are_missing(pgvector: InMemoryVectors) -> None:
    stores = VectorStores({"pgvector": pgvector}, ("pgvector",))
    ref = CollectionRef("base-one", uuid4())

    with pytest.raises(CollectionMissing, match="chroma"):
        stores.count(ref)
    assert not stores.collection_exists(ref)
    stores.delete_collection(ref.name)


def test_the_only_store_is_not_asked_again_while_it_is_away(chroma: InMemoryVectors) -> None:
    stores = VectorStores({"chroma": chroma}, ("chroma",))
    ref = stores.create_collection("base-one", {})
    chroma.away = True
    for _ in range(3):
        with pytest.raises(VectorStoreUnavailable):
            stores.count(ref)
    stores.close()
    assert chroma.calls["count"] <= 1


def test_one_store_of_several_has_a_name(stores: VectorStores, pgvector: InMemoryVectors) -> None:
    assert store_named(stores, "pgvector") is pgvector
    assert store_named(pgvector, "chroma") is pgvector
