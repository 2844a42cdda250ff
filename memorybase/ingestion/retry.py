"""Postpones a job without counting an attempt against its messages: the environment failed, or others wait."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from sqlalchemy.orm import Session as OrmSession

from memorybase import deadlines, errors, events
from memorybase.database import clock
from memorybase.ingestion import scheduler
from memorybase.ingestion.claim import Claim
from memorybase.ingestion.scheduler import audit_time, schedule_next
from memorybase.models import IngestionJob, JobKind, JobState
from memorybase.queries import cursors, jobs, memory_bases
from memorybase.queries.cursors import ProgressRow
from memorybase.queries.memory_bases import BaseRow
from memorybase.services import Services
from memorybase.settings import Settings

Result = TypeVar("Result")

RETRY_SECONDS = 1.0  # between two attempts to postpone a job while the database is unavailable


def postpone(services: Services, claim: Claim, error: Exception, *, wrote: bool) -> datetime | None:
    """Requeue the job for later. Returns when it may run again, or None if the claim is lost.

    Waits for a database that is unavailable.
    """
    return _once_available(partial(_postpone, services, claim, error, wrote=wrote))


def give_way(services: Services, claim: Claim, stored_chunks: int) -> bool:
    """Queue the job behind those that wait; it continues behind the chunks that are stored. False: the claim is lost.

    Waits for a database that is unavailable.
    """
    return _once_available(partial(_give_way, services, claim, stored_chunks))


def _once_available(step: Callable[[], Result]) -> Result:
    give_up_at = time.monotonic() + deadlines.JOB_SECONDS
    while True:
        try:
            return step()
        except errors.DatabaseUnavailable:
            # There is no other work without the database, and an expired lease would count as a lost worker.
            if time.monotonic() >= give_up_at:
                raise
            time.sleep(RETRY_SECONDS)


def _give_way(services: Services, claim: Claim, stored_chunks: int) -> bool:
    with services.database.transaction() as db:
        # Audited: if the job is cancelled before it continues, nothing else finds these chunks.
        released = _release(db, services, claim, wrote=True)
        if released is None or released.base is None or released.progress is None:
            return False
        job, now = released.job, released.at
        left = job.total_chunks - stored_chunks
        job.state = JobState.QUEUED
        job.available_at = job.notified_at = now
        job.notify_at = now + timedelta(seconds=deadlines.NOTIFY_AFTER_SECONDS)
        job.attempts -= 1
        job.lost_workers, job.stored_chunks = 0, stored_chunks
        job.virtual_time = scheduler.virtual_time(db, released.base, job.kind, left)
        db.flush()
        scheduler.enqueue_after_commit(db, services, [jobs.row_of(job)])
        return True


def _postpone(services: Services, claim: Claim, error: Exception, *, wrote: bool) -> datetime | None:
    with services.database.transaction() as db:
        released = _release(db, services, claim, wrote=wrote)
        if released is None:
            return None
        base, job, now = released.base, released.job, released.at
        retry_at = now + timedelta(seconds=backoff_seconds(services.settings, job.outages))
        job.state = JobState.QUEUED
        job.available_at = job.notify_at = retry_at
        job.outages += 1
        job.attempts -= 1
        job.error, job.error_code = describe(error), getattr(error, "code", None)
        if isinstance(error, errors.CollectionMissing):
            # The sweeper compares no memory base that has an active job.
            began = memory_bases.mark_mismatch(db, claim.memory_base_id, claim.generation, now)
            events.record_mismatch(db, services, began, now)
        if base is not None and job.kind == JobKind.REPAIR and base.building not in (None, job.generation):
            _yield_to_build(db, services, base, job, [r for r in released.rows if r.generation == base.building], now)
        return retry_at


@dataclass(frozen=True, slots=True)
class _Released:
    """What a transaction holds after it released a claim's lease."""

    base: BaseRow | None
    rows: list[ProgressRow]  # of the session in the memory base; two during a build
    progress: ProgressRow | None
    job: IngestionJob
    at: datetime


def _release(db: OrmSession, services: Services, claim: Claim, *, wrote: bool) -> _Released | None:
    """Release the claim's lease, and note an audit of what it wrote. None if the claim is lost.

    In the common lock order: the session's rows, then the job.
    """
    base = memory_bases.share_base(db, claim.memory_base_id)
    rows = cursors.lock_rows(db, [claim.memory_base_id], claim.session_id)
    progress = cursors.lock_row(db, claim.progress_id)
    now = clock.now(db)
    audit_at = audit_time(now, services.settings) if wrote else None
    cursors.release_lease(
        db, progress_id=claim.progress_id, epoch=claim.epoch, audit_at=audit_at, written_as=claim.session_id
    )
    job = jobs.lock_job(db, claim.job_id)
    if job is None or (job.state, job.epoch) != (JobState.RUNNING, claim.epoch):
        return None
    return _Released(base, rows, progress, job, now)


def _yield_to_build(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    job: IngestionJob,
    rows: list[ProgressRow],
    now: datetime,
) -> None:
    """A failing repair of the serving generation must not block the build, which may be the fix.

    The row stays dirty, so the repair is scheduled again after the build's job.
    """
    job.state = JobState.CANCELLED
    db.flush()
    if schedule_next(db, services, base, rows, now) is None:
        job.state = JobState.QUEUED
    else:
        job.finished_at = now
    db.flush()


def backoff_seconds(settings: Settings, outages: int) -> float:
    """Exponential, bounded, with jitter, so that not all jobs reach a recovered store at once."""
    ceiling: float = min(settings.backoff_max_seconds, deadlines.BACKOFF_SECONDS * 2 ** min(outages, 16))
    return ceiling * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, no secret


def describe(error: Exception) -> str:
    """The error as a job shows it. Our errors never contain message text; of others only the type is kept."""
    return error.message if isinstance(error, errors.MemorybaseError) else f"Unexpected {type(error).__name__}"
