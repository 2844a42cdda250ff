"""Sweep: what nobody else came back for. The last part of the flow that ingestion.py begins.

Any number of sweepers, each in a process of its own; every step is its own short transactions. No threshold is
evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal
from uuid import UUID

from memorybase import errors, leases, lifecycle, planning
from memorybase.conversation import chat_summaries, node_objects, summarising
from memorybase.database import clock, engine
from memorybase.queries import bases, conversations, heartbeats, jobs, rows, tickets
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)


@dataclass(slots=True)
class SweepReport:
    """What one pass found to do."""

    requeued: int = 0
    idle: int = 0
    planned: int = 0
    rung: int = 0
    deletions: int = 0
    builds: int = 0
    retired: int = 0
    sessions_removed: int = 0
    ids_forgotten: int = 0
    mismatches: int = 0
    summaries: int = 0
    tickets_forgotten: int = 0
    node_memory: int = 0
    failed_steps: list[str] = field(default_factory=list)


SWEEP_LIMIT = 200  # of each kind a pass: the next pass is seconds away
TICKETS_LIMIT = 5_000  # any key may make links, faster than a pass is long


def sweep(services: Services) -> SweepReport:
    """One pass. A step whose surroundings fail is named in the report and tried again in the next pass."""
    report = SweepReport()
    steps: dict[str, Callable[[Services], int]] = {
        "requeued": requeue_expired,
        "idle": wake_idle,
        "planned": plan_owed,
        "rung": ring_waiting,
        "deletions": lifecycle.finish_deletions,
        "builds": lifecycle.finish_builds,
        "retired": lifecycle.drop_retired,
        "sessions_removed": lifecycle.remove_deleted_sessions,
        "ids_forgotten": lifecycle.forget_deleted,
        "mismatches": lifecycle.compare_counts,
        "summaries": ring_summaries,
        "tickets_forgotten": forget_tickets,
        "node_memory": node_objects.ring_clean_up,
    }
    for name, step in steps.items():
        try:
            setattr(report, name, step(services))
        except errors.EnvironmentFailure as error:
            log.warning("sweep_step_failed", step=name, error_code=error.code)
            report.failed_steps.append(name)
        except Exception:  # the pass's edge: one step's defect must not keep deletions and rings waiting
            log.exception("sweep_step_broken", step=name)
            report.failed_steps.append(name)
    return report


def ring_summaries(services: Services) -> int:
    """For summaries of sessions and of chats that nobody makes."""
    return summarising.ring_owed(services) + chat_summaries.ring_owed(services)


def requeue_expired(services: Services) -> int:
    """Jobs whose worker has not renewed its lease go back to the queue, under a new epoch."""
    with services.database.reading() as session:
        expired = rows.expired_leases(session, clock.now(session), limit=SWEEP_LIMIT)
    return sum(requeue(services, row_id) for row_id in expired)


def requeue(services: Services, row_id: UUID, *, dead_owner: str | None = None, stopped: bool = False) -> bool:
    """Take the lease of a lost worker away: of that dead owner, or of anybody once it has expired."""
    with services.database.transaction() as session:
        seen = rows.fetch_row(session, row_id)
        base = bases.share_base(session, seen.memory_base_id) if seen else None
        if base is None or seen is None:
            return False
        # By id, since the next job may be planned. A sweeper waits for nobody who is at work there, or hangs.
        if not rows.try_lock_rows_of_session(session, base, seen.session_id, wait=dead_owner is not None):
            return False
        row = rows.lock_row(session, row_id, skip_locked=True)
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
        leases.take_back(session, services, base, row, now, stopped=stopped)
    return True


def requeue_leases_of_dead(
    services: Services, owner_prefix: str, alive: Callable[[str], bool], *, stopped: bool = False
) -> int:
    """A starting worker takes back what its own dead predecessors held, without waiting for their leases."""
    with services.database.reading() as session:
        leased = rows.leases_of(session, owner_prefix)
    dead = [(row_id, owner) for row_id, owner in leased if not alive(owner)]
    return sum(requeue(services, row_id, dead_owner=owner, stopped=stopped) for row_id, owner in dead)


def wake_idle(services: Services) -> int:
    """A session that has fallen silent has what is pending ingested: a short conversation is not lost below its
    threshold."""
    with services.database.reading() as session:
        due = [(row.memory_base_id, row.id) for row in rows.idle_rows(session, clock.now(session), limit=SWEEP_LIMIT)]
    return sum(_wake(services, base_id, row_id) for base_id, row_id in due)


def _wake(services: Services, base_id: UUID, row_id: UUID) -> bool:
    with services.database.transaction() as session:
        base = bases.share_base(session, base_id)
        row = rows.fetch_row(session, row_id)
        if base is None or row is None:
            return False
        conversation = conversations.lock_session(session, row.flow_id, row.session_id)
        row = rows.lock_row(session, row_id)
        if conversation is None or row is None or row.idle_due_at is None:
            return False
        now = clock.now(session)
        due = conversation.last_captured_at + timedelta(seconds=base.idle_after)
        off = base.idle_after == 0 or not base.auto_capture or base.deleting_at is not None
        waits = not off and due > now
        row.idle_due_at = due if waits else None
        session.flush()
        if off or waits or row.generation != planning.fed_generation(base):
            return False
        return planning.owe_everything(session, services, base, conversation, now) is not None


def plan_owed(services: Services) -> int:
    """A job for every session with something owed and none active."""
    with services.database.reading() as session:
        owed = rows.sessions_owed_work(session, clock.now(session), limit=SWEEP_LIMIT)
    planned = 0
    for base_id, session_id in owed:
        with services.database.transaction() as session:
            base = bases.share_base(session, base_id)
            if base is not None:
                locked = rows.lock_rows_of_session(session, [base_id], session_id)
                planned += planning.plan_next(session, services, base, locked, clock.now(session)) is not None
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
            planning.ring_after_commit(session, services, waiting)
    return len(waiting)


def forget_tickets(services: Services) -> int:
    """Links and sessions of the web page that are over; how many are forgotten now."""
    with services.database.transaction() as session:
        return tickets.forget_expired(session, clock.now(session), limit=TICKETS_LIMIT)


# ---------------------------------------------------------------------------------------------------------------
# Signs of life: in SQL, so that they work while Redis is away.


def beat(services: Services, name: str, kind: Literal["worker", "sweeper"]) -> None:
    with services.database.transaction() as session:
        heartbeats.beat(session, name, kind, clock.now(session))


def forget_beat(services: Services, name: str) -> None:
    with services.database.transaction() as session:
        heartbeats.forget(session, name)
