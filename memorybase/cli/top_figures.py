"""Data of `memorybase top`: a snapshot of a running stack, rates from two of them, and the state during an outage."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from memorybase_client import errors as client_errors

if TYPE_CHECKING:
    from memorybase_client import Client, models

BASES_SHOWN = 200  # one page of the list
JOBS_SHOWN = 50
# An API process that was not asked again for this long does not count: it may have ended.
PROCESS_SECONDS = 60.0

_SAMPLE = re.compile(r'^(\w+)(?:\{\w+="([^"]*)".*\})? (\S+)$', re.MULTILINE)
_CAPTURED = "memorybase_messages_captured_total"
_PROCESS_STARTED = "memorybase_messages_captured_created"

Answer = TypeVar("Answer")
Metrics = Mapping[tuple[str, str], float]  # by name and first label, "" without one


@dataclass(frozen=True, slots=True)
class Look:
    """The stack at one moment. `metrics` are of the whole installation. What a limited key may not read is None."""

    at: float
    bases: list[models.MemoryBaseView]
    bases_total: int
    running: list[models.JobView] | None
    metrics: Metrics | None

    def metric(self, name: str, label: str = "") -> float | None:
        return None if self.metrics is None else self.metrics.get((f"memorybase_{name}", label))


@dataclass(frozen=True, slots=True)
class State:
    """The present state. `failure`: why the last attempt brought no figures; `look` is the last snapshot.

    `parts`: each part's state if the API answered the last attempt, else None.
    """

    look: Look | None = None
    failure: client_errors.MemorybaseError | None = None
    failing_since: float | None = None
    parts: Mapping[str, str] | None = None
    reason: str | None = None
    captures: float | None = None  # a second
    ingested: Mapping[UUID, float] = field(default_factory=dict)  # a second


class Watch:
    """Takes snapshots repeatedly, in its own thread if started; `state` is the present one."""

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.state = State()
        self.looked = threading.Event()  # at least once
        self._client = client
        self._clock = clock
        self._captures = CaptureRate()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, interval: float) -> None:
        self._thread = threading.Thread(target=self._run, args=(interval,), name="top", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """A call that nobody answers is not waited for."""
        self._ended.set()

    def wait(self, seconds: float) -> bool:
        """Whether it was stopped meanwhile."""
        return self._ended.wait(seconds)

    def look(self) -> State:
        """Look once. A failure keeps the figures of the look before."""
        before, parts, reason = self.state, None, None
        try:
            parts, reason = self._parts()
            look = self._figures()
        except client_errors.MemorybaseError as error:
            since = self._clock() if before.failing_since is None else before.failing_since
            self.state = State(before.look, error, since, parts, reason)
        else:
            captures = None if look.metrics is None else self._captures.of(look.metrics, look.at)
            self.state = State(look, None, None, parts, reason, captures, ingested_per_second(before.look, look))
        self.looked.set()
        return self.state

    def _run(self, interval: float) -> None:
        while not self._ended.is_set():
            self.look()
            self._ended.wait(interval)

    def _parts(self) -> tuple[Mapping[str, str], str | None]:
        try:
            ready = self._client.health_ready()
        except client_errors.NotReady as error:
            failing = [str(part) for part in error.details.get("failing", [])]
            return dict.fromkeys(failing, "failing"), error.message
        return ready.parts, ready.reason

    def _figures(self) -> Look:
        bases = self._client.list_memory_bases(order="recent", size=BASES_SHOWN).page()
        running = _allowed(lambda: self._client.list_all_jobs(state="running", size=JOBS_SHOWN).page().items)
        metrics = _allowed(lambda: parse_metrics(self._client.get_metrics()))
        return Look(self._clock(), bases.items, bases.total, running, metrics)


class CaptureRate:
    """Captures a second, from counters of API processes: behind one address there may be several, and each look is
    answered by one of them."""

    def __init__(self) -> None:
        self._last: dict[float, tuple[float, float]] = {}  # by the process's start: when it was asked, its counter
        self._rates: dict[float, tuple[float, float]] = {}  # when it was asked, its rate

    def of(self, metrics: Metrics, at: float) -> float | None:
        """The sum of the rates of all processes that answered recently; None until one has answered twice."""
        process, count = metrics.get((_PROCESS_STARTED, "")), metrics.get((_CAPTURED, ""))
        if process is None or count is None:
            return None
        if process in self._last and at > self._last[process][0]:
            asked, before = self._last[process]
            self._rates[process] = at, (count - before) / (at - asked)
        self._last[process] = at, count
        recent = [rate for asked, rate in self._rates.values() if at - asked <= PROCESS_SECONDS]
        return sum(recent) if recent else None


def _allowed(read: Callable[[], Answer]) -> Answer | None:
    """None for a limited key: it must name a memory base, and figures of all users are not for it."""
    try:
        return read()
    except (client_errors.Forbidden, client_errors.InvalidRequest):
        return None


def ingested_per_second(before: Look | None, look: Look) -> dict[UUID, float]:
    """Messages ingested per second, by memory base. Deletions and rebuilds do not count."""
    if before is None or look.at <= before.at:
        return {}
    processed = {base.id: base.total_processed for base in before.bases}
    seconds = look.at - before.at
    return {
        base.id: max(base.total_processed - processed[base.id], 0) / seconds
        for base in look.bases
        if base.id in processed
    }


def parse_metrics(text: str) -> Metrics:
    """Prometheus's text format, with the first label of each sample."""
    return {(name, label): float(value) for name, label, value in _SAMPLE.findall(text)}
