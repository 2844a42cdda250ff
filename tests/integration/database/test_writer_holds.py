"""How much one transaction changes, and how long other writers of SQLite wait for it: a page, whatever is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.postgres import WAITING
from harness.waiting import wait_until
from harness.world import World
from sqlalchemy.orm import Session

from memorybase.core.ingestion import scheduler
from memorybase.core.keyword_index import index
from memorybase.core.memory_bases import deletion, manage, preparation, regenerate
from memorybase.core.models import (
    IS_ACTIVE,
    DeletedMessage,
    IngestionJob,
    JobState,
    LedgerEntry,
    MemoryUse,
    MemoryUseMessage,
    Message,
    Posting,
    Run,
)
from memorybase.core.queries import jobs
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits

LONG = 20_000  # messages of a session
WORDS = 8  # postings of a message
MOST = 12_000  # rows that one transaction changes
PERSON = "ada"


@contextmanager
def changes(world: World) -> Iterator[list[int]]:
    """How many rows each write transaction of the meantime changed, those of cascades too."""
    changed: list[int] = []
    engine = world.services.database.engine

    def total(connection: sa.Connection) -> int:
        return int(connection.connection.dbapi_connection.total_changes)  # type: ignore[union-attr]

    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("begin_immediate"):
            connection.info["changes"] = total(connection)

    def end(connection: sa.Connection) -> None:
        if (before := connection.info.pop("changes", None)) is not None:
            changed.append(total(connection) - before)

    listeners = {"begin": begin, "commit": end, "rollback": end}
    for name, listener in listeners.items():
        sa.event.listen(engine, name, listener)
    try:
        yield changed
    finally:
        for name, listener in listeners.items():
            sa.event.remove(engine, name, listener)


def lengthen(world: World, session_id: str, messages: int) -> None:
    """Let a session of one ingested message have so many: copies of its rows, two messages in a run. One in
    ten is in a use of another session, and as many were deleted before."""
    new = f"WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {messages}) SELECT i, "
    with world.services.database.transaction() as db:
        run = db.connection().exec_driver_sql

        def copy(table: type[Any], source: str, **values: str) -> None:
            names = [column.name for column in table.__table__.columns]
            chosen = ", ".join(values.get(name, f"t.{name}") for name in names)
            first = f"(SELECT * FROM {table.__tablename__} LIMIT 1) AS t"
            run(f"INSERT INTO {table.__tablename__} ({', '.join(names)}) SELECT {chosen} FROM {first}, {source}")

        run(f"CREATE TEMP TABLE ids AS {new} lower(hex(randomblob(16))) AS id FROM n")
        run("CREATE TEMP TABLE runs_of AS SELECT i / 2 AS half, min(id) AS id FROM ids GROUP BY 1")
        run("CREATE INDEX temp.runs_of_half ON runs_of (half)")
        copy(Run, "runs_of r", id="r.id")
        position = {"seq": "ids.i", "position": "t.position - t.seq + ids.i"}
        copy(Message, "ids JOIN runs_of r ON r.half = ids.i / 2", id="ids.id", run_id="r.id", **position)
        copy(LedgerEntry, "ids", message_id="ids.id")
        copy(IngestionJob, "ids", id="ids.id")
        copy(DeletedMessage, "ids", message_id="lower(hex(randomblob(16)))")
        tenth = "(SELECT * FROM ids WHERE i % 10 = 0) AS ids"
        copy(MemoryUse, tenth, id="ids.id", run_id="ids.id")
        copy(MemoryUseMessage, tenth, message_id="ids.id", use_id="ids.id")
        run(
            "INSERT INTO postings (term, position, times) SELECT p.term, p.position - 1 + ids.i, 1"
            " FROM (SELECT * FROM postings) AS p, ids"
        )
        mine = f"WHERE session_id = '{session_id}'"
        run(f"UPDATE sessions SET last_seq = {messages}, documents = {messages}, passed_seq = {messages} {mine}")
        done = ", ".join(f"{name} = {messages}" for name in ("cursor_seq", "target_seq", "total_processed"))
        run(f"UPDATE session_progress SET {done} {mine}")
        run("DROP TABLE ids")
        run("DROP TABLE runs_of")


def long_session(world: World, messages: int) -> UUID:
    base = world.new_base(threshold=1)
    gone = world.say("long", "deleted", end_user_id=PERSON).messages[0]
    edits.delete_message(world.services, world.user_id, gone.id)
    said = world.say("long", " ".join(f"word{number}" for number in range(WORDS)), end_user_id=PERSON)
    world.settle()
    view = {"messages": [], "sources": [], "report": {}, "node_id": "llm", "session_id": "another"}
    with world.services.database.transaction() as db:
        (message,) = said.messages
        stored = db.get_one(Message, message.id)
        first = stored.position - stored.seq + 1
        db.execute(sa.update(Message).values(seq=1, position=first))
        db.execute(sa.update(Posting).values(position=first))
        use = MemoryUse(id=gone.id, flow_id=world.flow_id, run_id=said.run_id, recorded_at=stored.captured_at, **view)
        db.add(use)
        db.flush()
        db.add(MemoryUseMessage(message_id=message.id, use_id=use.id, flow_id=world.flow_id))
    lengthen(world, "long", messages)
    return base


def erase(world: World, _: UUID) -> None:
    assert edits.erase_end_user(world.services, world.user_id, PERSON).messages == LONG
    with world.services.database.transaction() as db:  # as if the base had been built again since: nothing to repair
        db.execute(sa.text("UPDATE session_progress SET repaired = dirty, audit_at = NULL"))
        db.execute(sa.update(IngestionJob).where(IS_ACTIVE).values(state="done"))
    assert world.sweep().done["sessions_removed"] == 1


def delete_flow(world: World, _: UUID) -> None:
    if not session_deletion.delete_flow(world.services, world.user_id, world.flow_id):
        wait_until(lambda: session_deletion.finish_flow_deletion(world.services, world.flow_id))


def rename(world: World, base: UUID) -> None:
    edits.update_session(world.services, world.user_id, world.flow_id, "long", new_session_id="renamed")
    assert {job.session_id for job in world.jobs(base)} == {"renamed"}
    with world.services.database.reading() as db:
        raised = sa.select(sa.func.count()).select_from(Message).where(Message.version > 1)
        assert db.scalar(raised) == LONG


ACTS: dict[str, Callable[[World, UUID], object]] = {
    "erase a person": erase,
    "delete a flow": delete_flow,
    "rename a session": rename,
    "regenerate": lambda world, base: regenerate.regenerate(world.services, world.user_id, base),
    "delete a memory base": lambda world, base: deletion.delete_memory_base(world.services, world.user_id, base),
}


@pytest.mark.slow
@pytest.mark.parametrize("act", ACTS)
def test_no_transaction_grows_with_a_session(sqlite_world: World, act: str) -> None:
    base = long_session(sqlite_world, LONG)
    with changes(sqlite_world) as changed:
        ACTS[act](sqlite_world, base)
    assert max(changed) <= MOST
    if act in ("erase a person", "delete a flow"):
        with sqlite_world.services.database.reading() as db:
            left = [
                each
                for each in ("messages", "runs", "postings", "speakers", "ledger", "ingestion_jobs", "sessions")
                if db.scalar(sa.text(f"SELECT count(*) FROM {each}"))
            ]
        assert left == []


@pytest.mark.both_databases
@pytest.mark.parametrize("is_known", [True, False])
def test_what_a_capture_stores_goes_with_its_flow_if_it_began_before_the_deletion(
    world: World, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    if is_known:
        world.say("s", "said before")
    stored, go_on, add = Event(), Event(), index.add

    def slowly(*args: Any) -> None:
        add(*args)
        stored.set()
        assert go_on.wait(30)

    monkeypatch.setattr(index, "add", slowly)
    with ThreadPoolExecutor(2) as pool:
        capturing = pool.submit(world.say, "s", "said meanwhile")
        assert stored.wait(30)
        deleting = pool.submit(session_deletion.delete_flow, world.services, world.user_id, world.flow_id)
        if not world.services.database.is_sqlite:  # where it waits for the capture at once
            with world.services.database.reading(snapshot=False) as db:
                wait_until(lambda: db.scalar(sa.text(WAITING.decode())), what="the deletion waits")
        go_on.set()
        capturing.result(30)
        deleting.result(30)
    session_deletion.finish_flow_deletion(world.services, world.flow_id)
    with world.services.database.reading() as db:
        for table in ("flows", "messages", "postings", "speakers"):
            assert db.scalar(sa.text(f"SELECT count(*) FROM {table}")) == 0, table


JOBS = 7


def pause(world: World, base: UUID) -> None:
    manage.update_memory_base(world.services, world.user_id, base, {"paused": True})


def build(world: World, base: UUID) -> None:
    regenerate.regenerate(world.services, world.user_id, base)


def build_and_abandon(world: World, base: UUID) -> None:
    build(world, base)
    regenerate.abandon_build(world.services, base)


def remove(world: World, base: UUID) -> None:
    deletion.delete_memory_base(world.services, world.user_id, base)


@pytest.mark.parametrize("act", [pause, build, build_and_abandon, remove])
def test_no_transaction_cancels_more_than_a_page_of_queued_jobs(
    sqlite_world: World, monkeypatch: pytest.MonkeyPatch, act: Callable[[World, UUID], None]
) -> None:
    world = sqlite_world
    base, other = world.new_base(threshold=1), world.new_base(threshold=1)
    for number in range(JOBS):
        world.say(f"s{number}", "waits")
    monkeypatch.setattr(jobs, "CANCEL_PAGE", 2)
    monkeypatch.setattr(preparation, "PAGE", 2)
    monkeypatch.setattr(scheduler, "SESSIONS_SCHEDULED_AT_ONCE", 2)
    monkeypatch.setattr(deletion, "DELETE_PAGE", 2)
    pages: list[int] = []
    end = jobs._end

    def count(db: Session, which: Any, *args: Any) -> None:
        pages.append(db.scalar(sa.select(sa.func.count()).select_from(IngestionJob).where(which)) or 0)
        end(db, which, *args)

    monkeypatch.setattr(jobs, "_end", count)
    act(world, base)
    assert max(pages) <= 2
    world.say("s0", "said since")
    world.assert_settled(other)
    if act is pause:
        assert {job.state for job in world.jobs(base)} == {JobState.CANCELLED}
        manage.update_memory_base(world.services, world.user_id, base, {"paused": False})
        world.settle()
    if act is not remove:
        world.assert_all_ingested(base)
