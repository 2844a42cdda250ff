"""A claim on a job, kept alive while the work lasts, and checked before every write.

The claim is SQL: an epoch on the session's row (the fencing token) and a lease on the database's clock. The Redis lock
beside it saves work and decides nothing.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import TracebackType
from typing import NamedTuple, Self
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database import clock
from memorybase.locks import HeldLock
from memorybase.models import Capture, Generation, IngestionJob, JobKind, JobState, MemoryBase, MemoryBaseSession
from memorybase.planning import plan_next, ring_after_commit
from memorybase.queries import bases, conversations, jobs, ledger, rows, token_vectors
from memorybase.queries.token_vectors import TokensOf
from memorybase.services import Services
from memorybase.settings import Settings
from memorybase.telemetry import get_logger
from memorybase.vectors.store import CollectionRef

log = get_logger(__name__)

ClaimKey = tuple[UUID, int]  # job and epoch

RETRY_SECONDS = 1.0  # between two tries to put a job back while the database is away


@dataclass(slots=True)
class Projection:
    """What is now in the collection, and what could not be put there."""

    held: list[ledger.Held] = field(default_factory=list)
    tokens: list[TokensOf] = field(default_factory=list)
    failures: list[ledger.Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Claim:
    """Everything a worker may know about the job it holds."""

    job_id: UUID
    kind: JobKind
    epoch: int
    row_id: UUID
    memory_base_id: UUID
    user_id: UUID
    flow_id: UUID
    session_id: str
    renamed_from: tuple[str, ...]
    generation: int
    is_build: bool
    from_seq: int
    to_seq: int
    start_seq: int
    audit: bool
    dirty: int  # the mark as it was before anything was read
    job_cap: int | None
    retried: bool  # an earlier attempt may have left chunks that no ledger knows
    suspect: bool  # a worker was lost on it: nothing else runs beside it
    capture: Capture
    embedding_model: str
    embedder: str
    token_encoding: str | None
    collection: CollectionRef
    end_user_id: str | None

    @property
    def key(self) -> ClaimKey:
        """One worker may come to hold a job again that it has lost: the job alone does not name the claim."""
        return self.job_id, self.epoch


def new_claim(
    job: IngestionJob,
    row: MemoryBaseSession,
    base: MemoryBase,
    generation: Generation,
    end_user_id: str | None,
) -> Claim:
    return Claim(
        job_id=job.id,
        kind=JobKind(job.kind),
        epoch=row.epoch,
        row_id=row.id,
        memory_base_id=base.id,
        user_id=base.user_id,
        flow_id=base.flow_id,
        session_id=row.session_id,
        renamed_from=tuple(row.renamed_from or ()),
        generation=row.generation,
        is_build=base.building is not None and row.generation == base.building,
        from_seq=job.from_seq,
        to_seq=job.to_seq,
        start_seq=row.start_seq,
        audit=job.audit,
        dirty=row.dirty,
        job_cap=row.job_cap,
        retried=job.attempts > 1 or job.outages > 0,
        suspect=job.suspect,
        capture=Capture(generation.capture),
        embedding_model=generation.embedding_model,
        embedder=generation.embedder,
        token_encoding=generation.token_encoding,
        collection=CollectionRef(generation.collection_name, generation.collection_id),
        end_user_id=end_user_id,
    )


class Guard:
    """Keeps the claims in hand: renews their leases and session locks from a thread of its own, and asks the database
    before every write whether they still hold. Any thread may call it."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._held: dict[ClaimKey, _Hand] = {}
        self._turn = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_stopped, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        for hand in self._hands():
            self.drop(hand.claim)

    def take(self, claim: Claim, lock: HeldLock | None) -> None:
        """From here on this claim is kept, and its lock with it."""
        with self._turn:
            self._held[claim.key] = _Hand(claim, lock)

    def drop(self, claim: Claim) -> None:
        """Keep it no longer, and give its session lock back. Before the ring for the session's next job, whose worker
        must not find the session busy."""
        with self._turn:
            hand = self._held.pop(claim.key, None)
        if hand is not None and hand.lock is not None:
            hand.lock.release()

    def check(self, claims: Iterable[Claim]) -> set[ClaimKey]:
        """Those among these that this worker still holds, by the database's word."""
        with self._turn:
            asked = {claim.key for claim in claims if not self._is_lost(claim)}
        with self._services.database.reading() as session:
            return jobs.claims_that_hold(session, asked)

    def begin_embedding(self, totals: Sequence[tuple[Claim, int]]) -> set[ClaimKey]:
        """From here on a lost worker counts against these jobs; those that this worker still holds.

        What is not alone in the worker's hands is under no suspicion yet: then all of them run alone first. This commit
        waits for the disk, and takes the claims before it along: what may have been written is known after a power cut.
        """
        beginning = {claim.key: total for claim, total in totals}
        with self._turn:
            for key, total in beginning.items():
                if hand := self._held.get(key):
                    hand.total = total
            begun = {key: hand for key, hand in self._held.items() if hand.total is not None}
        together = len(begun) > 1
        # Those of before too, but each of them once: there may be many, and they begin in small groups.
        beginning |= {key: hand.total or 0 for key, hand in begun.items() if together and not hand.together}
        with self._services.database.transaction() as session:
            jobs.begin_embedding(session, beginning, together=together)
            held = jobs.claims_that_hold(session, [claim.key for claim, _ in totals])
        for hand in begun.values():
            hand.together = together
        return held

    def _is_lost(self, claim: Claim) -> bool:
        hand = self._held.get(claim.key)
        return hand is None or hand.lost

    def _hands(self) -> list[_Hand]:
        with self._turn:
            return list(self._held.values())

    def _renew_until_stopped(self) -> None:
        while not self._stop.wait(self._services.settings.lease_renew_seconds):
            for hand in self._hands():
                try:
                    hand.lost = hand.lost or not self._renew(hand)
                except errors.DatabaseUnavailable:
                    # The lease runs on; whether it still holds is asked again before the next write.
                    log.warning("lease_renewal_failed", job_id=str(hand.claim.job_id))

    def _renew(self, hand: _Hand) -> bool:
        claim = hand.claim
        with self._services.database.transaction() as session:
            until = clock.now(session) + timedelta(seconds=self._services.settings.lease_seconds)
            held = jobs.claims_that_hold(session, {claim.key})
            renewed = bool(held) and rows.renew_lease(session, row_id=claim.row_id, epoch=claim.epoch, until=until)
        if not renewed:
            # A job that ended meanwhile has no lease to renew.
            return self._is_dropped(claim)
        if hand.lock is not None:
            self._extend_lock(hand, hand.lock)
        return True

    def _is_dropped(self, claim: Claim) -> bool:
        with self._turn:
            return claim.key not in self._held

    def _extend_lock(self, hand: _Hand, lock: HeldLock) -> None:
        try:
            if not lock.extend() and not self._is_dropped(hand.claim):
                log.warning("session_lock_lost", job_id=str(hand.claim.job_id))
                hand.lock = None
        except errors.LockUnavailable:
            # The SQL claim decides; the lock only saves a second worker the look.
            log.warning("session_lock_unreachable", job_id=str(hand.claim.job_id))


@dataclass(slots=True)
class _Hand:
    """A claim in hand, with its session lock unless Redis was away."""

    claim: Claim
    lock: HeldLock | None
    total: int | None = None  # messages to embed; None: not begun
    together: bool = False  # said so in its row
    lost: bool = False


def release(services: Services, claim: Claim, *, wrote: bool) -> None:
    """Give up the lease of a claim that ended without an advance, best effort: it expires by itself."""
    try:
        with services.database.transaction() as session:
            now = clock.now(session)
            rows.release_lease(
                session,
                row_id=claim.row_id,
                epoch=claim.epoch,
                audit_at=audit_time(now, services.settings) if wrote else None,
                written_as=claim.session_id,
            )
    except errors.DatabaseUnavailable:
        log.warning("lease_release_failed", job_id=str(claim.job_id))


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
    with services.database.transaction() as session:
        base = bases.share_base(session, claim.memory_base_id)
        # Rows before the job, and both rows of a session in build, as everybody does.
        locked = rows.lock_rows_of_session(session, [claim.memory_base_id], claim.session_id)
        rows.lock_row(session, claim.row_id)
        now = clock.now(session)
        audit_at = audit_time(now, services.settings) if wrote else None
        rows.release_lease(
            session, row_id=claim.row_id, epoch=claim.epoch, audit_at=audit_at, written_as=claim.session_id
        )
        job = jobs.lock_job(session, claim.job_id)
        if job is None or job.state != JobState.RUNNING or job.epoch != claim.epoch:
            return None
        again = now + timedelta(seconds=backoff_seconds(services.settings, job.outages))
        job.state = JobState.QUEUED
        job.available_at = job.ring_at = again
        job.outages += 1
        job.attempts -= 1
        job.error = describe(error)
        if base is not None and job.kind == JobKind.REPAIR and base.building not in (None, job.generation):
            _give_way(session, services, base, job, [r for r in locked if r.generation == base.building], now)
        return again


def _give_way(
    session: OrmSession,
    services: Services,
    base: MemoryBase,
    job: IngestionJob,
    build_rows: list[MemoryBaseSession],
    now: datetime,
) -> None:
    """A repair of the serving store that fails must not hold up the session's build, which may be what heals it.

    Its mark stays, so it is planned again behind the build's job.
    """
    job.state = JobState.CANCELLED
    session.flush()
    if plan_next(session, services, base, build_rows, now) is None:
        job.state = JobState.QUEUED
    else:
        job.finished_at = now
    session.flush()


class Advanced(NamedTuple):
    """What the compare-and-set has hit: its base, its row as it is now, the session's rows, the moment."""

    base: MemoryBase
    row: MemoryBaseSession
    session_rows: list[MemoryBaseSession]
    now: datetime


def compare_and_set(session: OrmSession, claim: Claim, *, to_seq: int, cursor_id: UUID | None) -> Advanced:
    """Move the cursor if nothing has changed since the claim.

    The locks are taken in everybody's order. Raises ClaimLost when somebody else did it, or the base is going.
    """
    # Whoever may complete a build takes the base alone, so that of two last advances one sees the other.
    lock = bases.lock_base if claim.is_build else bases.share_base
    base = lock(session, claim.memory_base_id)
    # During a build the session has two rows: a capture takes them by id, and so do we, whichever is ours.
    locked = rows.lock_rows_of_session(session, [claim.memory_base_id], claim.session_id)
    now = clock.now(session)
    row = rows.compare_and_advance(
        session,
        row_id=claim.row_id,
        epoch=claim.epoch,
        generation=claim.generation,
        from_seq=claim.from_seq,
        to_seq=to_seq,
        cursor_id=cursor_id,
        now=now,
    )
    if base is None or base.deleting_at is not None or row is None:
        raise errors.ClaimLost
    if row.session_id != claim.session_id:  # renamed since
        locked = rows.lock_rows_of_session(session, [base.id], row.session_id)
    return Advanced(base, row, locked, now)


def finish(session: OrmSession, services: Services, claim: Claim, advanced: Advanced, done: Projection) -> None:
    """End the job and write the ledger, in the transaction of the compare-and-set that has just hit its row.

    Plans what is owed next. Raises ClaimLost when the job is no longer this claim's.
    """
    base, row, locked, now = advanced
    messages, chunks = ledger.record(
        session, base=base, generation=claim.generation, row_id=row.id, held=done.held, now=now,
        repaired=claim.kind == JobKind.REPAIR,
    )  # fmt: skip
    token_vectors.record(session, base_id=base.id, generation=claim.generation, row_id=row.id, tokens=done.tokens)
    row.total_processed += messages
    row.total_chunks += chunks
    ledger.unbury(session, row.id, [held.message_id for held in done.held])
    ledger.bury(session, base_id=base.id, generation=claim.generation, row_id=row.id, failures=done.failures, now=now)
    if claim.retried:
        # An attempt before this one may have written what no ledger knows, of a message edited since.
        row.audit_at = audit_time(now, services.settings)
    if row.job_cap is not None:
        doubled = row.job_cap * 2
        row.job_cap = doubled if doubled < services.settings.job_max_messages else None
    session.flush()
    if not jobs.update_claimed(
        session,
        job_id=claim.job_id,
        epoch=claim.epoch,
        state=JobState.DONE,
        processed=len(done.held),
        total=len(done.held) + len(done.failures),
        error=None,
        finished_at=now,
    ):
        raise errors.ClaimLost
    plan_next(session, services, base, locked, now)


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
    return plan_next(session, services, base, rows.lock_rows_of_session(session, [base.id], row.session_id), now)


def _bury_deadly(
    session: OrmSession, base: MemoryBase, row: MemoryBaseSession, job: IngestionJob, now: datetime
) -> None:
    if job.audit:
        # It may have died of a message that only the store lacks, and only the store could say which. Without the
        # audit the session goes on; a comparison shows what is missing.
        row.audit_at = None
        log.warning("audit_given_up", job_id=str(job.id), session_row=str(row.id))
        return
    generation = bases.fetch_generation(session, base.id, row.generation)
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
        suspects = conversations.fetch_range(
            session,
            flow_id=row.flow_id,
            session_id=row.session_id,
            capture=generation.capture,
            from_seq=job.from_seq,
            to_seq=job.to_seq,
        )
    # A wording that came since the last worker began is not the one it died of, though a repair may owe that message
    # first now. Without a suspect the next job takes one message alone again.
    unseen = conversations.edited_since(session, [m.id for m in suspects], job.started_at) if job.started_at else set()
    failures = [
        ledger.Failure(m.id, m.version, "worker_lost", f"{job.deaths} workers were lost on this message alone")
        for m in suspects
        if m.id not in unseen
    ]
    ledger.bury(session, base_id=base.id, generation=row.generation, row_id=row.id, failures=failures, now=now)


def backoff_seconds(settings: Settings, outages: int) -> float:
    """Doubling, bounded, with jitter, so that a healed store is not met by everybody at once."""
    ceiling: float = min(settings.backoff_max_seconds, settings.backoff_seconds * 2 ** min(outages, 16))
    return ceiling * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, no secret


def audit_time(now: datetime, settings: Settings) -> datetime:
    """One lease later: by then no frozen worker's claim is alive, and what it wrote late is there to be found."""
    return now + timedelta(seconds=settings.lease_seconds)


def describe(error: Exception) -> str:
    """The error as people read it in a job. Ours never carry message text; of others only the kind is kept."""
    return error.message if isinstance(error, errors.MemorybaseError) else f"Unexpected {type(error).__name__}"
