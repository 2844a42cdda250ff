"""The last step of a job: cursor, ledger and job change in one transaction, or nothing does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors, events, tracing
from memorybase.database import clock, engine
from memorybase.events import Event, EventType
from memorybase.ingestion import build, scheduler
from memorybase.ingestion.claim import Claim
from memorybase.ingestion.lease import LeaseKeeper
from memorybase.ingestion.scheduler import audit_time, schedule_next
from memorybase.models import JobKind, JobState
from memorybase.queries import cursors, dead_letters, distillations, jobs, ledger, memory_bases, token_vectors
from memorybase.queries.cursors import ProgressRow
from memorybase.queries.memory_bases import BaseRow
from memorybase.queries.token_vectors import MessageTokens
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)


def advance(
    services: Services, claim: Claim, keeper: LeaseKeeper, done: WriteResult, *, cursor_id: UUID | None
) -> None:
    """Move the cursor by compare-and-set and write the ledger. Raises ClaimLost."""
    # A power cut may undo this commit. That leaves a claim without its worker, as a kill just before it would.
    with tracing.span("advance", messages=len(done.held)), services.database.transaction(durable=claim.is_build) as db:
        advanced = compare_and_set(db, claim, to_seq=claim.to_seq, cursor_id=cursor_id)
        engine.after_commit(db, lambda: keeper.drop(claim))
        finish(db, services, claim, advanced, done)
        if claim.is_build:
            build.complete_build(db, services, advanced.base, advanced.now)
    log.info("cursor_advanced", to_seq=claim.to_seq, messages=len(done.held), dead_letters=len(done.failures))


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

    held: list[ledger.HeldMessage] = field(default_factory=list)
    tokens: list[MessageTokens] = field(default_factory=list)
    failures: list[dead_letters.Failure] = field(default_factory=list)
    orphaned_chunks: bool = False  # some are stored of a message that failed
    times: StageTimes = field(default_factory=StageTimes)


class Advanced(NamedTuple):
    """After the compare-and-set: the memory base, the session's row that moved, all its rows, the time."""

    base: BaseRow
    progress: ProgressRow
    session_rows: list[ProgressRow]
    now: datetime


def compare_and_set(db: OrmSession, claim: Claim, *, to_seq: int, cursor_id: UUID | None) -> Advanced:
    """Move the cursor if the claim still holds. Locks are taken in the common order.

    Raises ClaimLost if another worker has the job, or the memory base is being deleted.
    """
    # An advance that may complete a build locks the base exclusively: of two last advances, one sees the other.
    lock: Callable[[OrmSession, UUID], BaseRow | None] = (
        memory_bases.lock_row if claim.is_build else memory_bases.share_base
    )
    base = lock(db, claim.memory_base_id)
    # During a build the session has two rows. Lock both by id, as a capture does.
    locked = cursors.lock_rows(db, [claim.memory_base_id], claim.session_id)
    now = clock.now(db)
    progress = cursors.compare_and_advance(
        db,
        progress_id=claim.progress_id,
        epoch=claim.epoch,
        generation=claim.generation,
        from_seq=claim.from_seq,
        to_seq=to_seq,
        cursor_id=cursor_id,
        now=now,
    )
    if base is None or base.deleting_at is not None or progress is None:
        raise errors.ClaimLost
    if progress.session_id != claim.session_id:  # renamed since
        locked = cursors.lock_rows(db, [base.id], progress.session_id)
    return Advanced(base, progress, [progress if row.id == progress.id else row for row in locked], now)


def finish(db: OrmSession, services: Services, claim: Claim, advanced: Advanced, done: WriteResult) -> None:
    """In the transaction of the compare-and-set: write the ledger, end the job, schedule the next one.

    Raises ClaimLost if the job no longer belongs to this claim.
    """
    base, progress, locked, now = advanced
    messages, chunks = ledger.record(
        db,
        base=base,
        generation=claim.generation,
        progress_id=progress.id,
        held=done.held,
        now=now,
        repaired=claim.kind == JobKind.REPAIR,
    )
    token_vectors.record(db, base_id=base.id, generation=claim.generation, progress_id=progress.id, tokens=done.tokens)
    dead_letters.clear_dead_letters(db, progress.id, [held.message_id for held in done.held])
    dead = dead_letters.add_dead_letters(
        db, base_id=base.id, generation=claim.generation, progress_id=progress.id, failures=done.failures, now=now
    )
    changes: dict[str, Any] = {
        "total_processed": progress.total_processed + messages,
        "total_chunks": progress.total_chunks + chunks,
    }
    if claim.retried or done.orphaned_chunks:
        # An earlier attempt may have written chunks of a message that was edited since; no ledger has them.
        changes["audit_at"] = audit_time(now, services.settings)
    if progress.job_cap is not None:
        doubled = progress.job_cap * 2
        changes["job_cap"] = doubled if doubled < scheduler.JOB_MAX_MESSAGES else None
    cursors.update(db, progress, **changes)
    if not jobs.update_claimed(
        db,
        job_id=claim.job_id,
        epoch=claim.epoch,
        state=JobState.DONE,
        processed=len(done.held),
        total=len(done.held) + len(done.failures),
        error=None,
        error_code=None,
        finished_at=now,
        **done.times.on_clock_of(now),
    ):
        raise errors.ClaimLost
    ended = [dead_letter_event(base, progress, *each) for each in zip(dead, done.failures, strict=True)]
    events.record(db, services, base.user_id, [*ended, _completed(claim, advanced, done)], now)
    if base.distill and claim.kind != JobKind.REPAIR:
        _request_distillation(db, services, claim, progress, now)
    schedule_next(db, services, base, locked, now)


def _request_distillation(
    db: OrmSession, services: Services, claim: Claim, progress: ProgressRow, now: datetime
) -> None:
    """Facts are distilled from what is in the knowledge base, never before or instead of it."""
    if distillations.request(
        db, claim.memory_base_id, progress.flow_id, progress.session_id, claim.to_seq, now, notify_at=now
    ):
        engine.after_commit(db, lambda: services.queue.notify(distillations.DISTILL))


def _completed(claim: Claim, advanced: Advanced, done: WriteResult) -> Event:
    return Event(
        EventType.JOB_COMPLETED,
        {
            "job_id": claim.job_id,
            "kind": claim.kind,
            "memory_base_id": claim.memory_base_id,
            "flow_id": advanced.base.flow_id,
            "session_id": advanced.progress.session_id,
            "generation": claim.generation,
            "from_seq": claim.from_seq,
            "to_seq": claim.to_seq,
            "processed": len(done.held),
            "dead_letters": len(done.failures),
        },
    )


def dead_letter_event(
    base: BaseRow, progress: ProgressRow, dead_letter_id: UUID, failure: dead_letters.Failure
) -> Event:
    return Event(
        EventType.DEAD_LETTER_CREATED,
        {
            "dead_letter_id": dead_letter_id,
            "memory_base_id": base.id,
            "flow_id": base.flow_id,
            "session_id": progress.session_id,
            "message_id": failure.message_id,
            "version": failure.version,
            "cause": failure.code,
        },
    )
