"""Mismatch: does the store hold what the ledger says? Compared by chunk; an unavailable store is no mismatch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Literal
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database import clock
from memorybase.memory_bases.deletion import each
from memorybase.memory_bases.newest_chunks import chunks_in_flight, compare_newest
from memorybase.models import MemoryBase
from memorybase.queries import cursors, ledger, memory_bases, token_vectors
from memorybase.queries.ownership import require_memory_base
from memorybase.queries.store_health import failing_stores
from memorybase.services import Services
from memorybase.telemetry import get_logger
from memorybase.vectors import chunk_ids
from memorybase.vectors.collection_names import server_of
from memorybase.vectors.store import CollectionRef
from memorybase.vectors.visibility import unreachable_ids
from memorybase.webhooks import events

log = get_logger(__name__)

SHOWN_IDS = 20
PAUSE_FACTOR = 300  # the sweeper's pause between two comparisons of a base is so many times as long as the last one
SHORTEST_PAUSE, LONGEST_PAUSE = timedelta(seconds=memory_bases.COMPARE_EVERY_SECONDS), timedelta(hours=1)
PROBE_BATCH = 1_000  # chunks queried between two reports of progress, half a second

OnProgress = Callable[[int, int], object]  # chunks queried so far, chunks in total


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Counted in chunks, except `missing_token_vectors`, which counts messages.

    `altered` counts those of the newest chunks that are stored with another text or without a readable vector.
    """

    mismatch: bool
    state: Literal["ok", "mismatch", "unavailable"]
    expected: int = 0
    found: int = 0
    missing: int = 0
    extra: int = 0
    altered: int = 0
    missing_token_vectors: int = 0
    missing_ids: list[str] = field(default_factory=list)
    extra_ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Differences:
    """The result of a comparison by chunk: missing chunks by session row, and extra chunks.

    `without_tokens` counts the messages without token vectors by session row. `altered`: as in Mismatch.
    """

    expected: int
    found: int
    missing: dict[str, UUID]
    extra: set[str]
    without_tokens: dict[UUID, int]
    altered: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.without_tokens or self.altered)


def check_mismatch(services: Services, user_id: UUID, base_id: UUID) -> Mismatch:
    """Compare the serving generation by chunk id and store the result. Raises NotFound."""
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
        altered=len(differences.altered),
        missing_token_vectors=sum(differences.without_tokens.values()),
        missing_ids=sorted(differences.missing)[:SHOWN_IDS],
        extra_ids=sorted(differences.extra)[:SHOWN_IDS],
    )


def compare(services: Services, base: MemoryBase, ref: CollectionRef) -> Differences:
    """Compare the serving generation by chunk id, and its newest chunks by text; store whether it differs.

    Raises VectorStoreUnavailable.
    """
    stored: set[str] | None
    try:
        stored = {chunk for page in services.vectors.iter_ids(ref) for chunk in page}
    except errors.CollectionMissing:
        stored = None
    # Read the store first: chunks of a later advance are looked up again below.
    found = _differences(services, base, stored)
    if found:
        found = _compare_again(services, base, ref, found)
    if stored is not None:
        found = replace(found, altered=_altered_chunks(services, base, ref, stored))
    with services.database.transaction() as db:
        now, missing = clock.now(db), None if stored is None else len(found.missing)
        began = memory_bases.set_mismatch(
            db, base.id, base.serving, bool(found), now, missing=missing, stored=found.found
        )
        events.record_mismatch(db, began, now)
    return found


def _altered_chunks(services: Services, base: MemoryBase, ref: CollectionRef, stored: set[str]) -> set[str]:
    try:
        newest = compare_newest(services, base, ref)
    except errors.CollectionMissing:
        return set()
    return newest.altered | (newest.unreadable & stored)


def _compare_again(services: Services, base: MemoryBase, ref: CollectionRef, first: Differences) -> Differences:
    """Two systems cannot be read at one moment: keep only what differs both times."""
    present: set[str] | None
    try:
        present = services.vectors.stored_ids(ref, sorted(first.missing.keys() | first.extra))
    except errors.CollectionMissing:
        present = None
    second = _differences(services, base, present)
    missing = {chunk: row for chunk, row in first.missing.items() if chunk in second.missing}
    return Differences(first.expected, first.found, missing, first.extra & second.extra, second.without_tokens)


def _differences(services: Services, base: MemoryBase, stored: set[str] | None) -> Differences:
    """Compare with the ledger, without sessions in flight. `stored` None: there is no collection."""
    with services.database.reading() as db:
        expected = _expected(db, base)
        if stored is None:  # no job writes to a missing collection
            return Differences(len(expected), 0, expected, set(), {})
        busy = cursors.busy_sessions(db, base.id, base.serving)
        missing = {chunk: row for chunk, row in expected.items() if chunk not in stored and row not in busy}
        extra = stored - expected.keys()
        if extra and busy:
            extra -= chunks_in_flight(db, base, extra, busy)
        counts = token_vectors.count_missing_by_session(db, base.id, base.serving)
    without_tokens = {row: count for row, count in counts.items() if row not in busy}
    return Differences(len(expected), len(stored), missing, extra, without_tokens)


def _expected(db: OrmSession, base: MemoryBase) -> dict[str, UUID]:
    """The chunks of the serving generation according to the ledger, each with its session row."""
    return {
        chunk: progress_id
        for progress_id, held in ledger.entries_of_generation(db, base.id, base.serving)
        for chunk in chunk_ids.chunk_ids(base.id, held.message_id, held.version, held.chunks)
    }


def find_unreachable_chunks(
    services: Services, base: MemoryBase, ref: CollectionRef, on_progress: OnProgress
) -> dict[str, UUID]:
    """Chunks that no vector search reaches, with their session row; only of sessions without active work.

    Also those that are missing.
    One query for each chunk: 5 s for 12,000. Raises VectorStoreUnavailable and CollectionMissing.
    """
    with services.database.reading() as db:
        busy = cursors.busy_sessions(db, base.id, base.serving)
        settled = {chunk: row for chunk, row in _expected(db, base).items() if row not in busy}
    chunks, unreachable = list(settled), set[str]()
    for start in range(0, len(chunks), PROBE_BATCH):
        unreachable |= unreachable_ids(services.vectors, ref, chunks[start : start + PROBE_BATCH])
        on_progress(min(start + PROBE_BATCH, len(chunks)), len(chunks))
    return {chunk: settled[chunk] for chunk in unreachable}


def compare_counts(services: Services) -> int:
    """The sweeper's quick check of every base without active work: how many differ from their store.

    It compares the number of chunks, which stores count one by one, and the newest chunks; `check_mismatch` shows which
    chunks differ. A difference that only that call can find stays until that call, or a repair, ends it.
    """
    with services.database.reading() as db:
        now = clock.now(db)
        found = memory_bases.bases_to_compare(db, now, away=failing_stores(db, services.settings, now))
    return each([(server_of(collection), partial(_in_turn, services, base_id)) for base_id, collection in found])


def _in_turn(services: Services, base_id: UUID) -> bool:
    """A comparison that fails is not tried again before the others have had their turn."""
    began = time.monotonic()
    try:
        return _counts_differ(services, base_id, began)
    except errors.MemorybaseError:
        with services.database.transaction(durable=False) as db:
            memory_bases.compare_later(db, base_id, clock.now(db) + pause_after(time.monotonic() - began))
        raise


def pause_after(seconds: float) -> timedelta:
    """Until the next comparison of a base after one that took so long: none takes more than a share of the time."""
    return min(max(timedelta(seconds=seconds * PAUSE_FACTOR), SHORTEST_PAUSE), LONGEST_PAUSE)


def _counts_differ(services: Services, base_id: UUID, began: float) -> bool:
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
        if base is None or base.deleting_at is not None:
            return False
        generation = memory_bases.fetch_generation(db, base_id, base.serving)
        ref = CollectionRef(generation.collection_name, generation.collection_id)
        before = cursors.chunks_of_generation(db, base_id, base.serving)
    try:
        count = services.vectors.count(ref)
        differs = count != before or bool(compare_newest(services, base, ref))
    except errors.CollectionMissing:
        count, differs = -1, True
    if base.mismatch and not differs:
        return bool(compare(services, base, ref))
    with services.database.transaction() as db:
        if count >= 0 and cursors.busy_sessions(db, base_id, base.serving):
            return False  # a later pass checks it
        if count >= 0 and differs and before != cursors.chunks_of_generation(db, base_id, base.serving):
            return False
        # A missing collection is a mismatch even of an empty base, which could not be written to.
        missing = None if count < 0 else max(before - count, 0)
        now = clock.now(db)
        began_with_this = memory_bases.set_mismatch(
            db, base_id, base.serving, differs, now, missing=missing, stored=max(count, 0),
            pause=pause_after(time.monotonic() - began),
        )  # fmt: skip
        events.record_mismatch(db, began_with_this, now)
        return differs
