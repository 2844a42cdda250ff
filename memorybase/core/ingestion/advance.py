"""The last step of a job: cursor, ledger and job change in one transaction, or nothing does."""

from __future__ import annotations

from uuid import UUID

from memorybase.core import tracing
from memorybase.core.database import engine
from memorybase.core.ingestion.claim import Claim
from memorybase.core.ingestion.lease import LeaseKeeper
from memorybase.core.ingestion.settlement import Settlement, WriteResult
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger

log = get_logger(__name__)


def advance(
    services: Services, claim: Claim, keeper: LeaseKeeper, done: WriteResult, *, cursor_id: UUID | None
) -> None:
    """Move the cursor by compare-and-set and write the ledger. Raises ClaimLost."""
    to_seq = claim.job.to_seq
    # A power cut may undo this commit. That leaves a claim without its worker, as a kill just before it would.
    with tracing.span("advance", messages=len(done.held)), services.database.transaction(durable=claim.is_build) as db:
        settlement = Settlement.advancing(db, services, claim, to_seq=to_seq, cursor_id=cursor_id)
        engine.after_commit(db, lambda: keeper.drop(claim))
        settlement.advance(claim, done)
    log.info("cursor_advanced", to_seq=to_seq, messages=len(done.held), dead_letters=len(done.failures))
