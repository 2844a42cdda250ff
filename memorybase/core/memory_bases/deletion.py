"""Deletion: 404 at once, then running jobs drain, then the collection and the rows are deleted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

from memorybase.core import errors, tracing
from memorybase.core.database import clock
from memorybase.core.knowledge_bases import registry
from memorybase.core.models import Generation
from memorybase.core.queries import cursors, memory_bases, residues
from memorybase.core.queries.ownership import require_memory_base
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors.collection_names import store_of

log = get_logger(__name__)

DRAIN_SECONDS = 10.0  # that a DELETE waits for running jobs
DRAIN_POLL_SECONDS = 0.1
RETIRE_SECONDS = 60.0  # that a replaced collection is kept, for searches that use it
DELETE_PAGE = 1_000  # rows in one transaction, some 40 ms on SQLite, where all other writers wait for it
YIELD_SECONDS = 0.001  # between two pages: other processes look for SQLite's lock twice in this time
DELETE_PAGES = 1_000  # in one call, so that neither a request nor a pass of the sweeper takes minutes


def delete_memory_base(services: Services, user_id: UUID, base_id: UUID) -> bool:
    """Delete a memory base. True if nothing is left, False if a job is still running and the sweeper will finish.

    From the first commit on the base is 404. Raises NotFound.
    """
    with tracing.memory_span("delete_memory_store", memory_base_id=str(base_id)):
        with services.database.transaction() as db:
            require_memory_base(db, user_id, base_id)
            memory_bases.begin_deletion(db, base_id, clock.now(db))
        log.info("memory_base_deletion_started", memory_base_id=str(base_id))
        return drain(lambda: finish_deletion(services, base_id))


def drain(finish: Callable[[], bool]) -> bool:
    """Retry `finish` for DRAIN_SECONDS. False: the sweeper will finish, as the store or a job takes too long."""
    deadline = time.monotonic() + DRAIN_SECONDS
    while True:
        try:
            if finish():
                return True
        except errors.EnvironmentFailure as error:
            log.warning("deletion_postponed", error_code=error.code)
            return False
        if time.monotonic() >= deadline:
            return False
        time.sleep(DRAIN_POLL_SECONDS)


def finish_deletion(services: Services, base_id: UUID) -> bool:
    """Delete collections, then rows, once no worker holds a lease on the base. Idempotent; safe to run concurrently."""
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
        if base is None:
            return True
        if base.deleting_at is None:
            return False
        leased_until = cursors.leased_until(db, base_id)
        is_leased = leased_until is not None and leased_until > clock.now(db)
        names = [generation.collection_name for generation in memory_bases.generations(db, base_id)]
        entry = registry.entry_of_memory_base(db, base_id)
    # Other memory bases' jobs would wait behind them, as long as a store is unreachable.
    delete_in_pages(services, partial(memory_bases.delete_queued_jobs, base_id=base_id))
    if is_leased:
        return False
    for name in names:
        services.vectors.delete_collection(name)
    if entry is not None:
        registry.remove_metadata(services, entry.id)
    tables = [table for hooks in services.hooks for table in hooks.base_tables]
    if not delete_in_pages(services, partial(memory_bases.delete_rows_of_base, base_id=base_id, tables=tables)):
        return False
    with services.database.transaction() as db:
        memory_bases.delete_base(db, base_id)
        residues.note_files(db)
    log.info("memory_base_deleted", memory_base_id=str(base_id))
    return True


def delete_retired_collections(services: Services) -> int:
    """Delete collections that were replaced RETIRE_SECONDS ago: searches that use them have ended."""
    with services.database.reading() as db:
        before = clock.now(db) - timedelta(seconds=RETIRE_SECONDS)
        retired = memory_bases.retired_generations(db, before)
    return each([(store_of(row.collection_name), partial(_delete_retired, services, row)) for row in retired])


def _delete_retired(services: Services, row: Generation) -> bool:
    base_id, generation = row.memory_base_id, row.generation
    services.vectors.delete_collection(row.collection_name)
    delete_some = partial(memory_bases.delete_rows_of_generation, base_id=base_id, generation=generation)
    if not delete_in_pages(services, delete_some):
        return False
    with services.database.transaction() as db:
        base = memory_bases.share_base(db, base_id)  # makes a deletion wait
        memory_bases.mark_collection_deleted(db, base_id, generation)
        residues.note_files(db)
        entry = registry.entry_of_memory_base(db, base_id)
        if entry is not None and base is not None and base.deleting_at is None:
            # Again: the process that switched generations may have died before it wrote this.
            registry.write_metadata(services, entry)
    return True


def each(steps: Sequence[tuple[VectorStoreName | None, Callable[[], int]]]) -> int:
    """Run every step, even after one whose vector store is unreachable, and return the sum of their results. A step
    names the store that it asks, if any: a store that did not answer is not asked again, because each call may wait for
    its whole timeout.

    Raises that VectorStoreUnavailable in the end.
    """
    done, failures = 0, dict[VectorStoreName | None, errors.VectorStoreUnavailable]()
    for store, step in steps:
        if store is not None and store in failures:
            continue
        try:
            done += step()
        except errors.VectorStoreUnavailable as error:
            failures[store] = error
    for failure in failures.values():
        raise failure
    return done


def delete_in_pages(services: Services, delete_some: Callable[..., bool]) -> bool:
    """Delete in short transactions, at most DELETE_PAGES. Returns whether nothing is left. After a crash, the next call
    continues."""
    for _ in range(DELETE_PAGES):
        # A page that a power cut undoes is deleted again: what is deleted is marked on the disk.
        with services.database.transaction(durable=False) as db:
            if not delete_some(db, limit=DELETE_PAGE):
                return True
        if services.database.is_sqlite:
            time.sleep(YIELD_SECONDS)
    return False
