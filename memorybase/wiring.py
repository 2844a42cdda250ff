"""Composition root: builds the adapters once for each process. Nothing connects and no model loads yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from memorybase import features
from memorybase.core import errors, tracing
from memorybase.core.database.engine import Database
from memorybase.core.embedding import CrossEncoderReranker, Embedders
from memorybase.core.embedding.preparation import WAIT_SECONDS
from memorybase.core.foreground import Foreground
from memorybase.core.locks import ProcessLocks, SessionLocks
from memorybase.core.process_queue import ProcessQueue
from memorybase.core.services import IngestionQueue, ProcessState, Services
from memorybase.core.settings import RedisSentinel, Settings
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.chroma_in_process import InProcessChroma
from memorybase.core.vectors.store import VectorStore
from memorybase.core.vectors.stores import VectorStores

if TYPE_CHECKING:
    import redis

Role = Literal["api", "worker", "sweeper", "cli", "all", "alone"]
# "all" is the API, worker and sweeper of one process, "alone" a command while no stack runs: nobody else has Chroma's
# files.
HAS_FILES: frozenset[Role] = frozenset({"all", "alone"})

# Connections that a process keeps open to PostgreSQL; under load it may open more.
POOL_SIZES: dict[Role, int] = {
    "api": 20,  # with the overflow of 20, one for each of the server's 40 threads
    "worker": 4,  # main thread, reader, writer and lease renewal; the heartbeat overflows
    "sweeper": 4,  # the pass, indexes, and what features do beside it
    "cli": 1,
    "all": 26,
    "alone": 1,
}

# The same for pgvector.
VECTOR_POOL_SIZES: dict[Role, int] = {"api": 8, "worker": 2, "sweeper": 1, "cli": 1, "all": 8, "alone": 1}


def build(settings: Settings | None = None, *, role: Role = "cli") -> Services:
    """The services of one process. Every adapter connects on first use and recovers by itself."""
    settings = settings or Settings()
    if settings.one_process and role not in HAS_FILES | {"cli"}:
        raise errors.EnvironmentFailure(f"This stack is one process, which is its own {role}: start no other.")
    if role not in ("cli", "alone"):
        tracing.configure(settings, service=role)
    state = ProcessState()
    return Services(
        settings=settings,
        state=state,
        database=_database(settings, role),
        vectors=_vector_stores(settings, role, state),
        embedders=Embedders(
            settings,
            background=role == "worker",
            wait_seconds=WAIT_SECONDS if role in ("api", "worker", "all") else None,
        ),
        locks=_locks(settings),
        queue=_queue(settings),
        hooks=features.hooks(),
        reranker=CrossEncoderReranker(settings) if settings.reranker_model else None,
    )


def for_worker(services: Services) -> Services:
    """The same services for a worker in the same process, whose models run at low priority."""
    embedders = services.embedders
    return replace(services, embedders=embedders.in_background()) if isinstance(embedders, Embedders) else services


def queue_of(services: Services) -> ProcessQueue:
    """The queue of a process that is its own worker."""
    if not isinstance(services.queue, ProcessQueue):
        raise TypeError
    return services.queue


def close(services: Services) -> None:
    """Close all connections and send the last spans. The services stay usable and open new ones."""
    tracing.flush()
    for adapter in (services.queue, services.locks, services.vectors):
        # The protocols have no close(): the domain never calls it.
        if close_adapter := getattr(adapter, "close", None):
            close_adapter()
    services.database.dispose()


def redis_client(settings: Settings) -> redis.Redis:
    """A client that fails within its timeout and never retries: a job continues under its claim in SQL.

    Of several servers it asks the sentinels for the primary, again with each new connection.
    """
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry
    from redis.sentinel import Sentinel

    options: dict[str, Any] = {
        "socket_timeout": settings.redis_timeout_seconds,
        "socket_connect_timeout": settings.redis_timeout_seconds,
        "socket_keepalive": True,
        # By default the library retries three times and waits for seconds.
        "retry": Retry(NoBackoff(), 0),
    }
    client: redis.Redis
    if (sentinel := RedisSentinel.of(settings.redis_url)) is None:
        client = redis.Redis.from_url(settings.redis_url, **options)
    else:
        asked = sentinel.asked_within(settings.redis_timeout_seconds)
        sentinels: Any = Sentinel(sentinel.hosts, sentinel_kwargs=asked)  # type: ignore[no-untyped-call]
        client = sentinels.master_for(sentinel.service, db=sentinel.database, **sentinel.credentials, **options)
    return client


def _database(settings: Settings, role: Role) -> Database:
    # Workers and sweepers show nothing: everything that they read decides.
    read_url = settings.database_read_url if role in ("api", "cli", "all", "alone") else ""
    return Database(
        settings.resolved_database_url,
        pool_size=POOL_SIZES[role],
        read_url=read_url,
        trace_statements=settings.trace_statements and bool(settings.traces_url),
    )


def _vector_stores(settings: Settings, role: Role, state: ProcessState) -> VectorStores:
    stores: dict[VectorStoreName, VectorStore] = {}
    if settings.one_process:
        stores["chroma"] = _chroma_of_one_process(settings, role, state)
    elif url := settings.resolved_chroma_url:
        stores["chroma"] = ChromaStore(
            url,
            timeout_seconds=settings.chroma_timeout_seconds,
            token=settings.chroma_token,
            tenant=settings.chroma_tenant,
            database=settings.chroma_database,
            is_cloud=settings.is_chroma_cloud,
        )
    if url := settings.resolved_pgvector_url:
        # Here: PostgreSQL's driver takes 9 MB of each process.
        from memorybase.core.vectors import pgvector

        stores["pgvector"] = pgvector.PgVectorStore(
            url, pool_size=VECTOR_POOL_SIZES[role], index_above=pgvector.INDEX_ABOVE
        )
    return VectorStores(stores, settings.vector_stores_in_use)


def _chroma_of_one_process(settings: Settings, role: Role, state: ProcessState) -> VectorStore:
    if role in HAS_FILES:
        return InProcessChroma(settings.data_dir / "chroma", state.of(Foreground))
    # Here: only commands need it.
    from memorybase.core.vectors.shared import StoreElsewhere

    store: VectorStore = StoreElsewhere(settings.data_dir / "run")
    return store


def _locks(settings: Settings) -> SessionLocks:
    if settings.one_process:
        return ProcessLocks()
    from memorybase.core.redis_locks import RedisSessionLocks

    return RedisSessionLocks(redis_client(settings), ttl_seconds=settings.lock_seconds)


def _queue(settings: Settings) -> IngestionQueue:
    if settings.one_process:
        return ProcessQueue()
    # The only import from the domain up to the worker package; lazy, since that package imports the domain.
    from worker.queue import CeleryQueue

    return CeleryQueue(settings)
