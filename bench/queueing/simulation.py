"""Ingestion by discrete events: thresholds, jobs in fair order, workers that claim batches.

The rules are those of memorybase.core.ingestion (trigger, fair_order, worker), and so are the constants. What takes
time is embedding, and claiming and ending a job; the processor and the database are assumed not to be the limit.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from memorybase.core.ingestion.job_runner import AHEAD_SECONDS, BATCH_SECONDS, MAX_BATCH_MESSAGES
from memorybase.core.ingestion.scheduler import JOB_MAX_MESSAGES
from queueing.load import Run, Workers


@dataclass(slots=True)
class Session:
    """When the messages were captured that are below the threshold, and those that a job will take."""

    base: int
    below: list[float] = field(default_factory=list)
    due: deque[float] = field(default_factory=deque)
    has_job: bool = False


@dataclass(order=True, slots=True)
class Job:
    virtual_time: int
    number: int
    session: Session = field(compare=False)
    captured: list[float] = field(compare=False)


@dataclass(slots=True)
class Worker:
    idle: bool = True
    embedded_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Ingested:
    """A job that ended: how many messages became searchable, and how long the last of them had waited, in seconds."""

    base: int
    messages: int
    waited: float


class Simulation:
    """One run of the model."""

    def __init__(self, workers: Workers, threshold: int) -> None:
        self._costs = workers
        self._threshold = threshold
        self._workers = [Worker() for _ in range(workers.count)]
        self._sessions: dict[tuple[int, str], Session] = {}
        self._waiting: list[Job] = []
        self._last_of_base: defaultdict[int, int] = defaultdict(int)
        self._running: dict[int, int] = {}  # virtual time by the number of the job
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._numbers = count()
        self.ingested: list[Ingested] = []

    def run(self, arriving: Iterable[Run]) -> list[Ingested]:
        """Every job of these runs, in the order of their ends."""
        for run in arriving:
            self._at(run.at, partial(self._capture, run))
        while self._events:
            now, _, act = heapq.heappop(self._events)
            act(now)
        return self.ingested

    def _at(self, time: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (time, next(self._numbers), act))

    def _capture(self, run: Run, now: float) -> None:
        session = self._sessions.setdefault((run.base, run.session), Session(run.base))
        session.below += [now] * run.messages
        if len(session.below) >= self._threshold:
            session.due.extend(session.below)
            session.below.clear()
            self._schedule(session, now)

    def _schedule(self, session: Session, now: float) -> None:
        if session.has_job or not session.due:
            return
        session.has_job = True
        captured = [session.due.popleft() for _ in range(min(len(session.due), JOB_MAX_MESSAGES))]
        place = max(self._virtual_now(), self._last_of_base[session.base]) + len(captured)
        self._last_of_base[session.base] = place
        heapq.heappush(self._waiting, Job(place, next(self._numbers), session, captured))
        self._at(now + self._costs.notify_seconds, self._wake)

    def _virtual_now(self) -> int:
        if self._running:
            return max(self._running.values())
        return self._waiting[0].virtual_time if self._waiting else 0

    def _wake(self, now: float) -> None:
        worker = next((each for each in self._workers if each.idle), None)
        if worker is not None and self._waiting:
            # A notified worker begins with one job; how fast it embeds it knows from before.
            self._embed(worker, [self._claim()], now + self._costs.claim_seconds)

    def _claim(self) -> Job:
        job = heapq.heappop(self._waiting)
        self._running[job.number] = job.virtual_time
        return job

    def _claim_batch(self) -> list[Job]:
        batch: list[Job] = []
        messages = 0
        while self._waiting and messages < MAX_BATCH_MESSAGES and messages * self._costs.text_seconds < BATCH_SECONDS:
            batch.append(job := self._claim())
            messages += len(job.captured)
        return batch

    def _embed(self, worker: Worker, batch: list[Job], now: float) -> None:
        worker.idle = False
        worker.embedded_at = now + sum(len(job.captured) for job in batch) * self._costs.text_seconds
        self._at(worker.embedded_at + self._costs.end_seconds, partial(self._end, batch))
        claims = 2 * len(batch) * self._costs.claim_seconds
        self._at(max(now, worker.embedded_at - AHEAD_SECONDS - claims), partial(self._claim_ahead, worker))

    def _claim_ahead(self, worker: Worker, now: float) -> None:
        if batch := self._claim_batch():
            claimed_at = now + len(batch) * self._costs.claim_seconds
            self._embed(worker, batch, max(worker.embedded_at, claimed_at))
        else:
            self._at(max(now, worker.embedded_at) + self._costs.end_seconds, partial(self._look_again, worker))

    def _look_again(self, worker: Worker, now: float) -> None:
        if batch := self._claim_batch():
            self._embed(worker, batch, now + len(batch) * self._costs.claim_seconds)
        else:
            worker.idle = True

    def _end(self, batch: list[Job], now: float) -> None:
        for job in batch:
            del self._running[job.number]
            self.ingested.append(Ingested(job.session.base, len(job.captured), now - job.captured[-1]))
            job.session.has_job = False
            self._schedule(job.session, now)
