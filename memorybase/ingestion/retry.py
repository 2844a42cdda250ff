"""The environment failed: the job waits and is tried again. No attempt is counted against a message."""

from __future__ import annotations

import random
import time
from datetime import datetime, timedelta

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database import clock
from memorybase.ingestion.claim import Claim
from memorybase.ingestion.scheduler import audit_time, schedule_next
from memorybase.models import IngestionJob, JobKind, JobState, MemoryBase, SessionProgress
from memorybase.queries import cursors, jobs, memory_bases
from memorybase.services import Services
from memorybase.settings import Settings

RETRY_SECONDS = 1.0  # between two tries to put a job back while the database is away


def postpone(services: Services, claim: Claim, error: Exception, *, wrote: bool) -> datetime | None:
    """Put the job back for later: the environment failed, and that is never counted against the job.

    Returns when it may run again, or None when the claim is lost. Waits for a database that is away.
    """
    give_up = time.monotonic() + services.settings.job_deadline_seconds
    while True:
        try:
            return _postpone(services, claim, error, wrote=wrote)
        except errors.DatabaseUnavailable:
            # Without it there is no other work, and left to its lease the job would count this worker as lost.
            if time.monotonic() >= give_up:
                raise
            time.sleep(RETRY_SECONDS)


def _postpone(services: Services, claim: Claim, error: Exception, *, wrote: bool) -> datetime | None:
    with services.database.transaction() as db:
        base = memory_bases.share_base(db, claim.memory_base_id)
        # Rows before the job, and both rows of a session in build, as everybody does.
        locked = cursors.lock_session_progress(db, [claim.memory_base_id], claim.session_id)
        cursors.lock_progress(db, claim.progress_id)
        now = clock.now(db)
        audit_at = audit_time(now, services.settings) if wrote else None
        cursors.release_lease(
            db, progress_id=claim.progress_id, epoch=claim.epoch, audit_at=audit_at, written_as=claim.session_id
        )
        job = jobs.lock_job(db, claim.job_id)
        if job is None or job.state != JobState.RUNNING or job.epoch != claim.epoch:
            return None
        again = now + timedelta(seconds=backoff_seconds(services.settings, job.outages))
        job.state = JobState.QUEUED
        job.available_at = job.notify_at = again
        job.outages += 1
        job.attempts -= 1
        job.error = describe(error)
        if base is not None and job.kind == JobKind.REPAIR and base.building not in (None, job.generation):
            _yield_to_build(db, services, base, job, [r for r in locked if r.generation == base.building], now)
        return again


def _yield_to_build(
    db: OrmSession,
    services: Services,
    base: MemoryBase,
    job: IngestionJob,
    rows: list[SessionProgress],
    now: datetime,
) -> None:
    """A repair of the serving store that fails must not hold up the session's build, which may be what heals it.

    Its mark stays, so it is planned again behind the build's job.
    """
    job.state = JobState.CANCELLED
    db.flush()
    if schedule_next(db, services, base, rows, now) is None:
        job.state = JobState.QUEUED
    else:
        job.finished_at = now
    db.flush()


def backoff_seconds(settings: Settings, outages: int) -> float:
    """Doubling, bounded, with jitter, so that a healed store is not met by everybody at once."""
    ceiling: float = min(settings.backoff_max_seconds, settings.backoff_seconds * 2 ** min(outages, 16))
    return ceiling * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, no secret


def describe(error: Exception) -> str:
    """The error as people read it in a job. Ours never carry message text; of others only the kind is kept."""
    return error.message if isinstance(error, errors.MemorybaseError) else f"Unexpected {type(error).__name__}"
