"""Memory bases that are deleted on the web page: the sweeper deletes them, unless that is undone before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID, uuid4

from memorybase import errors
from memorybase.database import clock
from memorybase.queries import memory_bases, planned_deletions
from memorybase.queries.ownership import require_memory_base
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

UNDO = timedelta(seconds=30)  # also for sessions
SWEEP_PAGE = 200  # memory bases that one pass deletes


class DeletionPlan(NamedTuple):
    """Memory bases that will be deleted, by their names."""

    batch_id: UUID
    names: list[str]


def plan_deletion(services: Services, user_id: UUID, base_ids: Sequence[UUID]) -> DeletionPlan:
    """Delete these memory bases in 30 seconds, unless `undo_deletion` comes before. Raises NotFound for any of them."""
    batch_id = uuid4()
    with services.database.transaction() as db:
        bases = [require_memory_base(db, user_id, each) for each in dict.fromkeys(base_ids)]
        names = [each.name for each in bases]
        planned_deletions.add_bases(db, [each.id for each in bases], batch_id, user_id, clock.now(db) + UNDO)
    return DeletionPlan(batch_id, names)


def undo_deletion(services: Services, user_id: UUID, batch_id: UUID) -> int:
    """Cancel a planned deletion of memory bases, and return their number. Raises NotFound if none is left to keep."""
    with services.database.transaction() as db:
        kept = planned_deletions.withdraw_bases(db, user_id, batch_id)
    if not kept:
        raise errors.NotFound("There is no such planned deletion, or it is done", field="batch_id", value=batch_id)
    return kept


def is_planned(services: Services, user_id: UUID, base_id: UUID) -> bool:
    """Whether this memory base of the user will be deleted."""
    with services.database.reading() as db:
        return planned_deletions.is_base_planned(db, user_id, base_id)


def start_due_deletions(services: Services) -> int:
    """Start the deletions whose time to undo is over, and return their number. The sweeper's next step finishes
    them."""
    with services.database.reading() as db:
        due = planned_deletions.due_bases(db, clock.now(db), limit=SWEEP_PAGE)
    return sum(_start(services, base_id) for base_id in due)


def _start(services: Services, base_id: UUID) -> bool:
    with services.database.transaction() as db:
        memory_bases.lock_base(db, base_id)  # before the plan's row, as a deletion locks them
        if not planned_deletions.take_base(db, base_id, clock.now(db)):  # undone, or taken by another sweeper
            return False
        memory_bases.begin_deletion(db, base_id, clock.now(db))
    log.info("memory_base_deletion_started", memory_base_id=str(base_id))
    return True
