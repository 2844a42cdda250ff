"""Waiting for jobs without holding a thread: async between short looks, each look in a thread of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from pydantic import TypeAdapter

from memorybase import errors
from memorybase.catalog import JobView

Looked = TypeVar("Looked")

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5
KEEP_ALIVE_SECONDS = 15.0  # proxies cut streams that say nothing for long

_JOB = TypeAdapter(JobView)


async def until(
    request: Request, look: Callable[[], Looked], ended: Callable[[Looked], bool], *, seconds: float
) -> Looked:
    """What the last look saw: at its end, when the time is over, or when the caller has hung up."""
    deadline = time.monotonic() + seconds
    pause = FIRST_PAUSE_SECONDS
    while True:
        seen = await run_in_threadpool(look)
        left = deadline - time.monotonic()
        if ended(seen) or left <= 0 or await request.is_disconnected():
            return seen
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)


async def job_events(first: JobView, look: Callable[[], JobView]) -> AsyncIterator[bytes]:
    """The job, again whenever it has changed, until it has ended or is gone."""
    shown, said = first, time.monotonic()
    yield _event("job", shown)
    while not shown.ended:
        await asyncio.sleep(LONGEST_PAUSE_SECONDS)
        try:
            seen = await run_in_threadpool(look)
        except errors.NotFound:
            yield b"event: gone\ndata: {}\n\n"
            return
        except errors.EnvironmentFailure:
            seen = shown  # the job goes on without us; so does the stream
        if seen != shown:
            shown, said = seen, time.monotonic()
            yield _event("job", shown)
        elif time.monotonic() - said >= KEEP_ALIVE_SECONDS:
            said = time.monotonic()
            yield b": still there\n\n"
    yield _event("end", shown)


def _event(name: str, job: JobView) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + _JOB.dump_json(job) + b"\n\n"
