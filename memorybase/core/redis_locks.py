"""Session locks in Redis. And the list of all our Redis keys.

    memorybase:lock:{memory_base_id}:{sha256(session_id)[:32]}
        type   string, the holder's token
        owner  RedisSessionLocks
        TTL    Settings.lock_seconds, extended while it is held

The session id is hashed because it is free text. All other keys in that Redis belong to the broker.

The lock only saves work: the claim in SQL decides. While Redis is unavailable, workers go on without it. One call in
`PAUSE_SECONDS` finds out whether it is back: a worker that holds many locks would wait for each, and its leases would
expire meanwhile.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from uuid import UUID

from redis.exceptions import LockError, RedisError
from redis.lock import Lock

from memorybase.core.circuit import Circuit
from memorybase.core.errors import LockUnavailable

if TYPE_CHECKING:
    from redis import Redis


PAUSE_SECONDS = 5.0  # without calls after one that failed


class RedisSessionLocks:
    """SessionLocks in Redis. A holder that dies blocks others for `ttl_seconds` at most.

    The client must have timeouts and no retries: a SET NX repeated after a lost answer would fail on its own lock.
    After a call that failed, calls fail at once for PAUSE_SECONDS.
    """

    def __init__(self, client: Redis, *, ttl_seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._ttl_seconds = ttl_seconds
        self._calls = _Calls(monotonic)

    def acquire(self, memory_base_id: UUID, session_id: str) -> RedisHeldLock | None:
        # thread_local=False: the thread that renews the lock is not the one that took it.
        lock = Lock(self._client, lock_key(memory_base_id, session_id), timeout=self._ttl_seconds, thread_local=False)
        with self._calls.bounded("acquire"):
            return RedisHeldLock(lock, self._calls) if lock.acquire(blocking=False) else None

    def held(self, memory_base_id: UUID, session_id: str) -> bool:
        with self._calls.bounded("held"):
            return bool(self._client.exists(lock_key(memory_base_id, session_id)))

    def free(self, memory_base_id: UUID, session_id: str) -> None:
        # If a live worker has taken it by now, two workers try one job, and the claim in SQL lets one of them have it.
        with contextlib.suppress(LockUnavailable), self._calls.bounded("free"):
            self._client.delete(lock_key(memory_base_id, session_id))

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._client.close()
        if sentinels := getattr(self._client.connection_pool, "sentinel_manager", None):
            sentinels.close()


class RedisHeldLock:
    """A held lock. A Redis script checks its token when it is extended or released."""

    def __init__(self, lock: Lock, calls: _Calls) -> None:
        self._lock = lock
        self._calls = calls

    def extend(self) -> bool:
        with self._calls.bounded("extend"):
            try:
                return bool(self._lock.reacquire())
            except LockError:
                return False

    def release(self) -> None:
        try:
            with self._calls.bounded("release"):
                _release(self._lock)
        except LockUnavailable:
            self._calls.release_later(self._lock)


def rewrite_log(client: Redis) -> None:
    """Have the server replace its append-only file by one that holds only living keys. Raises LockUnavailable."""
    try:
        client.bgrewriteaof()
    except RedisError as error:
        raise LockUnavailable(operation="rewrite_log", reason=type(error).__name__) from error


def lock_key(memory_base_id: UUID, session_id: str) -> str:
    """The Redis key of a session's lock."""
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"memorybase:lock:{memory_base_id}:{digest[:32]}"


def _release(lock: Lock) -> None:
    token = lock.local.token
    try:
        lock.release()
    except LockError:
        return  # lost, or released before
    except RedisError:
        lock.local.token = token  # the library forgets it before it asks
        raise


class _Calls:
    """The calls to one Redis: after one that failed, the next ones fail at once for a while."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._circuit = Circuit(PAUSE_SECONDS, clock=monotonic)
        self._to_release: deque[Lock] = deque()

    def release_later(self, lock: Lock) -> None:
        """Release it after the next call that Redis answers, so that its session need not wait until it expires."""
        self._to_release.append(lock)

    @contextlib.contextmanager
    def bounded(self, operation: str) -> Iterator[None]:
        """For one call. Raises LockUnavailable."""
        if self._circuit.is_paused:
            raise LockUnavailable(operation=operation, reason="paused")
        try:
            yield
        except RedisError as error:
            self._circuit.failed()
            raise LockUnavailable(operation=operation, reason=type(error).__name__) from error
        self._release_waiting()

    def _release_waiting(self) -> None:
        """Release what waits; if Redis fails meanwhile, the call before it has succeeded all the same."""
        for _ in range(len(self._to_release)):
            try:
                lock = self._to_release.popleft()
            except IndexError:  # another thread has released it
                return
            try:
                _release(lock)
            except RedisError:
                self._to_release.append(lock)
                self._circuit.failed()
                return
