"""Polls that many requests share: however many wait, one thread reads what they wait for, each key once, and only
those are woken for whom it has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fastapi.concurrency import run_in_threadpool

Key = TypeVar("Key")
Result = TypeVar("Result")

FIRST_PAUSE_SECONDS = 0.05  # also that of the clock that all keys share
LONGEST_PAUSE_SECONDS = 0.5


@dataclass(eq=False)
class _Waiting(Generic[Result]):
    seen: Result | None
    answer: asyncio.Future[Result | None]


@dataclass(eq=False)
class _Watched(Generic[Result]):
    waiting: set[_Waiting[Result]] = field(default_factory=set)
    found: Result | None = None
    pause: float = FIRST_PAUSE_SECONDS
    due: float = 0.0  # on the loop's clock

    def show(self, found: Result | None, asking: Iterable[_Waiting[Result]]) -> None:
        """Answer those who have seen something else."""
        if found is not None and found == self.found:
            found = self.found  # one object for all who have seen it, so that most need no comparison
        self.found = found
        for each in asking:
            if found is not None and (each.seen is found or each.seen == found):
                each.seen = found
            elif not each.answer.done():
                each.answer.set_result(found)

    def fail(self, error: Exception) -> None:
        for each in self.waiting:
            if not each.answer.done():
                each.answer.set_exception(error)

    def let_go(self) -> None:
        """Answer all with what they have seen."""
        for each in self.waiting:
            if not each.answer.done():
                each.answer.set_result(each.seen)


class SharedPolls(Generic[Key, Result]):
    """`read` takes keys, in a thread, and leaves out those that are gone; `ending` says whether the server stops."""

    def __init__(self, read: Callable[[list[Key]], Mapping[Key, Result]], ending: Callable[[], bool]) -> None:
        self._read, self._ending = read, ending
        self._watched: dict[Key, _Watched[Result]] = {}
        self._task: asyncio.Task[None] | None = None

    async def changed(self, key: Key, seen: Result | None, *, seconds: float) -> Result | None:
        """The stored value as soon as it differs from `seen`; None if it is gone; `seen` when the time is over or the
        server stops. Raises what `read` raises."""
        loop = asyncio.get_running_loop()
        watched = self._watched.setdefault(key, _Watched())
        watched.pause, watched.due = FIRST_PAUSE_SECONDS, min(watched.due, loop.time() + FIRST_PAUSE_SECONDS)
        waiting = _Waiting(seen, loop.create_future())
        watched.waiting.add(waiting)
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._task = asyncio.create_task(self._answer_all())
        try:
            done, _ = await asyncio.wait((waiting.answer,), timeout=seconds)
            return waiting.answer.result() if done else seen
        finally:
            watched.waiting.discard(waiting)
            if not watched.waiting and self._watched.get(key) is watched:
                del self._watched[key]

    async def _answer_all(self) -> None:
        """Answer while anybody waits."""
        loop = asyncio.get_running_loop()
        while self._watched:
            await asyncio.sleep(FIRST_PAUSE_SECONDS)
            if self._ending():
                for watched in self._watched.values():
                    watched.let_go()
                continue
            now = loop.time()
            due = {key: watched for key, watched in self._watched.items() if watched.due <= now}
            for watched in due.values():
                watched.due = now + watched.pause
                watched.pause = min(1.5 * watched.pause, LONGEST_PAUSE_SECONDS)
            if due:
                await self._answer(due)

    async def _answer(self, due: Mapping[Key, _Watched[Result]]) -> None:
        # Those who come while it reads may have seen something newer.
        asking = {key: tuple(watched.waiting) for key, watched in due.items()}
        try:
            found = await run_in_threadpool(self._read, list(due))
        except Exception as error:  # noqa: BLE001  # it is raised in each request that waits
            for watched in due.values():
                watched.fail(error)
            return
        for key, watched in due.items():
            watched.show(found.get(key), asking[key])
