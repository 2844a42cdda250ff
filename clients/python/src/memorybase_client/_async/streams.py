"""A stream of items over one connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")


class AsyncStream(Generic[Item]):
    """Iterate over it once. It closes its connection at its end, at an error, and at the end of a `with` block."""

    def __init__(self, items: AsyncGenerator[Item, None]) -> None:
        self._items = items

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        return await self._items.__anext__()

    async def aclose(self) -> None:
        await self._items.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
