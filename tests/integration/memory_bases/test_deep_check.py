"""`memorybase reconcile --deep` finds damage that ids and counts do not show, names the base, and tells the remedy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from uuid import UUID

import numpy as np
import pytest
from harness import ChromaServer
from harness.acts import filled
from harness.world import World
from typer.testing import CliRunner, Result

from memorybase import cli
from memorybase.cli import reconcile as reconcile_cli
from memorybase.core.memory_bases import reconcile, regenerate
from memorybase.core.memory_bases.deep_check import DeepResult, check_memory_base
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search
from memorybase.core.vectors import index_damage
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.index_damage import Damage
from memorybase.features.documents import knowledge
from memorybase.features.documents.documents import NewDocument

MESSAGES = 1_100  # Chroma writes the index to files after the first thousand


def run(world: World, monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    monkeypatch.setattr(reconcile_cli, "services_in_use", lambda _path: nullcontext(world.services))
    return CliRunner().invoke(cli.app, ["reconcile", "--deep", *words])


def checked(world: World, base: UUID) -> DeepResult:
    done = check_memory_base(world.services, base, lambda *_: None)
    assert done is not None
    return done


class TestDamage:
    def test_an_intact_base_is_ok(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = filled(world)
        assert checked(world, base) == DeepResult("ok", Damage(checked=5))
        said = run(world, monkeypatch)
        assert (said.exit_code, f"deep check of {base}: ok, 5 chunks read" in said.output) == (0, True)

    def test_every_page_of_messages_and_documents_is_read(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memorybase.core.memory_bases.deep_check.PAGE", 2)
        base = filled(world)
        world.say("t", "one", "two")
        world.settle()
        knowledge.create(world.services, world.user_id, name="notes")
        knowledge.add_documents(world.services, world.user_id, "notes", [NewDocument(f"note {n}") for n in range(5)])
        said = run(world, monkeypatch).output
        assert f"deep check of {base}: ok, 7 chunks read" in said
        assert "deep check of knowledge base notes: ok, 5 chunks read" in said

    def test_each_kind_of_damage_is_counted(self, world: World) -> None:
        base = filled(world)
        ref, records = world.ref(base), world.vectors.records(world.ref(base))
        lost, hidden, altered, zero, _ = records
        world.vectors.damage(ref, [lost])
        world.vectors.hide(ref, [hidden])
        world.vectors.upsert(ref, [replace(records[altered], text="of another time")])
        world.vectors.upsert(ref, [replace(records[zero], vector=np.zeros_like(records[zero].vector))])
        assert checked(world, base) == DeepResult("damaged", Damage(5, unreadable=2, unreachable=1, altered=1))

    def test_each_damaged_base_is_named_with_its_remedy(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        damaged, gone, intact = filled(world), world.new_base(), world.new_base()
        world.vectors.damage(world.ref(damaged), sorted(world.stored(damaged))[:2])
        world.vectors.delete_collection(world.ref(gone).name)
        knowledge.create(world.services, world.user_id, name="two notes")
        knowledge.add_documents(world.services, world.user_id, "two notes", [NewDocument("one"), NewDocument("two")])
        (notes,) = [each.ref for each in world.vectors.list_collections() if each.ref.name.startswith("knowledge-")]
        world.vectors.damage(notes, list(world.vectors.records(notes))[:1])
        said = run(world, monkeypatch)
        assert said.exit_code == 1
        assert f"deep check of {damaged}: damaged, 5 chunks read, 2 without a readable vector" in said.output
        assert f"-> Regenerate: POST /v1/memories/{damaged}/regenerate" in said.output
        assert f"deep check of {gone}: gone" in said.output
        assert f"deep check of {intact}: ok" in said.output
        assert "deep check of knowledge base two notes: damaged, 2 chunks read, 1 without" in said.output
        assert "Rebuild: POST /v1/knowledge-bases/two%20notes/rebuild" in said.output

    def test_lost_vectors_are_hidden_chunks_and_repaired(self, world: World) -> None:
        base = filled(world)
        world.vectors.damage(world.ref(base), sorted(world.stored(base))[:2])
        done = reconcile.reconcile_base(world.services, base, repair=True)
        assert done is not None
        assert (done.state, done.hidden, done.marked) == ("mismatch", 2, 1)
        world.settle()
        assert checked(world, base).state == "ok"

    @pytest.mark.parametrize(("component", "hidden"), [(np.nan, 1), (np.inf, 1), (3e38, 0)])
    def test_random_bytes_are_no_vector(self, world: World, component: float, hidden: int) -> None:
        base = filled(world)
        broken = next(iter(world.vectors.records(world.ref(base)).values()))
        broken.vector[:] = component
        assert checked(world, base) == DeepResult("damaged", Damage(5, unreadable=1))
        done = reconcile.reconcile_base(world.services, base, repair=False)
        assert done is not None
        assert done.hidden == hidden

    def test_chunks_of_a_session_in_flight_are_left_out(self, world: World) -> None:
        base = filled(world)
        world.vectors.damage(world.ref(base), sorted(world.stored(base)))
        world.say("s", "one more")
        assert checked(world, base) == DeepResult("ok", Damage())

    def test_an_outage_is_no_damage(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(index_damage, "BACK_SECONDS", 0)
        base = filled(world)
        world.vectors.away = True
        assert checked(world, base).state == "unavailable"
        assert "run this again when it does" in run(world, monkeypatch).output


@pytest.mark.slow
class TestHalvedFiles:
    """A real Chroma whose index files were cut in half while it was stopped."""

    @pytest.fixture
    def on_chroma(self, sqlite_world: World, own_chroma: ChromaServer) -> Iterator[World]:
        store = ChromaStore(own_chroma.url, timeout_seconds=5)
        sqlite_world.services = replace(sqlite_world.services, vectors=store)
        yield sqlite_world
        store.close()

    @pytest.fixture
    def base(self, on_chroma: World) -> UUID:
        base = on_chroma.new_base(threshold=1)
        on_chroma.say("s", *(f"message {n}" for n in range(MESSAGES)))
        on_chroma.settle()
        assert checked(on_chroma, base) == DeepResult("ok", Damage(checked=MESSAGES))
        return base

    @pytest.fixture
    def intact(self, on_chroma: World, base: UUID) -> UUID:  # noqa: ARG002 - created later
        return on_chroma.new_base(threshold=1000)

    @pytest.fixture
    def halve(self, own_chroma: ChromaServer) -> Callable[..., None]:
        def cut(*names: str) -> None:
            own_chroma.stop()
            (index,) = [path for path in own_chroma.data.iterdir() if path.is_dir()]
            for file in sorted(index.iterdir()):
                if not names or file.name in names:
                    with file.open("r+b") as opened:
                        opened.truncate(file.stat().st_size // 2)
            own_chroma.start()

        return cut

    @pytest.mark.parametrize("names", [("data_level0.bin",), ("length.bin",)])
    def test_half_of_the_vectors_are_lost(
        self, on_chroma: World, base: UUID, halve: Callable[..., None], names: tuple[str, ...]
    ) -> None:
        halve(*names)
        done = checked(on_chroma, base)
        assert (done.state, done.damage.checked) == ("damaged", MESSAGES)
        assert 0 < done.damage.unreadable < MESSAGES
        compared = reconcile.reconcile_base(on_chroma.services, base, repair=False)
        assert compared is not None
        assert (compared.state, compared.missing, compared.hidden > 0) == ("mismatch", 0, True)
        assert_a_regenerate_helps(on_chroma, base)

    def test_all_files(
        self, on_chroma: World, base: UUID, intact: UUID, halve: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        halve()
        assert checked(on_chroma, base).state == "unreadable"
        said = run(on_chroma, monkeypatch)
        assert said.exit_code == 1
        remedy = f"its index is damaged. Regenerate: POST /v1/memories/{base}/regenerate"
        assert f"deep check of {base}: unreadable, 0 chunks read\n  -> the vector store answers" in said.output
        assert remedy in said.output
        assert f"deep check of {intact}: ok" in said.output
        assert_a_regenerate_helps(on_chroma, base)

    def test_a_header_that_ends_the_server_whenever_it_is_read(
        self,
        on_chroma: World,
        base: UUID,
        own_chroma: ChromaServer,
        halve: Callable[..., None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def restart(_seconds: float) -> None:
            own_chroma.kill()
            own_chroma.start()

        halve("header.bin")
        supervisor = SimpleNamespace(monotonic=time.monotonic, sleep=restart)
        monkeypatch.setattr("memorybase.core.vectors.index_damage.time", supervisor)
        assert checked(on_chroma, base).state == "unreadable"

    @pytest.mark.slow  # it freezes a process
    def test_a_frozen_server_is_given_up(
        self, on_chroma: World, base: UUID, own_chroma: ChromaServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(index_damage, "BACK_SECONDS", 0)
        own_chroma.freeze()
        assert checked(on_chroma, base).state == "unavailable"
        own_chroma.thaw()

    def test_a_running_server_does_not_see_what_happens_to_its_files(
        self, on_chroma: World, base: UUID, own_chroma: ChromaServer
    ) -> None:
        (index,) = [path for path in own_chroma.data.iterdir() if path.is_dir()]
        for file in index.iterdir():
            with file.open("r+b") as opened:
                opened.truncate(file.stat().st_size // 2)
        assert checked(on_chroma, base).state == "ok"
        own_chroma.stop()
        own_chroma.start()
        assert checked(on_chroma, base).state == "unreadable"


def assert_a_regenerate_helps(world: World, base: UUID) -> None:
    regenerate.regenerate(world.services, world.user_id, base)
    world.assert_settled(base)
    assert checked(world, base) == DeepResult("ok", Damage(checked=MESSAGES))
    request = SearchRequest(memory_base_id=base, query="message 700", mode="dense")
    assert search(world.services, world.user_id, request).results[0].content == "message 700"
