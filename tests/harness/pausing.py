"""Workers that are killed or frozen at a named point of their work, one at a time: no two ever run at once.

Frozen workers are threads that wait, so that everything else can happen before they go on.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.world import WorkerKilled, World
from memorybase.core.ingestion import job_runner as worker_
from memorybase.core.ingestion import lease, repair
from memorybase.core.ingestion.job_runner import JobOutcome
from memorybase.core.ingestion.settlement import Settlement
from memorybase.core.services import JobMessage
from memorybase.core.vectors.store import CollectionRef, VectorRecord

POINTS = (
    "claimed",  # nothing read yet
    "read",  # before embedding
    "embedded",  # before the claim is checked
    "checked",  # before the upsert, or the delete of a repair
    "half",  # half of the upsert's records are in the store
    "written",  # after the upsert
    "removed",  # after a repair's delete
    "advancing",  # before the last transaction
    "committing",  # inside it; only a kill, a frozen transaction would hold SQLite's lock
    "enqueuing",  # it is committed, the next job is not enqueued
    "advanced",
)
PATIENCE = 60.0  # for a thread that should run a few milliseconds


class Worker(threading.Thread):
    """One delivery of one job and, with `may_continue`, of other waiting jobs."""

    def __init__(
        self, pool: PausableWorkers, message: JobMessage, owner: str, at: str | None, *, kill: bool, may_continue: bool
    ) -> None:
        super().__init__(name=owner, daemon=True)
        self.owner = owner
        self.outcome: JobOutcome | None = None
        self.killed = self.ended = False
        self.error: BaseException | None = None
        self.resting = threading.Event()
        self._pool, self._message, self._at, self._kill, self._may_continue = pool, message, at, kill, may_continue
        self._resume = threading.Event()

    def run(self) -> None:
        try:
            self.outcome = self._pool.world.run(self._message, self.owner, may_continue=lambda: self._may_continue)
        except WorkerKilled:
            self.killed = True
        except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
            self.error = error
        finally:
            self.ended = True
            self.resting.set()

    def visit(self, point: str) -> None:
        """The worker has reached this point; it dies or waits here if the test wants it to."""
        if self._at != point:
            return
        self._at = None
        if not self._kill:
            self.resting.set()
            self._resume.wait()
        if self._kill:
            self.die()

    def die(self) -> None:
        # A dead worker releases no lock; one that is away cannot be released. PausableWorkers brings it back.
        self._pool.world.locks.away = True
        raise WorkerKilled

    def go_on(self, *, kill: bool, at: str | None = None) -> None:
        self._kill, self._at = kill and at is None, at
        self.resting.clear()
        self._resume.set()


class PausableWorkers:
    """The World's workers, with a hand on each."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.frozen: list[Worker] = []
        self.dead: set[str] = set()  # owners
        self.locks_away = False
        self.deadly = False  # a text with this word in it ends the worker that embeds it
        self._workers = 0
        self._elapsed = 0.0
        self._patch = pytest.MonkeyPatch()
        self._hook()

    def run(self, message: JobMessage, *, at: str | None = None, kill: bool = True) -> Worker:
        """Give one notification to a new worker, and wait until it has ended or is frozen."""
        self._workers += 1
        # Every other one takes up whatever else waits.
        worker = Worker(self, message, f"worker-{self._workers}", at, kill=kill, may_continue=self._workers % 2 == 0)
        worker.start()
        return self._await(worker)

    def thaw(self, which: int, *, kill: bool = False) -> Worker:
        """Let a frozen worker go on, or end it where it stands."""
        worker = self.frozen.pop(which)
        worker.go_on(kill=kill)
        return self._await(worker)

    def drain(self) -> int:
        """Run every waiting notification."""
        return self.world.queue.drain(self.run)

    def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)
        self._elapsed += seconds

    def close(self) -> None:
        """End every thread and take the hooks away."""
        while self.frozen:
            self.thaw(0, kill=True)
        self._patch.undo()

    def _await(self, worker: Worker) -> Worker:
        assert worker.resting.wait(PATIENCE), "a worker hangs"
        if not worker.ended:
            self.frozen.append(worker)
            return worker
        worker.join()
        self.world.locks.away = self.locks_away
        if worker.killed:
            self.dead.add(worker.owner)
        if worker.error is not None:
            raise worker.error
        return worker

    def _hook(self) -> None:
        self._after(worker_, "claim_job", "claimed", unless=None)
        self._before(lease.LeaseKeeper, "check", "embedded")
        self._before(worker_, "advance", "advancing")
        self._after(worker_, "advance", "advanced")
        self._before(repair, "_record", "advancing")
        self._after(repair, "_record", "advanced")
        self._after(Settlement, "advance", "committing")
        self._before(self.world.queue, "enqueue", "enqueuing")
        self._before(self.world.vectors, "delete", "checked")
        self._after(self.world.vectors, "delete", "removed")
        self.world.vectors.before_upsert = self._before_upsert
        self.world.vectors.after_upsert = lambda *_: self._visit("written")
        for model in ("fake", "other"):
            self.world.embedders.get(model).before_embed = self._before_embed
        self._patch.setattr(self.world.locks, "_clock", lambda: self._elapsed)
        # The same ids in every run of the same steps: Hypothesis replays them.
        self._patch.setattr(os, "urandom", random.Random(0).randbytes)

    def _visit(self, point: str) -> None:
        worker = threading.current_thread()
        if isinstance(worker, Worker):
            worker.visit(point)

    def _before_embed(self, texts: Sequence[str]) -> None:
        self._visit("read")
        worker = threading.current_thread()
        if self.deadly and isinstance(worker, Worker) and any("deadly" in text for text in texts):
            worker.die()

    def _before_upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        self._visit("checked")
        vectors = self.world.vectors
        if getattr(threading.current_thread(), "_at", None) == "half":
            hooks = vectors.before_upsert, vectors.after_upsert
            vectors.before_upsert = vectors.after_upsert = None
            try:
                vectors.upsert(ref, records[: len(records) // 2])
            finally:
                vectors.before_upsert, vectors.after_upsert = hooks
            self._visit("half")

    def _before(self, owner: Any, name: str, point: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def visiting(*args: Any, **kwargs: Any) -> Any:
            self._visit(point)
            return original(*args, **kwargs)

        self._patch.setattr(owner, name, visiting)

    def _after(self, owner: Any, name: str, point: str, **skipped: Any) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def visiting(*args: Any, **kwargs: Any) -> Any:
            answer = original(*args, **kwargs)
            if not skipped or answer is not skipped["unless"]:
                self._visit(point)
            return answer

        self._patch.setattr(owner, name, visiting)
