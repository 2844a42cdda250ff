"""Bulkheads: each class of work has a number of threads, so that no number of reads can take those of captures.

Python runs one thread at a time, so every admitted request may keep a capture from the interpreter.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from enum import StrEnum
from typing import TypeVar, cast
from uuid import UUID

import anyio
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool

from api import failures
from memorybase.core.foreground import Foreground

Result = TypeVar("Result")


class Work(StrEnum):
    CAPTURE = "capture"
    CHANGE = "change"
    BULK = "bulk"  # changes that take minutes
    READ = "read"
    SEARCH = "search"  # takes a processor for a tenth of a second and more
    STREAM = "stream"  # what streams and long polls ask before they wait
    COMPARE = "compare"  # reads a whole knowledge base, in minutes
    KEY = "key"  # the check of an API key, of all work but captures


# At once, in each process.
SLOTS = {
    Work.CAPTURE: 8,
    Work.CHANGE: 4,
    Work.BULK: 2,  # of different keys
    Work.READ: 4,
    Work.SEARCH: max(1, (os.cpu_count() or 1) - 1),
    Work.STREAM: 2,
    Work.COMPARE: 1,
    Work.KEY: 4,
}
AWAITED = {Work.CAPTURE, Work.CHANGE, Work.READ, Work.SEARCH}  # a caller waits for a moment
MAX_WAITS = 2_000  # event streams and long polls
WAIT_SECONDS = 5.0  # of a request for its turn; then 503


class Bulkhead:
    """So many at once; others wait for their turn in order, for a bounded time."""

    def __init__(self, work: Work, slots: int, seconds: float) -> None:
        self.work = work
        self._limit = slots
        self._slots = anyio.Semaphore(slots, fast_acquire=True)
        self._seconds = seconds

    @asynccontextmanager
    async def admitted(self, *, bounded: bool = True) -> AsyncIterator[None]:
        """Hold a slot; raises Overloaded if the wait is bounded and no slot was free in time."""
        try:
            async with asyncio.timeout(self._seconds if bounded else None):
                await self._slots.acquire()
        except TimeoutError:
            raise _overloaded(f"Too much work of the class {self.work}", self._limit, self._seconds) from None
        try:
            yield
        finally:
            self._slots.release()

    async def run(self, function: Callable[[], Result]) -> Result:
        """Call it in a thread; raises Overloaded."""
        async with self.admitted():
            return await run_in_threadpool(function)

    async def iterate(self, items: Iterable[Result]) -> AsyncIterator[Result]:
        """The items, each made in a thread; work that has started is not refused."""
        rest, end = iter(items), object()
        while True:
            async with self.admitted(bounded=False):
                item = await run_in_threadpool(next, rest, end)
            if item is end:
                return
            yield cast(Result, item)


class Admission:
    """The bulkheads of this process."""

    def __init__(self, foreground: Foreground | None = None) -> None:
        """`foreground`: what awaited requests enter, where other work of this process waits for a gap."""
        self._foreground = foreground
        self.threads = sum(SLOTS.values())
        self._bulkheads = {work: Bulkhead(work, each, WAIT_SECONDS) for work, each in SLOTS.items()}
        self._turns: dict[UUID, Bulkhead] = {}
        self._free_waits = self._max_waits = MAX_WAITS
        self._seconds = WAIT_SECONDS

    def __getitem__(self, work: Work) -> Bulkhead:
        return self._bulkheads[work]

    @asynccontextmanager
    async def admitted(self, work: Work, key: UUID) -> AsyncIterator[None]:
        """Hold a slot of this class; a key holds one of those for bulk changes at a time. Raises Overloaded."""
        async with AsyncExitStack() as held:
            if work is Work.BULK:
                turn = self._turns.setdefault(key, Bulkhead(work, 1, self._seconds))
                await held.enter_async_context(turn.admitted())
            await held.enter_async_context(self[work].admitted())
            if self._foreground is not None and work in AWAITED:
                held.enter_context(self._foreground)
            yield

    def key_check(self, work: Work) -> Bulkhead:
        """Where the key of a call is checked: captures do not wait behind the keys of others."""
        return self._bulkheads[Work.CAPTURE if work is Work.CAPTURE else Work.KEY]

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Be one of the streams and long polls; raises Overloaded beyond their number."""
        self.check_waits()
        self._free_waits -= 1
        try:
            yield
        finally:
            self._free_waits += 1

    def check_waits(self) -> None:
        """Raises Overloaded if there are too many streams and long polls; for a stream, before its answer begins."""
        if self._free_waits <= 0:
            raise _overloaded("Too many event streams and long polls", self._max_waits, self._seconds)


def admission_of(scope: Request | FastAPI) -> Admission:
    app = scope.app if isinstance(scope, Request) else scope
    admission: Admission = app.state.admission
    return admission


def _overloaded(reason: str, limit: int, seconds: float) -> failures.Overloaded:
    message = f"{reason}: at most {limit} at once. Retry after the time in Retry-After"
    return failures.Overloaded(message, limit=limit, retry_after_seconds=float(math.ceil(seconds)))
