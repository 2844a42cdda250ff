"""Deletion: gone for the caller at once, then drained, then the collection, then the rows. Nothing comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import UUID

from memorybase import errors
from memorybase.database import clock
from memorybase.knowledge_bases import registry
from memorybase.queries import cursors, memory_bases
from memorybase.queries.ownership import require_memory_base
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

DRAIN_POLL_SECONDS = 0.1
DELETE_PAGE = 5_000  # rows a statement, so that no deletion holds its locks for long


def delete_memory_base(services: Services, user_id: UUID, base_id: UUID) -> bool:
    """Delete a memory base: True when nothing is left, False while a job drains and the sweeper will finish.

    Raises NotFound. From the first commit on the base is 404.
    """
    with services.database.transaction() as db:
        require_memory_base(db, user_id, base_id)
        memory_bases.begin_deletion(db, base_id, clock.now(db))
    log.info("memory_base_deletion_began", memory_base_id=str(base_id))
    return drain(services, lambda: finish_deletion(services, base_id))


def drain(services: Services, finish: Callable[[], bool]) -> bool:
    """Try to finish for a while; what does not end in time, or while the store is away, is the sweeper's."""
    deadline = time.monotonic() + services.settings.drain_seconds
    while True:
        try:
            if finish():
                return True
        except errors.EnvironmentFailure as error:
            log.warning("deletion_waits", error_code=error.code)
            return False
        if time.monotonic() >= deadline:
            return False
        time.sleep(DRAIN_POLL_SECONDS)


def finish_deletion(services: Services, base_id: UUID) -> bool:
    """Collections, then rows, once no worker holds a lease on the base. Safe to repeat and to run twice at once."""
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
        if base is None:
            return True
        leased_until = cursors.leased_until(db, base_id)
        if base.deleting_at is None or (leased_until is not None and leased_until > clock.now(db)):
            return False
        names = [generation.collection_name for generation in memory_bases.generations(db, base_id)]
        entry = registry.entry_of_memory_base(db, base_id)
    for name in names:
        services.vectors.delete_collection(name)
    if entry is not None:
        registry.remove_metadata(services, entry.id)
    delete_in_pages(services, partial(memory_bases.delete_rows_of_base, base_id=base_id))
    with services.database.transaction() as db:
        memory_bases.delete_base(db, base_id)
    log.info("memory_base_deleted", memory_base_id=str(base_id))
    return True


def drop_retired(services: Services) -> int:
    """Drop collections that were replaced a while ago: searches that began before are over by now."""
    with services.database.reading() as db:
        before = clock.now(db) - timedelta(seconds=services.settings.retire_seconds)
        retired = memory_bases.retired_generations(db, before)
    for each in retired:
        base_id, generation = each.memory_base_id, each.generation
        services.vectors.delete_collection(each.collection_name)
        delete_in_pages(
            services, partial(memory_bases.delete_rows_of_generation, base_id=base_id, generation=generation)
        )
        with services.database.transaction() as db:
            base = memory_bases.share_base(db, base_id)  # a deletion waits, and removes what is written here
            memory_bases.mark_dropped(db, base_id, generation)
            entry = registry.entry_of_memory_base(db, base_id)
            if entry is not None and base is not None and base.deleting_at is None:
                # Again: whoever let the new generation serve may have died before this.
                registry.write_metadata(services, entry)
    return len(retired)


def delete_in_pages(services: Services, delete_some: Callable[..., bool]) -> None:
    """No statement takes long, no transaction holds its locks for long; after a crash the rest is found again."""
    more = True
    while more:
        with services.database.transaction() as db:
            more = delete_some(db, limit=DELETE_PAGE)
