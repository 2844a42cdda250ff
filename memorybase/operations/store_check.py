"""The sweeper's check that the vector stores take writes."""

from __future__ import annotations

import contextvars
from concurrent.futures import ThreadPoolExecutor

from memorybase import errors, telemetry
from memorybase.database import clock
from memorybase.queries import heartbeats
from memorybase.queries.store_health import CHECK_EVERY, CHECK_TURN, heartbeat_of
from memorybase.services import Services
from memorybase.vectors.stores import server_named

log = telemetry.get_logger(__name__)


def check_store(services: Services) -> bool:
    """Write a test record, if no sweeper did a moment ago, and then each store's heartbeat; whether all succeeded.

    Readiness, the doctor and the metrics read that heartbeat. Raises DatabaseUnavailable.
    """
    if not heartbeats.take_turn(services.database, CHECK_TURN, CHECK_EVERY):
        return True
    servers = services.settings.vector_servers
    # All at once: one that does not answer must not delay the heartbeats of the others.
    with ThreadPoolExecutor(len(servers)) as threads:
        context = contextvars.copy_context()
        checks = [threads.submit(context.copy().run, _takes_writes, services, server) for server in servers]
        working = [server for server, check in zip(servers, checks, strict=True) if check.result()]
    with services.database.transaction(durable=False) as db:
        for server in working:
            heartbeats.beat(db, heartbeat_of(server), "store", clock.now(db))
    return len(working) == len(servers)


def _takes_writes(services: Services, server: str) -> bool:
    try:
        server_named(services.vectors, server).check_writes()
    except errors.MemorybaseError as error:
        log.warning("store_check_failed", store=server, error=telemetry.describe_error(error))
        return False
    return True
