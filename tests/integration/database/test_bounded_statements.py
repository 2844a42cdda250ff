"""Statements on a base, flow or session of any size: bounded deletes, and not too many parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.statements import recorded
from harness.world import World, build_world

from memorybase.core.database import clock
from memorybase.core.ingestion import flush, scheduler
from memorybase.core.memory_bases import deletion
from memorybase.core.memory_bases import deletion as base_deletion
from memorybase.core.memory_bases import regenerate as regeneration
from memorybase.core.models import Base, SessionProgress
from memorybase.core.queries import cursors, dead_letters, ledger, memory_bases, messages, sessions
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits

pytestmark = pytest.mark.slow

PAGE = 6
SESSIONS = 13


def filled(world: World) -> UUID:
    base = world.new_base(threshold=2)
    world.embedder.reject("poison")
    for number in range(SESSIONS):
        world.say(f"s{number}", "a message", "poison")
    world.assert_settled(base)
    return base


@contextmanager
def most_rows_deleted(world: World) -> Iterator[list[int]]:
    """How many rows each DELETE of the meantime took away, those of its cascades too."""
    gone: list[int] = []
    tables = Base.metadata.tables.values()
    counts = [sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in tables]
    wanted = str(sa.select(sum(counts[1:], counts[0])).compile(world.services.database.engine))

    def count(connection: sa.Connection) -> int:
        cursor = connection.connection.cursor()
        cursor.execute(wanted)
        (number,) = cursor.fetchone() or (0,)
        cursor.close()
        return int(number)

    def before(connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("DELETE"):
            gone.append(count(connection))

    def after(connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("DELETE"):
            gone[-1] -= count(connection)

    engine = world.services.database.engine
    sa.event.listen(engine, "before_cursor_execute", before)
    sa.event.listen(engine, "after_cursor_execute", after)
    try:
        yield gone
    finally:
        sa.event.remove(engine, "before_cursor_execute", before)
        sa.event.remove(engine, "after_cursor_execute", after)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "DELETE_PAGE", PAGE)


@pytest.mark.usefixtures("small_pages")
class TestDeletion:
    def test_a_large_memory_base_is_deleted_in_pages(self, world: World) -> None:
        base = filled(world)
        with most_rows_deleted(world) as gone:
            assert base_deletion.delete_memory_base(world.services, world.user_id, base)
        assert world.rows(base) == world.jobs(base) == world.ledger(base) == world.dead_letters(base) == []
        assert sum(gone) >= SESSIONS * 4
        assert max(gone) <= PAGE

    def test_a_large_flow_is_deleted_in_pages(self, world: World) -> None:
        base = filled(world)
        for message in world.messages()[:SESSIONS]:
            edits.delete_message(world.services, world.user_id, message.id)
        world.settle()
        with most_rows_deleted(world) as gone:
            assert session_deletion.delete_flow(world.services, world.user_id, world.flow_id)
        assert world.messages() == world.rows(base) == []
        assert sum(gone) >= SESSIONS * 8
        assert max(gone) <= PAGE

    def test_a_large_retired_generation_is_deleted_in_pages(self, world: World) -> None:
        base = filled(world)
        regeneration.regenerate(world.services, world.user_id, base)
        world.settle()
        world.pass_time(61)
        with most_rows_deleted(world) as gone:
            assert base_deletion.delete_retired_collections(world.services) == 1
        assert {row.generation for row in [*world.rows(base), *world.jobs(base), *world.ledger(base)]} == {2}
        assert sum(gone) >= SESSIONS * 4
        assert max(gone) <= PAGE
        world.assert_all_ingested(base)

    def test_a_page_deleted_by_another_does_not_end_it(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = filled(world)
        real = memory_bases.delete_rows_of_base
        limits = iter([0])

        def beaten(session: Any, limit: int, **which: Any) -> bool:
            return real(session, **which, limit=next(limits, limit))

        monkeypatch.setattr(memory_bases, "delete_rows_of_base", beaten)
        with most_rows_deleted(world) as gone:
            assert base_deletion.delete_memory_base(world.services, world.user_id, base)
        assert max(gone) <= PAGE


@contextmanager
def rows_written_by_one(world: World) -> Iterator[list[str]]:
    """Each INSERT or UPDATE of session rows meanwhile; one of many rows from outside stands there many times."""
    with recorded(world.services.database.engine, "INSERT INTO session_progress", "UPDATE session_progress") as sent:
        written: list[str] = []
        yield written
    written += [text for text, values in sent for _ in range(len(values) if isinstance(values, list) else 1)]


class TestBuilds:
    def test_a_build_starts_with_one_statement(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = filled(world)
        monkeypatch.setattr(scheduler, "SESSIONS_SCHEDULED_AT_ONCE", PAGE)
        before = {row.session_id: row for row in world.rows(base)}
        with rows_written_by_one(world) as written:
            begun = regeneration.regenerate(world.services, world.user_id, base)
        assert len(written) == 1
        assert len(begun.jobs) == PAGE
        built = [row for row in world.rows(base) if row.generation == 2]
        assert len({row.id for row in built}) == SESSIONS
        for row in built:
            assert (row.cursor_seq, row.target_seq, row.build_seq) == (0, before[row.session_id].cursor_seq, 2)
            assert row.cursor_id is row.lease_until is row.audit_at is row.job_cap is None
        world.assert_settled(base)
        assert world.base(base).serving == 2

    def test_a_build_is_abandoned_with_one_statement(self, world: World) -> None:
        base = filled(world)
        begun = regeneration.regenerate(world.services, world.user_id, base)
        world.say("s0", "captured during the build", "and more of it")
        world.say("never seen by the old generation", "one", "two")
        with rows_written_by_one(world) as written:
            regeneration.cancel_job(world.services, world.user_id, begun.jobs[0].id)
        assert len(written) == 1
        world.assert_settled(base)
        serving = {row.session_id: row for row in world.rows(base) if row.generation == 1}
        assert len(serving) == SESSIONS + 1
        assert serving["s0"].cursor_seq == 4


class TestFlushes:
    def test_a_flush_locks_pending_sessions_alone(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = filled(world)
        for name in ("s3", "s7", "new"):
            world.say(name, "below the threshold")
        world.say("s9", {"role": "system", "content": "never counted"})
        locked: list[str] = []
        lock = sessions.lock_session

        def note(session: Any, flow_id: UUID, session_id: str) -> Any:
            locked.append(session_id)
            return lock(session, flow_id, session_id)

        monkeypatch.setattr(sessions, "lock_session", note)
        assert {job.session_id for job in world.flush(base).jobs} == {"s3", "s7", "new"}
        assert sorted(locked) == ["new", "s3", "s7"]
        world.settle()
        locked.clear()
        assert world.flush(base).jobs == locked == []

    def test_pages_of_sessions_cover_every_session(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(flush, "FLUSH_PAGE", PAGE)
        base = world.new_base(threshold=100)
        for number in range(SESSIONS):
            world.say(f"s{number}", "pending")
        assert len(world.flush(base).jobs) == SESSIONS
        world.assert_settled(base)

    def test_a_flush_leaves_most_jobs_to_the_sweeper(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(flush, "FLUSH_PAGE", 2)
        monkeypatch.setattr(flush, "DEFERRED_PAGE", 3)
        monkeypatch.setattr(flush, "MAX_JOBS", 2)
        base = world.new_base(threshold=2)
        names = ["B", "a", "ä", *(f"s{number}" for number in range(SESSIONS))]
        for name in names:
            world.say(name, "pending")
        busy = max(names)
        world.say(busy, "and one more, which makes a job")
        world.say(busy, "after it")
        with world.services.database.transaction() as db:  # of a session that no capture has looked at since
            db.delete(db.get_one(SessionProgress, world.row(base, "s1").id))
        flushed = world.flush(base)
        assert len(flushed.jobs) == 2
        assert [each.session_id for each in flushed.conflicts] == [busy]
        assert flushed.deferred == len(names) - 3
        again = world.flush(base)
        assert len(again.jobs) == 2
        assert again.deferred == len(names) - 5
        world.settle()
        assert [job.session_id for job in world.flush(base).jobs] == [busy]
        world.assert_settled(base)


MANY = 70_000  # more parameters than PostgreSQL takes, or SQLite as it is built by default


class TestParameters:
    """What has grown without bound is asked for in pages."""

    def test_ids_of_a_session(self, world: World) -> None:
        said = [message.id for message in world.say("s", "one", "two").messages]
        with world.services.database.reading() as db:
            found = messages.ids_in_session(db, world.flow_id, "s", [*some_ids(), *said])
        assert found == set(said)

    def test_entries_of_the_ledger(self, world: World) -> None:
        base = filled(world)
        entry = world.ledger(base)[0]
        ids = [*some_ids(), entry.message_id]
        with world.services.database.transaction() as db:
            assert set(ledger.entries(db, entry.progress_id, ids)) == {entry.message_id}
            assert set(cursors.sessions_of_messages(db, world.base(base), ids).values()) == {entry.progress_id}
            dead_letters.clear_dead_letters(db, entry.progress_id, ids)
            ledger.delete(db, entry.progress_id, ids)
        assert entry.message_id not in {each.message_id for each in world.ledger(base)}

    def test_an_audit_with_more_lost_messages_than_a_job_takes_repeats_for_the_rest(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(scheduler, "JOB_MAX_MESSAGES", 4)
        world = build_world(f"sqlite:///{tmp_path / 'memorybase.db'}", tmp_path)
        base = world.new_base(threshold=1)
        world.say("s", *(f"message {number}" for number in range(10)))
        world.settle()
        world.vectors.lose(world.ref(base), sorted(world.stored(base)))
        progress_id = world.row(base, "s").id
        asked_for: list[int] = []
        real = ledger.messages_to_write

        def count(session: Any, covered: ledger.Covered, *, also: Any, **wanted: Any) -> Any:
            asked_for.append(len(also))
            return real(session, covered, also=also, **wanted)

        monkeypatch.setattr(ledger, "messages_to_write", count)
        with world.services.database.transaction() as db:
            assert cursors.request_audit(db, progress_id, clock.now(db))
        world.assert_settled(base)
        assert asked_for == [4, 4, 2]
        world.close()


def some_ids() -> list[UUID]:
    return [uuid4() for _ in range(MANY)]
