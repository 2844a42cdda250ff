"""SQL for the sessions of a memory base, with their progress. A page is a fixed number of queries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.core.database.paging import AnySelect, Found, Keyset, PageRequest, fetch_page, given
from memorybase.core.models import (
    IS_FAILED,
    Capture,
    DeadLetter,
    Generation,
    IngestionJob,
    JobState,
    MemoryBase,
    Message,
    PlannedDeletion,
    Session,
    SessionProgress,
)
from memorybase.core.queries.jobs import is_active_in_session
from memorybase.core.queries.joins import MESSAGE_OF_SESSION, SERVES, serving_progress
from memorybase.core.queries.pending import CURSOR, by_capture, is_counted, is_pending, walk_behind
from memorybase.core.queries.planner_hints import IS_ACTIVE_BY_INDEX
from memorybase.core.queries.session_lists import SessionOrder
from memorybase.core.queries.text_filter import NAMES, contains

Base = MemoryBase
Progress = SessionProgress
Job = IngestionJob
NEAR_TO = 1_000  # sessions near their threshold are counted up to here


class SessionState(StrEnum):
    """The progress of a session in a memory base."""

    SYNCED = "synced"
    PENDING = "pending"
    INGESTING = "ingesting"
    FAILED = "failed"


_SESSIONS: dict[SessionOrder, Keyset] = {
    "created": Keyset("memory-sessions", (Session.created_at, Session.id)),
    "recent": Keyset("memory-sessions-recent", (Session.last_captured_at, Session.id), descending=True),
}


@dataclass(frozen=True, slots=True)
class BaseSessionQuery:
    """Which sessions of a memory base, and their order. `text` is part of the session's id, title or end user."""

    state: SessionState | None = None
    end_user_id: str | None = None
    text: str | None = None
    order: SessionOrder = "created"
    without_planned: bool = False  # leave out those that are deleted soon


def base_sessions_page(
    db: OrmSession, base: Base, capture: Capture, query: BaseSessionQuery, request: PageRequest
) -> Found:
    """Every session of the flow, tracked or not, with its progress in the serving generation."""
    conditions = _session_conditions(base, capture, query)
    keys = (
        sa.select(Session.id, Progress.id.label("progress"))
        .outerjoin(Progress, serving_progress(base=base))
        .where(*conditions)
    )
    counting = keys if query.state is not None else sa.select(Session.id).where(*conditions)
    found = fetch_page(db, keys, counting, _SESSIONS[query.order], request)
    # The numbers of the page alone: otherwise a database computes those of every row that an offset skips.
    ids = [row.id for row in found.rows]
    numbers = {row.key: row for row in db.execute(_base_sessions(base, capture).where(Session.id.in_(ids)))}
    return replace(found, rows=[numbers[each] for each in ids if each in numbers])


def sessions_near_threshold(db: OrmSession, base_ids: list[UUID], share: float) -> dict[UUID, int]:
    """Sessions with this share of their memory base's threshold pending and no ingestion due, up to 1,000 each."""
    near = by_capture(lambda capture: _near_of(db, capture, share))
    statement = sa.select(Base.id, near).join(Generation, SERVES).where(Base.id.in_(base_ids))
    return {row[0]: row[1] for row in db.execute(statement)}


def _near_of(db: OrmSession, capture: Capture, share: float) -> sa.ColumnElement[int]:
    walk = walk_behind(db, sa.select(sa.literal(1).label("one")).select_from(Session))
    enough = Base.threshold * share
    pending = sa.select(sa.func.count()).where(
        MESSAGE_OF_SESSION,
        is_pending(capture, walk.cursor),
    )
    found = walk.statement.where(
        # The distance of the seq numbers excludes most sessions before any message is counted.
        Session.last_seq - walk.cursor >= enough,
        walk.target <= walk.cursor,
        pending.correlate_except(Message).scalar_subquery() >= enough,
    )
    return sa.select(sa.func.count()).select_from(found.limit(NEAR_TO).correlate(Base).subquery()).scalar_subquery()


def _base_sessions(base: Base, capture: Capture) -> AnySelect:
    return sa.select(
        Session.id.label("key"),
        Session.session_id,
        Session.end_user_id,
        Session.last_captured_at,
        Progress.id,
        Progress.cursor_id,
        Progress.cursor_seq,
        Progress.total_processed,
        Progress.last_sync_at,
        _count_messages(is_counted(capture)).label("total_messages"),
        _count_messages(is_pending(capture, CURSOR)).label("pending_messages"),
        is_active_in_session(base.id).label("active"),
        _has_dead_letter().label("dead"),
        _last_job_failed().label("failed"),
    ).outerjoin(Progress, serving_progress(base=base))


def _session_conditions(base: Base, capture: Capture, query: BaseSessionQuery) -> list[sa.ColumnElement[bool]]:
    return [
        Session.flow_id == base.flow_id,
        Session.deleted_at.is_(None),
        *given(query.end_user_id, Session.end_user_id),
        *([Session.id.not_in(sa.select(PlannedDeletion.session_uuid))] if query.without_planned else []),
        *given(query.text, lambda text: contains(text, *NAMES)),
        *given(query.state, lambda state: sa.and_(*_in_state(base, capture, state))),
    ]


def _in_state(base: Base, capture: Capture, state: SessionState) -> list[sa.ColumnElement[bool]]:
    """The conditions of a state. Few sessions have a job or failed: they come from small indexes."""
    active = Session.session_id.in_(sa.select(Job.active_in).where(Job.memory_base_id == base.id, IS_ACTIVE_BY_INDEX))
    failed = Session.session_id.in_(
        sa.select(Progress.session_id).where(
            Progress.memory_base_id == base.id,
            Progress.generation == base.serving,
            Progress.id.in_(_dead_rows(base).union(_failed_rows(base))),
        )
    )
    if state is SessionState.INGESTING:
        return [active]
    if state is SessionState.FAILED:
        return [failed, sa.not_(active)]
    beyond = sa.select(Message.seq).where(
        MESSAGE_OF_SESSION,
        is_pending(capture, CURSOR),
    )
    pending = sa.and_(Session.last_seq > CURSOR, beyond.correlate(Session, Progress).exists())
    return [pending if state is SessionState.PENDING else sa.not_(pending), sa.not_(failed), sa.not_(active)]


def _dead_rows(base: Base) -> sa.Select[UUID]:
    return sa.select(DeadLetter.progress_id).where(
        DeadLetter.memory_base_id == base.id, DeadLetter.generation == base.serving, DeadLetter.state == "dead"
    )


def _failed_rows(base: Base) -> sa.Select[UUID]:
    """Rows whose last job failed."""
    later = aliased(Job)
    is_later = sa.tuple_(later.created_at, later.id) > sa.tuple_(Job.created_at, Job.id)
    has_later = sa.select(later.id).where(later.progress_id == Job.progress_id, is_later).correlate(Job).exists()
    return sa.select(Job.progress_id).where(Job.memory_base_id == base.id, IS_FAILED, ~has_later)


def _count_messages(which: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    statement = sa.select(sa.func.count()).select_from(Message)
    return statement.where(MESSAGE_OF_SESSION, which).correlate(Session, Progress).scalar_subquery()


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
