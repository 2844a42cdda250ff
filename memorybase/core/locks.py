"""The session lock: one worker per session of a memory base. It only saves work: the claim in SQL decides."""

from __future__ import annotations

import threading
from typing import Protocol
from uuid import UUID


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


Key = tuple[UUID, str]


class ProcessLocks:
    """SessionLocks of the threads of one process. They end with it, so they need no time to live."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._held: dict[Key, ProcessHeldLock] = {}

    def acquire(self, memory_base_id: UUID, session_id: str) -> ProcessHeldLock | None:
        key = memory_base_id, session_id
        with self._mutex:
            if key in self._held:
                return None
            lock = self._held[key] = ProcessHeldLock(self, key)
            return lock

    def held(self, memory_base_id: UUID, session_id: str) -> bool:
        return (memory_base_id, session_id) in self._held

    def free(self, memory_base_id: UUID, session_id: str) -> None:
        with self._mutex:
            self._held.pop((memory_base_id, session_id), None)

    def is_of(self, lock: ProcessHeldLock, key: Key) -> bool:
        return self._held.get(key) is lock

    def release(self, lock: ProcessHeldLock, key: Key) -> None:
        with self._mutex:
            if self.is_of(lock, key):
                del self._held[key]


class ProcessHeldLock:
    """A held lock."""

    def __init__(self, locks: ProcessLocks, key: Key) -> None:
        self._locks, self._key = locks, key

    def extend(self) -> bool:
        return self._locks.is_of(self, self._key)

    def release(self) -> None:
        self._locks.release(self, self._key)
