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
class _Watched(Generic[Result]):
    seen: dict[asyncio.Future[Result | None], Result | None] = field(default_factory=dict)  # by those who wait
    found: Result | None = None
    pause: float = FIRST_PAUSE_SECONDS
    due: float = 0.0  # on the loop's clock

    def show(self, found: Result | None, asking: Iterable[asyncio.Future[Result | None]]) -> None:
        """Answer those who have seen something else."""
        if found is not None and found == self.found:
            found = self.found  # one object for all who have seen it, so that most need no comparison
        self.found = found
        for answer in asking:
            if answer.done() or answer not in self.seen:
                continue
            seen = self.seen[answer]
            if found is not None and (seen is found or seen == found):
                self.seen[answer] = found
            else:
                answer.set_result(found)


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
        answer: asyncio.Future[Result | None] = loop.create_future()
        watched.seen[answer] = seen
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._task = asyncio.create_task(self._answer_all())
        try:
            done, _ = await asyncio.wait((answer,), timeout=seconds)
            return seen if not done or answer.cancelled() else answer.result()
        finally:
            del watched.seen[answer]
            if not watched.seen and self._watched.get(key) is watched:
                del self._watched[key]

    async def _answer_all(self) -> None:
        """Answer while anybody waits."""
        loop = asyncio.get_running_loop()
        while self._watched:
            await asyncio.sleep(FIRST_PAUSE_SECONDS)
            if self._ending():
                for watched in self._watched.values():
                    for answer in watched.seen:
                        answer.cancel()
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
        asking = {key: tuple(watched.seen) for key, watched in due.items()}
        try:
            found = await run_in_threadpool(self._read, list(due))
        except Exception as error:  # noqa: BLE001  # it is raised in each request that waits
            for answer in [each for watched in due.values() for each in watched.seen if not each.done()]:
                answer.set_exception(error)
            return
        for key, watched in due.items():
            watched.show(found.get(key), asking[key])
