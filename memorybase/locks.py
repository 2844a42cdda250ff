"""The session lock: one worker per session of a memory base. And the list of all our Redis keys.

    memorybase:lock:{memory_base_id}:{sha256(session_id)[:32]}
        type   string, the holder's token
        owner  RedisSessionLocks
        TTL    Settings.lock_seconds, extended while it is held

The session id is hashed because it is free text. All other keys in that Redis belong to the broker.

The lock only saves work: the claim in SQL decides. While Redis is unavailable, workers go on without it.
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
    """A held lock."""

    def extend(self) -> bool:
        """Restart its TTL; False if it is lost. Raises LockUnavailable."""

    def release(self) -> None:
        """Release it if it is still ours; never raises."""


class SessionLocks(Protocol):
    """One lock per session of a memory base."""

    def acquire(self, memory_base_id: UUID, session_id: str) -> HeldLock | None:
        """The lock, or None at once if another holder has it. Raises LockUnavailable."""

    def held(self, memory_base_id: UUID, session_id: str) -> bool:
        """Whether any holder has it. Raises LockUnavailable."""

    def free(self, memory_base_id: UUID, session_id: str) -> None:
        """Delete it, whoever holds it: the caller knows that the holder is dead. Never raises."""


class RedisSessionLocks:
    """SessionLocks in Redis. A holder that dies blocks others for `ttl_seconds` at most.

    The client must have timeouts and no retries: a SET NX repeated after a lost answer would fail on its own lock.
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
        # If a live worker has taken it by now, two workers try one job, and the claim in SQL lets one of them have it.
        with contextlib.suppress(RedisError):
            self._client.delete(lock_key(memory_base_id, session_id))

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._client.close()


class RedisHeldLock:
    """A held lock. A Redis script checks its token when it is extended or released."""

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
