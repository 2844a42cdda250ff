"""What the sweeper does for ingestion: expired leases, idle sessions, unplanned work, jobs that nobody took."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from memorybase.database import clock, engine
from memorybase.ingestion import lost_worker, scheduler
from memorybase.queries import cursors, jobs, memory_bases, sessions
from memorybase.services import Services

SWEEP_LIMIT = 200  # of each kind a pass: the next pass is seconds away


def requeue_expired(services: Services) -> int:
    """Jobs whose worker has not renewed its lease go back to the queue, under a new epoch."""
    with services.database.reading() as db:
        expired = cursors.expired_leases(db, clock.now(db), limit=SWEEP_LIMIT)
    return sum(requeue(services, progress_id) for progress_id in expired)


def requeue(services: Services, progress_id: UUID, *, dead_owner: str | None = None, stopped: bool = False) -> bool:
    """Take the lease of a lost worker away: of that dead owner, or of anybody once it has expired."""
    with services.database.transaction() as db:
        seen = cursors.fetch_progress(db, progress_id)
        base = memory_bases.share_base(db, seen.memory_base_id) if seen else None
        if base is None or seen is None:
            return False
        # By id, since the next job may be planned. A sweeper waits for nobody who is at work there, or hangs.
        if not cursors.try_lock_session_progress(db, base, seen.session_id, wait=dead_owner is not None):
            return False
        progress = cursors.lock_progress(db, progress_id, skip_locked=True)
        now = clock.now(db)
        if progress is None or progress.lease_until is None:
            return False
        # Another worker that started with us may have been quicker, and the lease be a living one's by now.
        if progress.lease_owner != dead_owner if dead_owner else progress.lease_until >= now:
            return False
        if dead_owner:
            # Before the ring, which would find the session busy until the dead worker's lock has run out.
            base_id, session_id = base.id, progress.session_id
            engine.after_commit(db, lambda: services.locks.free(base_id, session_id))
        lost_worker.requeue_job(db, services, base, progress, now, stopped=stopped)
    return True


def requeue_jobs_of_dead_workers(
    services: Services, owner_prefix: str, alive: Callable[[str], bool], *, stopped: bool = False
) -> int:
    """A starting worker takes back what its own dead predecessors held, without waiting for their leases."""
    with services.database.reading() as db:
        leased = cursors.leases_of(db, owner_prefix)
    dead = [(progress_id, owner) for progress_id, owner in leased if not alive(owner)]
    return sum(requeue(services, progress_id, dead_owner=owner, stopped=stopped) for progress_id, owner in dead)


def flush_idle(services: Services) -> int:
    """A session that has fallen silent has what is pending ingested: a short conversation is not lost below its
    threshold."""
    with services.database.reading() as db:
        due = [
            (progress.memory_base_id, progress.id)
            for progress in cursors.idle_sessions(db, clock.now(db), limit=SWEEP_LIMIT)
        ]
    return sum(_flush_session(services, base_id, progress_id) for base_id, progress_id in due)


def _flush_session(services: Services, base_id: UUID, progress_id: UUID) -> bool:
    with services.database.transaction() as db:
        base = memory_bases.share_base(db, base_id)
        progress = cursors.fetch_progress(db, progress_id)
        if base is None or progress is None:
            return False
        session = sessions.lock_session(db, progress.flow_id, progress.session_id)
        progress = cursors.lock_progress(db, progress_id)
        if session is None or progress is None or progress.idle_due_at is None:
            return False
        now = clock.now(db)
        due = session.last_captured_at + timedelta(seconds=base.idle_after)
        off = base.idle_after == 0 or not base.auto_capture or base.deleting_at is not None
        waits = not off and due > now
        progress.idle_due_at = due if waits else None
        db.flush()
        if off or waits or progress.generation != scheduler.write_generation(base):
            return False
        return scheduler.schedule_all_pending(db, services, base, session, now) is not None


def schedule_missing(services: Services) -> int:
    """A job for every session with something owed and none active."""
    with services.database.reading() as db:
        pending = cursors.sessions_with_pending_work(db, clock.now(db), limit=SWEEP_LIMIT)
    planned = 0
    for base_id, session_id in pending:
        with services.database.transaction() as db:
            base = memory_bases.share_base(db, base_id)
            if base is not None:
                locked = cursors.lock_session_progress(db, [base_id], session_id)
                planned += scheduler.schedule_next(db, services, base, locked, clock.now(db)) is not None
    return planned


def enqueue_waiting(services: Services) -> int:
    """Ring queued jobs that nobody picked up: after a while, ever more seldom; at once when the queue is empty."""
    queue_is_empty = services.queue.backlog() == 0
    with services.database.transaction() as db:
        now = clock.now(db)
        notified_before = now - timedelta(seconds=services.settings.sweep_seconds) if queue_is_empty else None
        waiting = jobs.jobs_to_notify(db, now, notified_before=notified_before, limit=SWEEP_LIMIT)
        for job in waiting:
            pause = services.settings.notify_after_seconds * 2 ** min(job.notify_count, 16)
            job.notify_count += 1
            job.notified_at = now
            job.notify_at = now + timedelta(seconds=min(pause, services.settings.notify_max_seconds))
        if waiting:
            scheduler.enqueue_after_commit(db, services, waiting)
    return len(waiting)
