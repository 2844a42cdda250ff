"""Memory bases in two vector stores: what one store that is away may not touch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from harness.acts import run_batch
from harness.doubles import AtOnce, InMemoryVectors
from harness.world import WORKER, World

from memorybase.cli import doctor
from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.ingestion import job_runner
from memorybase.core.memory_bases import consistency, orphans, reconcile, regenerate
from memorybase.core.memory_bases.deletion import delete_memory_base
from memorybase.core.models import Heartbeat
from memorybase.core.operations import health, heartbeats, stack_parts, store_check
from memorybase.core.queries import memory_bases, store_health
from memorybase.core.read_models import memory_bases as views
from memorybase.core.search import search
from memorybase.core.search.request import SearchRequest
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors.stores import VectorStores

pytestmark = pytest.mark.slow

TEXTS = ("wine and cheese", "a long walk", "the hills of Tuscany")
STORES: tuple[VectorStoreName, ...] = ("chroma", "pgvector")


@pytest.fixture
def pgvector() -> InMemoryVectors:
    return InMemoryVectors()


@pytest.fixture
def both(world: World, pgvector: InMemoryVectors) -> Iterator[World]:
    """Two stores: `chroma`, which is world.vectors, and `pgvector`."""
    vectors = VectorStores({"chroma": world.vectors, "pgvector": pgvector}, STORES)
    world.services = replace(world.services, vectors=vectors)
    configure(world, vector_store="chroma", chroma_url="http://chroma", pgvector_url="postgresql://pgvector")
    yield world
    vectors.close()


def configure(world: World, **changes: object) -> None:
    world.services = replace(world.services, settings=world.services.settings.model_copy(update=changes))


def new_base(world: World, store: VectorStoreName) -> UUID:
    """A memory base in this store, which `settle` fills."""
    return world.new_base(threshold=1, flow_id=world.new_flow(), vector_store=store)


def filled(world: World, store: VectorStoreName) -> UUID:
    base = new_base(world, store)
    say(world, base, *TEXTS)
    world.settle()
    return base


def say(world: World, base: UUID, *texts: str) -> None:
    world.say("s", *texts, flow_id=world.base(base).flow_id)


def found(world: World, base: UUID) -> set[str]:
    wanted = SearchRequest(query=TEXTS[0], memory_base_id=base, mode="dense", top_k=3, include_pending=False)
    return {hit.content for hit in search.search(world.services, world.user_id, wanted).results}


def assert_complete(world: World, base: UUID, texts: int = len(TEXTS)) -> None:
    """At rest, and the store holds a chunk for each text."""
    assert world.active_jobs(base) == []
    compared = consistency.check_mismatch(world.services, world.user_id, base)
    assert (compared.state, compared.expected) == ("ok", texts)


def fail_checks(world: World, store: InMemoryVectors) -> None:
    """Let the sweeper's test writes fail in this store for a minute, while it answers reads."""
    heartbeats.beat(world.services, "sweeper@1", "sweeper")
    assert store_check.check_store(world.services)
    with world.services.database.transaction() as db:
        for name in (*map(store_health.heartbeat_of, STORES), store_health.CHECK_TURN):
            db.get_one(Heartbeat, name).beat_at -= timedelta(minutes=1)
    store.read_only = True
    assert not store_check.check_store(world.services)


class TestOneStoreAway:
    """What belongs to the other store goes on as if nothing had happened."""

    def test_searches_captures_and_jobs_of_others_go_on(self, both: World, pgvector: InMemoryVectors) -> None:
        here, there = filled(both, "chroma"), filled(both, "pgvector")
        pgvector.away = True
        for base in (there, here):
            say(both, base, "one more")

        run_batch(both)

        assert_complete(both, here, 4)
        assert found(both, here) <= {*TEXTS, "one more"}
        with pytest.raises(errors.VectorStoreUnavailable, match="pgvector"):
            found(both, there)
        (job,) = both.active_jobs(there)
        assert (job.state, job.outages, job.attempts) == ("queued", 1, 0)
        assert "pgvector" in (job.error or "")

    def test_nothing_is_embedded_for_a_store_that_is_away(self, both: World, pgvector: InMemoryVectors) -> None:
        there = filled(both, "pgvector")
        pgvector.away = True
        with pytest.raises(errors.VectorStoreUnavailable):
            found(both, there)
        both.embedder.embedded.clear()
        reached = pgvector.calls.total() - pgvector.calls["ping"]
        say(both, there, "one more")

        run_batch(both)

        assert both.embedder.embedded == []
        assert pgvector.calls.total() - pgvector.calls["ping"] == reached

    def test_a_batch_that_one_store_fails_is_stored_on_the_other(
        self, both: World, pgvector: InMemoryVectors, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(job_runner.Pace, "size_of", lambda *_: math.inf)  # both jobs in one batch
        bases = here, there = [new_base(both, store) for store in STORES]
        for base in bases:
            say(both, base, *TEXTS)
        pgvector.read_only = True

        job_runner.run_waiting(both.services, owner=WORKER, may_continue=lambda: True, new_thread=AtOnce)

        assert_complete(both, here)
        assert [job.outages for job in both.active_jobs(there)] == [1]
        pgvector.read_only = False
        both.pass_time(60)
        both.settle()
        assert_complete(both, there)

    def test_jobs_of_the_store_end_once_it_is_back(self, both: World, pgvector: InMemoryVectors) -> None:
        there = new_base(both, "pgvector")
        pgvector.read_only = True
        say(both, there, *TEXTS)
        for _ in range(3):
            run_batch(both)
            both.pass_time(60)
        pgvector.read_only = False
        both.settle()

        assert_complete(both, there)

    def test_deletions_and_retired_collections_of_others_end(self, both: World, pgvector: InMemoryVectors) -> None:
        there, here = filled(both, "pgvector"), filled(both, "chroma")
        regenerated = {name: filled(both, store) for name, store in zip("ab", reversed(STORES), strict=True)}
        for base in regenerated.values():
            regenerate.regenerate(both.services, both.user_id, base)
            both.settle()
        pgvector.away = True
        for base in (there, here):
            with both.services.database.transaction() as db:
                memory_bases.begin_deletion(db, base, clock.now(db))
        both.pass_time(3_600)

        report = both.sweep()

        assert {"deletions", "retired"} <= {*report.failed_steps}
        assert both.vectors.names() == [both.ref(regenerated["b"]).name]
        with both.services.database.reading() as db:
            assert [base_id for base_id, _ in memory_bases.bases_in_deletion(db)] == [there]

    def test_a_deletion_waits_for_its_store_alone(self, both: World, pgvector: InMemoryVectors) -> None:
        there = filled(both, "pgvector")
        pgvector.away = True

        assert not delete_memory_base(both.services, both.user_id, there)

    def test_comparisons_go_on(self, both: World, pgvector: InMemoryVectors, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(memory_bases, "COMPARE_LIMIT", 1)
        there, here = filled(both, "pgvector"), filled(both, "chroma")
        both.vectors.lose(both.ref(here), [next(iter(both.stored(here)))])
        with both.services.database.transaction() as db:
            for base in (there, here):
                same = memory_bases.Compared(differs=False)
                memory_bases.set_mismatch(db, base, 1, same, clock.now(db), pause=timedelta(seconds=-1))
        fail_checks(both, pgvector)
        pgvector.away = True

        both.sweep()

        assert (both.base(here).mismatch, both.base(there).mismatch) == (True, False)

    def test_the_comparison_says_unavailable_of_its_memory_bases(self, both: World, pgvector: InMemoryVectors) -> None:
        here, there = filled(both, "chroma"), filled(both, "pgvector")
        pgvector.away = True

        states = {base: reconcile.reconcile_base(both.services, base, repair=True) for base in (here, there)}

        assert [done and done.state for done in states.values()] == ["ok", "unavailable"]
        assert consistency.check_mismatch(both.services, both.user_id, there).state == "unavailable"
        assert orphans.find_orphans_in(both.services, "chroma") == []
        with pytest.raises(errors.VectorStoreUnavailable, match="pgvector"):
            orphans.find_orphans(both.services)
        assert both.base(there).mismatch is not True


class TestWhichStore:
    def test_readiness_and_the_page_name_it(self, both: World, pgvector: InMemoryVectors) -> None:
        pgvector.away = True

        checked = {part.name: part for part in health.check_parts(both.services)}
        shown = {part.name: part for part in stack_parts.part_views(both.services)}

        assert {name for name in STORES if checked[name].ok} == {"chroma"}
        assert (shown["chroma"].ok, shown["pgvector"].ok) == (True, False)

    @pytest.mark.parametrize("failing", STORES)
    def test_test_writes_go_to_every_store(self, both: World, pgvector: InMemoryVectors, failing: str) -> None:
        bases = {store: filled(both, store) for store in STORES}
        fail_checks(both, pgvector if failing == "pgvector" else both.vectors)
        assert {part.name for part in health.check_parts(both.services) if not part.ok} == {failing, "worker"}
        statuses = {store: views.get_memory_base(both.services, both.user_id, bases[store]).status for store in STORES}
        assert statuses == {store: "unavailable" if store == failing else "ready" for store in STORES}
        unreachable = views.MemoryBaseQuery(status=views.MemoryBaseStatus.UNAVAILABLE)
        listed = views.list_memory_bases(both.services, both.user_id, views.PageRequest(), unreachable)
        assert [each.id for each in listed.items] == [bases[failing]]

    def test_the_doctor_has_a_check_for_each(
        self, both: World, pgvector: InMemoryVectors, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(doctor.DoctorContext, "services", both.services)
        monkeypatch.setattr(doctor.DoctorContext, "database_url", "")
        pgvector.away = True
        context = doctor.DoctorContext(both.services.settings, None)

        results = [each.run(context) for each in doctor.checks_of(both.services.settings) if each.name in STORES]

        assert [(each.name, each.ok) for each in results] == [("chroma", True), ("pgvector", False)]
        assert "start PostgreSQL (or set MEMORYBASE_PGVECTOR_URL)" in results[1].fix
