"""Flush: ingest pending messages now, on request. The spec calls it "Sync Now"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.described import Id, SessionId
from memorybase.core.ingestion import lost_worker, scheduler
from memorybase.core.models import JobState, MemoryBase
from memorybase.core.queries import cursors, jobs, memory_bases, progress_rows, sessions
from memorybase.core.queries.cursors import ProgressRow, SessionToFlush
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.ownership import require_memory_base, require_session
from memorybase.core.services import Services


@dataclass(frozen=True, slots=True)
class JobBrief:
    """A queued job; GET /jobs/{id} shows the rest."""

    id: Id
    session_id: SessionId
    state: Annotated[JobState, Field(description="The state.")]


@dataclass(frozen=True, slots=True)
class JobConflict:
    """A session that a flush left to its active job."""

    session_id: SessionId
    job_id: Annotated[UUID, Field(description="The active job.")]
    state: Annotated[str, Field(description="The state of the job.")]


@dataclass(frozen=True, slots=True)
class SkippedSession:
    """A session that a flush named and that needs no job."""

    session_id: Annotated[str, Field(description="The session.")]
    reason: Annotated[
        Literal["nothing_pending", "not_found"],
        Field(description="`nothing_pending`, or `not_found` if there is no such session."),
    ]


@dataclass(slots=True)
class FlushResult:
    """The jobs that a flush queued, the sessions that have one already, and of a list of sessions the others."""

    jobs: Annotated[list[JobBrief], Field(description="The queued jobs.")]
    conflicts: Annotated[list[JobConflict], Field(description="Sessions that already have an active job.")]
    skipped: Annotated[
        list[SkippedSession], Field(description="Of the sessions in `session_ids`: those that need no job.")
    ] = field(default_factory=list)
    deferred: Annotated[int, Field(description="How many more sessions are due: the sweeper queues their jobs.")] = 0


MAX_SESSIONS = 1000  # in one list of sessions to flush
FLUSH_PAGE = 50  # sessions in one transaction, which holds all their locks
MAX_JOBS = 200  # queued by one flush of a flow, about a second's work
DEFERRED_PAGE = 500  # sessions in one transaction that only sets their targets


def flush(services: Services, user_id: UUID, base_id: UUID, session_id: str | None = None) -> FlushResult:
    """Queue all pending messages of the session, or of every session of the flow, whatever the threshold.

    Of a flow with very many sessions all become due at once, and the sweeper queues the jobs of most. A session with an
    active job is reported as a conflict and not changed, unless its lease has expired. Raises NotFound; if active jobs
    kept every job from starting IngestionActive, or QueueUnavailable if they are queued and no worker can be notified;
    MemoryBasePaused.
    """
    result = FlushResult([], [])
    with services.database.reading() as db:
        flow_id = _require_ingesting(db, user_id, base_id).flow_id
        if session_id is not None:
            require_session(db, flow_id, session_id)
    if session_id is not None:
        _flush_page(services, base_id, [session_id], result)
    else:
        _flush_flow(services, base_id, result)
    if result.conflicts and not result.jobs:
        conflicts = [{"session_id": c.session_id, "job_id": str(c.job_id), "state": c.state} for c in result.conflicts]
        if any(c.state == JobState.QUEUED for c in result.conflicts) and services.queue.backlog() is None:
            raise errors.QueueUnavailable(
                "The broker does not answer, so no worker is notified. The queued jobs start once it is back",
                conflicts=conflicts,
            )
        raise errors.IngestionActive(field="memory_base_id", value=base_id, conflicts=conflicts)
    return result


def flush_sessions(services: Services, user_id: UUID, base_id: UUID, session_ids: Sequence[str]) -> FlushResult:
    """Flush each of these sessions, with a result for each. Raises NotFound, MemoryBasePaused for the base."""
    result = FlushResult([], [])
    wanted = list(dict.fromkeys(session_ids))
    with services.database.reading() as db:
        flow_id = _require_ingesting(db, user_id, base_id).flow_id
        known = sessions.known_sessions(db, flow_id, wanted)
    for start in range(0, len(known), FLUSH_PAGE):
        _flush_page(services, base_id, known[start : start + FLUSH_PAGE], result)
    handled = {job.session_id for job in result.jobs} | {conflict.session_id for conflict in result.conflicts}
    result.skipped.extend(
        SkippedSession(each, "nothing_pending" if each in known else "not_found")
        for each in wanted
        if each not in handled
    )
    return result


def _require_ingesting(db: OrmSession, user_id: UUID, base_id: UUID) -> MemoryBase:
    base = require_memory_base(db, user_id, base_id)
    if base.paused_at is not None:
        raise errors.MemoryBasePaused(field="memory_base_id", value=base_id)
    return base


def _flush_flow(services: Services, base_id: UUID, result: FlushResult) -> None:
    after = ""
    while True:
        deferring = len(result.jobs) >= MAX_JOBS
        size = DEFERRED_PAGE if deferring else FLUSH_PAGE
        page = _sessions_to_flush(services, base_id, after, size)
        if deferring:
            result.conflicts += [
                JobConflict(each.session_id, each.job_id, str(each.job_state))
                for each in page
                if each.job_id is not None and each.is_pending
            ]
            result.deferred += _set_targets(services, base_id, [each.session_id for each in page if not each.job_id])
        else:
            _flush_page(services, base_id, [each.session_id for each in page], result)
        if len(page) < size:
            return
        after = page[-1].session_id


def _sessions_to_flush(services: Services, base_id: UUID, after: str, size: int) -> Sequence[SessionToFlush]:
    with services.database.reading() as db:
        base = memory_bases.fetch_row(db, base_id)
        return [] if base is None else cursors.sessions_to_flush(db, base, after=after, limit=size)


def _set_targets(services: Services, base_id: UUID, session_ids: Sequence[str]) -> int:
    """Make these sessions due without queuing jobs, and return the number that still exist."""
    with services.database.transaction() as db:
        base = memory_bases.share_base(db, base_id)
        if base is None or base.deleting_at is not None:
            return 0
        living = sessions.lock_sessions(db, base.flow_id, session_ids)
        progress_rows.set_targets(db, base, living)
        return len(living)


def _flush_page(services: Services, base_id: UUID, session_ids: Sequence[str], result: FlushResult) -> None:
    with services.database.transaction() as db:
        base = memory_bases.share_base(db, base_id)
        if base is None or base.deleting_at is not None:
            return
        now = clock.now(db)
        # Everything that locks several sessions sorts them in Python, whatever the database's collation.
        for session_id in sorted(session_ids):
            session = sessions.lock_session(db, base.flow_id, session_id)
            if session is None or session.deleted_at is not None:
                continue
            # Lock before reading the job: it cannot end before the response names it.
            locked = cursors.lock_rows(db, [base.id], session_id)
            active = jobs.active_job(db, base.id, session_id) if scheduler.may_have_active_job(base, locked) else None
            if active is None:
                job = scheduler.schedule_all_pending(db, services, base, session, locked, now)
            else:
                job = _requeue_if_expired(db, services, base, locked, active, now)
                # A conflict only if something is pending.
                if job is None and scheduler.has_pending(db, base, session, locked):
                    result.conflicts.append(JobConflict(session_id, active.id, str(active.state)))
            if job is not None:
                result.jobs.append(JobBrief(job.id, session_id, JobState(job.state)))


def _requeue_if_expired(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    locked: list[ProgressRow],
    active: JobRow,
    now: datetime,
) -> JobRow | None:
    """Requeue the job if its lease has expired; None while the lease holds."""
    row = next((each for each in locked if each.id == active.progress_id), None)
    if row is None or row.lease_until is None or row.lease_until >= now:
        return None
    return lost_worker.requeue_job(db, services, base, locked, row, now)
