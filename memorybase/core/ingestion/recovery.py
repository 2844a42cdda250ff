"""The sweeper's part of ingestion: expired leases, idle sessions, missing jobs, lost notifications."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deadlines
from memorybase.core.database import clock, engine
from memorybase.core.database.due import change_if_due
from memorybase.core.ingestion import lost_worker, scheduler
from memorybase.core.queries import cursors, jobs, memory_bases, sessions
from memorybase.core.queries.jobs import JobRow
from memorybase.core.services import Services

SWEEP_LIMIT = 200  # rows of each kind in one pass; the next pass follows in seconds
SESSIONS_WITHOUT_JOB = 1000  # in one pass, about two seconds' work: a flush of many sessions leaves most of them to it


def requeue_expired(services: Services) -> int:
    """Requeue jobs whose lease has expired, under a new epoch."""
    with services.database.reading() as db:
        expired = cursors.expired_leases(db, clock.now(db), limit=SWEEP_LIMIT)
    return sum(requeue(services, progress_id) for progress_id in expired)


def requeue(services: Services, progress_id: UUID, *, dead_owner: str | None = None, stopped: bool = False) -> bool:
    """Revoke a lease and requeue its job: the lease of `dead_owner`, or any lease that has expired."""
    with services.database.transaction() as db:
        found = cursors.fetch_row(db, progress_id)
        base = memory_bases.share_base(db, found.memory_base_id) if found else None
        if base is None or found is None:
            return False
        # All rows of the session, since the next job may be scheduled. A sweeper does not wait for locks.
        generations = [base.serving, base.building]
        wait = dead_owner is not None
        rows = cursors.try_lock_rows(db, base.id, generations, found.session_id, wait=wait)
        if rows is None:
            return False
        # If it is not among them, the session was renamed since, or the generation was replaced.
        progress = next((row for row in rows if row.id == progress_id), None)
        progress = progress or cursors.lock_row(db, progress_id, skip_locked=True)
        now = clock.now(db)
        if progress is None or progress.lease_until is None:
            return False
        # Another worker that started at the same time may have requeued it; the lease may be a live worker's by now.
        if progress.lease_owner != dead_owner if dead_owner else progress.lease_until >= now:
            return False
        if dead_owner:
            # Before the notification: until the dead worker's lock expires, the session would be busy.
            base_id, session_id = base.id, progress.session_id
            engine.after_commit(db, lambda: services.locks.free(base_id, session_id))
        lost_worker.requeue_job(db, services, base, rows, progress, now, stopped=stopped)
    return True


def requeue_jobs_of_dead_workers(
    services: Services, owner_prefix: str, alive: Callable[[str], bool], *, stopped: bool = False
) -> int:
    """A starting worker requeues the jobs of its dead predecessors without waiting for their leases."""
    with services.database.reading() as db:
        leased = cursors.leases_of(db, owner_prefix)
    dead = [(progress_id, owner) for progress_id, owner in leased if not alive(owner)]
    return sum(requeue(services, progress_id, dead_owner=owner, stopped=stopped) for progress_id, owner in dead)


def flush_idle(services: Services) -> int:
    """Ingest pending messages of idle sessions: a session that ends below its threshold is ingested too."""
    with services.database.reading() as db:
        due = cursors.idle_sessions(db, clock.now(db), limit=SWEEP_LIMIT)
    return sum(_flush_session(services, base_id, progress_id) for base_id, progress_id in due)


def _flush_session(services: Services, base_id: UUID, progress_id: UUID) -> bool:
    with services.database.transaction() as db:
        base = memory_bases.share_base(db, base_id)
        progress = cursors.fetch_row(db, progress_id)
        if base is None or progress is None:
            return False
        session = sessions.lock_session(db, progress.flow_id, progress.session_id)
        if session is not None:  # all of its rows in the common order, before the one
            cursors.lock_rows(db, [base.id], session.session_id)
        progress = cursors.lock_row(db, progress_id)
        if session is None or progress is None or progress.idle_due_at is None:
            return False
        now = clock.now(db)
        # In the future if it was captured before the clock was stepped back.
        if session.last_captured_at > now:
            sessions.update(db, session, last_captured_at=now)
        due = session.last_captured_at + timedelta(seconds=base.idle_after)
        is_off = base.idle_after == 0 or not base.auto_capture or base.deleting_at is not None
        is_early = not is_off and due > now
        cursors.update(db, progress, idle_due_at=due if is_early else None)
        if is_off or is_early:
            return False
        # Whichever generation's row was due: what is pending is ingested into the one that is written to.
        locked = cursors.lock_rows(db, [base.id], session.session_id)
        return scheduler.schedule_all_pending(db, services, base, session, locked, now) is not None


def schedule_missing(services: Services) -> int:
    """Insert a job for every session with pending work and no active job."""
    with services.database.reading() as db:
        pending = cursors.sessions_with_pending_work(db, clock.now(db), limit=SESSIONS_WITHOUT_JOB)
    scheduled = 0
    for base_id, session_id in pending:
        with services.database.transaction() as db:
            base = memory_bases.share_base(db, base_id)
            if base is not None:
                locked = cursors.lock_rows(db, [base_id], session_id)
                scheduled += scheduler.schedule_next(db, services, base, locked, clock.now(db)) is not None
    return scheduled


def enqueue_waiting(services: Services) -> int:
    """Notify again about queued jobs that no worker took: at growing intervals, or at once if the queue is empty."""
    queue_is_empty = services.queue.backlog() == 0

    def notified_before(now: datetime) -> datetime | None:
        return now - timedelta(seconds=services.settings.sweep_seconds) if queue_is_empty else None

    return change_if_due(
        services.database,
        lambda db, now: jobs.has_job_to_notify(db, now, notified_before=notified_before(now)),
        lambda db, now: _enqueue_waiting(db, services, now, notified_before(now)),
    )


def _enqueue_waiting(db: OrmSession, services: Services, now: datetime, notified_before: datetime | None) -> int:
    waiting = jobs.jobs_to_notify(db, now, notified_before=notified_before, limit=SWEEP_LIMIT)
    jobs.set_notified(db, {job.id: now + _notify_pause(job) for job in waiting}, now)
    if waiting:
        scheduler.enqueue_after_commit(db, services, waiting)
    return len(waiting)


def _notify_pause(job: JobRow) -> timedelta:
    pause = deadlines.NOTIFY_AFTER_SECONDS * 2 ** min(job.notify_count, 16)
    return timedelta(seconds=min(pause, deadlines.NOTIFY_MAX_SECONDS))
