"""Statements over the whole database, for all users. Each is bounded: a scrape stays cheap."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.upsert import rows_affected
from memorybase.models import (
    IS_ACTIVE,
    Capture,
    DeadLetter,
    Generation,
    Heartbeat,
    IngestionJob,
    JobState,
    MemoryBase,
    Message,
    SessionProgress,
)

Progress = SessionProgress
Job = IngestionJob

COUNT_TO = 100_000  # counts stop here
MAX_SESSIONS = 1_000  # sessions searched for the oldest message


class Pending(NamedTuple):
    """Messages that the threshold, a flush or the idle rule made due, and that no job has ingested yet."""

    sessions: int
    messages: int
    oldest: datetime | None


class Jobs(NamedTuple):
    """Active jobs.

    stuck: queued, and due since before a given time. retried: created before that time, and postponed by an outage.
    """

    queued: int
    running: int
    stuck: int
    retried: int
    oldest: datetime | None


class Heartbeats(NamedTuple):
    """Of one kind of process: how many are alive, and their latest heartbeat."""

    kind: str
    alive: int
    last: datetime


def pending(db: OrmSession) -> Pending:
    """How much is pending, and when the oldest message of it was captured."""
    rows = _pending_sessions().limit(COUNT_TO).subquery()
    sessions = db.scalar(sa.select(sa.func.count()).select_from(rows)) or 0
    if not sessions:
        return Pending(0, 0, None)
    messages = db.scalar(
        sa.select(sa.func.count()).select_from(_pending_messages(sa.literal(1).label("one")).limit(COUNT_TO).subquery())
    )
    return Pending(sessions, messages or 0, oldest_pending(db))


def oldest_pending(db: OrmSession, user_id: UUID | None = None) -> datetime | None:
    """When the oldest pending message was captured, of all memory bases or of one user's."""
    rows = _pending_sessions()
    if user_id is not None:
        rows = rows.where(MemoryBase.user_id == user_id)
    sessions = rows.limit(MAX_SESSIONS).subquery()
    first = (
        sa.select(Message.captured_at)
        .where(
            Message.flow_id == sessions.c.flow_id,
            Message.session_id == sessions.c.session_id,
            Message.seq > sessions.c.cursor_seq,
            _counted(sessions.c.capture),
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
    columns = (Job.state, Job.created_at, Job.available_at, Job.outages)
    found = sa.select(*columns).where(IS_ACTIVE).limit(COUNT_TO).subquery()
    queued, running = found.c.state == JobState.QUEUED, found.c.state == JobState.RUNNING
    statement = sa.select(
        _count_if(queued),
        _count_if(running),
        _count_if(sa.and_(queued, found.c.available_at <= due_before)),
        _count_if(sa.and_(found.c.outages > 0, found.c.created_at <= due_before, found.c.available_at > due_before)),
        sa.func.min(found.c.created_at),
    )
    return Jobs(*db.execute(statement).one())


def dead_letters(db: OrmSession) -> int:
    """Dead letters of serving and building generations, without discarded ones."""
    shown = (
        sa.select(DeadLetter.id)
        .join(MemoryBase, MemoryBase.id == DeadLetter.memory_base_id)
        .where(
            DeadLetter.state != "discarded",
            DeadLetter.generation.in_([MemoryBase.serving, MemoryBase.building]),
            MemoryBase.deleting_at.is_(None),
        )
    )
    return _bounded_count(db, shown)


def mismatched_bases(db: OrmSession) -> int:
    """Memory bases whose last comparison found a mismatch."""
    differing = sa.select(MemoryBase.id).where(MemoryBase.mismatch == sa.true(), MemoryBase.deleting_at.is_(None))
    return _bounded_count(db, differing)


def heartbeats(db: OrmSession, since: datetime) -> Sequence[Heartbeats]:
    """Heartbeats by kind of process; alive are those with a heartbeat since then."""
    statement = sa.select(Heartbeat.kind, _count_if(Heartbeat.beat_at >= since), sa.func.max(Heartbeat.beat_at))
    return [Heartbeats(*row) for row in db.execute(statement.group_by(Heartbeat.kind))]


def idle_times(db: OrmSession) -> list[int]:
    """The different idle_after of memory bases, in seconds."""
    return list(db.scalars(sa.select(MemoryBase.idle_after).distinct()))


def any_after(
    db: OrmSession, column: sa.orm.InstrumentedAttribute[Any], moment: datetime, only: sa.ColumnElement[bool] | None
) -> bool:
    """Whether a row's timestamp is later."""
    return db.scalar(sa.select(sa.literal(1)).where(*_after(column, moment, only)).limit(1)) is not None


def move_back(
    db: OrmSession,
    column: sa.orm.InstrumentedAttribute[Any],
    moment: datetime,
    only: sa.ColumnElement[bool] | None,
    *,
    becomes: datetime,
) -> int:
    """Set timestamps that are later than `moment`; how many rows."""
    update = sa.update(column.class_).where(*_after(column, moment, only))
    return rows_affected(db, update.values({column.key: becomes}).execution_options(synchronize_session=False))


def _after(
    column: sa.orm.InstrumentedAttribute[Any], moment: datetime, only: sa.ColumnElement[bool] | None
) -> list[sa.ColumnElement[bool]]:
    later: sa.ColumnElement[bool] = column > moment
    return [later] if only is None else [later, only]


def _pending_sessions() -> sa.Select[*tuple[Any, ...]]:
    is_written = Progress.generation == sa.func.coalesce(MemoryBase.building, MemoryBase.serving)
    return (
        sa.select(Progress.flow_id, Progress.session_id, Progress.cursor_seq, Progress.target_seq, Generation.capture)
        .join(MemoryBase, MemoryBase.id == Progress.memory_base_id)
        .join(
            Generation,
            sa.and_(Generation.memory_base_id == Progress.memory_base_id, Generation.generation == Progress.generation),
        )
        .where(Progress.target_seq > Progress.cursor_seq, is_written, MemoryBase.deleting_at.is_(None))
    )


def _pending_messages(*columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    rows = _pending_sessions().limit(COUNT_TO).subquery()
    beyond = sa.and_(
        Message.flow_id == rows.c.flow_id,
        Message.session_id == rows.c.session_id,
        Message.seq > rows.c.cursor_seq,
        Message.seq <= rows.c.target_seq,
        _counted(rows.c.capture),
    )
    return sa.select(*columns).select_from(rows).join(Message, beyond)


def _counted(capture: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Whether a message counts, by the row's generation."""
    return sa.case((capture == Capture.OUTPUTS, Message.is_output), else_=Message.is_dialogue)


def _count_if(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.sum(sa.case((condition, 1), else_=0)), 0)


def _bounded_count(db: OrmSession, statement: sa.Select[Any]) -> int:
    return db.scalar(sa.select(sa.func.count()).select_from(statement.limit(COUNT_TO).subquery())) or 0
