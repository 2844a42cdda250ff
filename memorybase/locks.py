"""The session lock: one worker per session of a memory base, and the list of every Redis key of ours.

    memorybase:lock:{memory_base_id}:{sha256(session_id)[:32]}
        type   string, the holder's token
        owner  RedisSessionLocks
        TTL    Settings.lock_seconds, started anew while it is held

The session id is hashed because it is a user's text of any length. All other keys in that Redis are the broker's.

The lock spares work and decides nothing: the claim in SQL does. With Redis away a worker goes on without it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from redis.exceptions import LockError, RedisError
from redis.lock import Lock

from memorybase.errors import LockUnavailable

if TYPE_CHECKING:
    from redis import Redis


class HeldLock(Protocol):
    """A lock in hand."""

    def extend(self) -> bool:
        """Start its time anew; False when it is lost. Raises LockUnavailable when Redis is away."""

    def release(self) -> None:
        """Give it back if it is still ours; never raises."""


class SessionLocks(Protocol):
    """One lock per session of a memory base."""

    def acquire(self, memory_base_id: UUID, session_id: str) -> HeldLock | None:
        """The lock, or at once None when another holds it. Raises LockUnavailable when Redis is away."""

    def held(self, memory_base_id: UUID, session_id: str) -> bool:
        """Whether anybody holds it. Raises LockUnavailable when Redis is away."""

    def free(self, memory_base_id: UUID, session_id: str) -> None:
        """Take it from whoever has it: the caller knows that the holder is dead. Never raises."""


class RedisSessionLocks:
    """SessionLocks in Redis. A holder that dies without release keeps others out for `ttl_seconds` at most.

    Give it a client with timeouts and without retries: SET NX repeated after a lost answer finds its own lock taken.
    """

    def __init__(self, client: Redis, *, ttl_seconds: float) -> None:
        self._client = client
        self._ttl_seconds = ttl_seconds

    def acquire(self, memory_base_id: UUID, session_id: str) -> RedisHeldLock | None:
        # thread_local=False: the thread that renews the lock is not the one that took it.
        lock = Lock(self._client, lock_key(memory_base_id, session_id), timeout=self._ttl_seconds, thread_local=False)
        with _redis_errors("acquire"):
            return RedisHeldLock(lock) if lock.acquire(blocking=False) else None

    def held(self, memory_base_id: UUID, session_id: str) -> bool:
        with _redis_errors("held"):
            return bool(self._client.exists(lock_key(memory_base_id, session_id)))

    def free(self, memory_base_id: UUID, session_id: str) -> None:
        # Should somebody living have taken it by now, two look at one job and the claim lets one of them have it.
        with contextlib.suppress(RedisError):
            self._client.delete(lock_key(memory_base_id, session_id))

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._client.close()


class RedisHeldLock:
    """A lock in hand; Redis checks the token in the script that extends or releases it."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock

    def extend(self) -> bool:
        with _redis_errors("extend"):
            try:
                return bool(self._lock.reacquire())
            except LockError:
                return False

    def release(self) -> None:
        with contextlib.suppress(RedisError):  # LockError is one: lost, or released before
            self._lock.release()


def lock_key(memory_base_id: UUID, session_id: str) -> str:
    """The Redis key of a session's lock."""
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"memorybase:lock:{memory_base_id}:{digest[:32]}"


@contextlib.contextmanager
def _redis_errors(operation: str) -> Iterator[None]:
    try:
        yield
    except RedisError as error:
        raise LockUnavailable(operation=operation, reason=type(error).__name__) from error
