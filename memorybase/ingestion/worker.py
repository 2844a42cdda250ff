"""From one delivery until nothing waits: lock, claim, work, advance; other sessions' jobs beside it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from enum import StrEnum
from uuid import UUID

from memorybase import errors
from memorybase.database import clock
from memorybase.ingestion import lease, pipeline, repair, retry, scheduler
from memorybase.ingestion.advance import advance
from memorybase.ingestion.claim import Claim, claim_job
from memorybase.ingestion.lease import LeaseKeeper
from memorybase.ingestion.pipeline import JobWork
from memorybase.locks import HeldLock
from memorybase.models import JobKind
from memorybase.queries import dead_letters, jobs, sessions
from memorybase.services import JobMessage, Services
from memorybase.telemetry import bound, get_logger

log = get_logger(__name__)


class JobOutcome(StrEnum):
    DONE = "done"
    BUSY = "busy"  # another worker has this session
    STALE = "stale"  # no such work any more
    POSTPONED = "postponed"  # the environment failed; the job waits
    LOST = "lost"  # the claim went to somebody else


MAX_BATCH_JOBS = 64  # beside each other at most; their messages together are at most one job's worth


def run_jobs(
    services: Services,
    message: JobMessage,
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
        return JobRunner(services, owner, more, ahead, behind).run(message)


class JobRunner:
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

    def run(self, message: JobMessage) -> JobOutcome:
        notified_waits, others_wait = _find_waiting(self._services, message)
        if not notified_waits and not others_wait:
            return JobOutcome.STALE
        with LeaseKeeper(self._services) as self._keeper:
            first = self._claim(message) if notified_waits else JobOutcome.STALE
            if isinstance(first, JobOutcome):
                # Late for its own job, it is early for another's: whose ring may stand behind many late ones.
                self._ingest(self._gather())
                return first
            if first.run_alone:
                self._more = lambda: False
            if first.kind == JobKind.REPAIR:
                return self._repair(first)
            self._ingest([self._read(first)])
        return self._outcomes[message.job_id]

    def _ingest(self, works: list[JobWork]) -> None:
        earlier = None
        while works:
            upcoming = self._ahead.submit(self._gather)
            ending = self._embed_and_store(works)
            if earlier is not None:
                earlier.result()
            works, earlier = upcoming.result(), ending
            if not works:
                # The end of a job plans the session's next one.
                ending.result()
                works = self._ahead.submit(self._gather).result()

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

    def _gather(self) -> list[JobWork]:
        """Claim and read what waits, up to one job's worth together."""
        works: list[JobWork] = []
        if not self._more():
            return works
        settings = self._services.settings
        messages = size = 0
        try:
            with self._services.database.reading() as db:
                waiting = jobs.jobs_to_do(db, clock.now(db), limit=MAX_BATCH_JOBS)
            for job in waiting:
                claim = self._claim(scheduler.job_message(job))
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

    def _read(self, claim: Claim) -> JobWork:
        """What the claim's range holds, without what is a settled dead letter."""
        work = JobWork(claim, [])
        try:
            with self._services.database.reading() as db:
                messages = sessions.fetch_range(
                    db,
                    flow_id=claim.flow_id,
                    session_id=claim.session_id,
                    capture=claim.capture,
                    from_seq=claim.from_seq,
                    to_seq=claim.to_seq,
                )
                settled = dead_letters.settled_dead_letters(db, claim.progress_id, [message.id for message in messages])
        except errors.DatabaseUnavailable as error:
            work.error = error
            return work
        work.cursor_id = messages[-1].id if messages else None
        work.messages = [message for message in messages if (message.id, message.version) not in settled]
        if work.messages:
            pipeline.prepare(self._services, work)
        return work

    # -----------------------------------------------------------------------------------------------------------
    # 5. Work, with no transaction open.

    def _embed_and_store(self, works: list[JobWork]) -> Future[None]:
        """Embed, and have what is embedded stored behind; then the jobs end. Done when they have ended."""
        pipeline.mark_embedding_started([work for work in works if work.messages], self._keeper)
        for items in pipeline.slices(works):
            pipeline.embed(self._services, items)
            self._behind.submit(pipeline.store, self._services, items, self._keeper)
        return self._behind.submit(self._end, works)

    def _end(self, works: list[JobWork]) -> None:
        for work in works:
            with _bound(work.claim):
                outcome = self._advance(work)
                self._keeper.drop(work.claim)
                log.info("job_ended", outcome=str(outcome))
            self._outcomes[work.claim.job_id] = outcome

    def _advance(self, work: JobWork) -> JobOutcome:
        if work.error is not None:
            return _postpone_or_drop(self._services, work.claim, work.error, wrote=work.started)
        try:
            advance(self._services, work.claim, self._keeper, work.done, cursor_id=work.cursor_id)
        except Exception as error:  # noqa: BLE001 - whatever it is, this job waits and the others end
            return _postpone_or_drop(self._services, work.claim, error, wrote=work.started)
        return JobOutcome.DONE

    def _repair(self, claim: Claim) -> JobOutcome:
        with _bound(claim):
            try:
                repair.repair(self._services, claim, self._keeper)
                outcome = JobOutcome.DONE
            except Exception as error:  # noqa: BLE001 - whatever it is, the job waits
                outcome = _postpone_or_drop(self._services, claim, error, wrote=True)
            log.info("job_ended", outcome=str(outcome))
            return outcome


def _find_waiting(services: Services, message: JobMessage) -> tuple[bool, bool]:
    """Whether the rung job waits; and if not, whether others do. Most rings of a busy time are for jobs that were done
    beside others: one look, before any lock."""
    with services.database.reading() as db:
        if jobs.is_queued(db, message.job_id):
            return True, True
        return False, bool(jobs.jobs_to_do(db, clock.now(db), limit=1))


def _postpone_or_drop(services: Services, claim: Claim, error: Exception, *, wrote: bool) -> JobOutcome:
    """The job cannot end now: it waits, unless it is somebody else's by now."""
    again = None
    if isinstance(error, errors.ClaimLost):
        log.warning("claim_lost")
        lease.release(services, claim, wrote=wrote)
    else:
        again = retry.postpone(services, claim, error, wrote=wrote)
        log.warning("job_postponed", error_type=type(error).__name__, until=again and again.isoformat(),
                    exc_info=None if isinstance(error, errors.MemorybaseError) else error)  # fmt: skip
    if again is None:
        repair.remove_late_writes(services, claim)
    return JobOutcome.POSTPONED if again else JobOutcome.LOST


def _bound(job: JobMessage | Claim) -> AbstractContextManager[None]:
    return bound(job_id=str(job.job_id), memory_base_id=str(job.memory_base_id), kind=str(job.kind))
