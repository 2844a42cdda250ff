"""The sweeper's check that the vector stores take writes."""

from __future__ import annotations

import contextvars
from concurrent.futures import ThreadPoolExecutor

from memorybase.core import errors, telemetry
from memorybase.core.database import clock
from memorybase.core.queries import heartbeats
from memorybase.core.queries.store_health import CHECK_EVERY, CHECK_TURN, heartbeat_of
from memorybase.core.services import Services
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors.stores import store_named

log = telemetry.get_logger(__name__)


def check_store(services: Services) -> bool:
    """Write a test record, if no sweeper did a moment ago, and then each store's heartbeat. Returns whether all
    succeeded.

    Readiness, the doctor and the metrics read that heartbeat. Raises DatabaseUnavailable.
    """
    if not heartbeats.take_turn(services.database, CHECK_TURN, CHECK_EVERY):
        return True
    stores = services.settings.vector_stores_in_use
    # All at once: one that does not answer must not delay the heartbeats of the others.
    with ThreadPoolExecutor(len(stores)) as threads:
        context = contextvars.copy_context()
        checks = [threads.submit(context.copy().run, _takes_writes, services, store) for store in stores]
        working = [store for store, check in zip(stores, checks, strict=True) if check.result()]
    with services.database.transaction(durable=False) as db:
        for store in working:
            heartbeats.beat(db, heartbeat_of(store), "store", clock.now(db))
    return len(working) == len(stores)


def _takes_writes(services: Services, store: VectorStoreName) -> bool:
    try:
        store_named(services.vectors, store).check_writes()
    except errors.MemorybaseError as error:
        log.warning("store_check_failed", store=store, error=telemetry.describe_error(error))
        return False
    return True
