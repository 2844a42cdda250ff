"""Memory bases on several Chroma servers: where new ones go, and what one server that is away may not touch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from harness.world import WORKER, World

from memorybase import errors
from memorybase.cli import doctor, rebalance
from memorybase.database import clock
from memorybase.ingestion import worker
from memorybase.knowledge_bases import placement, registry
from memorybase.memory_bases import consistency, orphans, reconcile, regenerate
from memorybase.memory_bases import rebalance as rebalancing
from memorybase.memory_bases.deletion import delete_memory_base
from memorybase.models import Heartbeat
from memorybase.operations import health, heartbeats, parts, store_check
from memorybase.queries import memory_bases, server_loads, store_health
from memorybase.read_models import memory_bases as views
from memorybase.search import search
from memorybase.search.request import SearchRequest
from memorybase.services import JobMessage
from memorybase.testing import AtOnce, InMemoryVectors
from memorybase.vectors.collection_names import server_of
from memorybase.vectors.stores import VectorStores

pytestmark = pytest.mark.slow

TEXTS = ("wine and cheese", "a long walk", "the hills of Tuscany")
SERVERS = ("chroma", "chroma-east")


@pytest.fixture
def east() -> InMemoryVectors:
    return InMemoryVectors()


@pytest.fixture
def both(world: World, east: InMemoryVectors) -> Iterator[World]:
    """Two servers: `chroma`, which is world.vectors, and `chroma-east`."""
    vectors = VectorStores({"chroma": world.vectors, "chroma-east": east}, SERVERS)
    configure(world, chroma_url="http://chroma", chroma_urls={"east": "http://east"})
    world.services = replace(world.services, vectors=vectors)
    yield world
    vectors.close()


def configure(world: World, **changes: object) -> None:
    world.services = replace(world.services, settings=world.services.settings.model_copy(update=changes))


def new_base(world: World, server: str, *, threshold: int = 1) -> UUID:
    """A memory base on this server, which `settle` fills."""
    closed = [each for each in SERVERS if each != server]
    configure(world, chroma_closed=closed)
    base = world.new_base(threshold=threshold, flow_id=world.new_flow())
    configure(world, chroma_closed=[])
    assert where(world, base) == server
    return base


def filled(world: World, server: str) -> UUID:
    base = new_base(world, server)
    say(world, base, *TEXTS)
    world.settle()
    return base


def say(world: World, base: UUID, *texts: str) -> None:
    world.say("s", *texts, flow_id=world.base(base).flow_id)


def where(world: World, base: UUID) -> str:
    return server_of(world.ref(base).name)


def found(world: World, base: UUID) -> set[str]:
    wanted = SearchRequest(query=TEXTS[0], memory_base_id=base, mode="dense", top_k=3, include_pending=False)
    return {hit.content for hit in search.search(world.services, world.user_id, wanted).results}


def assert_complete(world: World, base: UUID, texts: int = len(TEXTS)) -> None:
    """At rest, and the store holds a chunk for each text."""
    assert world.active_jobs(base) == []
    compared = consistency.check_mismatch(world.services, world.user_id, base)
    assert (compared.state, compared.expected) == ("ok", texts)


def run_batch(world: World) -> None:
    """One worker, from the first notification until nothing waits."""

    def run(message: JobMessage) -> worker.JobOutcome:
        return worker.run_jobs(world.services, message, owner=WORKER, may_continue=lambda: True, new_thread=AtOnce)

    world.queue.drain(run)


class TestNewCollections:
    def test_they_go_to_the_server_with_the_fewest(self, both: World) -> None:
        bases = [both.new_base() for _ in range(4)]
        registry.create(both.services, both.user_id, name="notes")

        assert [where(both, base) for base in bases] == ["chroma", "chroma-east"] * 2
        assert len(both.vectors.names()) == 3

    def test_chunks_count_too(self, both: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(server_loads, "CHUNKS_OF_A_COLLECTION", 1)
        filled(both, "chroma")
        for _ in range(2):
            new_base(both, "chroma-east")
        monkeypatch.setattr(placement, "KEEP_SECONDS", 0.0)

        assert where(both, both.new_base()) == "chroma-east"

    def test_they_go_to_another_one_if_the_emptiest_does_not_answer(self, both: World, east: InMemoryVectors) -> None:
        new_base(both, "chroma")
        east.away = True

        assert where(both, both.new_base()) == "chroma"
        both.vectors.away = True
        with pytest.raises(errors.VectorStoreUnavailable, match="chroma"):
            both.new_base()

    def test_a_server_whose_checks_fail_comes_last(self, both: World, east: InMemoryVectors) -> None:
        new_base(both, "chroma")
        fail_checks(both, east)
        asked = east.calls["create_collection"]

        assert where(both, both.new_base()) == "chroma"
        assert east.calls["create_collection"] == asked

    def test_a_closed_server_gets_none(self, both: World) -> None:
        configure(both, chroma_closed=["chroma"])

        assert {where(both, both.new_base()) for _ in range(3)} == {"chroma-east"}

    def test_a_regenerate_stays_on_its_server(self, both: World) -> None:
        base = filled(both, "chroma")

        regenerate.regenerate(both.services, both.user_id, base)
        both.settle()

        assert_complete(both, base)
        assert where(both, base) == "chroma"

    def test_a_regenerate_leaves_a_server_that_does_not_answer(self, both: World, east: InMemoryVectors) -> None:
        base = filled(both, "chroma-east")
        east.away = True

        regenerate.regenerate(both.services, both.user_id, base)
        both.settle()

        assert where(both, base) == "chroma"
        assert found(both, base) == set(TEXTS)

    def test_without_the_servers_url_a_regenerate_restores_the_memory_base(self, both: World) -> None:
        base = filled(both, "chroma-east")
        vectors = VectorStores({"chroma": both.vectors}, ["chroma"])
        configure(both, chroma_urls={})
        both.services = replace(both.services, vectors=vectors)
        with pytest.raises(errors.CollectionMissing, match="chroma-east"):
            found(both, base)

        regenerate.regenerate(both.services, both.user_id, base)
        both.settle()
        assert found(both, base) == set(TEXTS)


def fail_checks(world: World, server: InMemoryVectors) -> None:
    """Let the sweeper's test writes fail on this server for a minute, while it answers reads."""
    heartbeats.beat(world.services, "sweeper@1", "sweeper")
    assert store_check.check_store(world.services)
    with world.services.database.transaction() as db:
        for name in (*map(store_health.heartbeat_of, SERVERS), store_health.CHECK_TURN):
            db.get_one(Heartbeat, name).beat_at -= timedelta(minutes=1)
    server.read_only = True
    assert not store_check.check_store(world.services)


class TestOneServerAway:
    """What belongs to other servers goes on as if nothing had happened."""

    def test_searches_captures_and_jobs_of_others_go_on(self, both: World, east: InMemoryVectors) -> None:
        here, there = filled(both, "chroma"), filled(both, "chroma-east")
        east.away = True
        for base in (there, here):
            say(both, base, "one more")

        run_batch(both)

        assert_complete(both, here, 4)
        assert found(both, here) <= {*TEXTS, "one more"}
        with pytest.raises(errors.VectorStoreUnavailable, match="chroma-east"):
            found(both, there)
        (job,) = both.active_jobs(there)
        assert (job.state, job.outages, job.attempts) == ("queued", 1, 0)
        assert "chroma-east" in (job.error or "")

    def test_nothing_is_embedded_for_a_server_that_is_known_to_be_away(
        self, both: World, east: InMemoryVectors
    ) -> None:
        there = filled(both, "chroma-east")
        east.away = True
        with pytest.raises(errors.VectorStoreUnavailable):
            found(both, there)
        both.embedder.embedded.clear()
        reached = east.calls.total() - east.calls["ping"]
        say(both, there, "one more")

        run_batch(both)

        assert both.embedder.embedded == []
        assert east.calls.total() - east.calls["ping"] == reached

    def test_a_batch_that_one_server_fails_is_stored_on_the_other(
        self, both: World, east: InMemoryVectors, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(worker.Pace, "size_of", lambda *_: math.inf)  # both jobs in one batch
        bases = here, there = [new_base(both, server) for server in SERVERS]
        for base in bases:
            say(both, base, *TEXTS)
        east.read_only = True

        worker.run_waiting(both.services, owner=WORKER, may_continue=lambda: True, new_thread=AtOnce)

        assert_complete(both, here)
        assert [job.outages for job in both.active_jobs(there)] == [1]
        east.read_only = False
        both.pass_time(60)
        both.settle()
        assert_complete(both, there)

    def test_jobs_of_the_server_end_once_it_is_back(self, both: World, east: InMemoryVectors) -> None:
        there = new_base(both, "chroma-east")
        east.read_only = True
        say(both, there, *TEXTS)
        for _ in range(3):
            run_batch(both)
            both.pass_time(60)
        east.read_only = False
        both.settle()

        assert_complete(both, there)

    def test_deletions_and_retired_collections_of_others_end(self, both: World, east: InMemoryVectors) -> None:
        configure(both, drain_seconds=0.0)
        there, here = filled(both, "chroma-east"), filled(both, "chroma")
        regenerated = {base: filled(both, server) for base, server in zip("ab", reversed(SERVERS), strict=True)}
        for base in regenerated.values():
            regenerate.regenerate(both.services, both.user_id, base)
            both.settle()
        east.away = True
        for base in (there, here):
            with both.services.database.transaction() as db:
                memory_bases.begin_deletion(db, base, clock.now(db))
        both.pass_time(3_600)

        report = both.sweep()

        assert {"deletions", "retired"} <= {*report.failed_steps}
        assert both.vectors.names() == [both.ref(regenerated["b"]).name]
        with both.services.database.reading() as db:
            assert [base_id for base_id, _ in memory_bases.bases_in_deletion(db)] == [there]

    def test_a_deletion_waits_for_its_server_alone(self, both: World, east: InMemoryVectors) -> None:
        configure(both, drain_seconds=0.0)
        there = filled(both, "chroma-east")
        east.away = True

        assert not delete_memory_base(both.services, both.user_id, there)

    def test_comparisons_of_others_go_on(
        self, both: World, east: InMemoryVectors, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(memory_bases, "COMPARE_LIMIT", 1)
        there, here = filled(both, "chroma-east"), filled(both, "chroma")
        both.vectors.lose(both.ref(here), [next(iter(both.stored(here)))])
        with both.services.database.transaction() as db:
            for base in (there, here):
                memory_bases.set_mismatch(db, base, 1, False, clock.now(db), pause=timedelta(seconds=-1))
        fail_checks(both, east)
        east.away = True

        both.sweep()

        assert (both.base(here).mismatch, both.base(there).mismatch) == (True, False)

    def test_the_operators_comparison_says_unavailable_of_its_memory_bases_alone(
        self, both: World, east: InMemoryVectors
    ) -> None:
        here, there = filled(both, "chroma"), filled(both, "chroma-east")
        east.away = True

        states = {base: reconcile.reconcile_base(both.services, base, repair=True) for base in (here, there)}

        assert [done and done.state for done in states.values()] == ["ok", "unavailable"]
        assert consistency.check_mismatch(both.services, both.user_id, there).state == "unavailable"
        assert orphans.find_orphans_on(both.services, "chroma") == []
        with pytest.raises(errors.VectorStoreUnavailable, match="chroma-east"):
            orphans.find_orphans(both.services)
        assert both.base(there).mismatch is not True


class TestWhichServer:
    def test_readiness_and_the_page_name_it(self, both: World, east: InMemoryVectors) -> None:
        east.away = True

        checked = {part.name: part for part in health.check_parts(both.services)}
        shown = {part.name: part for part in parts.look(both.services)}

        assert {name for name in SERVERS if checked[name].ok} == {"chroma"}
        assert (shown["chroma"].ok, shown["chroma-east"].ok) == (True, False)
        assert shown["chroma-east"].label == "Chroma east"
        assert shown["chroma-east"].stops.startswith("For the memory bases in it: searches")

    def test_test_writes_go_to_every_server(self, both: World, east: InMemoryVectors) -> None:
        here, there = filled(both, "chroma"), filled(both, "chroma-east")
        fail_checks(both, east)

        failing = {part.name for part in health.check_parts(both.services) if not part.ok}

        assert failing == {"chroma-east", "worker"}
        statuses = [views.get_memory_base(both.services, both.user_id, base).status for base in (here, there)]
        assert statuses == ["ready", "unavailable"]
        unreachable = views.MemoryBaseQuery(condition=views.ConditionName.UNREACHABLE)
        listed = views.list_memory_bases(both.services, both.user_id, views.PageRequest(), unreachable)
        assert [each.id for each in listed.items] == [there]

    def test_the_server_without_a_name_does_not_answer_for_the_others(self, both: World) -> None:
        here, there = filled(both, "chroma"), filled(both, "chroma-east")
        fail_checks(both, both.vectors)

        statuses = [views.get_memory_base(both.services, both.user_id, base).status for base in (here, there)]
        unreachable = views.MemoryBaseQuery(condition=views.ConditionName.UNREACHABLE)
        listed = views.list_memory_bases(both.services, both.user_id, views.PageRequest(), unreachable)

        assert (statuses, [each.id for each in listed.items]) == (["unavailable", "ready"], [here])

    def test_the_doctor_has_a_check_for_each(
        self, both: World, east: InMemoryVectors, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(doctor.DoctorContext, "services", both.services)
        monkeypatch.setattr(doctor.DoctorContext, "database_url", "")
        east.away = True
        context = doctor.DoctorContext(both.services.settings, "")

        results = [each.run(context) for each in doctor.checks_of(both.services.settings) if each.name in SERVERS]

        assert [(each.name, each.ok) for each in results] == [("chroma", True), ("chroma-east", False)]
        assert "correct east in MEMORYBASE_CHROMA_URLS" in results[1].fix


class TestRebalance:
    @pytest.fixture(autouse=True)
    def _count_chunks_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(server_loads, "CHUNKS_OF_A_COLLECTION", 1)
        monkeypatch.setattr(rebalancing, "POLL_SECONDS", 0.0)

    @pytest.fixture
    def work(self, both: World) -> Callable[[int, int], object]:
        return lambda *_: both.settle()

    def test_it_evens_the_servers_out_and_embeds_nothing(self, both: World, work: Callable[[int, int], object]) -> None:
        bases = [filled(both, "chroma") for _ in range(4)]
        both.embedder.embedded.clear()
        planned = rebalancing.plan(both.services)

        assert [(each.base.server, each.target) for each in planned.moves] == [("chroma", "chroma-east")] * 2
        assert rebalance.describe(planned)[:2] == [
            "chroma: 4 collections, 12 chunks",
            "chroma-east: 0 collections, 0 chunks",
        ]
        results = [rebalancing.move(both.services, each, work) for each in planned.moves]

        assert [each.state for each in results] == ["moved", "moved"]
        assert both.embedder.embedded == []
        assert sorted(where(both, base) for base in bases) == ["chroma", "chroma", "chroma-east", "chroma-east"]
        for base in bases:
            assert_complete(both, base)
            assert found(both, base) == set(TEXTS)
        both.pass_time(3_600)
        both.settle()
        assert rebalancing.plan(both.services).moves == []

    def test_a_base_that_would_only_change_sides_stays(self, both: World) -> None:
        filled(both, "chroma")

        assert rebalancing.plan(both.services).moves == []

    def test_a_drain_moves_everything_off_a_server(self, both: World, work: Callable[[int, int], object]) -> None:
        bases = [filled(both, "chroma-east") for _ in range(2)]
        planned = rebalancing.plan(both.services, drain="chroma-east")

        assert [rebalancing.move(both.services, each, work).state for each in planned.moves] == ["moved", "moved"]
        assert {where(both, base) for base in bases} == {"chroma"}

    def test_a_server_that_does_not_work_is_passed_over(self, both: World, east: InMemoryVectors) -> None:
        for _ in range(2):
            filled(both, "chroma")
        fail_checks(both, east)

        planned = rebalancing.plan(both.services)

        assert (planned.moves, planned.passed_over) == ([], ["chroma-east"])
        with pytest.raises(errors.InvalidRequest, match="another Chroma server"):
            rebalancing.plan(both.services, drain="chroma")

    def test_a_move_that_cannot_start_says_why(self, both: World, east: InMemoryVectors) -> None:
        for _ in range(2):
            filled(both, "chroma")
        (move,) = rebalancing.plan(both.services).moves
        east.away = True

        failed = rebalancing.move(both.services, move)
        delete_memory_base(both.services, both.user_id, move.base.id)
        skipped = rebalancing.move(both.services, move)

        assert (failed.state, "chroma-east" in failed.reason) == ("failed", True)
        assert skipped.state == "skipped"

    def test_one_server_alone_is_refused(self, both: World) -> None:
        configure(both, chroma_urls={})

        with pytest.raises(errors.InvalidRequest, match="another Chroma server"):
            rebalancing.plan(both.services)
