"""After a backup of SQL or of the store was restored: make the store follow SQL again. An operator's tool.

Collections that SQL does not know are deleted, sessions that differ are repaired, and what is lost or altered is built
again. Without `apply` nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID

from memorybase import errors
from memorybase.knowledge_bases import registry
from memorybase.memory_bases import orphans, reconcile, regenerate
from memorybase.memory_bases.orphans import Orphan
from memorybase.memory_bases.reconcile import Reconciled
from memorybase.models import KnowledgeBase
from memorybase.queries import knowledge_bases, memory_bases
from memorybase.services import Services
from memorybase.vectors.chunk_ids import chunk_ids
from memorybase.vectors.store import CollectionRef

DOCUMENTS_READ = 500  # in one statement

# A request creates a collection just before the row that names it. Shorter than for a daily reconcile, because the
# collections of the lost time may be young.
CREATED_BEFORE = timedelta(minutes=1)

# building: it is being regenerated, perhaps by an earlier run
Action = Literal["none", "repair", "regenerate", "building", "try again"]


def count_missing_chunks(services: Services, entry: KnowledgeBase) -> int | None:
    """Number of missing chunks of its documents; None: the collection is missing. Raises VectorStoreUnavailable.

    Chunks of no document do not count: no search returns them.
    """
    if entry.collection_name is None or entry.collection_id is None:
        return 0  # the first document creates the collection
    ref = CollectionRef(entry.collection_name, entry.collection_id)
    try:
        stored = {chunk for page in services.vectors.iter_ids(ref) for chunk in page}
    except errors.CollectionMissing:
        return None
    missing, last = 0, None
    while True:
        with services.database.reading() as db:
            page = knowledge_bases.document_chunks_after(db, entry.id, last, limit=DOCUMENTS_READ)
        if not page:
            return missing
        for document_id, version, chunks in page:
            missing += len(set(chunk_ids(entry.id, document_id, version, chunks)) - stored)
        last = page[-1][0]


@dataclass(frozen=True, slots=True)
class RestoredBase:
    """The differences of a memory base from SQL, and the work that removes them."""

    compared: Reconciled
    action: Action
    lost_build: bool  # the collection of its unfinished build is missing: the build is abandoned


def unknown_collections(services: Services, *, apply: bool) -> tuple[list[Orphan], list[Orphan]]:
    """Collections that SQL does not know, and those of them that were deleted. Raises VectorStoreUnavailable."""
    found = orphans.find_orphans(services, older_than=CREATED_BEFORE)
    return found, orphans.drop_orphans(services, found) if apply else []


def restore_base(services: Services, base_id: UUID, *, apply: bool) -> RestoredBase | None:
    """Compare a memory base with its store; with `apply`, repair or regenerate it. None if the base is deleted."""
    try:
        lost_build = _has_lost_build(services, base_id)
    except errors.VectorStoreUnavailable:
        lost_build = False  # the comparison below says so
    if lost_build and apply:
        regenerate.abandon_build(services, base_id)
    compared = reconcile.reconcile_base(services, base_id, repair=apply)
    if compared is None:
        return None
    actions: dict[str, Action] = {"ok": "none", "unavailable": "try again", "gone": "regenerate"}
    action = actions.get(compared.state, "regenerate" if compared.altered else "repair")
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
    if base is None:
        return None
    if action == "regenerate" and base.building is not None and not lost_build:
        action = "building"
    if apply and action == "regenerate":
        regenerate.regenerate(services, base.user_id, base_id)
    return RestoredBase(compared, action, lost_build)


def restore_knowledge_base(services: Services, entry: KnowledgeBase, *, apply: bool) -> int | None:
    """Number of missing chunks of an ordinary knowledge base, None for all; with `apply`, rebuild it then.

    Raises VectorStoreUnavailable, ModelUnavailable.
    """
    missing = count_missing_chunks(services, entry)
    if apply and missing != 0:
        registry.rebuild(services, entry.user_id, entry.name)
    return missing


def _has_lost_build(services: Services, base_id: UUID) -> bool:
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
        if base is None or base.deleting_at is not None or base.building is None:
            return False
        building = memory_bases.fetch_generation(db, base_id, base.building)
    return not services.vectors.collection_exists(CollectionRef(building.collection_name, building.collection_id))
