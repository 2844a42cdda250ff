"""Runs jobs from one notification until none is waiting: lock, claim, embed, store, advance."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from functools import partial
from threading import Event
from uuid import UUID

from memorybase.core import errors, tracing
from memorybase.core.database import clock
from memorybase.core.ingestion import lease, repair, retry
from memorybase.core.ingestion.advance import advance
from memorybase.core.ingestion.claim import Claim, claim_job
from memorybase.core.ingestion.lease import LeaseKeeper
from memorybase.core.ingestion.pipeline import SLICE_CHUNKS, Batch, GaveWay, JobWork, Piece, size_to_embed
from memorybase.core.locks import HeldLock
from memorybase.core.models import JobKind
from memorybase.core.queries import jobs
from memorybase.core.services import JobMessage, Services
from memorybase.core.telemetry import bound, get_logger

log = get_logger(__name__)


class JobOutcome(StrEnum):
    DONE = "done"
    BUSY = "busy"  # another worker has this session
    STALE = "stale"  # the job is no longer queued
    POSTPONED = "postponed"  # the environment failed; the job is queued for later
    GAVE_WAY = "gave_way"  # others go first; the job is queued behind them
    LOST = "lost"  # the claim was lost


MAX_BATCH_JOBS = 64  # in one batch
MAX_BATCH_MESSAGES = 256
# Batches are sized to take this long to embed, going by the recent rate. No job of a batch ends before all of it is
# embedded, so a larger one would delay the next jobs, and keep jobs from idle workers.
BATCH_SECONDS = 0.5
# A job of a long message continues this long while others wait.
TURN_SECONDS = 3.0
# The next batch is claimed this long before the current one is done, plus twice the duration of the last claim.
AHEAD_SECONDS = 0.05


def run_jobs(
    services: Services,
    message: JobMessage,
    *,
    owner: str,
    may_continue: Callable[[], bool],
    new_thread: Callable[[], Executor] = lambda: ThreadPoolExecutor(1),
    now: Callable[[], float] = time.monotonic,
) -> JobOutcome:
    """Run the notified job and, while `may_continue()`, all other waiting jobs. Returns the notified job's outcome.

    Before a batch is embedded whole, another thread claims and reads the next; a third stores the previous one.
    Notifications are safe in any number, at any time and in any order. `now` measures the pace of embedding.
    """
    due = _due(services, message)
    if due is None:
        return JobOutcome.STALE
    with new_thread() as reader, new_thread() as writer, LeaseKeeper(services) as keeper:
        outcome = JobRunner(services, owner, may_continue, keeper, reader, writer, now).run(due)
        return outcome if due == message else JobOutcome.STALE


def run_waiting(
    services: Services,
    *,
    owner: str,
    may_continue: Callable[[], bool],
    new_thread: Callable[[], Executor] = lambda: ThreadPoolExecutor(1),
) -> None:
    """While `may_continue()`, run the waiting jobs: the worker's other tasks must not delay them."""
    with services.database.reading() as db:
        if not jobs.waiting_jobs(db, clock.now(db), limit=1):
            return
    with new_thread() as reader, new_thread() as writer, LeaseKeeper(services) as keeper:
        JobRunner(services, owner, may_continue, keeper, reader, writer).run_waiting()


class JobRunner:
    """One worker's jobs, from a notification until none is waiting."""

    def __init__(
        self,
        services: Services,
        owner: str,
        may_continue: Callable[[], bool],
        keeper: LeaseKeeper,
        reader: Executor,
        writer: Executor,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._services = services
        self._owner = owner
        self._may_continue = may_continue
        self._keeper = keeper
        self._reader = reader
        self._writer = writer
        self._now = now
        self._pace = Pace(now)
        self._claim_seconds = 0.0  # of the last batch that was claimed ahead
        self._outcomes: dict[UUID, JobOutcome] = {}

    def run(self, message: JobMessage) -> JobOutcome:
        first = self._claim(message)
        if isinstance(first, JobOutcome):
            # This job cannot run here. Run other waiting jobs now: theirs may be behind many stale notifications.
            self.run_waiting()
            return first
        if first.job.kind == JobKind.REPAIR:
            step = partial(repair.repair, self._services, first, self._keeper, self._turn())
            return self._end(first, step, wrote=True)
        batch = Batch(self._services, self._keeper)
        batch.add(first)
        if first.job.run_alone:
            self._embed_and_store(batch).result()
        else:
            self._ingest(batch)
        return self._outcomes[first.job.id]

    def run_waiting(self) -> None:
        self._ingest(self._claim_waiting())

    def _turn(self, upcoming: Future[Batch] | None = None) -> Callable[[], bool]:
        """For work that starts now: a function that says whether it must give way to jobs that wait, also those that
        are claimed already."""
        over_at = self._now() + TURN_SECONDS

        def must_give_way() -> bool:
            return self._now() >= over_at and (not self._may_continue() or self._others_wait(upcoming))

        return must_give_way

    def _others_wait(self, upcoming: Future[Batch] | None) -> bool:
        if upcoming is not None and upcoming.done() and upcoming.result().jobs:
            return True
        try:
            with self._services.database.reading() as db:
                return jobs.first_due(db, clock.now(db)) is not None
        except errors.DatabaseUnavailable:
            return False  # then the job continues as long as it can

    def _ingest(self, batch: Batch) -> None:
        earlier = None
        while batch.jobs:
            embedded = Event()
            seconds = self._pace.seconds_of(sum(size_to_embed(job.items) for job in batch.jobs))
            upcoming = self._reader.submit(self._claim_ahead, embedded, seconds)
            try:
                ending = self._embed_and_store(batch, upcoming)
            finally:
                embedded.set()
            if earlier is not None:
                earlier.result()
            batch, earlier = upcoming.result(), ending
            if not batch.jobs:
                # Ending a job schedules the session's next one.
                ending.result()
                batch = self._reader.submit(self._claim_waiting).result()

    def _claim(self, message: JobMessage) -> Claim | JobOutcome:
        with _bound(message):
            lock: HeldLock | None = None
            try:
                lock = self._services.locks.acquire(message.memory_base_id, message.session_id)
                if lock is None:
                    return JobOutcome.BUSY
            except errors.LockUnavailable:
                log.warning("session_lock_unreachable")
            claim = None
            try:
                claim = claim_job(self._services, message, self._owner)
            finally:
                if claim is not None:
                    self._keeper.hold(claim, lock)
                elif lock is not None:
                    lock.release()
            return claim or JobOutcome.STALE

    def _claim_ahead(self, embedded: Event, seconds: float) -> Batch:
        """Claim the next batch shortly before the current one, which should take `seconds`, is embedded.

        Not earlier, because jobs that become due meanwhile may come before those that wait now.
        """
        embedded.wait(max(seconds - AHEAD_SECONDS - 2 * self._claim_seconds, 0))
        began = self._now()
        batch = self._claim_waiting()
        self._claim_seconds = self._now() - began
        return batch

    def _claim_waiting(self) -> Batch:
        """Claim and read waiting jobs, as many as are embedded in BATCH_SECONDS; at least one. Those with nothing to
        embed, as when a regenerate copies its vectors, take none of that time."""
        batch = Batch(self._services, self._keeper)
        if not self._may_continue():
            return batch
        messages = size = 0
        at_most = self._pace.size_of(BATCH_SECONDS)
        try:
            with self._services.database.reading() as db:
                waiting = jobs.waiting_jobs(db, clock.now(db), limit=MAX_BATCH_JOBS)
            for row in waiting:
                claim = self._claim(row.message())
                if isinstance(claim, JobOutcome):
                    continue
                job = batch.add(claim)
                messages += len(job.messages)
                size += size_to_embed(job.items)
                if messages >= MAX_BATCH_MESSAGES or (size and size >= at_most):
                    break
        except errors.DatabaseUnavailable:
            log.warning("claiming_failed")  # jobs that are claimed already go on
        return batch

    def _embed_and_store(self, batch: Batch, upcoming: Future[Batch] | None = None) -> Future[None]:
        """Embed here; store and end the jobs in the writer thread. The future is done when they have ended.

        No transaction is open meanwhile.
        """
        batch.begin()
        _log_long_jobs(batch.jobs)
        for pieces in batch.slices(self._turn(upcoming)):
            with self._pace.measured(sum(piece.size for piece in pieces)):
                batch.embed(pieces)
            self._writer.submit(self._store, batch, pieces)
        return self._writer.submit(self._end_all, batch.jobs)

    def _store(self, batch: Batch, pieces: Sequence[Piece]) -> None:
        self._end_all(batch.store(pieces))

    def _end_all(self, ending: Sequence[JobWork]) -> None:
        for job in ending:
            if not job.ended:
                job.ended = True
                outcome = self._end(job.claim, partial(self._advance, job), wrote=job.started)
                self._outcomes[job.claim.job.id] = outcome

    def _advance(self, job: JobWork) -> None:
        advance(self._services, job.claim, self._keeper, job.result(), cursor_id=job.cursor_id)

    def _end(self, claim: Claim, last_step: Callable[[], None], *, wrote: bool) -> JobOutcome:
        """Do the job's last step. If it fails, postpone the job, or drop it if the claim is lost."""
        with tracing.within([claim.span]), _bound(claim.job.message()):
            outcome = JobOutcome.DONE
            failed: Exception | None = None
            try:
                last_step()
            except Exception as error:  # noqa: BLE001 - this job is postponed; the other jobs end
                failed = error
                outcome = _postpone_or_drop(self._services, claim, error, wrote=wrote)
            self._keeper.drop(claim)
            log.info("job_ended", outcome=str(outcome))
            error_type = None if failed is None else tracing.error_type(failed)
            tracing.end(claim.span, error=error_type, outcome=str(outcome))
            return outcome


class Pace:
    """Recent speed of embedding, in characters a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rate = 0.0

    @contextmanager
    def measured(self, characters: int) -> Iterator[None]:
        """Learn from the time that embedding these takes."""
        began = self._clock()
        yield
        if characters:
            rate = characters / max(self._clock() - began, 0.001)
            self._rate = (self._rate + rate) / 2 if self._rate else rate

    def seconds_of(self, characters: int) -> float:
        """Time to embed this many characters; 0 before anything was embedded."""
        return characters / self._rate if self._rate else 0.0

    def size_of(self, seconds: float) -> float:
        """The characters that are embedded in this time; 0 before anything was."""
        return self._rate * seconds


def _due(services: Services, message: JobMessage) -> JobMessage | None:
    """The notified job if it is queued, else the first that is due, which may be one that no batch takes.

    In busy times most notifications are for jobs that an earlier batch has done: check before taking any lock.
    """
    with services.database.reading() as db:
        if jobs.is_queued(db, message.job_id):
            return message
        first = jobs.first_due(db, clock.now(db))
        return None if first is None else first.message()


def _log_long_jobs(started: Sequence[JobWork]) -> None:
    for job in started:
        messages, chunks = job.totals
        if chunks > SLICE_CHUNKS:
            with _bound(job.claim.job.message()):
                log.info("long_job_started", messages=messages, chunks=chunks, stored=job.stored_chunks)


def _postpone_or_drop(services: Services, claim: Claim, error: Exception, *, wrote: bool) -> JobOutcome:
    """The job cannot end now: postpone it, or drop it if the claim is lost."""
    retry_at = None
    if isinstance(error, GaveWay):
        if retry.give_way(services, claim, error.stored_chunks):
            return JobOutcome.GAVE_WAY
    elif isinstance(error, errors.ClaimLost):
        log.warning("claim_lost")
        lease.release(services, claim, wrote=wrote)
    else:
        retry_at = retry.postpone(services, claim, error, wrote=wrote)
        log.warning(
            "job_postponed",
            error_type=type(error).__name__,
            until=retry_at and retry_at.isoformat(),
            exc_info=None if isinstance(error, errors.MemorybaseError) else error,
        )
    if retry_at is None:
        repair.remove_late_writes(services, claim)
    return JobOutcome.POSTPONED if retry_at else JobOutcome.LOST


def _bound(message: JobMessage) -> AbstractContextManager[None]:
    return bound(job_id=str(message.job_id), memory_base_id=str(message.memory_base_id), kind=message.kind)
