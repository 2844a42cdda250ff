"""Waiting for jobs without holding a thread: async between short looks, each look in a thread of its own.

Nobody waits longer than the server lives: asked to end, it would cut what has not answered.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import TypeAdapter

from memorybase import errors
from memorybase.read_models.jobs import JobView

Looked = TypeVar("Looked")

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5
KEEP_ALIVE_SECONDS = 15.0  # proxies cut streams that say nothing for long

_JOB = TypeAdapter(JobView)


@contextmanager
def ended_by_signals(app: FastAPI) -> Iterator[None]:
    """Hear the signals that end the server, beside its own handlers, which go on to end it."""
    if threading.current_thread() is not threading.main_thread():  # signals are heard nowhere else
        yield
        return
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def hear(number: int, frame: FrameType | None) -> None:
        app.state.ending = True
        handler = previous[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number, handler in previous.items():
        if callable(handler):  # else the default action ends the process, and nobody waits
            signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in previous.items():
            if signal.getsignal(number) is hear:
                signal.signal(number, handler)


async def until(
    request: Request, look: Callable[[], Looked], ended: Callable[[Looked], bool], *, seconds: float
) -> Looked:
    """What the last look saw: at its end, when the time is over, when the caller has hung up or the server ends."""
    deadline = time.monotonic() + seconds
    pause = FIRST_PAUSE_SECONDS
    while True:
        seen = await run_in_threadpool(look)
        left = deadline - time.monotonic()
        if ended(seen) or left <= 0 or request.app.state.ending or await request.is_disconnected():
            return seen
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)


async def job_events(request: Request, first: JobView, look: Callable[[], JobView]) -> AsyncIterator[bytes]:
    """The job, again whenever it has changed, until it has ended or is gone; or until the server ends."""
    shown, said = first, time.monotonic()
    yield _event("job", shown)
    while not shown.ended:
        await asyncio.sleep(LONGEST_PAUSE_SECONDS)
        if request.app.state.ending:
            return
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
