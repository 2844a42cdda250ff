"""Collections that SQL does not know: left by a request that died, or created after the backup that was restored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from memorybase.core.database import clock
from memorybase.core.queries import memory_bases
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors import collection_names
from memorybase.core.vectors.store import CollectionRef
from memorybase.core.vectors.stores import list_collections_of, store_names

log = get_logger(__name__)

# A collection is created just before the row that names it. After this long the row will not come.
ORPHANED_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A collection with a name of ours that no row in SQL names.

    `ours`: this database knows its user, flow, memory base or knowledge base; otherwise another database may need it.
    `old`: its row would have come by now; False if its age is unknown.
    """

    ref: CollectionRef
    created_at: datetime | None
    ours: bool
    old: bool


def find_orphans(services: Services, *, older_than: timedelta = ORPHANED_AFTER) -> list[Orphan]:
    """Collections with a name of ours that SQL does not know, in all vector stores. Raises VectorStoreUnavailable."""
    stores = store_names(services.vectors)
    return [orphan for store in stores for orphan in find_orphans_in(services, store, older_than=older_than)]


def find_orphans_in(
    services: Services, store: VectorStoreName, *, older_than: timedelta = ORPHANED_AFTER
) -> list[Orphan]:
    """Orphans in one store."""
    # List the store first: a collection created later is not in the list.
    listed = list_collections_of(services.vectors, store)
    orphans = []
    with services.database.reading() as db:
        now = clock.now(db)
        for collection in listed:
            owner = collection_names.owner(collection.ref.name)
            if owner is None or memory_bases.is_collection_needed(db, collection.ref.name):
                continue
            created_at = _timestamp(collection.metadata.get("created_at"))
            ours = memory_bases.is_owner_known(
                db,
                base_id=owner.memory_base_id,
                knowledge_base_id=owner.knowledge_base_id,
                flow_id=_uuid(collection.metadata, "flow_id"),
                user_id=_uuid(collection.metadata, "user_id"),
            )
            old = created_at is not None and created_at < now - older_than
            orphans.append(Orphan(collection.ref, created_at, ours, old))
    return orphans


def drop_orphans(services: Services, orphans: Sequence[Orphan]) -> list[Orphan]:
    """Delete our old orphans and return them. A collection that a row names by now stays."""
    dropped = []
    for orphan in orphans:
        if not (orphan.ours and orphan.old):
            continue
        with services.database.reading() as db:
            needed = memory_bases.is_collection_needed(db, orphan.ref.name)
        if not needed:
            services.vectors.delete_collection(orphan.ref.name)
            log.info("orphan_deleted", collection=orphan.ref.name)
            dropped.append(orphan)
    return dropped


def _timestamp(value: object) -> datetime | None:
    return datetime.fromtimestamp(value, UTC) if type(value) is int else None


def _uuid(metadata: Mapping[str, Any], key: str) -> UUID | None:
    try:
        return UUID(metadata[key])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
