"""The last step: cursor, ledger and job in one transaction. Both updates hit one row, or nothing happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database import clock, engine
from memorybase.ingestion import build
from memorybase.ingestion.claim import Claim
from memorybase.ingestion.lease import LeaseKeeper
from memorybase.ingestion.scheduler import audit_time, schedule_next
from memorybase.models import JobKind, JobState, MemoryBase, SessionProgress
from memorybase.queries import cursors, dead_letters, jobs, ledger, memory_bases, token_vectors
from memorybase.queries.token_vectors import TokensOf
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)


def advance(
    services: Services, claim: Claim, keeper: LeaseKeeper, done: WriteResult, *, cursor_id: UUID | None
) -> None:
    """Move the cursor by compare-and-set and write the ledger; raises ClaimLost when somebody else did."""
    # An advance that a power cut undoes leaves a claim without its worker, as a kill just before it does.
    with services.database.transaction(durable=claim.is_build) as db:
        advanced = compare_and_set(db, claim, to_seq=claim.to_seq, cursor_id=cursor_id)
        engine.after_commit(db, lambda: keeper.drop(claim))
        finish(db, services, claim, advanced, done)
        if claim.is_build:
            build.complete_build(db, services, advanced.base, advanced.now)
    log.info("cursor_advanced", to_seq=claim.to_seq, messages=len(done.held), dead_letters=len(done.failures))


@dataclass(slots=True)
class WriteResult:
    """What is now in the collection, and what could not be put there."""

    held: list[ledger.Held] = field(default_factory=list)
    tokens: list[TokensOf] = field(default_factory=list)
    failures: list[dead_letters.Failure] = field(default_factory=list)


class Advanced(NamedTuple):
    """What the compare-and-set has hit: its base, its row as it is now, the session's rows, the moment."""

    base: MemoryBase
    progress: SessionProgress
    rows: list[SessionProgress]
    now: datetime


def compare_and_set(db: OrmSession, claim: Claim, *, to_seq: int, cursor_id: UUID | None) -> Advanced:
    """Move the cursor if nothing has changed since the claim.

    The locks are taken in everybody's order. Raises ClaimLost when somebody else did it, or the base is going.
    """
    # Whoever may complete a build takes the base alone, so that of two last advances one sees the other.
    lock = memory_bases.lock_base if claim.is_build else memory_bases.share_base
    base = lock(db, claim.memory_base_id)
    # During a build the session has two rows: a capture takes them by id, and so do we, whichever is ours.
    locked = cursors.lock_session_progress(db, [claim.memory_base_id], claim.session_id)
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
        locked = cursors.lock_session_progress(db, [base.id], progress.session_id)
    return Advanced(base, progress, locked, now)


def finish(db: OrmSession, services: Services, claim: Claim, advanced: Advanced, done: WriteResult) -> None:
    """End the job and write the ledger, in the transaction of the compare-and-set that has just hit its row.

    Plans what is owed next. Raises ClaimLost when the job is no longer this claim's.
    """
    base, progress, locked, now = advanced
    messages, chunks = ledger.record(
        db, base=base, generation=claim.generation, progress_id=progress.id, held=done.held, now=now,
        repaired=claim.kind == JobKind.REPAIR,
    )  # fmt: skip
    token_vectors.record(db, base_id=base.id, generation=claim.generation, progress_id=progress.id, tokens=done.tokens)
    progress.total_processed += messages
    progress.total_chunks += chunks
    dead_letters.clear_dead_letters(db, progress.id, [held.message_id for held in done.held])
    dead_letters.add_dead_letters(
        db, base_id=base.id, generation=claim.generation, progress_id=progress.id, failures=done.failures, now=now
    )
    if claim.retried:
        # An attempt before this one may have written what no ledger knows, of a message edited since.
        progress.audit_at = audit_time(now, services.settings)
    if progress.job_cap is not None:
        doubled = progress.job_cap * 2
        progress.job_cap = doubled if doubled < services.settings.job_max_messages else None
    db.flush()
    if not jobs.update_claimed(
        db,
        job_id=claim.job_id,
        epoch=claim.epoch,
        state=JobState.DONE,
        processed=len(done.held),
        total=len(done.held) + len(done.failures),
        error=None,
        finished_at=now,
    ):
        raise errors.ClaimLost
    schedule_next(db, services, base, locked, now)
