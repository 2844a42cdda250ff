"""The sweeper's check that the vector stores take writes."""

from __future__ import annotations

from memorybase import errors, telemetry
from memorybase.database import clock
from memorybase.queries import heartbeats
from memorybase.queries.store_health import CHECK_EVERY, CHECK_TURN, heartbeat_of
from memorybase.services import Services
from memorybase.settings import VectorStoreName
from memorybase.vectors.stores import store_named

log = telemetry.get_logger(__name__)


def check_store(services: Services) -> bool:
    """Write a test record, if no sweeper did a moment ago, and then each store's heartbeat; whether all succeeded.

    Readiness, the doctor and the metrics read that heartbeat. Raises DatabaseUnavailable.
    """
    with services.database.transaction(durable=False) as db:
        if not heartbeats.take_turn(db, CHECK_TURN, clock.now(db), CHECK_EVERY):
            return True
    failing = [store for store in services.settings.vector_stores if not _takes_writes(services, store)]
    return not failing


def _takes_writes(services: Services, store: VectorStoreName) -> bool:
    try:
        store_named(services.vectors, store).check_writes()
    except errors.MemorybaseError as error:
        log.warning("store_check_failed", store=store, error=telemetry.describe_error(error))
        return False
    with services.database.transaction(durable=False) as db:
        heartbeats.beat(db, heartbeat_of(store), "store", clock.now(db))
    return True
