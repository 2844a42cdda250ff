"""Mismatch: does the store hold what the ledger says? Decided chunk by chunk; an unreachable store is no mismatch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database import clock
from memorybase.models import MemoryBase
from memorybase.queries import cursors, ledger, memory_bases, token_vectors
from memorybase.queries.ownership import require_memory_base
from memorybase.services import Services
from memorybase.telemetry import get_logger
from memorybase.vectors import chunk_ids
from memorybase.vectors.store import CollectionRef
from memorybase.vectors.visibility import unreachable_ids

log = get_logger(__name__)

SHOWN_IDS = 20
LOOK_PAGE = 1_000  # chunks that are looked for between two words of progress, half a second

Looked = Callable[[int, int], object]  # told how many chunks were looked for, and of how many


@dataclass(frozen=True, slots=True)
class Mismatch:
    """All numbers in chunks but `missing_token_vectors`, messages that are held without theirs."""

    mismatch: bool
    state: Literal["ok", "mismatch", "unavailable"]
    expected: int = 0
    found: int = 0
    missing: int = 0
    extra: int = 0
    missing_token_vectors: int = 0
    missing_ids: list[str] = field(default_factory=list)
    extra_ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Differences:
    """What a comparison found, chunk by chunk; the session row of what is missing.

    `without_tokens`: how many messages of a session row are held without their token vectors.
    """

    expected: int
    found: int
    missing: dict[str, UUID]
    extra: set[str]
    without_tokens: dict[UUID, int]

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.without_tokens)


def check_mismatch(services: Services, user_id: UUID, base_id: UUID) -> Mismatch:
    """Compare the serving generation id by id and remember the answer. Raises NotFound."""
    with services.database.reading() as db:
        base = require_memory_base(db, user_id, base_id)
        generation = memory_bases.fetch_generation(db, base_id, base.serving)
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
        missing_token_vectors=sum(differences.without_tokens.values()),
        missing_ids=sorted(differences.missing)[:SHOWN_IDS],
        extra_ids=sorted(differences.extra)[:SHOWN_IDS],
    )


def compare(services: Services, base: MemoryBase, ref: CollectionRef) -> Differences:
    """Compare the serving generation id by id and remember whether it differs. Raises VectorStoreUnavailable."""
    stored: set[str] | None
    try:
        stored = {chunk for page in services.vectors.iter_ids(ref) for chunk in page}
    except errors.CollectionMissing:
        stored = None
    # The store is read first: what an advance adds to the ledger after that is looked up again below.
    found = _differences(services, base, stored)
    if found:
        found = _look_again(services, base, ref, found)
    with services.database.transaction() as db:
        memory_bases.set_mismatch(db, base.id, base.serving, bool(found), clock.now(db))
    return found


def _look_again(services: Services, base: MemoryBase, ref: CollectionRef, first: Differences) -> Differences:
    """Two reads of two systems are never one moment: only what differs both times is a difference."""
    present: set[str] | None
    try:
        present = services.vectors.stored_ids(ref, sorted(first.missing.keys() | first.extra))
    except errors.CollectionMissing:
        present = None
    second = _differences(services, base, present)
    missing = {chunk: row for chunk, row in first.missing.items() if chunk in second.missing}
    return Differences(first.expected, first.found, missing, first.extra & second.extra, second.without_tokens)


def _differences(services: Services, base: MemoryBase, stored: set[str] | None) -> Differences:
    """Against what the ledger says now, without what is in flight; None: there is no collection."""
    with services.database.reading() as db:
        expected = _expected(db, base)
        if stored is None:  # nothing is on its way to a collection that is gone
            return Differences(len(expected), 0, expected, set(), {})
        at_work = cursors.sessions_at_work(db, base.id, base.serving)
        missing = {chunk: row for chunk, row in expected.items() if chunk not in stored and row not in at_work}
        extra = stored - expected.keys()
        if extra and at_work:
            extra -= _in_flight(db, base, extra, at_work)
        lacking = token_vectors.sessions_lacking(db, base.id, base.serving)
    without_tokens = {row: count for row, count in lacking.items() if row not in at_work}
    return Differences(len(expected), len(stored), missing, extra, without_tokens)


def _expected(db: OrmSession, base: MemoryBase) -> dict[str, UUID]:
    """What the ledger says that the serving generation holds, with the session row of each chunk."""
    return {
        chunk: progress_id
        for progress_id, held in ledger.entries_of_generation(db, base.id, base.serving)
        for chunk in chunk_ids.chunk_ids(base.id, held.message_id, held.version, held.chunks)
    }


def find_hidden_chunks(services: Services, base: MemoryBase, ref: CollectionRef, looked: Looked) -> dict[str, UUID]:
    """Chunks of sessions at rest that the store has and no search by meaning comes upon, with their session row.

    A query for each chunk: 5 s for 12,000. Raises VectorStoreUnavailable and CollectionMissing.
    """
    with services.database.reading() as db:
        at_work = cursors.sessions_at_work(db, base.id, base.serving)
        resting = {chunk: row for chunk, row in _expected(db, base).items() if row not in at_work}
    chunks, hidden = list(resting), set[str]()
    for start in range(0, len(chunks), LOOK_PAGE):
        hidden |= unreachable_ids(services.vectors, ref, chunks[start : start + LOOK_PAGE])
        looked(min(start + LOOK_PAGE, len(chunks)), len(chunks))
    return {chunk: resting[chunk] for chunk in hidden}


def _in_flight(db: OrmSession, base: MemoryBase, chunks: set[str], at_work: set[UUID]) -> set[str]:
    """Which of these are of messages whose session is being worked on, or is about to be."""
    messages: dict[UUID, list[str]] = {}
    for chunk in chunks:
        parsed = chunk_ids.parse_chunk_id(chunk)
        if parsed is not None:
            messages.setdefault(parsed.message_id, []).append(chunk)
    owners = cursors.sessions_of_messages(db, base, messages)
    return {chunk for message_id, row in owners.items() if row in at_work for chunk in messages[message_id]}


def compare_counts(services: Services) -> int:
    """The sweeper's quick look at every base at rest: do the numbers agree? How many do not.

    A count costs next to nothing; which chunks differ is check_mismatch's to say.
    """
    found = 0
    with services.database.reading() as db:
        base_ids = memory_bases.bases_to_compare(db, clock.now(db))
    for base_id in base_ids:
        found += _counts_differ(services, base_id)
    return found


def _counts_differ(services: Services, base_id: UUID) -> bool:
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
        if base is None or base.deleting_at is not None:
            return False
        generation = memory_bases.fetch_generation(db, base_id, base.serving)
        before = cursors.chunks_of_generation(db, base_id, base.serving)
    try:
        count = services.vectors.count(CollectionRef(generation.collection_name, generation.collection_id))
    except errors.CollectionMissing:
        count = -1
    with services.database.transaction() as db:
        after = cursors.chunks_of_generation(db, base_id, base.serving)
        if count >= 0 and (before != after or cursors.sessions_at_work(db, base_id, base.serving)):
            return False  # the next pass may find it at rest
        # An empty base whose collection is gone has lost its place to write: that is a mismatch too.
        memory_bases.set_mismatch(db, base_id, base.serving, count != after, clock.now(db))
        return count != after
