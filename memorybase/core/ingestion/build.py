"""A complete generation starts to serve; the generation before it is retired."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import events
from memorybase.core.database import clock, engine
from memorybase.core.events import Event, EventType
from memorybase.core.knowledge_bases import registry
from memorybase.core.models import PreparationKind
from memorybase.core.queries import cursors, jobs, memory_bases, preparations
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.preparations import PreparationKey
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger

log = get_logger(__name__)


def complete_build(db: OrmSession, services: Services, base: BaseRow, now: datetime) -> bool:
    """Let the new generation serve once it is prepared, every session has reached what the old one covered, and it is
    indexed.

    The caller locks the base exclusively: of two last advances, one sees the other.
    """
    if base.building is None or not cursors.build_is_complete(db, base.id, base.building):
        return False
    if preparations.has(db, PreparationKey(base.id, base.building, PreparationKind.BUILD)):
        return False  # not every session has its row yet
    if memory_bases.awaits_index(db, base.id, base.building):
        return False  # operations.vector_indexes calls again
    old, new = base.serving, base.building
    jobs.cancel_jobs_of_base(db, base.id, now, "its generation was replaced", jobs.of_generation(old))
    memory_bases.retire_generation(db, base.id, old, now)
    memory_bases.set_serving(db, base.id, new)
    served = {"memory_base_id": base.id, "flow_id": base.flow_id, "generation": new, "former_generation": old}
    events.record(db, services, base.user_id, [Event(EventType.MEMORY_REGENERATED, served)], now)
    entry = registry.entry_of_memory_base(db, base.id)
    if entry is not None:
        engine.after_commit(db, lambda: registry.write_metadata(services, entry))
    log.info("generation_switched", memory_base_id=str(base.id), generation=new)
    return True


def finish_builds(services: Services) -> int:
    """Complete builds left by a worker that died after the last advance, and return their number."""
    with services.database.reading() as db:
        building = memory_bases.bases_in_build(db)
    finished = 0
    for base_id in building:
        with services.database.transaction() as db:
            base = memory_bases.lock_row(db, base_id)
            if base is not None and base.deleting_at is None:
                finished += complete_build(db, services, base, clock.now(db))
    return finished
