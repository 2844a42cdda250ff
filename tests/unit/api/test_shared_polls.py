"""However many wait, each key is read once a tick, and only those are woken for whom it has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest
from harness.rows import each_row

from api.shared_polls import LONGEST_PAUSE_SECONDS, SharedPolls

LONG = 60.0  # seconds; no wait of these tests lasts so long


class Store:
    """What is stored, and what was read of it."""

    def __init__(self, **rows: str) -> None:
        self.rows, self.ending = rows, False
        self.read: list[list[str]] = []
        self.polls = SharedPolls[str, str](self._read, lambda: self.ending)
        self.after_read: Callable[[], object] = lambda: None

    def _read(self, keys: list[str]) -> Mapping[str, str]:
        self.read.append(keys)
        found = {key: self.rows[key] for key in keys if key in self.rows}
        self.after_read()
        return found

    async def was_read(self) -> None:
        """Until there was one more read."""
        self._was_read = asyncio.Event()
        loop = asyncio.get_running_loop()
        self.after_read = lambda: loop.call_soon_threadsafe(self._was_read.set)
        await self._was_read.wait()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, LONG / 2))


def test_only_those_are_woken_for_whom_it_has_changed() -> None:
    async def scenario() -> None:
        store = Store(a="1", b="1")
        of_a = [asyncio.create_task(store.polls.changed("a", "1", seconds=LONG)) for _ in range(100)]
        of_b = asyncio.create_task(store.polls.changed("b", "1", seconds=LONG))
        await store.was_read()
        assert sorted(store.read[0]) == ["a", "b"], "one read, each key once"
        store.rows["a"] = "2"
        assert set(await asyncio.gather(*of_a)) == {"2"}
        await store.was_read()
        assert not of_b.done()
        of_b.cancel()

    run(scenario())


def test_what_is_gone_is_none_also_for_a_caller_who_has_seen_nothing() -> None:
    async def scenario() -> None:
        store = Store(a="1")
        waiting = asyncio.create_task(store.polls.changed("a", "1", seconds=LONG))
        await store.was_read()
        del store.rows["a"]
        assert await waiting is None
        assert await store.polls.changed("a", None, seconds=LONG) is None

    run(scenario())


def test_a_wait_ends_with_what_was_seen_when_its_time_is_over_or_the_server_stops() -> None:
    async def scenario() -> None:
        store = Store(a="1")
        assert await store.polls.changed("a", "1", seconds=0.1) == "1"
        waiting = asyncio.create_task(store.polls.changed("a", "1", seconds=LONG))
        await store.was_read()
        store.ending = True
        assert await waiting == "1"

    run(scenario())


def test_a_read_that_fails_is_raised_in_each_wait() -> None:
    async def scenario() -> None:
        store = Store(a="1")

        def fail() -> None:
            raise ConnectionError("away")

        store.after_read = fail
        waits = [store.polls.changed("a", "1", seconds=LONG) for _ in range(3)]
        for error in await asyncio.gather(*waits, return_exceptions=True):
            assert isinstance(error, ConnectionError)

    run(scenario())


@pytest.mark.slow
def test_a_caller_who_comes_during_a_read_is_not_answered_with_its_older_result() -> None:
    async def scenario() -> None:
        store = Store(a="old")
        loop = asyncio.get_running_loop()
        late: asyncio.Future[str | None] = loop.create_future()

        async def come() -> None:
            late.set_result(await store.polls.changed("a", "new", seconds=4 * LONGEST_PAUSE_SECONDS))

        def change() -> None:
            store.after_read = lambda: None
            store.rows["a"] = "new"
            asyncio.run_coroutine_threadsafe(_started(come()), loop).result()

        store.after_read = change
        assert await asyncio.create_task(store.polls.changed("a", "older", seconds=LONG)) == "old"
        assert await late == "new"

    async def _started(coroutine: Coroutine[Any, Any, None]) -> None:
        tasks.append(asyncio.create_task(coroutine))
        await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []
    run(scenario())


@each_row("waits", [1, 50])
def test_the_last_one_leaves_nothing_behind(waits: int) -> None:
    async def scenario() -> None:
        store = Store(a="1")
        tasks = [asyncio.create_task(store.polls.changed("a", "1", seconds=LONG)) for _ in range(waits)]
        await store.was_read()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not store.polls._watched

    run(scenario())
