"""Which server gets a new collection: the emptiest one that answers, by what this database knows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from memorybase import errors
from memorybase.database import clock
from memorybase.queries import server_loads
from memorybase.queries.server_loads import Load
from memorybase.queries.store_health import failing_stores
from memorybase.services import Services
from memorybase.settings import VectorStoreName
from memorybase.telemetry import get_logger
from memorybase.vectors.store import CollectionRef, MetadataValue, VectorStore

log = get_logger(__name__)

KEEP_SECONDS = 60.0  # the loads cost a read of all progress; what this process creates meanwhile is added


@dataclass(slots=True)
class _Known:
    loads: dict[str, Load]
    read_at: float


_known: WeakKeyDictionary[VectorStore, _Known] = WeakKeyDictionary()
_lock = threading.Lock()


def create_collection(
    services: Services,
    store: VectorStoreName,
    name_in: Callable[[str], str],
    metadata: Mapping[str, MetadataValue],
    *,
    preferred: str | None = None,
) -> CollectionRef:
    """Create a collection on the preferred server, else on the emptiest one of the store. Tries the next if one does
    not answer. `name_in` gives a new name for a server.

    Raises VectorStoreUnavailable if none answers.
    """
    servers = services.settings.open_servers_of(store)
    if len(servers) > 1:
        servers = _in_order(services, servers, preferred)
    for server in servers[:-1]:
        try:
            return _create(services, server, name_in, metadata)
        except errors.VectorStoreUnavailable as error:
            log.warning("vector_server_passed_over", server=server, error_code=error.code)
    return _create(services, servers[-1], name_in, metadata)


def _create(
    services: Services, server: str, name_in: Callable[[str], str], metadata: Mapping[str, MetadataValue]
) -> CollectionRef:
    ref = services.vectors.create_collection(name_in(server), metadata)
    with _lock:
        if known := _known.get(services.vectors):
            known.loads[server] = known.loads.get(server, Load()) + Load(1)
    return ref


def _in_order(services: Services, servers: Sequence[str], preferred: str | None) -> tuple[str, ...]:
    """The preferred server, then the emptiest first; last those that the sweeper's checks found failing."""
    with services.database.reading() as db:
        failing = failing_stores(db, services.settings, clock.now(db))
    loads = _loads(services, servers)
    return tuple(sorted(servers, key=lambda each: (each in failing, each != preferred, loads[each].size)))


def _loads(services: Services, servers: Sequence[str]) -> dict[str, Load]:
    with _lock:
        known = _known.get(services.vectors)
        if known is not None and time.monotonic() - known.read_at < KEEP_SECONDS and known.loads.keys() >= {*servers}:
            return dict(known.loads)
    with services.database.reading() as db:
        loads = server_loads.loads(db, servers)
    with _lock:
        _known[services.vectors] = _Known(dict(loads), time.monotonic())
    return loads
