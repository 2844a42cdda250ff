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
    with services.database.reading() as session:
        expired = cursors.expired_leases(session, clock.now(session), limit=SWEEP_LIMIT)
    return sum(requeue(services, row_id) for row_id in expired)


def requeue(services: Services, row_id: UUID, *, dead_owner: str | None = None, stopped: bool = False) -> bool:
    """Take the lease of a lost worker away: of that dead owner, or of anybody once it has expired."""
    with services.database.transaction() as session:
        seen = cursors.fetch_row(session, row_id)
        base = memory_bases.share_base(session, seen.memory_base_id) if seen else None
        if base is None or seen is None:
            return False
        # By id, since the next job may be planned. A sweeper waits for nobody who is at work there, or hangs.
        if not cursors.try_lock_rows_of_session(session, base, seen.session_id, wait=dead_owner is not None):
            return False
        row = cursors.lock_row(session, row_id, skip_locked=True)
        now = clock.now(session)
        if row is None or row.lease_until is None:
            return False
        # Another worker that started with us may have been quicker, and the lease be a living one's by now.
        if row.lease_owner != dead_owner if dead_owner else row.lease_until >= now:
            return False
        if dead_owner:
            # Before the ring, which would find the session busy until the dead worker's lock has run out.
            base_id, session_id = base.id, row.session_id
            engine.after_commit(session, lambda: services.locks.free(base_id, session_id))
        lost_worker.take_back(session, services, base, row, now, stopped=stopped)
    return True


def requeue_leases_of_dead(
    services: Services, owner_prefix: str, alive: Callable[[str], bool], *, stopped: bool = False
) -> int:
    """A starting worker takes back what its own dead predecessors held, without waiting for their leases."""
    with services.database.reading() as session:
        leased = cursors.leases_of(session, owner_prefix)
    dead = [(row_id, owner) for row_id, owner in leased if not alive(owner)]
    return sum(requeue(services, row_id, dead_owner=owner, stopped=stopped) for row_id, owner in dead)


def wake_idle(services: Services) -> int:
    """A session that has fallen silent has what is pending ingested: a short conversation is not lost below its
    threshold."""
    with services.database.reading() as session:
        due = [
            (row.memory_base_id, row.id) for row in cursors.idle_rows(session, clock.now(session), limit=SWEEP_LIMIT)
        ]
    return sum(_wake(services, base_id, row_id) for base_id, row_id in due)


def _wake(services: Services, base_id: UUID, row_id: UUID) -> bool:
    with services.database.transaction() as session:
        base = memory_bases.share_base(session, base_id)
        row = cursors.fetch_row(session, row_id)
        if base is None or row is None:
            return False
        conversation = sessions.lock_session(session, row.flow_id, row.session_id)
        row = cursors.lock_row(session, row_id)
        if conversation is None or row is None or row.idle_due_at is None:
            return False
        now = clock.now(session)
        due = conversation.last_captured_at + timedelta(seconds=base.idle_after)
        off = base.idle_after == 0 or not base.auto_capture or base.deleting_at is not None
        waits = not off and due > now
        row.idle_due_at = due if waits else None
        session.flush()
        if off or waits or row.generation != scheduler.fed_generation(base):
            return False
        return scheduler.owe_everything(session, services, base, conversation, now) is not None


def plan_owed(services: Services) -> int:
    """A job for every session with something owed and none active."""
    with services.database.reading() as session:
        owed = cursors.sessions_owed_work(session, clock.now(session), limit=SWEEP_LIMIT)
    planned = 0
    for base_id, session_id in owed:
        with services.database.transaction() as session:
            base = memory_bases.share_base(session, base_id)
            if base is not None:
                locked = cursors.lock_rows_of_session(session, [base_id], session_id)
                planned += scheduler.plan_next(session, services, base, locked, clock.now(session)) is not None
    return planned


def ring_waiting(services: Services) -> int:
    """Ring queued jobs that nobody picked up: after a while, ever more seldom; at once when the queue is empty."""
    queue_is_empty = services.queue.backlog() == 0
    with services.database.transaction() as session:
        now = clock.now(session)
        rung_before = now - timedelta(seconds=services.settings.sweep_seconds) if queue_is_empty else None
        waiting = jobs.jobs_to_ring(session, now, rung_before=rung_before, limit=SWEEP_LIMIT)
        for job in waiting:
            pause = services.settings.ring_after_seconds * 2 ** min(job.rings, 16)
            job.rings += 1
            job.rung_at = now
            job.ring_at = now + timedelta(seconds=min(pause, services.settings.ring_max_seconds))
        if waiting:
            scheduler.ring_after_commit(session, services, waiting)
    return len(waiting)
