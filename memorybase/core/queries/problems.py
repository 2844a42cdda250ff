"""SQL for problems of a user's memory bases, each in one bounded query for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow, AnySelect
from memorybase.core.models import (
    IS_ACTIVE,
    Capture,
    DeadLetter,
    Generation,
    IngestionJob,
    JobState,
    MemoryBase,
    Message,
    Session,
    SessionProgress,
    UtcDateTime,
)
from memorybase.core.queries.joins import SERVES, own_base
from memorybase.core.queries.pending import walk_behind

Base = MemoryBase
Job = IngestionJob
Progress = SessionProgress

COUNT_TO = 1_000  # of a memory base's messages


class Rows(NamedTuple):
    """The worst rows, and how many there are in all."""

    rows: Sequence[AnyRow]
    total: int


def lost(db: OrmSession, user_id: UUID, limit: int) -> Rows:
    """Memory bases whose last comparison found a mismatch, the oldest problem first."""
    serving = sa.and_(Progress.memory_base_id == Base.id, Progress.generation == Base.serving)
    chunks = sa.select(sa.func.coalesce(sa.func.sum(Progress.total_chunks), 0)).where(serving)
    statement = sa.select(
        Base.id,
        Base.name,
        Base.building,
        Base.mismatch_since,
        Base.mismatch_checked_at,
        Base.chunks_missing.label("missing"),
        chunks.correlate(Base).scalar_subquery().label("expected"),
    ).where(own_base(user_id), Base.mismatch == sa.true())
    return _first(db, statement, (sa.func.coalesce(Base.mismatch_since, Base.mismatch_checked_at), Base.id), limit)


def rebuilt(db: OrmSession, since: datetime, user_id: UUID | None) -> tuple[int, int]:
    """Number of memory bases of the user, or of all, whose store is known to be complete since then; and of all."""
    is_whole = sa.and_(Base.mismatch == sa.false(), Base.mismatch_checked_at >= since)
    is_done = sa.and_(Base.building.is_(None), sa.or_(Generation.created_at >= since, is_whole))
    statement = sa.select(sa.func.count().filter(is_done), sa.func.count()).join(Generation, SERVES)
    mine = Base.deleting_at.is_(None) if user_id is None else own_base(user_id)
    done, total = db.execute(statement.where(mine)).one()
    return done, total


def failed(db: OrmSession, user_id: UUID, limit: int) -> Rows:
    """Memory bases with messages that could not be embedded and that are not being retried."""
    text = sa.cast(Message.content, sa.Text)
    statement = (
        sa.select(
            Base.id,
            Base.name,
            sa.func.count(sa.distinct(DeadLetter.message_id)).label("messages"),
            sa.func.count(sa.distinct(text)).label("texts"),
            sa.func.count(sa.distinct(DeadLetter.progress_id)).label("sessions"),
            sa.func.min(DeadLetter.created_at, type_=UtcDateTime()).label("since"),
            sa.func.min(DeadLetter.error_code).label("error_code"),
        )
        .join(
            DeadLetter,
            sa.and_(DeadLetter.memory_base_id == Base.id, DeadLetter.generation.in_([Base.serving, Base.building])),
        )
        .join(Message, Message.id == DeadLetter.message_id)
        .where(own_base(user_id), DeadLetter.state == "dead")
        .group_by(Base.id, Base.name)
    )
    return _first(db, statement, (sa.literal_column("since"), Base.id), limit)


def long_jobs(db: OrmSession, user_id: UUID, before: datetime, limit: int) -> Rows:
    """Jobs of long messages that were started before then and still run, or wait for their next turn; oldest first."""
    statement = (
        sa.select(
            Base.id,
            Base.name,
            Job.id.label("job_id"),
            Job.session_id,
            Job.stored_chunks,
            Job.total_chunks,
            Job.started_at,
        )
        .join(Job, Job.memory_base_id == Base.id)
        .where(own_base(user_id), IS_ACTIVE, Job.started_at < before, Job.total_chunks > 0)
    )
    return _first(db, statement, (Job.started_at, Job.id), limit)


def oldest_job(db: OrmSession, user_id: UUID) -> datetime | None:
    """When the oldest of the user's active jobs was created."""
    active = sa.select(sa.func.min(Job.created_at, type_=UtcDateTime())).join(Base, Base.id == Job.memory_base_id)
    return db.scalar(active.where(own_base(user_id), IS_ACTIVE))


def waiting_jobs(db: OrmSession, user_id: UUID) -> int:
    """The user's queued jobs, up to COUNT_TO."""
    queued = sa.select(Job.id).join(Base, Base.id == Job.memory_base_id)
    queued = queued.where(own_base(user_id), Job.state == JobState.QUEUED).limit(COUNT_TO)
    return db.scalar(sa.select(sa.func.count()).select_from(queued.subquery())) or 0


def paused(db: OrmSession, user_id: UUID, limit: int) -> Rows:
    """Memory bases that are paused or do not capture by themselves, with messages that nothing will ingest."""
    bases = (
        sa.select(Base.id, Generation.capture)
        .join(Generation, SERVES)
        .where(
            own_base(user_id),
            sa.or_(Base.paused_at.is_not(None), sa.and_(Base.auto_capture == sa.false(), Base.building.is_(None))),
        )
        .order_by(Base.created_at, Base.id)
        .limit(limit)
    )
    found = db.execute(bases).all()
    if not found:
        return Rows([], 0)
    waiting = sa.union_all(*(_waiting(db, row.id, Capture(row.capture)) for row in found)).subquery()
    statement = (
        sa.select(
            Base.id,
            Base.name,
            Base.paused_at,
            sa.func.count().label("messages"),
            sa.func.count(sa.distinct(waiting.c.session_id)).label("sessions"),
            sa.func.min(waiting.c.captured_at, type_=UtcDateTime()).label("since"),
        )
        .join(waiting, waiting.c.memory_base_id == Base.id)
        .group_by(Base.id, Base.name, Base.paused_at)
    )
    return _first(db, statement, (sa.literal_column("since"), Base.id), limit)


def _waiting(db: OrmSession, base_id: UUID, capture: Capture) -> sa.Select[*tuple[Any, ...]]:
    """Counted messages of one memory base beyond its cursors that no job is due to ingest, up to COUNT_TO."""
    walk = walk_behind(db, sa.select(Base.id).join(Session, Session.flow_id == Base.flow_id))
    statement, (captured_at,) = walk.join_messages(capture, Message.captured_at)
    rows = (
        statement.with_only_columns(
            Base.id.label("memory_base_id"), Session.session_id, captured_at.label("captured_at")
        )
        .where(Base.id == base_id, sa.or_(walk.target <= walk.cursor, Base.paused_at.is_not(None)))
        .limit(COUNT_TO)
        .subquery()
    )
    return sa.select(rows)


def _first(db: OrmSession, statement: AnySelect, order: tuple[Any, ...], limit: int) -> Rows:
    rows = db.execute(statement.order_by(*order).limit(limit)).all()
    if len(rows) < limit:
        return Rows(rows, len(rows))
    return Rows(rows, db.scalar(sa.select(sa.func.count()).select_from(statement.subquery())) or 0)
