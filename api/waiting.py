"""Waits for jobs by polling: the wait is async, and only each short query uses a thread.

Waits and streams end when the server receives a signal to exit; otherwise it would cut their connections.
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

Result = TypeVar("Result")

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5
KEEP_ALIVE_SECONDS = 15.0  # proxies close idle streams
CHECK_KEY_SECONDS = 15.0  # a stream outlives the revocation of its key by no more

_JOB = TypeAdapter(JobView)


@contextmanager
def ended_by_signals(app: FastAPI) -> Iterator[None]:
    """Set app.state.ending on the signals that end the server, then call the server's own handlers."""
    if threading.current_thread() is not threading.main_thread():  # handlers can be set in the main thread only
        yield
        return
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def on_signal(number: int, frame: FrameType | None) -> None:
        app.state.ending = True
        handler = previous[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number, handler in previous.items():
        if callable(handler):  # else the default action ends the process at once
            signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in previous.items():
            if signal.getsignal(number) is on_signal:
                signal.signal(number, handler)


async def until(
    request: Request, poll: Callable[[], Result], ended: Callable[[Result], bool], *, seconds: float
) -> Result:
    """Poll until the result has ended, the time is over, the caller disconnects or the server ends; the last result."""
    deadline = time.monotonic() + seconds
    pause = FIRST_PAUSE_SECONDS
    while True:
        result = await run_in_threadpool(poll)
        left = deadline - time.monotonic()
        if ended(result) or left <= 0 or request.app.state.ending or await request.is_disconnected():
            return result
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)


async def job_events(
    request: Request, first: JobView, poll: Callable[[], JobView], check_key: Callable[[], object]
) -> AsyncIterator[bytes]:
    """Events: the job, then each change, until it ends or is gone, the key is revoked or the server ends."""
    shown, sent_at = first, time.monotonic()
    checked_at = sent_at
    yield _event("job", shown)
    while not shown.ended:
        await asyncio.sleep(LONGEST_PAUSE_SECONDS)
        if request.app.state.ending:
            return
        try:
            if time.monotonic() - checked_at >= CHECK_KEY_SECONDS:
                await run_in_threadpool(check_key)
                checked_at = time.monotonic()
            job = await run_in_threadpool(poll)
        except errors.NotFound:
            yield b"event: gone\ndata: {}\n\n"
            return
        except errors.Unauthorized:
            yield b"event: unauthorized\ndata: {}\n\n"
            return
        except errors.EnvironmentFailure:
            job = shown  # the database is unavailable: keep the stream open
        if job != shown:
            shown, sent_at = job, time.monotonic()
            yield _event("job", shown)
        elif time.monotonic() - sent_at >= KEEP_ALIVE_SECONDS:
            sent_at = time.monotonic()
            yield b": still there\n\n"
    yield _event("end", shown)


def _event(name: str, job: JobView) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + _JOB.dump_json(job) + b"\n\n"
