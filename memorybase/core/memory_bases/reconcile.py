"""Reconcile: compare the whole store with SQL, for all users. An operator's tool; nothing runs it automatically."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.memory_bases.consistency import Differences, OnProgress, compare, find_unreachable_chunks
from memorybase.core.models import MemoryBase
from memorybase.core.queries import cursors, memory_bases, residues
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.store import CollectionRef

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The comparison of one memory base, counted in chunks.

    `hidden` chunks are stored but no vector search reaches them; `removed` chunks belonged to no message and are
    deleted. `altered` chunks, looked for among the newest, have another text or no readable vector. `marked` counts
    sessions that the next job repairs, `without_tokens` messages without token vectors.
    """

    memory_base_id: UUID
    name: str
    state: Literal["ok", "mismatch", "gone", "unavailable"]
    expected: int = 0
    found: int = 0
    missing: int = 0
    extra: int = 0
    hidden: int = 0
    marked: int = 0
    removed: int = 0
    without_tokens: int = 0
    altered: int = 0


def reconcile_base(
    services: Services, base_id: UUID, *, repair: bool, on_progress: OnProgress = lambda *_: None
) -> Reconciled | None:
    """Compare the serving generation chunk by chunk and query for each; None if the base is deleted.

    `repair` deletes chunks of no message and schedules an audit of each session that differs, as its next job.
    """
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
        if base is None or base.deleting_at is not None:
            return None
        generation = memory_bases.fetch_generation(db, base_id, base.serving)
    ref = CollectionRef(generation.collection_name, generation.collection_id)
    try:
        differences = compare(services, base, ref)
        if not services.vectors.collection_exists(ref):
            return _result(base, "gone", differences)
        hidden = find_unreachable_chunks(services, base, ref, on_progress) - differences.missing
        if not differences and not hidden:
            return _result(base, "ok", differences)
        marked, removed = _repair(services, base, ref, differences, hidden) if repair else (0, 0)
    except errors.VectorStoreUnavailable:
        return Reconciled(base.id, base.name, "unavailable")
    except errors.CollectionMissing:
        return Reconciled(base.id, base.name, "gone")
    return _result(base, "mismatch", differences, hidden.total(), marked, removed)


def _result(
    base: MemoryBase,
    state: Literal["ok", "mismatch", "gone"],
    differences: Differences,
    hidden: int = 0,
    marked: int = 0,
    removed: int = 0,
) -> Reconciled:
    return Reconciled(
        base.id,
        base.name,
        state,
        differences.expected,
        differences.found,
        differences.missing.total(),
        differences.extra_count,
        hidden,
        marked,
        removed,
        sum(differences.without_tokens.values()),
        len(differences.altered),
    )


def _repair(
    services: Services, base: MemoryBase, ref: CollectionRef, differences: Differences, hidden: Collection[UUID]
) -> tuple[int, int]:
    extra = {chunk: chunk_ids.parse_chunk_id(chunk) for chunk in differences.extra}
    messages = sorted({parsed.message_id for parsed in extra.values() if parsed})
    with services.database.reading() as db:
        known = cursors.sessions_of_messages(db, base, messages)
    # No job writes chunks of no message. Chunks of a message may be in flight: an audit deletes them under its claim.
    stray = sorted(chunk for chunk, parsed in extra.items() if parsed is None or parsed.message_id not in known)
    if stray:
        services.vectors.delete(ref, stray)
        with services.database.transaction() as db:
            residues.note_log(db, services.vectors, ref)
    differing = {*differences.missing, *known.values(), *hidden, *differences.without_tokens}
    marked = sum(_mark(services, progress_id) for progress_id in sorted(differing))
    log.info("store_reconciled", memory_base_id=str(base.id), sessions_marked=marked, chunks_removed=len(stray))
    return marked, len(stray)


def _mark(services: Services, progress_id: UUID) -> bool:
    with services.database.transaction() as db:
        return cursors.request_audit(db, progress_id, clock.now(db))
