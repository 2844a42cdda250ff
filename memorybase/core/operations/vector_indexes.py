"""Builds indexes of collections, separately from the sweeper's passes, because one may take minutes."""

from __future__ import annotations

from datetime import timedelta

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.ingestion.build import complete_build
from memorybase.core.models import Generation
from memorybase.core.queries import cursors, heartbeats, memory_bases
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors import indexes
from memorybase.core.vectors.store import CollectionRef

log = get_logger(__name__)

TURN = "turn:vector indexes"
EVERY = timedelta(minutes=5)  # a look for collections that need an index


def build_indexes(services: Services) -> int:
    """Activate complete index builds, do other due maintenance, and return the number built.

    Any number of processes may run it. Raises VectorStoreUnavailable, DatabaseUnavailable.
    """
    with services.database.reading() as db:
        building = memory_bases.generations_in_build(db)
        complete = [
            each
            for each in building
            if each.awaits_index and cursors.build_is_complete(db, each.memory_base_id, each.generation)
        ]
    built = sum(_finish(services, generation) for generation in complete)
    if not heartbeats.take_turn(services.database, TURN, EVERY):
        return built
    # A collection that is being filled is indexed at the end: writing into an index costs four times as much as
    # building it.
    filling = {each.collection_id for each in building if each.awaits_index}
    return built + indexes.maintain(services.vectors, leave=filling)


def _finish(services: Services, generation: Generation) -> bool:
    try:
        if not indexes.index(services.vectors, CollectionRef(generation.collection_name, generation.collection_id)):
            return False
    except errors.CollectionMissing:  # the switch shows that it is lost
        log.warning("index_skipped", memory_base_id=str(generation.memory_base_id), generation=generation.generation)
    with services.database.transaction() as db:
        base = memory_bases.lock_row(db, generation.memory_base_id)
        memory_bases.end_wait_for_index(db, generation.memory_base_id, generation.generation)
        if base is None or base.deleting_at is not None:
            return False
        return complete_build(db, services, base, clock.now(db))
