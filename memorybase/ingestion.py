"""THE FLOW: capture, trigger, ring, lock and claim, ingest, advance, sweep. Read it from top to bottom.

SQL is the truth. Celery is a doorbell, Redis a courtesy, Chroma a projection. A message is counted once the
compare-and-set of its session's cursor has committed, and that is the last step.

    capture ──trigger──> job row ──ring──> claim ──> read, chunk, embed, upsert, read back ──> advance ──> next job
       one transaction    (truth)        (epoch, lease)      no transaction open            one transaction
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase import capturing, errors, leases, lifecycle, metrics, planning, projection
from memorybase.database import clock, engine
from memorybase.keyword_index import index
from memorybase.leases import Claim, Guard, Projection
from memorybase.locks import HeldLock
from memorybase.messages import NewMessage
from memorybase.models import IngestionJob, JobKind, JobState, MemoryBase, MemoryBaseSession, Session
from memorybase.projection import Work
from memorybase.queries import bases, conversations, deleted, jobs, ledger, rows
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
            # Another session took one of these ids between our look and our insert, or has had it; a look finds it.
            result = _capture(services, user_id, flow_id, request, look=True)
    metrics.RUNS_CAPTURED.inc()
    metrics.MESSAGES_CAPTURED.inc(sum(message.created for message in result.messages))
    return result


def _capture(
    services: Services, user_id: UUID, flow_id: UUID, request: CaptureRequest, *, look: bool = False
) -> CaptureResult:
    run_id = request.run_id or uuid4()
    messages = capturing.identify(request.messages, run_id)
    documents = index.analyze_all(services, messages)
    with services.database.transaction() as session:
        living = bases.share_bases_of_flow(session, flow_id)
        if not conversations.has_flow(session, user_id, flow_id):
            raise errors.NotFound("There is no such flow", field="flow_id", value=str(flow_id))
        # From here to the commit this transaction alone gives out the session's seqs: seq order is commit order.
        conversation = conversations.open_session(
            session,
            flow_id=flow_id,
            session_id=request.session_id,
            end_user_id=request.end_user_id,
        )
        now = clock.now(session)  # behind the lock, so that captured_at rises with seq
        capturing.bind_end_user(conversation, request.end_user_id)
        run_is_new = capturing.open_run(session, conversation, run_id, request.run_external_id, request.messages, now)
        # Ids that follow from a new run's are new.
        named = any(message.id is not None for message in request.messages)
        known = (
            capturing.match_known(session, user_id, conversation, messages, request.on_conflict)
            if look or named or not run_is_new
            else {}
        )
        unknown = {message_id: message for message_id, message in messages.items() if message_id not in known}
        before = deleted.fetch(session, flow_id, unknown.keys())
        kept_out = {key: past for key, past in before.items() if capturing.stays_deleted(past, conversation)}
        new = {message_id: message for message_id, message in unknown.items() if message_id not in kept_out}
        first = conversation.last_seq + 1
        stored = capturing.message_rows(new, documents, before, conversation, run_id, first, now)
        conversations.insert_messages(session, stored)
        if new:
            conversation.last_seq += len(new)
            conversation.last_captured_at = now
            conversation.deleted_at = None
        index.add(session, conversation, stored, documents)
        deleted.forget(session, flow_id, new.keys() & before.keys())
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
    locked = rows.lock_rows_of_session(session, [base.id for base in automatic], conversation.session_id)
    untracked = [base for base in automatic if planning.fed_row(base, locked) is None]
    for base in untracked:
        rows.ensure_row(
            session,
            base_id=base.id,
            generation=planning.fed_generation(base),
            flow_id=conversation.flow_id,
            session_id=conversation.session_id,
        )
    if untracked:
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
    was_at_work = planning.is_at_work(base, locked)
    reached = pending >= base.threshold
    if reached:
        row.target_seq = conversation.last_seq
    if reached or pending == 0 or base.idle_after == 0:
        row.idle_due_at = None
    elif row.idle_due_at is None:
        # Left where it is by the captures that follow: the sweep that comes then looks at the last of them.
        row.idle_due_at = conversation.last_captured_at + timedelta(seconds=base.idle_after)
    session.flush()
    # The rows are locked: an active job stays one, and who ends it plans the next.
    job = jobs.active_job(session, base.id, conversation.session_id) if was_at_work else None
    job = job or planning.plan_next(session, services, base, locked, now)
    return IngestionState(base.id, pending, reached, job.id if job else None)


# ---------------------------------------------------------------------------------------------------------------
# A flush (flushing.py) does the same by request, whatever the threshold.
#
# 3. The ring is planning.ring_after_commit: best effort, after the commit, never inside it.
# 4. The worker: the Redis lock, then the claim in SQL. What waits in other sessions is done beside it.


class JobOutcome(StrEnum):
    DONE = "done"
    BUSY = "busy"  # another worker has this session
    STALE = "stale"  # no such work any more
    POSTPONED = "postponed"  # the environment failed; the job waits
    LOST = "lost"  # the claim went to somebody else


GATHERED_JOBS = 64  # beside each other at most; their messages together are at most one job's worth


def run_jobs(
    services: Services,
    rung: FrozenJob,
    *,
    owner: str,
    more: Callable[[], bool],
    thread: Callable[[], Executor] = lambda: ThreadPoolExecutor(1),
) -> JobOutcome:
    """Do the job that was rung and, while `more()`, whatever else waits; the outcome is the rung one's.

    The next jobs are claimed and read while these are embedded and the last ones stored, each in a `thread` of its own.
    Any number of deliveries, at any time, in any order, is harmless.
    """
    with thread() as ahead, thread() as behind:
        return _Shift(services, owner, more, ahead, behind).run(rung)


class _Shift:
    """One worker's jobs from a ring until nothing waits."""

    def __init__(
        self, services: Services, owner: str, more: Callable[[], bool], ahead: Executor, behind: Executor
    ) -> None:
        self._services = services
        self._owner = owner
        self._more = more
        self._ahead = ahead
        self._behind = behind
        self._outcomes: dict[UUID, JobOutcome] = {}

    def run(self, rung: FrozenJob) -> JobOutcome:
        rung_waits, others_wait = _what_waits(self._services, rung)
        if not rung_waits and not others_wait:
            return JobOutcome.STALE
        with Guard(self._services) as self._guard:
            first = self._take(rung) if rung_waits else JobOutcome.STALE
            if isinstance(first, JobOutcome):
                # Late for its own job, it is early for another's: whose ring may stand behind many late ones.
                self._ingest(self._gather())
                return first
            if first.suspect:
                self._more = lambda: False
            if first.kind == JobKind.REPAIR:
                return self._repair(first)
            self._ingest([self._read(first)])
        return self._outcomes[rung.job_id]

    def _ingest(self, works: list[Work]) -> None:
        earlier = None
        while works:
            upcoming = self._ahead.submit(self._gather)
            ending = self._project(works)
            if earlier is not None:
                earlier.result()
            works, earlier = upcoming.result(), ending
            if not works:
                # The end of a job plans the session's next one.
                ending.result()
                works = self._ahead.submit(self._gather).result()

    def _take(self, frozen: FrozenJob) -> Claim | JobOutcome:
        with _bound(frozen):
            lock: HeldLock | None = None
            try:
                lock = self._services.locks.acquire(frozen.memory_base_id, frozen.session_id)
                if lock is None:
                    return JobOutcome.BUSY
            except errors.LockUnavailable:
                log.warning("session_lock_unreachable")
            claim = None
            try:
                claim = claim_job(self._services, frozen, self._owner)
            finally:
                if claim is not None:
                    self._guard.take(claim, lock)
                elif lock is not None:
                    lock.release()
            return claim or JobOutcome.STALE

    def _gather(self) -> list[Work]:
        """Claim and read what waits, up to one job's worth together."""
        works: list[Work] = []
        if not self._more():
            return works
        settings = self._services.settings
        messages = size = 0
        try:
            with self._services.database.reading() as session:
                waiting = jobs.jobs_to_do(session, clock.now(session), limit=GATHERED_JOBS)
            for job in waiting:
                claim = self._take(planning.freeze(job))
                if isinstance(claim, JobOutcome):
                    continue
                works.append(work := self._read(claim))
                messages += len(work.messages)
                size += sum(len(chunk.text) for item in work.items for chunk in item.chunks)
                if messages >= settings.job_max_messages or size >= settings.job_max_bytes:
                    break
        except errors.DatabaseUnavailable:
            log.warning("gathering_failed")  # what is claimed already is done
        return works

    def _read(self, claim: Claim) -> Work:
        """What the claim's range holds, without what is a settled dead letter."""
        work = Work(claim, [])
        try:
            with self._services.database.reading() as session:
                messages = conversations.fetch_range(
                    session,
                    flow_id=claim.flow_id,
                    session_id=claim.session_id,
                    capture=claim.capture,
                    from_seq=claim.from_seq,
                    to_seq=claim.to_seq,
                )
                settled = ledger.settled_dead_letters(session, claim.row_id, [message.id for message in messages])
        except errors.DatabaseUnavailable as error:
            work.error = error
            return work
        work.cursor_id = messages[-1].id if messages else None
        work.messages = [message for message in messages if (message.id, message.version) not in settled]
        if work.messages:
            projection.prepare(self._services, work)
        return work

    # -----------------------------------------------------------------------------------------------------------
    # 5. Work, with no transaction open.

    def _project(self, works: list[Work]) -> Future[None]:
        """Embed, and have what is embedded stored behind; then the jobs end. Done when they have ended."""
        projection.begin([work for work in works if work.messages], self._guard)
        for items in projection.slices(works):
            projection.embed(self._services, items)
            self._behind.submit(projection.store, self._services, items, self._guard)
        return self._behind.submit(self._end, works)

    def _end(self, works: list[Work]) -> None:
        for work in works:
            with _bound(work.claim):
                outcome = self._advance(work)
                self._guard.drop(work.claim)
                log.info("job_ended", outcome=str(outcome))
            self._outcomes[work.claim.job_id] = outcome

    def _advance(self, work: Work) -> JobOutcome:
        if work.error is not None:
            return _give_up(self._services, work.claim, work.error, wrote=work.began)
        try:
            advance(self._services, work.claim, self._guard, work.done, cursor_id=work.cursor_id)
        except Exception as error:  # noqa: BLE001 - whatever it is, this job waits and the others end
            return _give_up(self._services, work.claim, error, wrote=work.began)
        return JobOutcome.DONE

    def _repair(self, claim: Claim) -> JobOutcome:
        with _bound(claim):
            try:
                lifecycle.repair(self._services, claim, self._guard)
                outcome = JobOutcome.DONE
            except Exception as error:  # noqa: BLE001 - whatever it is, the job waits
                outcome = _give_up(self._services, claim, error, wrote=True)
            log.info("job_ended", outcome=str(outcome))
            return outcome


def _what_waits(services: Services, frozen: FrozenJob) -> tuple[bool, bool]:
    """Whether the rung job waits; and if not, whether others do. Most rings of a busy time are for jobs that were done
    beside others: one look, before any lock."""
    with services.database.reading() as session:
        if jobs.is_queued(session, frozen.job_id):
            return True, True
        return False, bool(jobs.jobs_to_do(session, clock.now(session), limit=1))


def _give_up(services: Services, claim: Claim, error: Exception, *, wrote: bool) -> JobOutcome:
    """The job cannot end now: it waits, unless it is somebody else's by now."""
    again = None
    if isinstance(error, errors.ClaimLost):
        log.warning("claim_lost")
        leases.release(services, claim, wrote=wrote)
    else:
        again = leases.postpone(services, claim, error, wrote=wrote)
        log.warning("job_postponed", error_type=type(error).__name__, until=again and again.isoformat(),
                    exc_info=None if isinstance(error, errors.MemorybaseError) else error)  # fmt: skip
    if again is None:
        lifecycle.remove_late_writes(services, claim)
    return JobOutcome.POSTPONED if again else JobOutcome.LOST


def _bound(job: FrozenJob | Claim) -> AbstractContextManager[None]:
    return bound(job_id=str(job.job_id), memory_base_id=str(job.memory_base_id), kind=str(job.kind))


def claim_job(services: Services, frozen: FrozenJob, owner: str) -> Claim | None:
    """Take a queued job: epoch + 1 and a lease on the database's clock. None: nothing to do here now.

    A job that no longer matches its session's row is closed as cancelled and replaced, in the same transaction.
    """
    # A claim becomes durable with the begin of its embedding, before anything is written under it; a repair has none.
    with services.database.transaction(durable=frozen.kind == JobKind.REPAIR) as session:
        base = bases.share_base(session, frozen.memory_base_id)
        if base is None or base.deleting_at is not None:
            return None
        locked = rows.lock_rows_of_session(session, [base.id], frozen.session_id)
        job = jobs.lock_job(session, frozen.job_id)
        now = clock.now(session)
        # A job whose session was renamed since its ring is not the one that was rung; it is rung anew.
        if job is None or job.state != JobState.QUEUED or job.available_at > now or planning.freeze(job) != frozen:
            return None
        row = next((r for r in locked if r.id == job.row_id), None)
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
        job.embedding_began = job.together = False
        session.flush()
        end_user_id = conversations.end_user_of(session, base.flow_id, row.session_id)
        return leases.new_claim(job, row, base, bases.fetch_generation(session, base.id, row.generation), end_user_id)


def _still_matches(base: MemoryBase, row: MemoryBaseSession, job: IngestionJob) -> bool:
    if row.cursor_seq != job.from_seq or row.generation not in (base.serving, base.building):
        return False
    return job.kind == JobKind.REPAIR or row.generation == planning.fed_generation(base)


# ---------------------------------------------------------------------------------------------------------------
# 6. Advance, the last step: both updates hit one row, or nothing happened.


def advance(services: Services, claim: Claim, guard: Guard, done: Projection, *, cursor_id: UUID | None) -> None:
    """Move the cursor by compare-and-set and write the ledger; raises ClaimLost when somebody else did."""
    # An advance that a power cut undoes leaves a claim without its worker, as a kill just before it does.
    with services.database.transaction(durable=claim.is_build) as session:
        advanced = leases.compare_and_set(session, claim, to_seq=claim.to_seq, cursor_id=cursor_id)
        engine.after_commit(session, lambda: guard.drop(claim))
        leases.finish(session, services, claim, advanced, done)
        if claim.is_build:
            lifecycle.complete_build(session, services, advanced.base, advanced.now)
    log.info("cursor_advanced", to_seq=claim.to_seq, messages=len(done.held), dead_letters=len(done.failures))


# ---------------------------------------------------------------------------------------------------------------
# 7. Sweep is sweeping.py: what nobody else came back for.
