"""The sweeper's check that the vector store takes writes."""

from __future__ import annotations

from memorybase import errors, telemetry
from memorybase.database import clock
from memorybase.queries import heartbeats
from memorybase.queries.store_health import CHECK_EVERY, CHECK_TURN, STORE
from memorybase.services import Services

log = telemetry.get_logger(__name__)


def check_store(services: Services) -> bool:
    """Write a test record, if no sweeper did a moment ago, and then the store's heartbeat; whether it succeeded.

    Readiness, the doctor and the metrics read that heartbeat. Raises DatabaseUnavailable.
    """
    with services.database.transaction(durable=False) as db:
        if not heartbeats.take_turn(db, CHECK_TURN, clock.now(db), CHECK_EVERY):
            return True
    try:
        services.vectors.check_writes()
    except errors.MemorybaseError as error:
        log.warning("store_check_failed", error=telemetry.describe_error(error))
        return False
    with services.database.transaction(durable=False) as db:
        heartbeats.beat(db, STORE, "store", clock.now(db))
    return True
