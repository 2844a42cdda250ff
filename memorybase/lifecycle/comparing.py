"""Mismatch: does the store hold what the ledger says? Decided chunk by chunk; an unreachable store is no mismatch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from memorybase import chunking, errors
from memorybase.models import MemoryBase
from memorybase.queries import bases, clock, jobs, ledger, rows
from memorybase.services import Services
from memorybase.telemetry import get_logger
from memorybase.vectors import CollectionRef

log = get_logger(__name__)

SHOWN_IDS = 20


@dataclass(frozen=True, slots=True)
class Mismatch:
    """All numbers in chunks."""

    mismatch: bool
    state: Literal["ok", "mismatch", "unavailable"]
    expected: int = 0
    found: int = 0
    missing: int = 0
    extra: int = 0
    missing_ids: list[str] = field(default_factory=list)
    extra_ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Differences:
    """What a comparison found, chunk by chunk; the session row of what is missing."""

    expected: int
    found: int
    missing: dict[str, UUID]
    extra: set[str]

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)


@dataclass(frozen=True, slots=True)
class _Expected:
    """What the serving ledger says, and the sessions whose jobs are at work right now."""

    chunks: dict[str, UUID]  # chunk id -> session row
    busy_rows: set[UUID]
    busy_messages: set[UUID]


def check_mismatch(services: Services, user_id: UUID, base_id: UUID) -> Mismatch:
    """Compare the serving generation id by id and remember the answer. Raises NotFound."""
    with services.database.reading() as session:
        base = bases.fetch_base(session, user_id, base_id)
        if base is None:
            raise errors.NotFound("There is no such memory base", field="memory_base_id", value=str(base_id))
        generation = bases.fetch_generation(session, base_id, base.serving)
    try:
        differences = compare(services, base, CollectionRef(generation.collection_name, generation.collection_id))
    except errors.VectorStoreUnavailable:
        return Mismatch(mismatch=False, state="unavailable")
    return Mismatch(
        mismatch=bool(differences),
        state="mismatch" if differences else "ok",
        expected=differences.expected,
        found=differences.found,
        missing=len(differences.missing),
        extra=len(differences.extra),
        missing_ids=sorted(differences.missing)[:SHOWN_IDS],
        extra_ids=sorted(differences.extra)[:SHOWN_IDS],
    )


def compare(services: Services, base: MemoryBase, ref: CollectionRef) -> Differences:
    """Compare the serving generation id by id and remember whether it differs. Raises VectorStoreUnavailable."""
    try:
        stored = _ids(services.vectors.iter_ids(ref))
    except errors.CollectionMissing:
        stored = set()
    # The store is read first: what an advance adds to the ledger after that is looked up again below.
    expected = _expected(services, base)
    missing = {chunk for chunk, row in expected.chunks.items() if chunk not in stored and row not in expected.busy_rows}
    extra = {chunk for chunk in stored - expected.chunks.keys() if not _in_flight(chunk, expected)}
    if missing or extra:
        missing, extra = _look_again(services, base, ref, missing, extra)
    found = Differences(len(expected.chunks), len(stored), {chunk: expected.chunks[chunk] for chunk in missing}, extra)
    with services.database.transaction() as session:
        bases.set_mismatch(session, base.id, base.serving, bool(found), clock.now(session))
    return found


def _look_again(
    services: Services, base: MemoryBase, ref: CollectionRef, missing: set[str], extra: set[str]
) -> tuple[set[str], set[str]]:
    """Two reads of two systems are never one moment: only what differs both times is a difference."""
    try:
        present = services.vectors.stored_ids(ref, sorted(missing | extra))
    except errors.CollectionMissing:
        present = set()
    expected = _expected(services, base)
    still_missing = {
        chunk
        for chunk in missing - present
        if chunk in expected.chunks and expected.chunks[chunk] not in expected.busy_rows
    }
    still_extra = {
        chunk for chunk in extra & present if chunk not in expected.chunks and not _in_flight(chunk, expected)
    }
    return still_missing, still_extra


def _ids(pages: Iterable[list[str]]) -> set[str]:
    return {chunk for page in pages for chunk in page}


def _expected(services: Services, base: MemoryBase) -> _Expected:
    with services.database.reading() as session:
        chunks = {
            chunk: row_id
            for row_id, held in ledger.entries_of_generation(session, base.id, base.serving)
            for chunk in chunking.chunk_ids(base.id, held.message_id, held.version, held.chunks)
        }
        active = jobs.active_jobs_of_base(session, base.id)
        busy_messages = ledger.messages_of_sessions(session, base.flow_id, [job.session_id for job in active])
    return _Expected(chunks, {job.row_id for job in active}, busy_messages)


def _in_flight(chunk: str, expected: _Expected) -> bool:
    parsed = chunking.parse_chunk_id(chunk)
    return parsed is not None and parsed.message_id in expected.busy_messages


def compare_counts(services: Services) -> int:
    """The sweeper's quick look at every base at rest: do the numbers agree? How many do not.

    A count costs next to nothing; which chunks differ is check_mismatch's to say.
    """
    found = 0
    with services.database.reading() as session:
        base_ids = bases.bases_to_compare(session, clock.now(session))
    for base_id in base_ids:
        found += _counts_differ(services, base_id)
    return found


def _counts_differ(services: Services, base_id: UUID) -> bool:
    with services.database.reading() as session:
        base = bases.fetch_any_base(session, base_id)
        if base is None or base.deleting_at is not None:
            return False
        generation = bases.fetch_generation(session, base_id, base.serving)
        before = rows.chunks_of_generation(session, base_id, base.serving)
    try:
        count = services.vectors.count(CollectionRef(generation.collection_name, generation.collection_id))
    except errors.CollectionMissing:
        count = -1
    with services.database.transaction() as session:
        after = rows.chunks_of_generation(session, base_id, base.serving)
        if before != after or jobs.active_jobs_of_base(session, base_id):
            return False  # at work: the next pass may find it at rest
        # An empty base whose collection is gone has lost its place to write: that is a mismatch too.
        bases.set_mismatch(session, base_id, base.serving, count != after, clock.now(session))
        return count != after
