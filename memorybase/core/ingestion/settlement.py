"""The settlement of a job: what the transaction that ends it, or queues it again, has locked, and what it writes.

Everything is loaded once, in the common lock order: the memory base, the session's progress rows by id, the job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deadlines, errors, events
from memorybase.core.database import clock
from memorybase.core.events import Event, EventType
from memorybase.core.extension import Ingested
from memorybase.core.ingestion import build, scheduler
from memorybase.core.ingestion.claim import Claim
from memorybase.core.ingestion.scheduler import audit_time, schedule_next
from memorybase.core.models import JobKind, JobState
from memorybase.core.queries import cursors, dead_letters, jobs, ledger, memory_bases, token_vectors
from memorybase.core.queries.cursors import ProgressRow
from memorybase.core.queries.dead_letters import Failure
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.ledger import HeldMessage
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.token_vectors import MessageTokens
from memorybase.core.services import Services


@dataclass(slots=True)
class StageTimes:
    """When a job's messages were embedded and written, on this worker's monotonic clock; None: not yet."""

    embedding: float | None = None  # the first began
    embedded: float | None = None  # the last ended
    written: float | None = None

    def on_clock_of(self, now: datetime) -> dict[str, datetime | None]:
        """The columns of the job, on the database's clock: `now` is its time at this moment."""
        moment = time.monotonic()

        def at(stage: float | None) -> datetime | None:
            return None if stage is None else now - timedelta(seconds=moment - stage)

        return {"embedding_at": at(self.embedding), "embedded_at": at(self.embedded), "written_at": at(self.written)}


@dataclass(slots=True)
class WriteResult:
    """Messages that are now in the collection, and messages that failed."""

    held: list[HeldMessage] = field(default_factory=list)
    tokens: list[MessageTokens] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    orphaned_chunks: bool = False  # some are stored of a message that failed
    times: StageTimes = field(default_factory=StageTimes)


@dataclass(slots=True)
class Settlement:
    """A job with its memory base and its session's rows, locked in this transaction."""

    db: OrmSession
    services: Services
    base: BaseRow
    rows: list[ProgressRow]  # of the session in the memory base; two during a build
    progress: ProgressRow  # the job's among them
    job: JobRow
    now: datetime

    @classmethod
    def advancing(
        cls, db: OrmSession, services: Services, claim: Claim, *, to_seq: int, cursor_id: UUID | None
    ) -> Self:
        """Of a claimed job whose work is done: moves the cursor, by compare-and-set.

        Raises ClaimLost if another worker has the job, or the memory base is being deleted.
        """
        # An advance that may complete a build locks the base exclusively: of two last advances, one sees the other.
        lock: Callable[[OrmSession, UUID], BaseRow | None] = (
            memory_bases.lock_row if claim.is_build else memory_bases.share_base
        )
        base = lock(db, claim.memory_base_id)
        # During a build the session has two rows. Lock both by id, as a capture does.
        rows = cursors.lock_rows(db, [claim.memory_base_id], claim.session_id)
        now = clock.now(db)
        progress = cursors.compare_and_advance(db, claim.job, to_seq=to_seq, cursor_id=cursor_id, now=now)
        if base is None or base.deleting_at is not None or progress is None:
            raise errors.ClaimLost
        if progress.session_id != claim.session_id:  # renamed since
            rows = cursors.lock_rows(db, [base.id], progress.session_id)
        rows = [progress if row.id == progress.id else row for row in rows]
        return cls(db, services, base, rows, progress, claim.job, now)

    @classmethod
    def releasing(cls, db: OrmSession, services: Services, claim: Claim, *, wrote: bool) -> Self | None:
        """Of a claimed job that cannot end now: releases the lease, and notes an audit of what was written. None if the
        claim is lost."""
        base = memory_bases.share_base(db, claim.memory_base_id)
        rows = cursors.lock_rows(db, [claim.memory_base_id], claim.session_id)
        # If it is not among them, the session was renamed since.
        progress = next((row for row in rows if row.id == claim.progress_id), None)
        progress = progress or cursors.lock_row(db, claim.progress_id)
        now = clock.now(db)
        if progress is not None:
            audit_at = audit_time(now, services.settings) if wrote else None
            epoch = claim.job.epoch
            cursors.release_lease(db, progress, epoch=epoch, audit_at=audit_at, written_as=claim.session_id)
        job = jobs.lock_row(db, claim.job.id)
        if job is None or (job.state, job.epoch) != (JobState.RUNNING, claim.job.epoch):
            return None
        return None if base is None or progress is None else cls(db, services, base, rows, progress, job, now)

    @classmethod
    def fencing(
        cls,
        db: OrmSession,
        services: Services,
        base: BaseRow,
        rows: list[ProgressRow],
        progress: ProgressRow,
        now: datetime,
    ) -> Self | None:
        """Of a job whose worker is lost: revokes its lease and claim, and schedules an audit. None if no job runs. The
        caller has locked the base and the rows."""
        cursors.update(
            db,
            progress,
            epoch=progress.epoch + 1,
            lease_until=None,
            lease_owner=None,
            audit_at=audit_time(now, services.settings),
        )
        job = jobs.lock_running(db, progress.id)
        return None if job is None else cls(db, services, base, rows, progress, job, now)

    def advance(self, claim: Claim, done: WriteResult) -> None:
        """Write the ledger, end the job, and schedule the next one. Raises ClaimLost if another worker has the job."""
        self._record_written(done, retried=claim.retried)
        dead = self._record_dead_letters(done.failures)
        if not jobs.update_claimed(
            self.db,
            job_id=self.job.id,
            epoch=self.job.epoch,
            state=JobState.DONE,
            processed=len(done.held),
            total=len(done.held) + len(done.failures),
            error=None,
            error_code=None,
            finished_at=self.now,
            **done.times.on_clock_of(self.now),
        ):
            raise errors.ClaimLost
        self._note([*dead, self._event(EventType.JOB_COMPLETED, processed=len(done.held), dead_letters=len(dead))])
        if self.job.kind != JobKind.REPAIR:
            self._tell_ingested()
        self._schedule_next()
        if claim.is_build:
            build.complete_build(self.db, self.services, self.base, self.now)

    def postpone(self, error: Exception, retry_at: datetime) -> None:
        """Queue the job for later, without counting this attempt: the environment failed."""
        self._write(
            state=JobState.QUEUED,
            available_at=retry_at,
            notify_at=retry_at,
            outages=self.job.outages + 1,
            attempts=self.job.attempts - 1,
            error=describe(error),
            error_code=getattr(error, "code", None),
        )
        if isinstance(error, errors.CollectionMissing):
            # The sweeper compares no memory base that has an active job.
            began = memory_bases.mark_mismatch(self.db, self.base.id, self.job.generation, self.now)
            events.record_mismatch(self.db, self.services, began, self.now)
        if self.job.kind == JobKind.REPAIR and self.base.building not in (None, self.job.generation):
            self._yield_to_build()

    def give_way(self, stored_chunks: int) -> None:
        """Queue the job behind those that wait, to continue after the chunks that are stored."""
        left = self.job.total_chunks - stored_chunks
        self._write(
            state=JobState.QUEUED,
            available_at=self.now,
            notified_at=self.now,
            notify_at=self.now + timedelta(seconds=deadlines.NOTIFY_AFTER_SECONDS),
            attempts=self.job.attempts - 1,
            lost_workers=0,
            stored_chunks=stored_chunks,
            virtual_time=scheduler.virtual_time(self.db, self.base, self.job.kind, left),
        )
        scheduler.enqueue_after_commit(self.db, self.services, [self.job])

    def requeue(self, error: str, **changes: Any) -> None:
        """Queue the job at once: its worker is gone."""
        self._write(
            state=JobState.QUEUED,
            available_at=self.now,
            notified_at=self.now,
            notify_at=self.now,
            error=error,
            error_code=None,
            **changes,
        )

    def give_up(self, error: str, failures: Sequence[Failure]) -> JobRow | None:
        """Fail the job, with dead letters of these messages. Returns the session's next job, which covers half of the
        range."""
        dead = self._record_dead_letters(failures)
        cursors.update(self.db, self.progress, job_cap=max(1, self.job.total // 2))
        self._write(state=JobState.FAILED, finished_at=self.now, error=error)
        self._note([*dead, self._event(EventType.JOB_FAILED, lost_workers=self.job.lost_workers)])
        return self._schedule_next()

    def _write(self, **changes: Any) -> None:
        self.job = jobs.update(self.db, self.job, **changes)

    def _schedule_next(self) -> JobRow | None:
        return schedule_next(self.db, self.services, self.base, self.rows, self.now)

    def _record_written(self, done: WriteResult, *, retried: bool) -> None:
        """Write the ledger and its totals."""
        db, base, job, progress, now = self.db, self.base, self.job, self.progress, self.now
        messages, chunks = ledger.record(
            db,
            base=base,
            generation=job.generation,
            progress_id=progress.id,
            held=done.held,
            now=now,
            repaired=job.kind == JobKind.REPAIR,
        )
        token_vectors.record(
            db, base_id=base.id, generation=job.generation, progress_id=progress.id, tokens=done.tokens
        )
        dead_letters.clear_dead_letters(db, progress.id, [held.message_id for held in done.held])
        changes: dict[str, Any] = {
            "total_processed": progress.total_processed + messages,
            "total_chunks": progress.total_chunks + chunks,
        }
        if retried or done.orphaned_chunks:
            # An earlier attempt may have written chunks of a message that was edited since; no ledger has them.
            changes["audit_at"] = audit_time(now, self.services.settings)
        if progress.job_cap is not None:
            doubled = progress.job_cap * 2
            changes["job_cap"] = doubled if doubled < scheduler.JOB_MAX_MESSAGES else None
        cursors.update(db, progress, **changes)

    def _record_dead_letters(self, failures: Sequence[Failure]) -> list[Event]:
        """Write dead letters; their events."""
        ids = dead_letters.add_dead_letters(
            self.db,
            base_id=self.base.id,
            generation=self.job.generation,
            progress_id=self.progress.id,
            failures=failures,
            now=self.now,
        )
        return [
            Event(
                EventType.DEAD_LETTER_CREATED,
                {
                    "dead_letter_id": dead_letter_id,
                    "memory_base_id": self.base.id,
                    "flow_id": self.base.flow_id,
                    "session_id": self.progress.session_id,
                    "message_id": failure.message_id,
                    "version": failure.version,
                    "cause": failure.code,
                },
            )
            for dead_letter_id, failure in zip(ids, failures, strict=True)
        ]

    def _event(self, kind: EventType, **counts: int) -> Event:
        job = self.job
        of_job = {
            "job_id": job.id,
            "kind": job.kind,
            "memory_base_id": self.base.id,
            "flow_id": self.base.flow_id,
            "session_id": self.progress.session_id,
            "generation": job.generation,
            "from_seq": job.from_seq,
            "to_seq": job.to_seq,
        }
        return Event(kind, {**of_job, **counts})

    def _note(self, found: Sequence[Event]) -> None:
        events.record(self.db, self.services, self.base.user_id, found, self.now)

    def _tell_ingested(self) -> None:
        """Features derive from what is in the knowledge base, never before or instead of it."""
        session_id, to_seq = self.progress.session_id, self.job.to_seq
        ingested = Ingested(base=self.base, session_id=session_id, to_seq=to_seq, now=self.now)
        for hooks in self.services.hooks:
            hooks.on_ingested(self.db, self.services, ingested)

    def _yield_to_build(self) -> None:
        """A failing repair of the serving generation must not block the build, which may be the fix.

        The row stays dirty, so the repair is scheduled again after the build's job.
        """
        self._write(state=JobState.CANCELLED)
        of_build = [row for row in self.rows if row.generation == self.base.building]
        if schedule_next(self.db, self.services, self.base, of_build, self.now) is None:
            self._write(state=JobState.QUEUED)
        else:
            self._write(finished_at=self.now)


def describe(error: Exception) -> str:
    """The error as a job shows it. Our errors never contain message text; of others only the type is kept."""
    return error.message if isinstance(error, errors.MemorybaseError) else f"Unexpected {type(error).__name__}"
