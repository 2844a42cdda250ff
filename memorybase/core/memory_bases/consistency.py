"""Mismatch: does the store hold what the ledger says? Compared by chunk; an unavailable store is no mismatch.

It stores and reports what differs, and repairs nothing: `reconcile` and Regenerate do.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors, events
from memorybase.core.database import clock
from memorybase.core.memory_bases.deletion import each
from memorybase.core.memory_bases.newest_chunks import chunks_in_flight, compare_newest
from memorybase.core.models import MemoryBase
from memorybase.core.queries import cursors, ledger, memory_bases, token_vectors
from memorybase.core.queries.ownership import require_memory_base
from memorybase.core.queries.store_health import failing_stores
from memorybase.core.services import Services
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.collection_names import store_of
from memorybase.core.vectors.store import CollectionRef, batches
from memorybase.core.vectors.verified_writes import unreachable_ids

SHOWN_IDS = 20
KEPT_EXTRA = 100_000  # a repair deletes these, the next one the rest
SESSION_PAGE, CHUNK_PAGE = 500, 5_000
PAUSE_FACTOR = 300  # the sweeper's pause between two comparisons of a base, as a multiple of the last one's duration
SHORTEST_PAUSE, LONGEST_PAUSE = timedelta(seconds=memory_bases.COMPARE_EVERY_SECONDS), timedelta(hours=1)
PROBE_BATCH = 1_000  # chunks queried between two reports of progress, half a second

OnProgress = Callable[[int, int], object]  # chunks queried so far, chunks in total


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Differences between a ledger and its store, counted in chunks unless the field says otherwise."""

    mismatch: Annotated[bool, Field(description="Whether store and ledger differ.")]
    state: Annotated[
        Literal["ok", "mismatch", "unavailable"],
        Field(description="`ok`, `mismatch`, or `unavailable` if the store could not be read."),
    ]
    expected: Annotated[int, Field(description="Number of chunks in the ledger.")] = 0
    found: Annotated[int, Field(description="Number of chunks in the store.")] = 0
    missing: Annotated[int, Field(description="Number of chunks that the store lacks.")] = 0
    extra: Annotated[int, Field(description="Number of chunks that only the store has.")] = 0
    altered: Annotated[
        int, Field(description="Number of the newest chunks with another text or an unreadable vector.")
    ] = 0
    missing_token_vectors: Annotated[int, Field(description="Number of messages without token vectors.")] = 0
    missing_ids: Annotated[list[str], Field(description="Some of the missing chunks.")] = field(default_factory=list)
    extra_ids: Annotated[list[str], Field(description="Some of the extra chunks.")] = field(default_factory=list)


@dataclass(slots=True)
class Differences:
    """The result of a comparison by chunk. `missing` counts chunks and `without_tokens` messages, by session row.

    `extra` has at most KEPT_EXTRA of the `extra_count` chunks. `altered`: as in Mismatch.
    """

    expected: int = 0
    found: int = 0
    missing: Counter[UUID] = field(default_factory=Counter)
    missing_ids: list[str] = field(default_factory=list)  # at most SHOWN_IDS
    extra_count: int = 0
    extra: set[str] = field(default_factory=set)
    without_tokens: dict[UUID, int] = field(default_factory=dict)
    altered: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra_count or self.without_tokens or self.altered)


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
        missing=differences.missing.total(),
        extra=differences.extra_count,
        altered=len(differences.altered),
        missing_token_vectors=sum(differences.without_tokens.values()),
        missing_ids=sorted(differences.missing_ids),
        extra_ids=sorted(differences.extra)[:SHOWN_IDS],
    )


def compare(services: Services, base: MemoryBase, ref: CollectionRef) -> Differences:
    """Compare the serving generation by chunk id, and its newest chunks by text; store whether it differs.

    In pages: it holds the chunks of some sessions at a time. Raises VectorStoreUnavailable.
    """
    missing: int | None
    try:
        found = _compare_held(services, base, ref)
        missing = found.missing.total()
    except errors.CollectionMissing:
        found, missing = _without_collection(services, base), None
    with services.database.transaction() as db:
        now = clock.now(db)
        compared = memory_bases.Compared(bool(found), missing, found.found)
        began = memory_bases.set_mismatch(db, base.id, base.serving, compared, now)
        events.record_mismatch(db, services, began, now)
    return found


def _compare_held(services: Services, base: MemoryBase, ref: CollectionRef) -> Differences:
    """Look for each chunk of the ledger. Only if the store has more than these are its own ids listed, which takes ten
    times as long."""
    found, listed = Differences(), 0
    newest = compare_newest(services, base, ref)
    found.altered |= newest.altered
    for page in _pages_of_sessions(services, base):
        found.expected += sum(page.values())
        for chunks in _chunks_of(services, base, page):
            stored = services.vectors.stored_ids(ref, list(chunks), vectors=False)
            listed += len(stored)
            found.altered |= newest.unreadable & stored
            for row in {chunks[id_] for id_ in chunks.keys() - stored}:
                if missing := _missing_of_session(services, base, ref, row):
                    found.missing[row] = len(missing)
                    _show_missing(found, missing)
        with services.database.reading() as db:
            without_tokens = token_vectors.count_missing_by_session(db, list(page))
            busy = cursors.busy_sessions(db, base.id, base.serving) if without_tokens else set()
        found.without_tokens |= {row: count for row, count in without_tokens.items() if row not in busy}
    found.found = services.vectors.count(ref)  # after the others, so that new chunks hide none
    if found.found > listed:
        _find_extra(services, base, ref, found)
    return found


def _without_collection(services: Services, base: MemoryBase) -> Differences:
    """Everything is missing, and nobody writes."""
    found = Differences()
    for page in _pages_of_sessions(services, base):
        found.expected += sum(page.values())
        found.missing.update({row: count for row, count in page.items() if count})
        for row in page:
            if len(found.missing_ids) < SHOWN_IDS:
                _show_missing(found, _expected(services, base, [row]))
    return found


def _find_extra(services: Services, base: MemoryBase, ref: CollectionRef, found: Differences) -> None:
    """Find the chunks that the ledger does not name."""
    for page in services.vectors.iter_ids(ref):
        with services.database.reading() as db:
            unknown = set(page) - _owners(db, base, page).keys()
        if not unknown:
            continue
        # Two systems cannot be read at one moment: an extra chunk is one that differs both times.
        unknown &= services.vectors.stored_ids(ref, sorted(unknown))
        with services.database.reading() as db:
            busy = cursors.busy_sessions(db, base.id, base.serving)
            unknown -= _owners(db, base, sorted(unknown)).keys()
            unknown -= chunks_in_flight(db, base, unknown, busy)
        found.extra_count += len(unknown)
        found.extra.update(sorted(unknown)[: KEPT_EXTRA - len(found.extra)])


def _owners(db: OrmSession, base: MemoryBase, chunks: Sequence[str]) -> dict[str, UUID]:
    """The session rows of those of these chunks that the ledger of the serving generation names."""
    parsed = {chunk: found for chunk in chunks if (found := chunk_ids.parse_chunk_id(chunk)) is not None}
    held = ledger.held_chunks(db, base.id, base.serving, {chunk.message_id for chunk in parsed.values()})
    return {
        id_: owner
        for id_, chunk in parsed.items()
        if chunk.base_id == base.id and (owner := held.get((chunk.message_id, chunk.version, chunk.index))) is not None
    }


def _pages_of_sessions(services: Services, base: MemoryBase) -> Iterator[dict[UUID, int]]:
    """Pages of session rows with the chunks that each must have. One that is renamed meanwhile is being repaired."""
    after = ""
    while True:
        with services.database.reading() as db:
            page = ledger.chunks_by_session(db, base.id, base.serving, after=after, limit=SESSION_PAGE)
        if not page:
            return
        yield {row: chunks for _, row, chunks in page}
        after = page[-1][0]


def _chunks_of(services: Services, base: MemoryBase, sessions: Mapping[UUID, int]) -> Iterator[dict[str, UUID]]:
    """The chunks of these session rows according to the ledger, each with its row; some sessions at a time."""
    rows: list[UUID] = []
    for row, count in sessions.items():
        if rows and sum(sessions[each] for each in rows) + count > CHUNK_PAGE:
            yield _expected(services, base, rows)
            rows = []
        rows.append(row)
    if rows:
        yield _expected(services, base, rows)


def _missing_of_session(services: Services, base: MemoryBase, ref: CollectionRef, row: UUID) -> set[str]:
    """The chunks that the ledger names before and after the store was read without them."""
    expected = list(_expected(services, base, [row]))
    try:
        missing = set(expected) - services.vectors.stored_ids(ref, expected)
    except errors.CollectionMissing:  # since; the next comparison says so
        return set()
    with services.database.reading() as db:
        if row in cursors.busy_sessions(db, base.id, base.serving):
            return set()
        return missing & _owners(db, base, sorted(missing)).keys()


def _expected(services: Services, base: MemoryBase, rows: Sequence[UUID]) -> dict[str, UUID]:
    """The chunks of session rows according to the ledger, each with its row."""
    with services.database.reading() as db:
        held = ledger.entries_of_sessions(db, rows)
    return {
        chunk: row
        for row, each in held
        for chunk in chunk_ids.chunk_ids(base.id, each.message_id, each.version, each.chunks)
    }


def _show_missing(found: Differences, chunks: Iterable[str]) -> None:
    found.missing_ids += sorted(chunks)[: SHOWN_IDS - len(found.missing_ids)]


def find_unreachable_chunks(
    services: Services, base: MemoryBase, ref: CollectionRef, on_progress: OnProgress
) -> Counter[UUID]:
    """Number of chunks that no vector search reaches, by session row; only of sessions without active work.

    Also those that are missing. One query for each chunk: 5 s for 12,000. Raises VectorStoreUnavailable and
    CollectionMissing.
    """
    unreachable: Counter[UUID] = Counter()
    with services.database.reading() as db:
        total = cursors.chunks_of_generation(db, base.id, base.serving)
        busy = cursors.busy_sessions(db, base.id, base.serving)
    queried = 0
    for page in _pages_of_sessions(services, base):
        for chunks in _chunks_of(services, base, {row: count for row, count in page.items() if row not in busy}):
            for batch in batches(list(chunks), PROBE_BATCH):
                unreachable.update(chunks[chunk] for chunk in unreachable_ids(services.vectors, ref, batch))
                queried += len(batch)
                on_progress(min(queried, total), total)
    return unreachable


def compare_counts(services: Services) -> int:
    """The sweeper's quick check of every base without active work: how many differ from their store.

    It compares the number of chunks, which stores count one by one, and the newest chunks; `check_mismatch` shows which
    chunks differ. A difference that only that call can find stays until that call, or a repair, ends it.
    """
    with services.database.reading() as db:
        now = clock.now(db)
        found = memory_bases.bases_to_compare(db, now, away=failing_stores(db, services.settings, now))
    return each([(store_of(collection), partial(_in_turn, services, base_id)) for base_id, collection in found])


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
    """The pause after a comparison of this duration, so that comparisons take no more than a share of the time."""
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
        found = compare(services, base, ref)
        with services.database.transaction(durable=False) as db:  # it took longer than a count
            memory_bases.compare_later(db, base_id, clock.now(db) + pause_after(time.monotonic() - began))
        return bool(found)
    with services.database.transaction() as db:
        if count >= 0 and cursors.busy_sessions(db, base_id, base.serving):
            return False  # a later pass checks it
        if count >= 0 and differs and before != cursors.chunks_of_generation(db, base_id, base.serving):
            return False
        # A missing collection is a mismatch even of an empty base, which could not be written to.
        compared = memory_bases.Compared(differs, None if count < 0 else max(before - count, 0), max(count, 0))
        now, pause = clock.now(db), pause_after(time.monotonic() - began)
        began_with_this = memory_bases.set_mismatch(db, base_id, base.serving, compared, now, pause=pause)
        events.record_mismatch(db, services, began_with_this, now)
        return differs
