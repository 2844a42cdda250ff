"""The primary is killed under load and its standby promoted: what each kind of replication promises."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from chaos.invariants import Sampler
from harness import wait_until
from harness.replication import Replicated
from harness.world import World, build_world

from memorybase.core import errors
from memorybase.core.database.engine import Database
from memorybase.core.memory_bases import consistency, reconcile
from memorybase.core.models import Message
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search

pytestmark = pytest.mark.slow

T = TypeVar("T")

WRITERS = 4
RUNS_BEFORE, RUNS_AFTER = 15, 15  # of each writer
PATIENCE = 60.0


@contextmanager
def replicated(*, synchronous: bool) -> Iterator[Replicated]:
    servers = Replicated(synchronous=synchronous)
    try:
        servers.start()
        yield servers
    finally:
        servers.close()


@pytest.fixture
def synchronous() -> Iterator[Replicated]:
    with replicated(synchronous=True) as servers:
        yield servers


@pytest.fixture
def asynchronous() -> Iterator[Replicated]:
    with replicated(synchronous=False) as servers:
        yield servers


@contextmanager
def world_on(servers: Replicated, tmp_path: Path) -> Iterator[World]:
    url = servers.url(servers.create_database())
    world = build_world(url, tmp_path, database=Database(url, pool_size=WRITERS + 2))
    try:
        yield world
    finally:
        world.close()


class Writer:
    """Captures one run after the other, each again and again with the same id until it is acknowledged."""

    def __init__(self, world: World, number: int) -> None:
        self._world = world
        self._session = f"session {number % 2}"  # two writers in each
        self.acknowledged: list[UUID] = []
        self.refused = 0

    def write(self, runs: int) -> None:
        for _ in range(runs):
            run_id = uuid4()
            texts = [f"{run_id} {n}" for n in range(2)]
            while not self._capture(run_id, texts):
                self.refused += 1
                threading.Event().wait(0.05)

    def _capture(self, run_id: UUID, texts: list[str]) -> bool:
        try:
            result = self._world.say(self._session, *texts, run_id=run_id)
        except errors.DatabaseUnavailable:
            return False
        self.acknowledged += [message.id for message in result.messages]
        return True


def ingest(world: World, stop: threading.Event) -> None:
    """A worker and a sweeper, which survive an outage."""
    while not stop.is_set():
        try:
            world.sweep()
            world.drain()
        except errors.EnvironmentFailure:
            stop.wait(0.05)


class TestSynchronous:
    def test_a_promotion_under_load_loses_and_doubles_nothing(self, synchronous: Replicated, tmp_path: Path) -> None:
        with world_on(synchronous, tmp_path) as world, ThreadPoolExecutor(WRITERS + 1) as pool:
            base = world.new_base(threshold=5)
            sampler, stop = Sampler(world.services.settings.database_url), threading.Event()
            sampler.start()
            worker = pool.submit(ingest, world, stop)
            writers = [Writer(world, number) for number in range(WRITERS)]
            for writer in writers:
                writer.write(RUNS_BEFORE)
            going = [pool.submit(writer.write, RUNS_AFTER) for writer in writers]
            wait_until(lambda: any(len(w.acknowledged) > 2 * RUNS_BEFORE for w in writers), PATIENCE, "a capture")
            synchronous.fail_over()
            for future in going:
                future.result(PATIENCE)
            stop.set()
            worker.result(PATIENCE)
            world.pass_time(3_600)  # what is idle is ingested, whatever the threshold
            world.assert_settled(base)
            sampler.stop()
            assert sampler.violations == []
            acknowledged = [message_id for writer in writers for message_id in writer.acknowledged]
            stored = [message.id for message in world.messages()]
            assert len(acknowledged) == WRITERS * (RUNS_BEFORE + RUNS_AFTER) * 2
            assert sorted(stored) == sorted(acknowledged)
            assert sum(writer.refused for writer in writers) > 0, "nobody wrote during the outage"

    def test_a_commit_without_a_standby_is_an_error(self, synchronous: Replicated, tmp_path: Path) -> None:
        with world_on(synchronous, tmp_path) as world, ThreadPoolExecutor(1) as pool:
            run_id = uuid4()
            synchronous.stop_shipping()
            first = pool.submit(world.say, "s", "hello", run_id=run_id)
            cancel_waiting(synchronous)
            with pytest.raises(errors.DatabaseUnavailable, match="confirmed"):
                first.result(PATIENCE)
            assert len(world.messages()) == 1  # committed here, and perhaps only here
            again = pool.submit(world.say, "s", "hello", run_id=run_id)
            wait_until(lambda: waiting_for_standby(synchronous), PATIENCE, "the repetition waits for the standby too")
            assert not again.done()
            synchronous.ship_again()
            assert not again.result(PATIENCE).created
            synchronous.fail_over()
            assert len(world.messages()) == 1

    def test_a_killed_server_comes_back_and_can_be_promoted(self, synchronous: Replicated, tmp_path: Path) -> None:
        with world_on(synchronous, tmp_path) as world:
            for turn in range(2):
                capture_patiently(world, f"turn {turn}")
                synchronous.fail_over()
                capture_patiently(world, f"turn {turn}, promoted")
                synchronous.rejoin()
            assert len(world.messages()) == 4


class TestAsynchronous:
    def test_a_repetition_restores_what_was_not_shipped(self, asynchronous: Replicated, tmp_path: Path) -> None:
        with world_on(asynchronous, tmp_path) as world:
            base = world.new_base(threshold=1)
            world.say("s", "the boat is green", run_id=uuid4())
            world.settle()
            asynchronous.wait_for_standby()
            asynchronous.stop_shipping()
            lost = uuid4()
            message_id = world.say("s", "the submarine is yellow", run_id=lost).messages[0].id
            world.settle()
            asynchronous.fail_over()
            self.knows_more_than_sql(world, base, message_id)
            result = until_available(lambda: world.say("s", "the submarine is yellow", run_id=lost))
            assert (result.created, result.messages[0].id) == (True, message_id)
            world.assert_settled(base)

    def test_reconcile_removes_from_the_store_what_sql_lost(self, asynchronous: Replicated, tmp_path: Path) -> None:
        with world_on(asynchronous, tmp_path) as world:
            base = world.new_base(threshold=1)
            world.say("s", "the boat is green")
            world.settle()
            asynchronous.wait_for_standby()
            asynchronous.stop_shipping()
            message_id = world.say("s", "the submarine is yellow").messages[0].id
            world.settle()
            asynchronous.fail_over()
            self.knows_more_than_sql(world, base, message_id)
            world.say("s", "the canoe is red")  # takes the lost message's seq
            world.settle()
            reconcile.reconcile_base(world.services, base, repair=True)
            world.assert_settled(base)

    @staticmethod
    def knows_more_than_sql(world: World, base: UUID, message_id: UUID) -> None:
        """The store has the lost message; no search shows it, and the comparison reports it."""
        assert until_available(lambda: len(world.messages())) == 1
        assert any(str(message_id) in chunk for chunk in world.stored(base))
        request = SearchRequest(memory_base_id=base, query="yellow submarine", mode="dense")
        hits = search(world.services, world.user_id, request).results
        assert [hit.content for hit in hits] == ["the boat is green"]
        mismatch = consistency.check_mismatch(world.services, world.user_id, base)
        assert (mismatch.state, mismatch.extra) == ("mismatch", 1)


class TestSeveralHosts:
    def test_a_url_with_a_standby_first_writes_to_the_primary(self, asynchronous: Replicated) -> None:
        name = asynchronous.create_database()
        url = sa.make_url(asynchronous.url(name))
        hosts = url.query["host"]
        database = Database(url.set(query={"host": tuple(reversed(hosts))}).render_as_string())
        try:
            with database.transaction() as db:
                assert db.scalar(sa.text("SELECT pg_is_in_recovery()")) is False
        finally:
            database.dispose()

    def test_a_write_on_a_standby_is_an_outage_and_its_connection_is_replaced(self, asynchronous: Replicated) -> None:
        name = asynchronous.create_database()
        database = Database(asynchronous.standby.url(name), pool_size=1)
        try:
            before = process_of(database)
            assert process_of(database) == before
            with pytest.raises(errors.DatabaseUnavailable), database.transaction() as db:
                db.execute(sa.delete(Message))
            assert process_of(database) != before
        finally:
            database.dispose()


def process_of(database: Database) -> int:
    """The server's process behind its only connection."""
    with database.reading() as db:
        return db.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()


def until_available(action: Callable[[], T]) -> T:
    """Its result, once the promoted server answers."""
    found: list[T] = []

    def attempt() -> bool:
        try:
            found.append(action())
        except errors.DatabaseUnavailable:
            return False
        return True

    wait_until(attempt, PATIENCE, "the database answers")
    return found[0]


def capture_patiently(world: World, text: str) -> None:
    run_id = uuid4()
    until_available(lambda: world.say("s", text, run_id=run_id))


def cancel_waiting(servers: Replicated) -> None:
    """As an administrator does who wants a commit to stop waiting."""
    wait_until(lambda: waiting_for_standby(servers), PATIENCE, "a commit waits for the standby")
    servers.primary.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")


def waiting_for_standby(servers: Replicated) -> bool:
    return servers.primary.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'") != []
