"""Lists of jobs, and which of them an action of an operator takes or leaves alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import records
from memorybase.core.database.paging import (
    AnyRow,
    AnySelect,
    Condition,
    Found,
    Keyset,
    Listing,
    PageRequest,
    given,
    within,
)
from memorybase.core.models import (
    ACTIVE_STATES,
    IS_ACTIVE,
    IS_FAILED,
    IngestionJob,
    JobKind,
    JobState,
    MemoryBase,
    SessionProgress,
)
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.joins import own_base
from memorybase.core.queries.planner_hints import IS_ACTIVE_BY_INDEX

Job = IngestionJob


class JobAction(StrEnum):
    """retry: run what waits after an outage now. cancel: its messages wait for the next trigger or flush."""

    RETRY = "retry"
    CANCEL = "cancel"


class JobSkipReason(StrEnum):
    """Why an action left a job alone.

    not_found: it does not exist. ended: it is done or cancelled, or a worker or another call was first. running: a
    worker has it. due: it waits for a worker only. replaced: it failed, and other jobs took its messages. repair: the
    store must match the messages. build: cancelling it abandons the regenerate, which DELETE /jobs/{id} does.
    """

    NOT_FOUND = "not_found"
    ENDED = "ended"
    RUNNING = "running"
    DUE = "due"
    REPLACED = "replaced"
    REPAIR = "repair"
    BUILD = "build"


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs: those that match every field that is given; `since` and `until`: created then."""

    ids: Collection[UUID] | None = None
    memory_base_id: UUID | None = None
    flow_id: UUID | None = None
    session_id: str | None = None
    error_code: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    state: JobState | None = None
    kind: JobKind | None = None


class JobPlace(NamedTuple):
    """Location of a job, and why the action skips it; None: it takes it."""

    id: UUID
    memory_base_id: UUID
    session_id: str
    reason: str | None


def reason(action: JobAction, now: datetime) -> sa.ColumnElement[str | None]:
    """Why the action leaves a job alone, on Job joined to MemoryBase; null: it takes it."""
    ended = sa.case(
        (Job.state == JobState.FAILED, JobSkipReason.REPLACED.value),
        (Job.state.not_in([JobState.QUEUED, JobState.RUNNING]), JobSkipReason.ENDED.value),
        else_=None,
    )
    if action is JobAction.RETRY:
        waits = sa.case(
            (Job.state == JobState.RUNNING, JobSkipReason.RUNNING.value),
            (Job.available_at <= now, JobSkipReason.DUE.value),
            else_=None,
        )
    else:
        is_of_build = sa.and_(MemoryBase.building.is_not(None), Job.generation == MemoryBase.building)
        waits = sa.case(
            (is_of_build, JobSkipReason.BUILD.value),
            (Job.kind == JobKind.REPAIR, JobSkipReason.REPAIR.value),
            else_=None,
        )
    return sa.func.coalesce(ended, waits)


def find_jobs(
    db: OrmSession, user_id: UUID, action: JobAction, wanted: JobFilter, now: datetime, *, limit: int
) -> list[JobPlace]:
    """Jobs that the action takes, oldest first; with ids all of these, with the reasons."""
    why = reason(action, now)
    statement = sa.select(Job.id, Job.memory_base_id, Job.session_id, why.label("reason"))
    if wanted.ids is None:
        statement = statement.where(IS_ACTIVE_BY_INDEX, why.is_(None))
    found = _joined(statement).where(*_matching(user_id, wanted)).order_by(Job.created_at, Job.id)
    return [JobPlace(*row) for row in db.execute(found.limit(limit))]


def count_jobs(
    db: OrmSession, user_id: UUID, action: JobAction, wanted: JobFilter, now: datetime
) -> dict[str | None, int]:
    """Active jobs that match, and for a retry failed ones, by reason; None: those that the action takes."""
    why = reason(action, now).label("reason")
    counts: dict[str | None, int] = {}
    for which in (IS_ACTIVE_BY_INDEX, IS_FAILED) if action is JobAction.RETRY else (IS_ACTIVE_BY_INDEX,):
        statement = _joined(sa.select(why, sa.func.count().label("number"))).where(which, *_matching(user_id, wanted))
        rows = db.execute(statement.group_by(why))
        counts |= {row.reason: row.number for row in rows}
    return counts


def lock_takeable(db: OrmSession, action: JobAction, ids: Collection[UUID], now: datetime) -> list[JobRow]:
    """Lock the jobs among these that the action still takes, in the order of their ids, as workers lock several."""
    found = db.execute(
        sa.select(*records.columns(Job, JobRow))
        .join(MemoryBase, MemoryBase.id == Job.memory_base_id)
        .where(Job.id.in_(ids), reason(action, now).is_(None))
        .order_by(Job.id)
        .with_for_update(of=Job, key_share=True)
    )
    return [JobRow(*row) for row in found]


def _matching(user_id: UUID, wanted: JobFilter) -> list[Condition]:
    """The conditions of a filter, on Job joined to MemoryBase."""
    return [
        own_base(user_id),
        *given(wanted.ids, Job.id.in_),
        *given(wanted.memory_base_id, Job.memory_base_id),
        *given(wanted.flow_id, MemoryBase.flow_id),
        *given(wanted.state, _in_state),
        *given(wanted.kind, Job.kind),
        *given(wanted.session_id, _of_session),
        *given(wanted.error_code, Job.error_code),
        *within(Job.created_at, wanted.since, wanted.until),
    ]


def _joined(statement: AnySelect) -> AnySelect:
    return statement.join(MemoryBase, MemoryBase.id == Job.memory_base_id)


def _in_state(state: JobState) -> Condition:
    return sa.and_(Job.state == state, IS_ACTIVE_BY_INDEX) if state in ACTIVE_STATES else Job.state == state


def _of_session(session_id: str) -> Condition:
    """The session's jobs, by the progress row that they belong to, which follows a rename."""
    return Job.progress_id.in_(sa.select(SessionProgress.id).where(SessionProgress.session_id == session_id))


_ROWS = _joined(sa.select(Job, MemoryBase.name.label("memory_base_name"), MemoryBase.flow_id))
_JOBS = Listing(_ROWS, Keyset("jobs", (Job.created_at, Job.id), descending=True))


def jobs_page(db: OrmSession, user_id: UUID, wanted: JobFilter, request: PageRequest) -> Found:
    """Jobs of the user's memory bases."""
    return _JOBS.page(db, request, *_matching(user_id, wanted))


def fetch_job_view(db: OrmSession, user_id: UUID, job_id: UUID) -> AnyRow | None:
    return db.execute(_ROWS.where(Job.id == job_id, own_base(user_id))).one_or_none()


def fetch_holding(db: OrmSession, user_id: UUID, before: datetime | None = None) -> AnyRow | None:
    """Of the user's active jobs the one that others wait for: running before queued, started first.

    With `before` only one that was started before then, or is tried again.
    """
    is_queued = sa.case((Job.state == JobState.RUNNING, 0), else_=1)
    started = _ROWS.where(own_base(user_id), IS_ACTIVE, Job.started_at.is_not(None))
    if before is not None:
        started = started.where(sa.or_(Job.started_at < before, Job.attempts > 1, Job.outages > 0))
    return db.execute(started.order_by(is_queued, Job.started_at, Job.id).limit(1)).one_or_none()


class Embedded(NamedTuple):
    """How many chunks a job embedded, and from when to when."""

    chunks: int
    began: datetime
    ended: datetime


def embedded_lately(db: OrmSession, user_id: UUID, limit: int = 20) -> list[Embedded]:
    """Of the user's jobs that ended last those that embedded something, by the index on started_at."""
    found = (
        sa.select(Job.total_chunks, Job.embedding_at, Job.embedded_at)
        .join(MemoryBase, MemoryBase.id == Job.memory_base_id)
        .where(own_base(user_id), Job.state == JobState.DONE, Job.total_chunks > 0, Job.embedded_at.is_not(None))
        .where(Job.embedding_at.is_not(None), Job.started_at.is_not(None))
        .order_by(Job.started_at.desc())
        .limit(limit)
    )
    return [Embedded(chunks, began, ended) for chunks, began, ended in db.execute(found) if began and ended]


def owners(db: OrmSession, user_id: UUID, ids: Collection[UUID]) -> dict[UUID, str]:
    """The workers that hold these jobs of the user, without jobs that none holds."""
    rows = db.execute(
        sa.select(Job.id, SessionProgress.lease_owner)
        .join(SessionProgress, SessionProgress.id == Job.progress_id)
        .join(MemoryBase, MemoryBase.id == Job.memory_base_id)
        .where(
            own_base(user_id),
            Job.id.in_(ids),
            Job.state == JobState.RUNNING,
            SessionProgress.lease_until.is_not(None),
            SessionProgress.lease_owner.is_not(None),
        )
    )
    return {job_id: owner for job_id, owner in rows if owner is not None}


def job_views(db: OrmSession, ids: list[UUID]) -> list[AnyRow]:
    """Jobs by id, whoever owns them, without those of memory bases that are being deleted."""
    return list(db.execute(_ROWS.where(Job.id.in_(ids), MemoryBase.deleting_at.is_(None))))


def jobs_of_ids(db: OrmSession, ids: list[UUID]) -> list[Job]:
    return list(db.scalars(sa.select(Job).where(Job.id.in_(ids))))


def active_ranges(db: OrmSession, base_ids: list[UUID]) -> list[tuple[UUID, str, int]]:
    """(memory base, session, from_seq) of the active jobs of these memory bases."""
    statement = sa.select(Job.memory_base_id, Job.session_id, Job.from_seq).where(
        Job.memory_base_id.in_(base_ids), IS_ACTIVE
    )
    return [(base_id, session_id, from_seq) for base_id, session_id, from_seq in db.execute(statement)]
