"""A stream of items over one connection."""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")


class Stream(Generic[Item]):
    """Iterate over it once. It closes its connection at its end, at an error, and at the end of a `with` block."""

    def __init__(self, items: Generator[Item, None, None]) -> None:
        self._items = items

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        return self._items.__next__()

    def close(self) -> None:
        self._items.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
