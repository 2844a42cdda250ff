"""Restart children that run but do not work, by what the API's readiness says."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from memorybase.stack.children import DISPENSABLE, NAMES
from memorybase.stack.processes import Processes

WATCH_SECONDS = 3.0  # while a part fails
CALM_SECONDS = 10.0  # while all work
ANSWER_SECONDS = 8.0  # readiness itself waits for its checks
# Readiness names a store after 30 s and a process after 15 s; one that recovers by itself does so within seconds more.
PATIENCE_SECONDS = 15.0
# The patience doubles with each restart of a child, as restarts seem to help for a short time only, and after this long
# without one it is the first again.
FORGET_SECONDS = 900.0
MAX_DOUBLINGS = 5
API_PATIENCE_SECONDS = 60.0  # a burst of requests may keep it from answering
HEARTBEAT_SECONDS = 20.0  # its predecessor's heartbeat counts for longer than 15 s
# Chroma does not start on a full disk, and until there is room nothing can work.
ROOM_BYTES = 16 * 2**20


@dataclass(slots=True)
class _Observed:
    started: float
    has_worked: bool = False  # since it was started
    failing_since: float | None = None


class Watch:
    """Decides which children to restart. Times are in seconds on any one clock.

    A child is restarted if it has worked since its start and has then failed for its patience while the disk had room.
    One that does not work after a restart is left alone: another restart would not help, and health names it.
    """

    def __init__(self) -> None:
        self._observed: dict[str, _Observed] = {}
        self._restarts: dict[str, tuple[int, float]] = {}  # how many, and when the last one was

    def observe(
        self, now: float, *, started: Mapping[str, float], failing: Collection[str] | None, has_room: bool
    ) -> list[str]:
        """The children to restart, of those that run since `started`.

        `failing`: the parts that fail, None if the API gives no answer.
        """
        due = [name for name in started if self._must_restart(name, now, started[name], failing, has_room)]
        for name in due:
            count, _ = self._restarts.get(name, (0, now))
            self._restarts[name] = (count + 1, now)
        return due

    def _must_restart(
        self, name: str, now: float, started: float, failing: Collection[str] | None, has_room: bool
    ) -> bool:
        seen = self._observed.get(name)
        if seen is None or seen.started != started:
            seen = self._observed[name] = _Observed(started)
        works = _works(name, failing)
        if works:
            is_own_heartbeat = name not in DISPENSABLE or now - started > HEARTBEAT_SECONDS
            seen.has_worked = seen.has_worked or is_own_heartbeat
        if works is not False or not has_room:
            seen.failing_since = None
            return False
        if seen.failing_since is None:
            seen.failing_since = now
        return seen.has_worked and now - seen.failing_since >= self._patience(name, now)

    def _patience(self, name: str, now: float) -> float:
        count, last = self._restarts.get(name, (0, now))
        if now - last > FORGET_SECONDS:
            self._restarts.pop(name)
            count = 0
        first = API_PATIENCE_SECONDS if name == "api" else PATIENCE_SECONDS
        return float(first * 2 ** min(count, MAX_DOUBLINGS))


def _works(name: str, failing: Collection[str] | None) -> bool | None:
    """Whether the child works; None if that is unknown."""
    if name == "api":
        return failing is not None
    if failing is None or (name in DISPENSABLE and "database" in failing):
        return None  # heartbeats are in the database
    return name not in failing


async def watch(processes: Processes, health_url: str, data_dir: Path, report: Callable[[str], None]) -> None:
    """Restart children that run but do not work, for ever."""
    decisions = Watch()
    async with httpx.AsyncClient(timeout=ANSWER_SECONDS, trust_env=False) as client:
        while True:
            failing, _ = await failing_parts(client, health_url)
            to_restart = decisions.observe(
                time.monotonic(),
                started={name: since for name in NAMES if (since := processes.running_since(name)) is not None},
                failing=failing,
                has_room=_has_room(data_dir),
            )
            for name in to_restart:
                report(f"{name} runs but does not work; killing it")
                processes.kill_child(name)
            await asyncio.sleep(CALM_SECONDS if failing == [] else WATCH_SECONDS)


def _has_room(data_dir: Path) -> bool:
    try:
        return shutil.disk_usage(data_dir).free >= ROOM_BYTES
    except OSError:
        return False


async def failing_parts(client: httpx.AsyncClient, health_url: str) -> tuple[list[str] | None, str]:
    """The failing parts as the API names them, None if it does not answer, and the problem: that of the model if the
    model is among them."""
    try:
        answer = await client.get(health_url)
        if answer.status_code == 200:
            return [], ""
        details = answer.json()["error"]["details"]
        return list(details["failing"]), str(details.get("reason") or answer.text)
    except (httpx.TransportError, ValueError, LookupError, TypeError):
        return None, "the api does not answer"
