"""After a backup of SQL or of the store was restored: make the store follow SQL again. An operator's tool.

Collections that SQL does not know are deleted, sessions that differ are repaired, and what is lost or altered is built
again. Without `apply` nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID

from memorybase.core import errors
from memorybase.core.memory_bases import orphans, reconcile, regenerate
from memorybase.core.memory_bases.orphans import Orphan
from memorybase.core.memory_bases.reconcile import Reconciled
from memorybase.core.queries import memory_bases
from memorybase.core.services import Services
from memorybase.core.vectors.store import CollectionRef

# A request creates a collection just before the row that names it. Shorter than for a daily reconcile, because the
# collections of the lost time may be young.
CREATED_BEFORE = timedelta(minutes=1)

# building: it is being regenerated, perhaps by an earlier run
Action = Literal["none", "repair", "regenerate", "building", "try again"]


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


def _has_lost_build(services: Services, base_id: UUID) -> bool:
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
        if base is None or base.deleting_at is not None or base.building is None:
            return False
        building = memory_bases.fetch_generation(db, base_id, base.building)
    return not services.vectors.collection_exists(CollectionRef(building.collection_name, building.collection_id))
