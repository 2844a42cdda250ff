"""A worker died: fence it off, requeue its job, split the range, and dead-letter the last message left."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session as OrmSession

from memorybase import events
from memorybase.events import Event, EventType
from memorybase.ingestion.advance import dead_letter_event
from memorybase.ingestion.scheduler import audit_time, enqueue_after_commit, schedule_next
from memorybase.models import IngestionJob, JobKind, JobState
from memorybase.queries import cursors, dead_letters, jobs, ledger, memory_bases, messages
from memorybase.queries.cursors import ProgressRow
from memorybase.queries.jobs import JobRow
from memorybase.queries.memory_bases import BaseRow
from memorybase.services import Services
from memorybase.telemetry import get_logger

MAX_LOST_WORKERS = 3  # on one job; then its range is split

log = get_logger(__name__)


def requeue_job(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    progress: ProgressRow,
    now: datetime,
    *,
    stopped: bool = False,
) -> JobRow | None:
    """Fence off a lost worker and requeue its job; returns the session's active job. The caller locks the row.

    `stopped`: the worker was stopped on purpose, which does not count against the job.
    """
    cursors.update(
        db,
        progress,
        epoch=progress.epoch + 1,
        lease_until=None,
        lease_owner=None,
        audit_at=audit_time(now, services.settings),
    )
    job = jobs.running_job_of_session(db, progress.id)
    if job is None:
        return None
    job.state = JobState.QUEUED
    job.available_at = job.notify_at = job.notified_at = now
    job.error, job.error_code = "The worker was stopped" if stopped else "The worker was lost", None
    if job.embedding_started and not stopped:
        # In a batch any of the jobs may be the cause. Alone, it is this one.
        job.lost_workers += not job.batched
        job.run_alone = True
    db.flush()
    log.warning("job_requeued", job_id=str(job.id), lost_workers=job.lost_workers)
    if job.lost_workers >= MAX_LOST_WORKERS:
        return _split_range(db, services, base, progress, job, now)
    row = jobs.row_of(job)
    enqueue_after_commit(db, services, [row])
    return row


def _split_range(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    progress: ProgressRow,
    job: IngestionJob,
    now: datetime,
) -> JobRow | None:
    """This job ends workers: halve its range, down to one message, which becomes a dead letter."""
    if job.total <= 1:
        _give_up_on_last_message(db, services, base, progress, job, now)
    cursors.update(db, progress, job_cap=max(1, job.total // 2))
    job.state = JobState.FAILED
    job.finished_at = now
    job.error = f"{job.lost_workers} workers were lost on this job; its range is split"
    db.flush()
    events.record(db, services, base.user_id, [_failed(base, progress, job)], now)
    return schedule_next(db, services, base, cursors.lock_rows(db, [base.id], progress.session_id), now)


def _failed(base: BaseRow, progress: ProgressRow, job: IngestionJob) -> Event:
    return Event(
        EventType.JOB_FAILED,
        {
            "job_id": job.id,
            "kind": job.kind,
            "memory_base_id": base.id,
            "flow_id": base.flow_id,
            "session_id": progress.session_id,
            "generation": job.generation,
            "from_seq": job.from_seq,
            "to_seq": job.to_seq,
            "lost_workers": job.lost_workers,
        },
    )


def _give_up_on_last_message(
    db: OrmSession, services: Services, base: BaseRow, progress: ProgressRow, job: IngestionJob, now: datetime
) -> None:
    if job.audit:
        # The cause may be a message that is missing only in the store, and only an audit can tell which. Abandon the
        # audit: ingestion continues, and a consistency check shows what is missing.
        cursors.update(db, progress, audit_at=None)
        log.warning("audit_abandoned", job_id=str(job.id), progress_id=str(progress.id))
        return
    generation = memory_bases.fetch_generation(db, base.id, progress.generation)
    if job.kind == JobKind.REPAIR:
        suspects, _ = ledger.messages_to_write(
            db,
            progress_id=progress.id,
            flow_id=progress.flow_id,
            session_id=progress.session_id,
            capture=generation.capture,
            start_seq=progress.start_seq,
            cursor_seq=progress.cursor_seq,
            limit=1,
            max_bytes=0,
        )
    else:
        suspects = messages.fetch_range(
            db,
            flow_id=progress.flow_id,
            session_id=progress.session_id,
            capture=generation.capture,
            from_seq=job.from_seq,
            to_seq=job.to_seq,
        )
    # The last worker has not seen a message edited after it started. If that leaves no suspect, the next job takes one
    # message again.
    unseen = messages.edited_since(db, [m.id for m in suspects], job.started_at, now) if job.started_at else set()
    failures = [
        dead_letters.Failure(
            m.id, m.version, "worker_lost", f"{job.lost_workers} workers were lost on this message alone"
        )
        for m in suspects
        if m.id not in unseen
    ]
    dead = dead_letters.add_dead_letters(
        db, base_id=base.id, generation=progress.generation, progress_id=progress.id, failures=failures, now=now
    )
    found = [dead_letter_event(base, progress, *each) for each in zip(dead, failures, strict=True)]
    events.record(db, services, base.user_id, found, now)
