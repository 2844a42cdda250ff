"""How long a capture waits while readers keep the API busy: searches, event streams, long polls.

    python bench/bulkheads.py [--seconds 15] [--messages 2000] [--only searches,streams]

Readers are processes of their own. A reader that is refused with 503 waits as long as Retry-After says, as a client
should; `--rude` readers come back at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, contextmanager
from http import HTTPStatus
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from uuid import UUID

import aiohttp  # lighter than httpx, whose pool of 600 connections takes a core
from ingesting import about, figures
from ingesting.latency import paced
from ingesting.target import Base, Target, in_calls, new_base, running_stack
from ingesting.texts import WORDS, Corpus

from memorybase.core.errors import NotReady
from memorybase.core.redis_locks import RedisSessionLocks
from memorybase.stack.state import settings_in_use
from memorybase.wiring import redis_client

CAPTURES_PER_SECOND = 20
CAPTURERS = 4
SEARCHERS, SEARCH_WORDS, TOP_K = 80, 400, 100
WATCHERS = 600
ADDRESSES = {
    "search": "127.0.0.2",
    "poll": "127.0.0.3",
    "watch": "127.0.0.4",
}  # since connections per address are bounded
LOCK_SECONDS = 3_600.0
SETTLE_SECONDS = 3.0  # until every reader is connected
TIMEOUT_SECONDS = 60.0


class Reader:
    """One process with `number` concurrent readers that repeat their request until they are stopped."""

    def __init__(self, target: Target, kind: str, number: int, path: str, *, rude: bool) -> None:
        ours, theirs = get_context("spawn").Pipe()
        key = target.data.known_api_key(target.stack.settings) or ""
        arguments = (theirs, kind, number, f"{target.stack.url}{path}", key, rude)
        self._process = get_context("spawn").Process(target=_read, args=arguments, daemon=True)
        self._process.start()
        self._pipe: Connection = ours

    def stop(self) -> figures.Figures:
        """End the readers: how many answers of each status they had, and how long the answers took."""
        self._pipe.send("stop")
        answers: figures.Figures = self._pipe.recv()
        self._process.join(TIMEOUT_SECONDS)
        return answers


def _read(pipe: Connection, kind: str, number: int, url: str, key: str, rude: bool) -> None:
    pipe.send(asyncio.run(_readers(pipe, kind, number, url, key, rude=rude)))


async def _readers(pipe: Connection, kind: str, number: int, url: str, key: str, *, rude: bool) -> figures.Figures:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    threading.Thread(target=lambda: (pipe.recv(), loop.call_soon_threadsafe(stop.set)), daemon=True).start()
    statuses: Counter[str] = Counter()
    seconds: list[float] = []
    connector = aiohttp.TCPConnector(limit=0, local_addr=(ADDRESSES[kind], 0))
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS if kind != "watch" else None)
    async with aiohttp.ClientSession(connector=connector, headers={"X-API-Key": key}, timeout=timeout) as client:

        async def repeat(index: int) -> None:
            dice = random.Random(index)
            while True:
                began = time.perf_counter()
                status, wait = await REQUESTS[kind](client, url, dice)
                statuses[str(status)] += 1
                if status == HTTPStatus.OK:
                    seconds.append(time.perf_counter() - began)
                elif not rude:
                    await asyncio.sleep(wait)

        tasks = [asyncio.create_task(repeat(index)) for index in range(number)]
        await stop.wait()
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    failed = [repr(each) for each in ended if not isinstance(each, asyncio.CancelledError)]
    return {"answers": dict(statuses), "answered": figures.latencies(seconds), "failed": len(failed), "why": failed[:3]}


async def _search(client: aiohttp.ClientSession, url: str, dice: random.Random) -> tuple[int, float]:
    query = " ".join(dice.choices(WORDS, k=SEARCH_WORDS))
    return await _read_to_end(client.post(url, json={"query": query, "top_k": TOP_K}))


async def _poll(client: aiohttp.ClientSession, url: str, _: random.Random) -> tuple[int, float]:
    return await _read_to_end(client.get(url, params={"wait": 10}))


async def _watch(client: aiohttp.ClientSession, url: str, _: random.Random) -> tuple[int, float]:
    return await _read_to_end(client.get(url))


async def _read_to_end(request: AbstractAsyncContextManager[aiohttp.ClientResponse]) -> tuple[int, float]:
    """The status, and the seconds until another try."""
    async with request as answer:
        async for _chunk in answer.content.iter_any():
            pass
        return answer.status, float(answer.headers.get("Retry-After", 1))


REQUESTS: dict[str, Callable[[aiohttp.ClientSession, str, random.Random], Any]] = {
    "search": _search,
    "poll": _poll,
    "watch": _watch,
}


def captures(base: Base, corpus: Corpus, seconds: float) -> figures.Figures:
    """Captures of two messages at a steady pace; the slowest too."""
    runs = in_calls(corpus.take(int(2 * seconds * CAPTURES_PER_SECOND)), 2)
    taken: list[float] = []

    def capture(index: int) -> None:
        began = time.perf_counter()
        base.capture(f"session {index % 20}", runs[index])
        taken.append(time.perf_counter() - began)

    with ThreadPoolExecutor(CAPTURERS) as pool:
        done = [pool.submit(capture, index) for index in paced(CAPTURES_PER_SECOND, len(runs))]
        for each in done:
            each.result()
    return figures.latencies(taken) | {"slowest_ms": round(1_000 * max(taken), 1)}


def readers_of(section: str, base: Base, job_id: str) -> list[tuple[str, int, str]]:
    search = ("search", SEARCHERS, f"/v1/memories/{base.id}/search")
    streams = ("watch", WATCHERS, f"/v1/jobs/{job_id}/events")
    polls = ("poll", WATCHERS, f"/v1/jobs/{job_id}")
    return {
        "idle": [],
        "searches": [search],
        "streams": [streams],
        "polls": [polls],
        "all": [search, streams, polls],
    }[section]


SECTIONS = ("idle", "searches", "streams", "polls", "all")


@contextmanager
def waiting_job(target: Target) -> Iterator[str]:
    """A job that no worker takes, because its session's lock is held."""
    base = new_base(target.client, "watched", threshold=10_000)
    base.capture("watched", ["waits"])
    settings = settings_in_use(target.data.path)
    locks = RedisSessionLocks(redis_client(settings), ttl_seconds=LOCK_SECONDS)
    held = locks.acquire(UUID(base.id), "watched")
    if held is None:
        raise NotReady("The session is locked already")
    try:
        jobs = target.client.call("POST", f"/memories/{base.id}/flush")["jobs"]
        yield jobs[0]["id"]
    finally:
        held.release()
        locks.close()


def measure(target: Target, corpus: Corpus, options: argparse.Namespace) -> figures.Figures:
    base = new_base(target.client, "searched", threshold=10_000)
    for index, page in enumerate(in_calls(corpus.take(options.messages), 50)):
        base.capture(f"session {index}", page)
    target.client.call("POST", f"/memories/{base.id}/flush")
    base.wait_ingested(options.messages)
    base.search("warm up")
    report: figures.Figures = {}
    with waiting_job(target) as job_id:
        for section in options.only:
            captured = new_base(target.client, "captured", threshold=10)
            captured.capture("warm", ["warm"])
            readers = {
                kind: Reader(target, kind, number, path, rude=options.rude)
                for kind, number, path in readers_of(section, base, job_id)
            }
            time.sleep(SETTLE_SECONDS)
            found = captures(captured, corpus, options.seconds)
            report[section] = {"capture": found} | {kind: reader.stop() for kind, reader in readers.items()}
            print(figures.table({section: report[section]}), flush=True)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15.0, help="of captures in each section")
    parser.add_argument("--messages", type=int, default=2_000, help="stored in the memory base that is searched")
    parser.add_argument("--only", type=lambda names: names.split(","), default=list(SECTIONS), help="sections")
    parser.add_argument("--rude", action="store_true", help="readers ignore Retry-After")
    parser.add_argument("--json", type=Path, help="also write the report to this file")
    options = parser.parse_args()
    corpus = Corpus.made()
    with running_stack() as target:
        report = {"about": about.about(corpus, target.stack.settings)} | measure(target, corpus, options)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
