"""Repair: make the store match SQL after edits, deletes and audits. The cursor does not move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memorybase.core import errors
from memorybase.core.database import engine
from memorybase.core.ingestion import pipeline, scheduler
from memorybase.core.ingestion.claim import Claim
from memorybase.core.ingestion.lease import LeaseKeeper
from memorybase.core.ingestion.settlement import Settlement, WriteResult
from memorybase.core.queries import cursors, dead_letters, ledger, messages, residues, token_vectors
from memorybase.core.queries.ledger import HeldMessage
from memorybase.core.queries.messages import CountedMessage
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.verified_writes import unreachable_ids

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LedgerDifference:
    """The difference between a session's ledger and its messages, at most as much as one job may repair."""

    write: list[CountedMessage]
    replaced: list[HeldMessage]  # the ledger entries of these messages, in their stored version
    deleted: list[HeldMessage]
    orphaned: list[UUID]  # messages that were deleted and still have a dead letter
    complete: bool


@dataclass(frozen=True, slots=True)
class StoreDifference:
    """The difference between the store and the ledger."""

    extra: list[str]  # chunks that it should not have
    lost: set[UUID]  # messages with a missing or unreachable chunk, or without their token vectors


def repair(services: Services, claim: Claim, keeper: LeaseKeeper, must_give_way: Callable[[], bool]) -> None:
    """Write missing and changed messages, delete obsolete chunks, record both.

    Raises ClaimLost, EnvironmentFailure, GaveWay.
    """
    audit = _audit(services, claim) if claim.job.audit else StoreDifference([], set())
    difference = _difference(services, claim, audit.lost)
    done = pipeline.write_messages(services, claim, difference.write, keeper, must_give_way)
    written = set(_chunk_ids(claim, done.held))
    outdated = _chunk_ids(claim, [*difference.replaced, *difference.deleted])
    # Write before deleting: a search never misses the message. Keep a chunk that was written under the same id, now or
    # by an earlier attempt that did not record it.
    obsolete = [chunk for chunk in dict.fromkeys([*outdated, *audit.extra]) if chunk not in written]
    if obsolete:
        if not keeper.check([claim]):
            raise errors.ClaimLost
        services.vectors.delete(claim.collection, obsolete)
    _record(services, claim, keeper, difference, done, has_deleted=bool(obsolete))


def _chunk_ids(claim: Claim, held: Sequence[HeldMessage]) -> list[str]:
    """The ids of these messages' chunks in the collection."""
    return [
        chunk
        for entry in held
        for chunk in chunk_ids.chunk_ids(claim.memory_base_id, entry.message_id, entry.version, entry.chunks)
    ]


def _difference(services: Services, claim: Claim, lost: set[UUID]) -> LedgerDifference:
    limit = min(scheduler.JOB_MAX_MESSAGES, claim.job_cap or scheduler.JOB_MAX_MESSAGES)
    with services.database.reading() as db:
        write, is_all = ledger.messages_to_write(
            db,
            ledger.Covered(
                claim.progress_id, claim.flow_id, claim.session_id, claim.capture, claim.start_seq, claim.job.from_seq
            ),
            also=sorted(lost)[:limit],  # the next audit finds the rest
            limit=limit,
            max_bytes=scheduler.JOB_MAX_BYTES,
        )
        deleted = ledger.obsolete_entries(db, claim.progress_id, capture=claim.capture, limit=limit)
        entries = ledger.entries(db, claim.progress_id, [m.id for m in write])
        orphaned = dead_letters.dead_letters_without_message(db, claim.progress_id)
    complete = is_all and len(deleted) < limit and len(lost) <= limit
    return LedgerDifference(write, list(entries.values()), deleted, orphaned, complete)


def _audit(services: Services, claim: Claim) -> StoreDifference:
    """Compare the session's chunk ids in the store with the ledger, and query for each chunk."""
    stored = _stored_ids(services, claim, claim.session_id)
    for former in set(claim.renamed_from) - {claim.session_id}:
        stored |= _late_writes(services, claim, former)
    with services.database.reading() as db:
        held = ledger.entries_of_sessions(db, [claim.progress_id])
        without_tokens = token_vectors.messages_without_tokens(db, claim.progress_id)
    expected = {
        chunk: entry.message_id
        for _, entry in held
        for chunk in chunk_ids.chunk_ids(claim.memory_base_id, entry.message_id, entry.version, entry.chunks)
    }
    unreachable = unreachable_ids(services.vectors, claim.collection, [chunk for chunk in expected if chunk in stored])
    lost = {message_id for chunk, message_id in expected.items() if chunk not in stored or chunk in unreachable}
    lost |= without_tokens
    extra = sorted(stored - expected.keys())
    if lost or extra:
        log.warning(
            "audit_found_differences",
            progress_id=str(claim.progress_id),
            lost_messages=len(lost),
            extra_chunks=len(extra),
            unreachable_chunks=len(unreachable),
        )
    return StoreDifference(extra, lost)


def remove_late_writes(services: Services, claim: Claim) -> None:
    """Delete what a lost claim wrote of a session that is now deleted: no audit will find it. Best effort."""
    try:
        with services.database.reading() as db:
            if cursors.fetch_row(db, claim.progress_id) is not None:
                return
        late = sorted(_late_writes(services, claim, claim.session_id))
        if late:
            services.vectors.delete(claim.collection, late)
            with services.database.transaction(durable=False) as db:
                residues.note_log(db, services.vectors, claim.collection)
            log.warning("late_writes_deleted", chunks=len(late))
    except errors.EnvironmentFailure as error:
        log.warning("late_writes_delete_failed", error_code=error.code)


def _stored_ids(services: Services, claim: Claim, session_id: str) -> set[str]:
    return {chunk for page in services.vectors.iter_ids(claim.collection, session_id=session_id) for chunk in page}


def _late_writes(services: Services, claim: Claim, former: str) -> set[str]:
    """Chunks that a late write left under a former id of the session."""
    late = {chunk: chunk_ids.parse_chunk_id(chunk) for chunk in _stored_ids(services, claim, former)}
    # Another session may have that id by now, and keeps the chunks of its own messages. All other chunks belong to this
    # session, including those of deleted messages, which nothing else would find.
    with services.database.reading() as db:
        others = messages.ids_in_session(
            db, claim.flow_id, former, {parsed.message_id for parsed in late.values() if parsed}
        )
    return {chunk for chunk, parsed in late.items() if parsed and parsed.message_id not in others}


def _record(
    services: Services,
    claim: Claim,
    keeper: LeaseKeeper,
    difference: LedgerDifference,
    done: WriteResult,
    *,
    has_deleted: bool,
) -> None:
    with services.database.transaction() as db:
        settlement = Settlement.advancing(db, services, claim, to_seq=claim.job.from_seq, cursor_id=None)
        progress = settlement.progress
        failed = {failure.message_id for failure in done.failures}
        removed = [*difference.deleted, *(held for held in difference.replaced if held.message_id in failed)]
        ledger.delete(db, progress.id, [held.message_id for held in removed])
        dead_letters.clear_dead_letters(db, progress.id, difference.orphaned)
        if has_deleted:
            residues.note_log(db, services.vectors, claim.collection)
        changes: dict[str, Any] = {
            "total_processed": progress.total_processed - len(removed),
            "total_chunks": progress.total_chunks - sum(held.chunks for held in removed),
        }
        if claim.job.audit and difference.complete and progress.audit_at in (None, claim.audit_at):
            # Any other audit was asked for since, and may be for a write that came after this one read the store.
            changes |= {"audit_at": None, "renamed_from": None}
        if difference.complete:
            # Edits counted since the claim may have come after this repair read the messages.
            changes["repaired"] = max(progress.repaired, claim.dirty)
        cursors.update(db, progress, **changes)
        engine.after_commit(db, lambda: keeper.drop(claim))
        settlement.advance(claim, done)
    log.info("store_repaired", written=len(done.held), removed=len(difference.deleted))
