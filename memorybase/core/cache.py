"""A cache for many threads."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from cachetools import TLRUCache

Key = TypeVar("Key")
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """Values by key, each for its own time. Beyond the capacity it drops the least recently used. Thread-safe."""

    def __init__(self, capacity: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._guard = threading.Lock()
        self._kept: TLRUCache[Key, tuple[Value, float]] = TLRUCache(
            capacity, lambda _key, kept, now: now + kept[1], timer=clock
        )

    def get(self, key: Key) -> Value | None:
        with self._guard:
            kept = self._kept.get(key)
        return None if kept is None else kept[0]

    def put(self, key: Key, value: Value, seconds: float = math.inf) -> None:
        """Keep a value for this time, in place of an earlier one; with 0 seconds none."""
        with self._guard:
            self._kept[key] = value, seconds

    def drop(self, key: Key) -> None:
        with self._guard:
            self._kept.pop(key, None)

    def clear(self) -> None:
        with self._guard:
            self._kept.clear()
