"""Figures of the whole database for health and metrics. Each statement is bounded: a scrape stays cheap."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnySelect
from memorybase.core.models import (
    IS_ACTIVE,
    DeadLetter,
    Generation,
    Heartbeat,
    IngestionJob,
    JobState,
    LedgerEntry,
    MemoryBase,
    Message,
    Priority,
    SessionProgress,
)
from memorybase.core.queries.joins import DEAD_LETTER_IS_SHOWN, SERVES, own_base
from memorybase.core.queries.pending import SESSION_IS_DUE, is_due, is_pending

Progress = SessionProgress
Job = IngestionJob

COUNT_TO = 100_000  # counts stop here
MAX_SESSIONS = 1_000  # sessions searched for the oldest message


class Due(NamedTuple):
    """Messages that the threshold, a flush or the idle rule made due, and that no job has ingested yet."""

    sessions: int
    messages: int
    oldest: datetime | None


class Jobs(NamedTuple):
    """Active jobs.

    stuck: queued, and due since before a given time. retried: created before that time, and postponed by an outage.
    without_progress: created and started before that time, or started again since.
    """

    queued: int
    queued_high: int
    queued_low: int
    running: int
    stuck: int
    retried: int
    without_progress: int
    oldest: datetime | None


class Comparisons(NamedTuple):
    """The last comparison of each memory base with its store, added up.

    missing: chunks of memory bases that differ, where their number is known. oldest: of the comparisons.
    """

    differing: int
    missing: int
    oldest: datetime | None


class Stored(NamedTuple):
    """Chunks of a memory base in its store at the last comparison."""

    collection: str
    dimension: int
    chunks: int


class Heartbeats(NamedTuple):
    """For one kind of process: the number that are alive, and their latest heartbeat."""

    kind: str
    alive: int
    last: datetime


def due(db: OrmSession) -> Due:
    """Number of due messages, and when the oldest of them was captured."""
    sessions = bounded_count(db, _due_sessions())
    if not sessions:
        return Due(0, 0, None)
    return Due(sessions, _count_messages(db, _due_sessions(), COUNT_TO), oldest_due(db))


def oldest_due(db: OrmSession, user_id: UUID | None = None) -> datetime | None:
    """When the oldest due message was captured, of all memory bases or of one user's."""
    rows = _due_sessions()
    if user_id is not None:
        rows = rows.where(MemoryBase.user_id == user_id)
    return _oldest(db, rows)


def due_messages(db: OrmSession, user_id: UUID, *, at_most: int) -> int:
    """The user's due messages."""
    return _count_messages(db, _due_sessions().where(MemoryBase.user_id == user_id), at_most)


def ingested_since(db: OrmSession, user_id: UUID, since: datetime) -> tuple[int, datetime | None]:
    """Number of messages that the user's memory bases hold since then and did not hold before, and when the first
    came."""
    found = (
        sa.select(LedgerEntry.ingested_at)
        .join(
            MemoryBase,
            sa.and_(MemoryBase.id == LedgerEntry.memory_base_id, MemoryBase.serving == LedgerEntry.generation),
        )
        .where(own_base(user_id), LedgerEntry.ingested_at >= since)
        .order_by(LedgerEntry.ingested_at.desc())
        .limit(COUNT_TO)
        .subquery()
    )
    count, first = db.execute(sa.select(sa.func.count(), sa.func.min(found.c.ingested_at))).one()
    return count, first


def oldest_below_threshold(db: OrmSession) -> datetime | None:
    """When the oldest message was captured that waits for its session's threshold or the idle rule."""
    return _oldest(db, _written_sessions().where(Progress.idle_due_at.is_not(None)).order_by(Progress.idle_due_at))


def _oldest(db: OrmSession, rows: AnySelect) -> datetime | None:
    sessions = rows.limit(MAX_SESSIONS).subquery()
    first = (
        sa.select(Message.captured_at)
        .where(
            Message.session_uuid == sessions.c.session_uuid,
            is_pending(sessions.c.capture, sessions.c.cursor_seq),
        )
        .order_by(Message.seq)
        .limit(1)
        .correlate(sessions)
        .scalar_subquery()
    )
    firsts = sa.select(first.label("first")).select_from(sessions).subquery()
    oldest: datetime | None = db.scalar(sa.select(sa.func.min(firsts.c.first)))
    return oldest


def active_jobs(db: OrmSession, due_before: datetime) -> Jobs:
    """Active jobs by what they wait for, and when the oldest was created."""
    columns = (
        Job.state,
        Job.created_at,
        Job.started_at,
        Job.available_at,
        Job.outages,
        Job.attempts,
        Job.stored_chunks,
    )
    active = sa.select(*columns, MemoryBase.priority).join(MemoryBase, MemoryBase.id == Job.memory_base_id)
    found = active.where(IS_ACTIVE).limit(COUNT_TO).subquery()
    queued, running = found.c.state == JobState.QUEUED, found.c.state == JobState.RUNNING
    statement = sa.select(
        _count_if(queued),
        _count_if(sa.and_(queued, found.c.priority == Priority.HIGH)),
        _count_if(sa.and_(queued, found.c.priority == Priority.LOW)),
        _count_if(running),
        _count_if(sa.and_(queued, found.c.available_at <= due_before)),
        _count_if(sa.and_(found.c.outages > 0, found.c.created_at <= due_before, found.c.available_at > due_before)),
        _count_if(
            sa.and_(
                found.c.created_at <= due_before,
                found.c.started_at.is_not(None),
                found.c.stored_chunks == 0,  # else it has a long message, and gets on with it
                sa.or_(found.c.started_at <= due_before, found.c.attempts > 1, found.c.outages > 0),
            )
        ),
        sa.func.min(found.c.created_at),
    )
    return Jobs(*db.execute(statement).one())


class LongJob(NamedTuple):
    """An active job of a long message."""

    id: UUID
    session_id: str
    stored_chunks: int
    total_chunks: int


def longest_job(db: OrmSession) -> LongJob | None:
    """The active job that has most left to store, of those that have stored chunks and wait for more."""
    left = Job.total_chunks - Job.stored_chunks
    found = sa.select(Job.id, Job.session_id, Job.stored_chunks, Job.total_chunks)
    row = db.execute(found.where(IS_ACTIVE, Job.stored_chunks > 0).order_by(left.desc()).limit(1)).first()
    return None if row is None else LongJob(*row)


def dead_letters(db: OrmSession) -> int:
    """Dead letters of serving and building generations, without discarded ones."""
    shown = sa.select(DeadLetter.id).join(MemoryBase, MemoryBase.id == DeadLetter.memory_base_id)
    return bounded_count(db, shown.where(DEAD_LETTER_IS_SHOWN, MemoryBase.deleting_at.is_(None)))


def comparisons(db: OrmSession) -> Comparisons:
    """The last comparisons of memory bases with their stores."""
    columns = (MemoryBase.mismatch, MemoryBase.chunks_missing, MemoryBase.mismatch_checked_at)
    found = sa.select(*columns).where(MemoryBase.deleting_at.is_(None)).limit(COUNT_TO).subquery()
    statement = sa.select(
        _count_if(found.c.mismatch == sa.true()),
        sa.func.coalesce(sa.func.sum(found.c.chunks_missing), 0),
        sa.func.min(found.c.mismatch_checked_at),
    )
    differing, missing, oldest = db.execute(statement).one()
    return Comparisons(int(differing), int(missing), oldest)


def stored(db: OrmSession) -> Sequence[Stored]:
    """Chunks of each memory base in its store, at the last comparison."""
    statement = (
        sa.select(Generation.collection_name, Generation.dimension, sa.func.coalesce(MemoryBase.chunks_stored, 0))
        .join(Generation, SERVES)
        .where(MemoryBase.deleting_at.is_(None), MemoryBase.chunks_stored > 0)
        .limit(COUNT_TO)
    )
    return [Stored(*row) for row in db.execute(statement)]


def heartbeats(db: OrmSession, since: datetime) -> Sequence[Heartbeats]:
    """Heartbeats by kind of process; alive are those with a heartbeat since then."""
    statement = sa.select(Heartbeat.kind, _count_if(Heartbeat.beat_at >= since), sa.func.max(Heartbeat.beat_at))
    return [Heartbeats(*row) for row in db.execute(statement.group_by(Heartbeat.kind))]


NAMES = {"chat_records": "chat_messages"}  # of a table, in the manifest of a backup


def count_rows(db: OrmSession) -> dict[str, int]:
    """Number of rows of each kind in the whole database; reads whole tables, for a backup."""
    kinds = ("flows", "sessions", "messages", "chat_records", "memory_bases", "knowledge_bases", "documents")
    counts = [
        sa.select(sa.func.count()).select_from(sa.table(kind)).scalar_subquery().label(NAMES.get(kind, kind))
        for kind in kinds
    ]
    return dict(db.execute(sa.select(*counts)).mappings().one())


def _due_sessions() -> AnySelect:
    return _written_sessions().where(SESSION_IS_DUE)


def _written_sessions() -> AnySelect:
    """Progress in the generations that ingestion writes to."""
    is_written = Progress.generation == sa.func.coalesce(MemoryBase.building, MemoryBase.serving)
    return (
        sa.select(Progress.session_uuid, Progress.cursor_seq, Progress.target_seq, Generation.capture)
        .join(MemoryBase, MemoryBase.id == Progress.memory_base_id)
        .join(
            Generation,
            sa.and_(Generation.memory_base_id == Progress.memory_base_id, Generation.generation == Progress.generation),
        )
        .where(
            is_written,
            MemoryBase.deleting_at.is_(None),
            MemoryBase.paused_at.is_(None),  # somebody holds it back: it is not due
        )
    )


def _count_messages(db: OrmSession, sessions: AnySelect, at_most: int) -> int:
    """The due messages of these sessions."""
    rows = sessions.limit(COUNT_TO).subquery()
    due = sa.and_(
        Message.session_uuid == rows.c.session_uuid,
        is_due(rows.c.capture, rows.c.cursor_seq, rows.c.target_seq),
    )
    found = sa.select(sa.literal(1).label("one")).select_from(rows).join(Message, due)
    return bounded_count(db, found, at_most)


def _count_if(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.sum(sa.case((condition, 1), else_=0)), 0)


def bounded_count(db: OrmSession, statement: AnySelect, at_most: int = COUNT_TO) -> int:
    """Number of the statement's rows, up to `at_most`."""
    return db.scalar(sa.select(sa.func.count()).select_from(statement.limit(at_most).subquery())) or 0
