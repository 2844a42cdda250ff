"""Polls that many requests share: however many wait, one thread reads what they wait for, each key once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from fastapi.concurrency import run_in_threadpool

Key = TypeVar("Key")
Result = TypeVar("Result")

TICK_SECONDS = 0.05


class _Waiting(NamedTuple, Generic[Key, Result]):
    key: Key
    due: float  # on the loop's clock
    answer: asyncio.Future[Result | None]


class SharedPolls(Generic[Key, Result]):
    """`read` takes the keys that are due, in a thread, and leaves out those that are gone."""

    def __init__(self, read: Callable[[list[Key]], Mapping[Key, Result]]) -> None:
        self._read = read
        self._waiting: list[_Waiting[Key, Result]] = []
        self._task: asyncio.Task[None] | None = None

    async def get(self, key: Key, *, after: float) -> Result | None:
        """What is stored `after` seconds from now or a little later; None if it is gone. Raises what `read` raises."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting[Key, "Result"](key, loop.time() + after, loop.create_future())
        self._waiting.append(waiting)
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._task = asyncio.create_task(self._answer_all())
        return await waiting.answer

    async def _answer_all(self) -> None:
        """Answer while anybody waits."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(TICK_SECONDS)
            now = loop.time()
            self._waiting = [each for each in self._waiting if not each.answer.done()]  # callers that hung up
            due = [each for each in self._waiting if each.due <= now]
            if due:
                self._waiting = [each for each in self._waiting if each.due > now]
                await self._answer(due)

    async def _answer(self, due: list[_Waiting[Key, Result]]) -> None:
        keys = list(dict.fromkeys(each.key for each in due))
        try:
            found = await run_in_threadpool(self._read, keys)
        except Exception as error:  # noqa: BLE001  # it is raised in each request that waits
            for each in due:
                if not each.answer.done():
                    each.answer.set_exception(error)
            return
        for each in due:
            if not each.answer.done():
                each.answer.set_result(found.get(each.key))
