"""THE FLOW: capture, trigger, ring, lock and claim, ingest, advance, sweep. Read it from top to bottom.

SQL is the truth. Celery is a doorbell, Redis a courtesy, Chroma a projection. A message is counted once the
compare-and-set of its session's cursor has committed, and that is the last step.

    capture ──trigger──> job row ──ring──> claim ──> read, chunk, embed, upsert, read back ──> advance ──> next job
       one transaction    (truth)        (epoch, lease)      no transaction open            one transaction
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase import capturing, database, errors, indexing, leases, lifecycle, metrics, planning, projection
from memorybase.leases import Claim, Guard, Projection
from memorybase.locks import HeldLock
from memorybase.messages import NewMessage
from memorybase.models import IngestionJob, JobKind, JobState, MemoryBase, MemoryBaseSession, Session
from memorybase.queries import bases, clock, conversations, deleted, heartbeats, jobs, ledger, rows
from memorybase.services import FrozenJob, Services
from memorybase.telemetry import bound, get_logger

log = get_logger(__name__)

# ---------------------------------------------------------------------------------------------------------------
# 1. Capture: one short transaction. Locks: memory bases (shared), the session, its rows by id.


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """One run's messages."""

    session_id: str
    messages: list[NewMessage]
    run_id: UUID | None = None
    run_external_id: str | None = None
    end_user_id: str | None = None
    on_conflict: Literal["error", "keep", "update"] = "error"


@dataclass(frozen=True, slots=True)
class CapturedMessage:
    id: UUID
    external_id: str | None
    seq: int
    created: bool
    deleted: bool  # known, deleted by itself, and therefore not stored again


@dataclass(frozen=True, slots=True)
class IngestionState:
    """What a capture means for one memory base; `pending_capped`: at least so many."""

    memory_base_id: UUID
    pending_messages: int
    pending_capped: bool
    job_id: UUID | None


@dataclass(frozen=True, slots=True)
class CaptureResult:
    run_id: UUID
    run_external_id: str | None
    session_id: str
    created: bool  # False: a replay, nothing new
    messages: list[CapturedMessage]
    ingestion: list[IngestionState]


def capture(services: Services, user_id: UUID, flow_id: UUID, request: CaptureRequest) -> CaptureResult:
    """Store a run's messages and trigger what is due; acknowledged means committed.

    Raises NotFound (flow, or a message id that is somebody else's), MessageConflict, RunConflict, SessionConflict.
    Redis and Chroma are not needed.
    """
    with metrics.CAPTURE_SECONDS.time():
        try:
            result = _capture(services, user_id, flow_id, request)
        except errors.ConstraintViolated:
            # Another session took one of these ids between our look and our insert; now the look finds it.
            result = _capture(services, user_id, flow_id, request)
    metrics.RUNS_CAPTURED.inc()
    metrics.MESSAGES_CAPTURED.inc(sum(message.created for message in result.messages))
    return result


def _capture(services: Services, user_id: UUID, flow_id: UUID, request: CaptureRequest) -> CaptureResult:
    run_id = request.run_id or uuid4()
    messages = capturing.identify(request.messages, run_id)
    documents = indexing.analyze_all(services, messages)
    with services.database.transaction() as session:
        living = bases.share_bases_of_flow(session, flow_id)
        if conversations.fetch_flow(session, user_id, flow_id) is None:
            raise errors.NotFound("There is no such flow", field="flow_id", value=str(flow_id))
        # From here to the commit this transaction alone gives out the session's seqs: seq order is commit order.
        conversation = conversations.open_session(
            session,
            flow_id=flow_id,
            session_id=request.session_id,
            end_user_id=request.end_user_id,
            now=clock.now(session),
        )
        now = clock.now(session)  # behind the lock, so that captured_at rises with seq
        capturing.bind_end_user(conversation, request.end_user_id)
        run_is_new = capturing.open_run(session, conversation, run_id, request.run_external_id, request.messages, now)
        known = capturing.match_known(session, user_id, conversation, messages, request.on_conflict)
        unknown = {message_id: message for message_id, message in messages.items() if message_id not in known}
        before = deleted.fetch(session, flow_id, unknown.keys())
        kept_out = {key: past for key, past in before.items() if capturing.stays_deleted(past, conversation)}
        new = {message_id: message for message_id, message in unknown.items() if message_id not in kept_out}
        first = conversation.last_seq + 1
        stored = capturing.message_rows(new, documents, before, conversation, run_id, first, now)
        conversations.insert_messages(session, stored)
        indexing.add(session, conversation, stored, documents)
        deleted.forget(session, flow_id, new.keys() & before.keys())
        if new:
            conversation.last_seq += len(new)
            conversation.last_captured_at = now
            conversation.deleted_at = None
            session.flush()
        if request.on_conflict == "update":
            capturing.update_changed(session, services, living, conversation, messages, known, now)
        ingestion = trigger(session, services, living, conversation, now)
    log.info("run_captured", run_id=str(run_id), flow_id=str(flow_id), messages=len(new), known=len(known))
    seqs = {message_id: first + place for place, message_id in enumerate(new)}
    seqs |= {message_id: stored.seq for message_id, stored in known.items()}
    seqs |= {message_id: past.seq for message_id, past in kept_out.items()}
    captured = [
        CapturedMessage(
            message_id, message.external_id, seqs[message_id], created=message_id in new, deleted=message_id in kept_out
        )
        for message_id, message in messages.items()
    ]
    return CaptureResult(
        run_id, request.run_external_id, request.session_id, run_is_new or bool(new), captured, ingestion
    )


# ---------------------------------------------------------------------------------------------------------------
# 2. Trigger, in the capture's transaction. Its cost depends on the threshold, not on history or backlog.


def trigger(
    session: OrmSession, services: Services, living: Sequence[MemoryBase], conversation: Session, now: datetime
) -> list[IngestionState]:
    """For every memory base with auto_capture: is the threshold reached? Then what is captured is owed."""
    automatic = [base for base in living if base.auto_capture]
    for base in automatic:
        rows.ensure_row(
            session,
            base_id=base.id,
            generation=planning.fed_generation(base),
            flow_id=conversation.flow_id,
            session_id=conversation.session_id,
        )
    locked = rows.lock_rows_of_session(session, [base.id for base in automatic], conversation.session_id)
    return [_trigger_base(session, services, base, locked, conversation, now) for base in automatic]


def _trigger_base(
    session: OrmSession,
    services: Services,
    base: MemoryBase,
    locked: Sequence[MemoryBaseSession],
    conversation: Session,
    now: datetime,
) -> IngestionState:
    row = planning.fed_row(base, locked)
    if row is None:
        raise sa.exc.NoResultFound("a session row vanished under its lock")
    generation = bases.fetch_generation(session, base.id, row.generation)
    pending = conversations.count_counted(
        session,
        flow_id=conversation.flow_id,
        session_id=conversation.session_id,
        capture=generation.capture,
        after_seq=max(row.cursor_seq, row.target_seq),
        at_most=base.threshold,
    )
    reached = pending >= base.threshold
    if reached:
        row.target_seq = conversation.last_seq
    waits = pending > 0 and not reached and base.idle_after > 0
    # From the last capture on, not from now: posting the same run again does not put it off.
    row.idle_due_at = conversation.last_captured_at + timedelta(seconds=base.idle_after) if waits else None
    session.flush()
    job = planning.plan_next(session, services, base, locked, now)
    if job is None:  # one is active already, or nothing is owed
        job = jobs.active_job(session, base.id, conversation.session_id)
    return IngestionState(base.id, pending, reached, job.id if job else None)


# ---------------------------------------------------------------------------------------------------------------
# A flush (flushing.py) does the same by request, whatever the threshold.
#
# 3. The ring is planning.ring_after_commit: best effort, after the commit, never inside it.
# 4. The worker: the Redis lock, then the claim in SQL.


class JobOutcome(StrEnum):
    DONE = "done"
    BUSY = "busy"  # another worker has this session
    STALE = "stale"  # no such work any more
    POSTPONED = "postponed"  # the environment failed; the job waits
    LOST = "lost"  # the claim went to somebody else


def run_job(services: Services, frozen: FrozenJob, *, owner: str) -> JobOutcome:
    """Do one job as far as it goes. Any number of deliveries, at any time, in any order, is harmless."""
    with bound(job_id=str(frozen.job_id), memory_base_id=str(frozen.memory_base_id), kind=frozen.kind):
        try:
            lock = services.locks.acquire(frozen.memory_base_id, frozen.session_id)
        except errors.LockUnavailable:
            log.warning("session_lock_unreachable")
            outcome = _run_claimed(services, frozen, None, owner)
        else:
            if lock is None:
                return JobOutcome.BUSY
            try:
                outcome = _run_claimed(services, frozen, lock, owner)
            finally:
                lock.release()
        log.info("job_ended", outcome=str(outcome))
        return outcome


def _run_claimed(services: Services, frozen: FrozenJob, lock: HeldLock | None, owner: str) -> JobOutcome:
    claim = claim_job(services, frozen, owner)
    if claim is None:
        return JobOutcome.STALE
    try:
        with Guard(services, claim, lock) as guard:
            if claim.kind == JobKind.REPAIR:
                lifecycle.repair(services, claim, guard)
            else:
                ingest(services, claim, guard)
    except errors.ClaimLost:
        log.warning("claim_lost")
        leases.release(services, claim, wrote=True)
        again = None
    except Exception as error:
        again = leases.postpone(services, claim, error, wrote=True)
        log.warning("job_postponed", error_type=type(error).__name__, until=again and again.isoformat(),
                    exc_info=not isinstance(error, errors.MemorybaseError))  # fmt: skip
    else:
        return JobOutcome.DONE
    if again is None:
        lifecycle.remove_late_writes(services, claim)
    return JobOutcome.POSTPONED if again else JobOutcome.LOST


def claim_job(services: Services, frozen: FrozenJob, owner: str) -> Claim | None:
    """Take a queued job: epoch + 1 and a lease on the database's clock. None: nothing to do here now.

    A job that no longer matches its session's row is closed as cancelled and replaced, in the same transaction.
    """
    with services.database.transaction() as session:
        base = bases.share_base(session, frozen.memory_base_id)
        if base is None or base.deleting_at is not None:
            return None
        seen = jobs.fetch_job(session, frozen.job_id)
        if seen is None or seen.state != JobState.QUEUED or planning.freeze(seen) != frozen:
            return None
        locked = rows.lock_rows_of_session(session, [base.id], seen.session_id)
        row = next((r for r in locked if r.id == seen.row_id), None)
        job = jobs.lock_job(session, frozen.job_id)
        now = clock.now(session)
        if job is None or job.state != JobState.QUEUED or job.available_at > now:
            return None
        if row is None or not _still_matches(base, row, job):
            jobs.cancel_jobs(session, [job.id], now, "superseded")
            planning.plan_next(session, services, base, locked, now)
            return None
        if row.lease_until is not None and row.lease_until > now:
            return None  # a cancelled job's worker has not let go yet
        row.epoch += 1
        row.lease_until = now + timedelta(seconds=services.settings.lease_seconds)
        row.lease_owner = owner
        job.state = JobState.RUNNING
        job.epoch = row.epoch
        job.attempts += 1
        job.started_at = now
        job.embedding_began = False
        session.flush()
        end_user_id = conversations.end_user_of(session, base.flow_id, row.session_id)
        return leases.new_claim(job, row, base, bases.fetch_generation(session, base.id, row.generation), end_user_id)


def _still_matches(base: MemoryBase, row: MemoryBaseSession, job: IngestionJob) -> bool:
    if row.cursor_seq != job.from_seq or row.generation not in (base.serving, base.building):
        return False
    return job.kind == JobKind.REPAIR or row.generation == planning.fed_generation(base)


# ---------------------------------------------------------------------------------------------------------------
# 5. Work, with no transaction open.


def ingest(services: Services, claim: Claim, guard: Guard) -> None:
    """Read the range, put it into the collection, advance. Raises ClaimLost and the environment's errors."""
    with services.database.reading() as session:
        messages = conversations.fetch_range(
            session,
            flow_id=claim.flow_id,
            session_id=claim.session_id,
            capture=claim.capture,
            from_seq=claim.from_seq,
            to_seq=claim.to_seq,
        )
        settled = ledger.settled_dead_letters(session, claim.row_id, [message.id for message in messages])
    wanted = [message for message in messages if (message.id, message.version) not in settled]
    done = projection.project(services, claim, wanted, guard)
    advance(services, claim, guard, done, cursor_id=messages[-1].id if messages else None)


# ---------------------------------------------------------------------------------------------------------------
# 6. Advance, the last step: both updates hit one row, or nothing happened.


def advance(services: Services, claim: Claim, guard: Guard, done: Projection, *, cursor_id: UUID | None) -> None:
    """Move the cursor by compare-and-set and write the ledger; raises ClaimLost when somebody else did."""
    with services.database.transaction() as session:
        base, row, now = leases.compare_and_set(session, claim, to_seq=claim.to_seq, cursor_id=cursor_id)
        database.after_commit(session, guard.let_go)
        leases.finish(session, services, claim, base, row, done, now)
        if claim.is_build:
            lifecycle.complete_build(session, services, base, now)
    log.info("cursor_advanced", to_seq=claim.to_seq, messages=len(done.held), dead_letters=len(done.failures))


# ---------------------------------------------------------------------------------------------------------------
# 7. Sweep: what nobody else came back for. Any number of sweepers; every step is its own short transaction.


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
    failed_steps: list[str] = field(default_factory=list)


SWEEP_LIMIT = 200  # of each kind a pass: the next pass is seconds away


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
            database.after_commit(session, lambda: services.locks.free(base_id, session_id))
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


# ---------------------------------------------------------------------------------------------------------------
# Signs of life: in SQL, so that they work while Redis is away.


def beat(services: Services, name: str, kind: Literal["worker", "sweeper"]) -> None:
    with services.database.transaction() as session:
        heartbeats.beat(session, name, kind, clock.now(session))


def forget_beat(services: Services, name: str) -> None:
    with services.database.transaction() as session:
        heartbeats.forget(session, name)
