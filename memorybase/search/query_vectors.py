"""Vectors of the latest queries, so that a question asked again with other settings is not embedded again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key")
Value = TypeVar("Value")


class LatestByOwner(Generic[Key, Value]):
    """For each owner its least recently used values are dropped beyond the capacity; all of them with the owner."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._guard = threading.Lock()
        self._values: WeakKeyDictionary[object, OrderedDict[Key, Value]] = WeakKeyDictionary()

    def get(self, owner: object, key: Key, make: Callable[[], Value]) -> Value:
        """The value of this key, made if it is not known. What `make` raises is not kept."""
        with self._guard:
            values = self._values.setdefault(owner, OrderedDict())
            if key in values:
                values.move_to_end(key)
                return values[key]
        value = make()
        with self._guard:
            values[key] = value
            while len(values) > self._capacity:
                values.popitem(last=False)
        return value
