"""Composition root: builds the adapters once for each process. Nothing connects and no model loads here."""

from __future__ import annotations

import gc
from typing import Literal

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from memorybase.database.engine import Database
from memorybase.embedding import CrossEncoderReranker, Embedders
from memorybase.locks import RedisSessionLocks
from memorybase.services import IngestionQueue, Services
from memorybase.settings import Settings
from memorybase.vectors.chroma import ChromaStore

Role = Literal["api", "worker", "sweeper", "cli"]

# Connections a process keeps on PostgreSQL; under load it may open more.
POOL_SIZES: dict[Role, int] = {
    "api": 20,  # with the second twenty, one for each of the server's 40 threads
    "worker": 4,  # the jobs at work, those ahead, those behind, and the leases; the heartbeat comes on top
    "sweeper": 2,
    "cli": 1,
}


def build(settings: Settings | None = None, *, role: Role = "cli") -> Services:
    """The services of one process. Every adapter connects on first use and recovers by itself."""
    settings = settings or Settings()
    return Services(
        settings=settings,
        database=Database(settings.resolved_database_url, pool_size=POOL_SIZES[role]),
        vectors=ChromaStore(
            settings.chroma_url, timeout_seconds=settings.chroma_timeout_seconds, token=settings.chroma_token
        ),
        embedders=Embedders(settings, background=role == "worker"),
        locks=RedisSessionLocks(redis_client(settings), ttl_seconds=settings.lock_seconds),
        queue=_queue(settings),
        reranker=CrossEncoderReranker(settings) if settings.reranker_model else None,
    )


def close(services: Services) -> None:
    """Close every connection that these services hold; they may be used again, which opens new ones."""
    for adapter in (services.queue, services.locks, services.vectors):
        # Closing is the adapters' own matter; the protocols that the domain sees do without it.
        if close_adapter := getattr(adapter, "close", None):
            close_adapter()
    services.database.dispose()


def freeze_loaded_objects() -> None:
    """Once a process has started: full collections, which stop every thread for 100 ms, need not look through what is
    loaded by then."""
    gc.collect()
    gc.freeze()


def redis_client(settings: Settings) -> redis.Redis:
    """A client that fails within its timeout: the job goes on under the SQL claim, so nothing is tried twice."""
    client: redis.Redis = redis.Redis.from_url(
        settings.redis_url,
        socket_timeout=settings.redis_timeout_seconds,
        socket_connect_timeout=settings.redis_timeout_seconds,
        socket_keepalive=True,
        # The library's default waits seconds between three more attempts.
        retry=Retry(NoBackoff(), 0),
    )
    return client


def _queue(settings: Settings) -> IngestionQueue:
    # The worker package imports the domain; here alone the domain looks up, and only when it is built.
    from worker.queue import CeleryQueue

    return CeleryQueue(settings)
