"""Lists and searches on a standby: what a caller wrote is there, wherever it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from harness import running, wait_until
from harness.replication import Replicated
from harness.world import World, build_world

from memorybase import wiring
from memorybase.core import errors, metrics
from memorybase.core.database import replica
from memorybase.core.database.engine import Database
from memorybase.core.database.paging import PageRequest
from memorybase.core.models import Message
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.read_models import sessions
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search
from memorybase.core.settings import Settings

pytestmark = pytest.mark.slow

WRITES = 30
PATIENCE = 60.0


@contextmanager
def replicated() -> Iterator[Replicated]:
    with running(Replicated(synchronous=False)) as servers:
        yield servers


@pytest.fixture(scope="module")
def shared() -> Iterator[Replicated]:
    """For tests that leave both servers running."""
    with replicated() as servers:
        yield servers


@pytest.fixture
def own() -> Iterator[Replicated]:
    """For a test that kills one."""
    with replicated() as servers:
        yield servers


@pytest.fixture(autouse=True)
def _try_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A standby that could not be used is tried at the next read."""
    monkeypatch.setattr(replica, "BEHIND_SECONDS", 0.0)
    monkeypatch.setattr(replica, "AWAY_SECONDS", 0.0)


@contextmanager
def world_on(servers: Replicated, tmp_path: Path) -> Iterator[World]:
    name = servers.create_database()
    read_url = servers.standby.url(name)
    world = build_world(servers.url(name), tmp_path, database=Database(servers.url(name), read_url=read_url))
    try:
        yield world
    finally:
        world.close()


@contextmanager
def paused(servers: Replicated) -> Iterator[None]:
    """The standby gets everything and shows nothing of it."""
    servers.wait_for_standby()
    servers.standby.execute("SELECT pg_wal_replay_pause()")
    try:
        yield
    finally:
        servers.standby.execute("SELECT pg_wal_replay_resume()")


def on_standby(database: Database) -> bool:
    """Whether a read that may be there is."""
    with database.reading(on_replica=True) as db:
        return db.execute(sa.text("SELECT pg_is_in_recovery()")).scalar_one() is True


def soon_on_standby(database: Database) -> bool:
    wait_until(lambda: on_standby(database), PATIENCE, "the standby is read")
    return True


def texts(world: World) -> list[object]:
    page = sessions.list_messages(world.services, world.user_id, MessageQuery(flow_id=world.flow_id), PageRequest())
    return [message.content for message in page.items]


def counted(server: str) -> float:
    return metrics.REPLICA_READS.labels(server)._value.get()


class TestWhereItReads:
    def test_only_what_is_marked_is_read_on_the_standby(self, shared: Replicated, tmp_path: Path) -> None:
        with world_on(shared, tmp_path) as world:
            database = world.services.database
            assert soon_on_standby(database)
            with database.reading() as db:
                assert db.execute(sa.text("SELECT pg_is_in_recovery()")).scalar_one() is False
            with database.reading(on_replica=True, snapshot=False) as db:
                assert db.execute(sa.text("SELECT 1")).scalar_one() == 1

    @pytest.mark.parametrize(("role", "reads"), [("api", True), ("cli", True), ("worker", False), ("sweeper", False)])
    def test_workers_and_sweepers_have_no_standby(self, role: wiring.Role, reads: bool, tmp_path: Path) -> None:
        settings = Settings(
            data_dir=tmp_path,
            database_url="postgresql://u@db/memorybase",
            database_read_url="postgresql://u@db2/memorybase",
        )
        services = wiring.build(settings, role=role)
        assert (services.database.replica is not None) is reads
        wiring.close(services)

    def test_the_doctor_says_how_far_it_is_behind(self, shared: Replicated, tmp_path: Path) -> None:
        with world_on(shared, tmp_path) as world:
            wait_until(lambda: world.services.database.replica_bytes_behind() == 0, PATIENCE, "it has caught up")
            with paused(shared):
                world.say("s", "hello")
                assert (world.services.database.replica_bytes_behind() or 0) > 0


class TestOwnWrites:
    def test_a_capture_is_listed_while_the_standby_does_not_replay(self, shared: Replicated, tmp_path: Path) -> None:
        with world_on(shared, tmp_path) as world:
            world.say("s", "before")
            assert soon_on_standby(world.services.database)
            with paused(shared):
                world.say("s", "after")
                assert texts(world) == ["before", "after"]
                assert not on_standby(world.services.database)
            assert soon_on_standby(world.services.database)
            assert texts(world) == ["before", "after"]

    def test_what_a_worker_ingested_is_found_meanwhile(self, shared: Replicated, tmp_path: Path) -> None:
        with world_on(shared, tmp_path) as world:
            base = world.new_base(threshold=1)
            with paused(shared):
                world.say("s", "the boat is green")
                world.settle()
                request = SearchRequest(memory_base_id=base, query="green boat", mode="dense", include_pending=False)
                hits = search(world.services, world.user_id, request).results
            assert [hit.content for hit in hits] == ["the boat is green"]

    def test_each_write_of_one_process_is_read_by_another_at_once(self, shared: Replicated, tmp_path: Path) -> None:
        with world_on(shared, tmp_path) as world:
            other = Database(world.services.settings.database_url, read_url=shared.standby.url(str(name_of(world))))
            before = counted("replica")
            try:
                for turn in range(WRITES):
                    world.say("s", f"turn {turn}")
                    with other.reading(on_replica=True) as db:
                        assert db.scalar(sa.select(sa.func.count()).select_from(Message)) == turn + 1
            finally:
                other.dispose()
            assert counted("replica") > before

    def test_the_reads_of_one_moment_ask_the_primary_once(
        self, shared: Replicated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with world_on(shared, tmp_path) as world:
            asked: list[str] = []
            monkeypatch.setattr(replica, "position", lambda primary: asked.append(ask(primary)) or asked[-1])
            with replica.shared_position():
                assert [on_standby(world.services.database) for _ in range(3)] == [True] * 3
            assert len(asked) == 1
            assert on_standby(world.services.database)
            assert len(asked) == 2


class TestStandbyAway:
    def test_reads_go_to_the_primary_and_return_with_the_standby(self, own: Replicated, tmp_path: Path) -> None:
        with world_on(own, tmp_path) as world:
            world.say("s", "hello")
            assert soon_on_standby(world.services.database)
            own.standby.kill_all()
            assert texts(world) == ["hello"]
            assert not on_standby(world.services.database)
            own.standby.start()
            assert soon_on_standby(world.services.database)

    def test_a_read_that_it_breaks_off_is_an_outage_and_its_repetition_goes_to_the_primary(
        self, own: Replicated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with world_on(own, tmp_path) as world:
            database = world.services.database
            assert soon_on_standby(database)
            monkeypatch.setattr(replica, "AWAY_SECONDS", 3_600.0)
            with pytest.raises(errors.DatabaseUnavailable), database.reading(on_replica=True) as db:
                db.execute(sa.text("SELECT pg_terminate_backend(pg_backend_pid())"))
            assert not on_standby(database)

    def test_a_promoted_standby_is_read_as_the_primary_that_it_is(self, own: Replicated, tmp_path: Path) -> None:
        with world_on(own, tmp_path) as world:
            world.say("s", "hello")
            own.wait_for_standby()
            own.fail_over()
            wait_until(lambda: available(lambda: texts(world) == ["hello"]), PATIENCE, "the promoted server answers")
            world.say("s", "again")
            assert texts(world) == ["hello", "again"]

    def test_a_server_that_follows_nobody_is_not_read(self, own: Replicated, tmp_path: Path) -> None:
        """It may have a history of its own, in which positions mean something else."""
        with world_on(own, tmp_path) as world:
            assert soon_on_standby(world.services.database)
            own.standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
            own.standby.execute("SELECT pg_reload_conf()")
            wait_until(
                lambda: not own.standby.execute("SELECT 1 FROM pg_stat_wal_receiver"), PATIENCE, "it follows nobody"
            )
            assert not on_standby(world.services.database)


ask = replica.position


def available(action: Callable[[], bool]) -> bool:
    try:
        return action()
    except errors.DatabaseUnavailable:
        return False


def name_of(world: World) -> str | None:
    return sa.make_url(world.services.settings.database_url).database
