"""Repair: make the store follow the ledger's difference to the messages. The cursor stays where it is."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from memorybase import errors
from memorybase.database import engine
from memorybase.ingestion import advance, pipeline
from memorybase.ingestion.build import complete_build
from memorybase.ingestion.claim import Claim
from memorybase.ingestion.lease import LeaseKeeper
from memorybase.queries import cursors, dead_letters, ledger, sessions, token_vectors
from memorybase.queries.ledger import Held
from memorybase.queries.sessions import CountedMessage
from memorybase.services import Services
from memorybase.telemetry import get_logger
from memorybase.vectors import chunk_ids
from memorybase.vectors.visibility import unreachable_ids

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Difference:
    """What separates a session's ledger from its messages, at most one job's worth."""

    write: list[CountedMessage]
    replaced: list[Held]  # entries of the messages to write, in the version that the store has now
    gone: list[Held]
    buried: list[UUID]  # dead letters whose message is gone
    complete: bool


@dataclass(frozen=True, slots=True)
class Audit:
    """What separates the store from the ledger: ids that it should not have, and messages that it has lost or hides,
    or that have lost their token vectors."""

    extra: list[str]
    lost: set[UUID]


def repair(services: Services, claim: Claim, keeper: LeaseKeeper) -> None:
    """Write what is missing or changed, remove what is gone, record both. Raises ClaimLost and the environment's."""
    audit = _audit(services, claim) if claim.audit else Audit([], set())
    difference = _difference(services, claim, audit.lost)
    done = pipeline.write_messages(services, claim, difference.write, keeper)
    written = set(pipeline.chunk_ids_of(claim, done.held))
    outdated = pipeline.chunk_ids_of(claim, [*difference.replaced, *difference.gone])
    # New chunks first, then the old ones go: what is served is never without the message. What was just written
    # again under the id it had, or stood there unrecorded from an attempt before, stays.
    doomed = [chunk for chunk in dict.fromkeys([*outdated, *audit.extra]) if chunk not in written]
    if doomed:
        if not keeper.check([claim]):
            raise errors.ClaimLost
        services.vectors.delete(claim.collection, doomed)
    _record(services, claim, keeper, difference, done)


def _difference(services: Services, claim: Claim, lost: set[UUID]) -> Difference:
    limit = min(services.settings.job_max_messages, claim.job_cap or services.settings.job_max_messages)
    with services.database.reading() as db:
        write = ledger.messages_to_write(
            db,
            progress_id=claim.progress_id,
            flow_id=claim.flow_id,
            session_id=claim.session_id,
            capture=claim.capture,
            start_seq=claim.start_seq,
            cursor_seq=claim.from_seq,
            also=sorted(lost)[:limit],  # the next audit finds those beyond
            limit=limit,
        )
        gone = ledger.entries_to_drop(db, claim.progress_id, limit=limit)
        entries = ledger.entries(db, claim.progress_id, [m.id for m in write])
        buried = dead_letters.dead_letters_without_message(db, claim.progress_id)
    complete = len(write) < limit and len(gone) < limit and len(lost) <= limit
    return Difference(write, list(entries.values()), gone, buried, complete)


def _audit(services: Services, claim: Claim) -> Audit:
    """Compare the session's ids in the store with the ledger, id by id, and look for each of its chunks."""
    stored = _stored_ids(services, claim, claim.session_id)
    for former in set(claim.renamed_from) - {claim.session_id}:
        stored |= _late_writes(services, claim, former)
    with services.database.reading() as db:
        held = ledger.entries_of_session(db, claim.progress_id)
        without_tokens = token_vectors.lacking_in_session(db, claim.progress_id)
    expected = {
        chunk: entry.message_id
        for entry in held
        for chunk in chunk_ids.chunk_ids(claim.memory_base_id, entry.message_id, entry.version, entry.chunks)
    }
    hidden = unreachable_ids(services.vectors, claim.collection, [chunk for chunk in expected if chunk in stored])
    lost = {message_id for chunk, message_id in expected.items() if chunk not in stored or chunk in hidden}
    lost |= without_tokens
    extra = sorted(stored - expected.keys())
    if lost or extra:
        log.warning("audit_found", progress_id=str(claim.progress_id), lost_messages=len(lost), extra_chunks=len(extra),
                    unreachable_chunks=len(hidden))  # fmt: skip
    return Audit(extra, lost)


def remove_late_writes(services: Services, claim: Claim) -> None:
    """Take away what a lost claim has written of a session that is gone, best effort: no audit will come for it."""
    try:
        with services.database.reading() as db:
            if cursors.fetch_progress(db, claim.progress_id) is not None:
                return
        late = sorted(_late_writes(services, claim, claim.session_id))
        if late:
            services.vectors.delete(claim.collection, late)
            log.warning("late_writes_removed", chunks=len(late))
    except errors.EnvironmentFailure as error:
        log.warning("late_writes_not_removed", error_code=error.code)


def _stored_ids(services: Services, claim: Claim, session_id: str) -> set[str]:
    return {chunk for page in services.vectors.iter_ids(claim.collection, session_id=session_id) for chunk in page}


def _late_writes(services: Services, claim: Claim, former: str) -> set[str]:
    """What a late write has left under a former name of the session."""
    late = {chunk: chunk_ids.parse_chunk_id(chunk) for chunk in _stored_ids(services, claim, former)}
    # By now another session may have that name, and what is of its messages is its own. All else is ours, also what is
    # of messages that are gone: nobody else would look for it.
    with services.database.reading() as db:
        others = sessions.ids_in_session(
            db, claim.flow_id, former, {parsed.message_id for parsed in late.values() if parsed}
        )
    return {chunk for chunk, parsed in late.items() if parsed and parsed.message_id not in others}


def _record(
    services: Services, claim: Claim, keeper: LeaseKeeper, difference: Difference, done: advance.WriteResult
) -> None:
    with services.database.transaction() as db:
        advanced = advance.compare_and_set(db, claim, to_seq=claim.from_seq, cursor_id=None)
        progress, now = advanced.progress, advanced.now
        failed = {failure.message_id for failure in done.failures}
        removed = [*difference.gone, *(held for held in difference.replaced if held.message_id in failed)]
        ledger.forget(db, progress.id, [held.message_id for held in removed])
        dead_letters.clear_dead_letters(db, progress.id, difference.buried)
        progress.total_processed -= len(removed)
        progress.total_chunks -= sum(held.chunks for held in removed)
        if claim.audit and difference.complete and (progress.audit_at is None or progress.audit_at <= now):
            # One that is asked for later may be for a write that came behind our look at the store.
            progress.audit_at = progress.renamed_from = None
        if difference.complete:
            # Marks made since the claim stay: their edit may have come after our reading.
            progress.repaired = max(progress.repaired, claim.dirty)
        engine.after_commit(db, lambda: keeper.drop(claim))
        advance.finish(db, services, claim, advanced, done)
        if claim.is_build:
            complete_build(db, services, advanced.base, now)
    log.info("store_repaired", written=len(done.held), removed=len(difference.gone))
