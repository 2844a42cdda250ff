"""Reconcile: the whole store against SQL, all users together. A person's tool; nothing calls it by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database import clock
from memorybase.memory_bases.consistency import Differences, OnProgress, compare, find_unreachable_chunks
from memorybase.models import MemoryBase
from memorybase.queries import cursors, memory_bases
from memorybase.services import Services
from memorybase.telemetry import get_logger
from memorybase.vectors import chunk_ids
from memorybase.vectors.store import CollectionRef

log = get_logger(__name__)

# A collection is made a moment before the row that names it; after so long that row does not come any more.
ORPHANED_AFTER = timedelta(hours=1)

_COLLECTION = re.compile(r"mb-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-g([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Reconciled:
    """One memory base compared; all numbers in chunks but `marked`, the sessions whose next job repairs them, and
    `without_tokens`, messages that are held without their token vectors.

    `hidden` chunks are stored, and no search by meaning comes upon them; `removed` ones were of no message that SQL
    knows of, and are gone already.
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


@dataclass(frozen=True, slots=True)
class Orphan:
    """A collection that belongs to no generation. Young ones, and those of unknown age, may be about to."""

    ref: CollectionRef
    created_at: datetime | None
    old: bool


def reconcile_base(
    services: Services, base_id: UUID, *, repair: bool, on_progress: OnProgress = lambda *_: None
) -> Reconciled | None:
    """Compare the serving generation id by id and look for each chunk, with `repair` have it mended; None: the base is
    gone.

    What is mended goes the ordinary way: an audit of the session by its next job, which the sweeper plans.
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
            return _answer(base, "gone", differences)
        hidden = find_unreachable_chunks(services, base, ref, on_progress)
        if not differences and not hidden:
            return _answer(base, "ok", differences)
        marked, removed = _mend(services, base, ref, differences, hidden) if repair else (0, 0)
    except errors.VectorStoreUnavailable:
        return Reconciled(base.id, base.name, "unavailable")
    except errors.CollectionMissing:
        return Reconciled(base.id, base.name, "gone")
    return _answer(base, "mismatch", differences, len(hidden), marked, removed)


def _answer(
    base: MemoryBase,
    state: Literal["ok", "mismatch", "gone"],
    differences: Differences,
    hidden: int = 0,
    marked: int = 0,
    removed: int = 0,
) -> Reconciled:
    return Reconciled(
        base.id, base.name, state, differences.expected, differences.found,
        len(differences.missing), len(differences.extra), hidden, marked, removed,
        sum(differences.without_tokens.values()),
    )  # fmt: skip


def _mend(
    services: Services, base: MemoryBase, ref: CollectionRef, differences: Differences, hidden: Mapping[str, UUID]
) -> tuple[int, int]:
    strangers = {chunk: chunk_ids.parse_chunk_id(chunk) for chunk in differences.extra}
    messages = sorted({parsed.message_id for parsed in strangers.values() if parsed})
    with services.database.reading() as db:
        known = cursors.sessions_of_messages(db, base, messages)
    # No job writes what is of no message; what is of one may be on its way, and goes by an audit under its claim.
    doomed = sorted(chunk for chunk, parsed in strangers.items() if parsed is None or parsed.message_id not in known)
    if doomed:
        services.vectors.delete(ref, doomed)
    differing = {*differences.missing.values(), *known.values(), *hidden.values(), *differences.without_tokens}
    marked = sum(_mark(services, progress_id) for progress_id in sorted(differing))
    log.info("store_reconciled", memory_base_id=str(base.id), sessions_marked=marked, chunks_removed=len(doomed))
    return marked, len(doomed)


def _mark(services: Services, progress_id: UUID) -> bool:
    with services.database.transaction() as db:
        return cursors.request_audit(db, progress_id, clock.now(db))


def find_orphans(services: Services) -> list[Orphan]:
    """Collections named as ours that belong to no generation. Raises VectorStoreUnavailable."""
    # The store first: a collection made after this is not in the list, whatever its row.
    listed = services.vectors.list_collections()
    orphans = []
    with services.database.reading() as db:
        now = clock.now(db)
        for each in listed:
            if _is_orphan(db, each.ref.name):
                made = _moment(each.metadata.get("created_at"))
                orphans.append(Orphan(each.ref, made, made is not None and made < now - ORPHANED_AFTER))
    return orphans


def drop_orphans(services: Services, orphans: Sequence[Orphan]) -> list[Orphan]:
    """Delete the old ones; which of them. One whose base came to be meanwhile stays."""
    dropped = []
    for orphan in orphans:
        with services.database.reading() as db:
            still = orphan.old and _is_orphan(db, orphan.ref.name)
        if still:
            services.vectors.delete_collection(orphan.ref.name)
            log.info("orphan_dropped", collection=orphan.ref.name)
            dropped.append(orphan)
    return dropped


def _is_orphan(db: OrmSession, name: str) -> bool:
    parsed = _COLLECTION.fullmatch(name)
    return parsed is not None and not memory_bases.is_collection_needed(db, UUID(parsed[1]), int(parsed[2]))


def _moment(value: object) -> datetime | None:
    return datetime.fromtimestamp(value, UTC) if type(value) is int else None
