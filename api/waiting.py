"""Waits for what is stored by polling: the wait is async, and one thread polls for all.

Waits and streams end when the server receives a signal to exit; otherwise it would cut their connections.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TypeVar
from uuid import UUID

from fastapi import Request
from pydantic import TypeAdapter

from api import failures
from api.admission import Work, admission_of
from api.shared_polls import SharedPolls
from memorybase.core import errors
from memorybase.core.read_models import jobs
from memorybase.core.read_models.jobs import JobView
from memorybase.core.services import Services

Key = TypeVar("Key")
Result = TypeVar("Result")

KEEP_ALIVE_SECONDS = 15.0  # proxies close idle streams
CHECK_CALLER_SECONDS = 5.0  # a long poll outlives its caller by no more
RETRY_SECONDS = 0.5
CHECK_KEY_SECONDS = 15.0  # a stream outlives the revocation of its key by no more

_JOB = TypeAdapter(JobView)


def polls_of(
    request: Request, read: Callable[[Services, list[UUID]], Mapping[UUID, Result]]
) -> SharedPolls[UUID, Result]:
    """The polls of all who wait for what this function reads."""
    state = request.app.state
    watched: dict[Callable[..., object], SharedPolls[UUID, Result]] = state.watched
    if read not in watched:
        watched[read] = SharedPolls(lambda ids: read(state.services, ids), lambda: bool(state.ending))
    return watched[read]


async def until(
    request: Request,
    polls: SharedPolls[Key, Result],
    key: Key,
    first: Result | None,
    ended: Callable[[Result | None], bool],
    *,
    seconds: float,
) -> Result | None:
    """Wait until the stored value has ended, the time is over, the caller disconnects or the server stops. Returns the
    last value seen, or None if it is gone; `first` is the value seen before. Takes no thread. Raises Overloaded."""
    result = first
    deadline = time.monotonic() + seconds
    if ended(result) or seconds <= 0:
        return result
    with admission_of(request).waiting():
        while not (ended(result) or request.app.state.ending or await request.is_disconnected()):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            result = await polls.changed(key, result, seconds=min(left, CHECK_CALLER_SECONDS))
    return result


async def job_events(request: Request, first: JobView, check_key: Callable[[], object]) -> AsyncIterator[bytes]:
    """Events: the job, then each change, until it ends or is gone, the key is revoked or the server ends."""
    with admission_of(request).waiting():
        async for event in _events(request, first, check_key):
            yield event


async def _events(request: Request, first: JobView, check_key: Callable[[], object]) -> AsyncIterator[bytes]:
    shown = first
    checked_at = time.monotonic()
    yield _event("job", shown)
    while not shown.ended:
        try:
            job = await polls_of(request, jobs.get_jobs).changed(
                first.id, shown, seconds=min(KEEP_ALIVE_SECONDS, CHECK_KEY_SECONDS)
            )
            if time.monotonic() - checked_at >= CHECK_KEY_SECONDS:
                await admission_of(request)[Work.KEY].run(check_key)
                checked_at = time.monotonic()
        except errors.Unauthorized:
            yield b"event: unauthorized\ndata: {}\n\n"
            return
        except (errors.EnvironmentFailure, failures.Overloaded):
            await asyncio.sleep(RETRY_SECONDS)
            job = shown  # the database is unavailable or busy: keep the stream open
        if request.app.state.ending:
            return
        if job is None:
            yield b"event: gone\ndata: {}\n\n"
            return
        if job != shown:
            shown = job
            yield _event("job", shown)
        else:
            yield b": still there\n\n"
    yield _event("end", shown)


def _event(name: str, job: JobView) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + _JOB.dump_json(job) + b"\n\n"
