"""SQL for lists of memory bases, their sessions, jobs and dead letters. Each page is a fixed number of queries."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.paging import AnyRow, AnySelect, Found, Keyset, PageRequest, fetch_page
from memorybase.models import (
    ACTIVE_STATES,
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
)
from memorybase.queries.jobs import is_active_in_session
from memorybase.queries.sessions import counted

Base = MemoryBase
Progress = SessionProgress
Job = IngestionJob

_BASES = Keyset("memories", (Base.created_at, Base.id))
_SESSIONS = Keyset("memory-sessions", (Session.created_at, Session.id))
_JOBS = Keyset("jobs", (Job.created_at, Job.id), descending=True)
_DEAD_LETTERS = Keyset("dead-letters", (DeadLetter.created_at, DeadLetter.id))


def bases_page(db: OrmSession, user_id: UUID, request: PageRequest, *, flow_id: UUID | None, count_to: int) -> Found:
    conditions = [_own_base(user_id)]
    if flow_id is not None:
        conditions.append(Base.flow_id == flow_id)
    counting = sa.select(Base.id).where(*conditions)
    return fetch_page(db, _bases(db, count_to).where(*conditions), counting, _BASES, request)


def fetch_base_view(db: OrmSession, user_id: UUID, base_id: UUID, *, count_to: int) -> AnyRow | None:
    return db.execute(_bases(db, count_to).where(Base.id == base_id, _own_base(user_id))).one_or_none()


def base_sessions_page(db: OrmSession, base: Base, capture: Capture, request: PageRequest) -> Found:
    """Every session of the flow, tracked or not, with its progress in the serving generation."""
    conditions = [Session.flow_id == base.flow_id, Session.deleted_at.is_(None)]
    counting = sa.select(Session.id).where(*conditions)
    return fetch_page(db, _base_sessions(base, capture).where(*conditions), counting, _SESSIONS, request)


def fetch_base_session(db: OrmSession, base: Base, capture: Capture, session_id: str) -> AnyRow | None:
    mine = sa.and_(
        Session.flow_id == base.flow_id, Session.session_id == session_id, Session.deleted_at.is_(None)
    )  # fmt: skip
    return db.execute(_base_sessions(base, capture).where(mine)).one_or_none()


def jobs_page(
    db: OrmSession,
    user_id: UUID,
    base_id: UUID | None,
    request: PageRequest,
    *,
    state: JobState | None,
    session_id: str | None,
) -> Found:
    """Jobs of one memory base, or of all memory bases of the user."""
    conditions = [_own_base(user_id)]
    if base_id is not None:
        conditions.append(Job.memory_base_id == base_id)
    if state is not None:
        conditions.append(Job.state == state)
    if state in ACTIVE_STATES:  # few rows: use the index on active jobs
        conditions += [IS_ACTIVE, Job.session_id >= ""]
    if session_id is not None:
        conditions.append(Job.session_id == session_id)
    counting = sa.select(Job.id).join(Base, Base.id == Job.memory_base_id).where(*conditions)
    return fetch_page(db, _jobs().where(*conditions), counting, _JOBS, request)


def fetch_job_view(db: OrmSession, user_id: UUID, job_id: UUID) -> AnyRow | None:
    return db.execute(_jobs().where(Job.id == job_id, _own_base(user_id))).one_or_none()


def _jobs() -> AnySelect:
    return sa.select(Job, Base.name.label("memory_base_name")).join(Base, Base.id == Job.memory_base_id)


def job_views(db: OrmSession, ids: list[UUID]) -> list[AnyRow]:
    """These jobs, whoever owns them, of memory bases that are not being deleted."""
    return list(db.execute(_jobs().where(Job.id.in_(ids), Base.deleting_at.is_(None))))


def jobs_of_ids(db: OrmSession, ids: list[UUID]) -> list[Job]:
    return list(db.scalars(sa.select(Job).where(Job.id.in_(ids))))


def active_ranges(db: OrmSession, base_ids: list[UUID]) -> list[tuple[UUID, str, int]]:
    """(memory base, session, from_seq) of the active jobs of these memory bases."""
    statement = sa.select(Job.memory_base_id, Job.session_id, Job.from_seq).where(
        Job.memory_base_id.in_(base_ids), IS_ACTIVE
    )
    return [(base_id, session_id, from_seq) for base_id, session_id, from_seq in db.execute(statement)]


def pending_targets(db: OrmSession, base: Base, session_ids: list[str]) -> dict[str, int]:
    """The target seq of each session in the generation that captures feed."""
    fed = base.serving if base.building is None else base.building
    statement = sa.select(Progress.session_id, Progress.target_seq).where(
        Progress.memory_base_id == base.id, Progress.generation == fed, Progress.session_id.in_(session_ids)
    )
    return {row.session_id: row.target_seq for row in db.execute(statement)}


def dead_letters_page(db: OrmSession, base: Base, request: PageRequest) -> Found:
    """Dead letters of the serving and the building generation; the message is null if it was deleted since."""
    conditions = _shown_dead_letters(base.id, base.serving, base.building)
    statement = (
        sa.select(DeadLetter, Progress.session_id, Message, Session.end_user_id, sa.null().label("ingested"))
        .join(Progress, Progress.id == DeadLetter.progress_id)
        .outerjoin(Message, Message.id == DeadLetter.message_id)
        .outerjoin(Session, sa.and_(Session.flow_id == Progress.flow_id, Session.session_id == Progress.session_id))
    )
    counting = sa.select(DeadLetter.id).where(*conditions)
    return fetch_page(db, statement.where(*conditions), counting, _DEAD_LETTERS, request)


def _base_sessions(base: Base, capture: Capture) -> AnySelect:
    served = sa.and_(
        Progress.memory_base_id == base.id,
        Progress.generation == base.serving,
        Progress.session_id == Session.session_id,
    )
    return sa.select(
        Session.session_id,
        Progress.id,
        Progress.cursor_id,
        Progress.cursor_seq,
        Progress.total_processed,
        Progress.last_sync_at,
        _counted_messages(capture).label("total_messages"),
        _counted_messages(capture, Message.seq > sa.func.coalesce(Progress.cursor_seq, 0)).label("pending_messages"),
        is_active_in_session(base.id).label("active"),
        _has_dead_letter().label("dead"),
        _last_job_failed().label("failed"),
    ).outerjoin(Progress, served)


def _own_base(user_id: UUID) -> sa.ColumnElement[bool]:
    return sa.and_(Base.user_id == user_id, Base.deleting_at.is_(None))


def _bases(db: OrmSession, count_to: int) -> AnySelect:
    is_sqlite = db.get_bind().dialect.name == "sqlite"
    served = sa.and_(Generation.memory_base_id == Base.id, Generation.generation == Base.serving)
    return sa.select(
        Base,
        Generation.capture,
        Generation.embedding_model,
        _pending(count_to, is_sqlite=is_sqlite).label("pending_messages"),
        _of_rows(sa.func.coalesce(sa.func.sum(Progress.total_processed), 0)).label("total_processed"),
        _of_rows(sa.func.max(Progress.last_sync_at)).label("last_sync_at"),
        _sessions_of_flow().label("sessions"),
        _dead_letters().label("dead_letters"),
        _has_job().label("active"),
        # A queued job that was postponed by an outage.
        _has_job(Job.state == JobState.QUEUED, Job.outages > 0, Job.error.is_not(None)).label("waiting"),
    ).join(Generation, served)


def _pending(count_to: int, *, is_sqlite: bool) -> sa.ColumnElement[int]:
    """Counted messages beyond the cursors, up to `count_to`; a session without any costs one index look-up."""
    # The database evaluates one of the two; each reads only an index.
    return sa.case(
        (Generation.capture == Capture.OUTPUTS, _pending_of(Capture.OUTPUTS, count_to, is_sqlite=is_sqlite)),
        else_=_pending_of(Capture.ALL, count_to, is_sqlite=is_sqlite),
    )


def _pending_of(capture: Capture, count_to: int, *, is_sqlite: bool) -> sa.ColumnElement[int]:
    cursor = sa.func.coalesce(Progress.cursor_seq, 0)
    served = sa.and_(
        Progress.memory_base_id == Base.id,
        Progress.generation == Base.serving,
        Progress.session_id == Session.session_id,
    )
    beyond = (
        # The coalesce hides the constant flow_id from the planner: it must go from the sessions that are behind to
        # their messages, and not through the flow's whole history.
        Message.flow_id == sa.func.coalesce(Session.flow_id, Session.flow_id),
        Message.session_id == Session.session_id,
        counted(capture),
        Message.seq > cursor,
    )
    found = sa.select(sa.literal(1).label("one")).select_from(Session).outerjoin(Progress, served)
    if is_sqlite:
        found = found.join(Message, sa.and_(*beyond))
    else:
        # PostgreSQL keeps that order because it cannot pull up an OFFSET; SQLite has no LATERAL and keeps it anyway.
        messages = sa.select(Message.seq).where(*beyond).correlate(Session, Progress).offset(0).lateral()
        found = found.join(messages, sa.true())
    limited = (
        found.where(Session.flow_id == Base.flow_id, Session.deleted_at.is_(None), Session.last_seq > cursor)
        .limit(count_to)
        .correlate(Base)
        .subquery()
    )
    return sa.select(sa.func.count()).select_from(limited).scalar_subquery()


def _of_rows(aggregate: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    serving = sa.and_(Progress.memory_base_id == Base.id, Progress.generation == Base.serving)
    return sa.select(aggregate).select_from(Progress).where(serving).correlate(Base).scalar_subquery()


def _sessions_of_flow() -> sa.ColumnElement[int]:
    statement = sa.select(sa.func.count()).select_from(Session)
    statement = statement.where(Session.flow_id == Base.flow_id, Session.deleted_at.is_(None))
    return statement.correlate(Base).scalar_subquery()


def _dead_letters() -> sa.ColumnElement[int]:
    statement = sa.select(sa.func.count()).select_from(DeadLetter)
    statement = statement.where(*_shown_dead_letters(Base.id, Base.serving, Base.building))
    return statement.correlate(Base).scalar_subquery()


def _shown_dead_letters(base_id: Any, serving: Any, building: Any) -> list[sa.ColumnElement[bool]]:
    return [
        DeadLetter.memory_base_id == base_id,
        sa.or_(DeadLetter.generation == serving, DeadLetter.generation == building),
        DeadLetter.state != "discarded",
    ]


def _has_job(*conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    # The condition on its second column makes SQLite choose the index on active jobs, not the one on all jobs.
    return (
        sa.select(Job.id)
        .where(Job.memory_base_id == Base.id, Job.session_id >= "", IS_ACTIVE, *conditions)
        .correlate(Base)
        .exists()
    )


def _counted_messages(capture: Capture, *conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    statement = sa.select(sa.func.count()).select_from(Message)
    of_session = sa.and_(Message.flow_id == Session.flow_id, Message.session_id == Session.session_id)
    return statement.where(of_session, counted(capture), *conditions).correlate(Session, Progress).scalar_subquery()


def _has_dead_letter() -> sa.ColumnElement[bool]:
    dead = sa.select(DeadLetter.id).where(DeadLetter.progress_id == Progress.id, DeadLetter.state == "dead")
    return dead.correlate(Progress).exists()


def _last_job_failed() -> sa.ColumnElement[bool]:
    last = (
        sa.select(Job.state == JobState.FAILED)
        .where(Job.progress_id == Progress.id)
        .order_by(Job.created_at.desc(), Job.id.desc())
        .limit(1)
        .correlate(Progress)
    )
    return sa.func.coalesce(last.scalar_subquery(), sa.false())
