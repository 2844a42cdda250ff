"""A lease expired: fence its worker off, requeue the job, split the range, dead-letter the one message left."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session as OrmSession

from memorybase.ingestion.scheduler import audit_time, plan_next, ring_after_commit
from memorybase.models import IngestionJob, JobKind, JobState, MemoryBase, MemoryBaseSession
from memorybase.queries import cursors, dead_letters, jobs, ledger, memory_bases, sessions
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)


def take_back(
    session: OrmSession,
    services: Services,
    base: MemoryBase,
    row: MemoryBaseSession,
    now: datetime,
    *,
    stopped: bool = False,
) -> IngestionJob | None:
    """Fence off a lost worker and requeue its job; returns the session's active job. The row is locked.

    One that was stopped on purpose says nothing about its job.
    """
    row.epoch += 1
    row.lease_until = row.lease_owner = None
    row.audit_at = audit_time(now, services.settings)
    session.flush()
    job = jobs.running_job_of_row(session, row.id)
    if job is None:
        return None
    job.state = JobState.QUEUED
    job.available_at = job.ring_at = job.rung_at = now
    job.error = "The worker was stopped" if stopped else "The worker was lost"
    if job.embedding_began and not stopped:
        # Beside others nobody knows which of them it was. Alone, it was this one.
        job.deaths += not job.together
        job.suspect = True
    session.flush()
    log.warning("job_requeued", job_id=str(job.id), deaths=job.deaths)
    if job.deaths >= services.settings.worker_deaths:
        return _isolate(session, services, base, row, job, now)
    ring_after_commit(session, services, [job])
    return job


def _isolate(
    session: OrmSession,
    services: Services,
    base: MemoryBase,
    row: MemoryBaseSession,
    job: IngestionJob,
    now: datetime,
) -> IngestionJob | None:
    """Something in this job ends workers: halve it, down to the one message, which becomes a dead letter."""
    if job.total <= 1:
        _bury_deadly(session, base, row, job, now)
    row.job_cap = max(1, job.total // 2)
    job.state = JobState.FAILED
    job.finished_at = now
    job.error = f"{job.deaths} workers were lost on this job; its range is split"
    session.flush()
    return plan_next(session, services, base, cursors.lock_rows_of_session(session, [base.id], row.session_id), now)


def _bury_deadly(
    session: OrmSession, base: MemoryBase, row: MemoryBaseSession, job: IngestionJob, now: datetime
) -> None:
    if job.audit:
        # It may have died of a message that only the store lacks, and only the store could say which. Without the
        # audit the session goes on; a comparison shows what is missing.
        row.audit_at = None
        log.warning("audit_given_up", job_id=str(job.id), session_row=str(row.id))
        return
    generation = memory_bases.fetch_generation(session, base.id, row.generation)
    if job.kind == JobKind.REPAIR:
        suspects = ledger.messages_to_write(
            session,
            row_id=row.id,
            flow_id=row.flow_id,
            session_id=row.session_id,
            capture=generation.capture,
            start_seq=row.start_seq,
            cursor_seq=row.cursor_seq,
            limit=1,
        )
    else:
        suspects = sessions.fetch_range(
            session,
            flow_id=row.flow_id,
            session_id=row.session_id,
            capture=generation.capture,
            from_seq=job.from_seq,
            to_seq=job.to_seq,
        )
    # A wording that came since the last worker began is not the one it died of, though a repair may owe that message
    # first now. Without a suspect the next job takes one message alone again.
    unseen = sessions.edited_since(session, [m.id for m in suspects], job.started_at) if job.started_at else set()
    failures = [
        dead_letters.Failure(m.id, m.version, "worker_lost", f"{job.deaths} workers were lost on this message alone")
        for m in suspects
        if m.id not in unseen
    ]
    dead_letters.bury(session, base_id=base.id, generation=row.generation, row_id=row.id, failures=failures, now=now)
