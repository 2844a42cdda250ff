"""This worker process: its name, its sign of life, its deadline, and the leases its dead predecessor left."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

import psutil

from memorybase import errors, telemetry, wiring
from memorybase.embedding.background import NICENESS
from memorybase.ingestion import recovery
from memorybase.operations.heartbeats import HeartbeatThread
from memorybase.services import Services
from memorybase.settings import Settings

# A process's start is read from a clock that may be set meanwhile; a pid is not taken again within this long.
START_TOLERANCE_MILLISECONDS = 2_000
# A stop that takes longer hands the job back, to the next worker; supervisors kill soon after.
DRAIN_SECONDS = 15.0
HAND_BACK_SECONDS = 3.0  # then the job is left to its lease after all: the database is away
# One task does what waits for this long, then hears the next ring: repairs and what ran into trouble have their turn.
SHIFT_SECONDS = 10.0
WATCH_SECONDS = 0.5  # how late the watchdog may be
EXIT_SOFTWARE = 70  # sysexits.h: an internal software error

log = telemetry.get_logger(__name__)


def owner_prefix(settings: Settings) -> str:
    """What the names of all workers on this machine and this data directory begin with."""
    directory = hashlib.sha256(str(settings.data_dir.resolve()).encode()).hexdigest()[:12]
    return f"{socket.gethostname()}:{directory}:"


def owner_name(settings: Settings) -> str:
    """This process's name on leases and heartbeats: host, data directory, pid and start."""
    me = psutil.Process()
    return f"{owner_prefix(settings)}{me.pid}:{_started(me)}"


def is_alive(owner: str) -> bool:
    """Whether that process of this machine still runs; a name that cannot be read counts as alive."""
    try:
        pid, started = (int(part) for part in owner.rsplit(":", 2)[1:])
    except ValueError:
        return True
    try:
        process = psutil.Process(pid)
        same = abs(_started(process) - started) <= START_TOLERANCE_MILLISECONDS
        # A zombie is dead and only waits for its supervisor to look.
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Watchdog:
    """Ends the process when one job outlives its deadline, or a stop its drain.

    The solo pool has no time limits, and a thread stuck inside a library cannot be interrupted. Past its deadline a
    job is left to its lease or the next worker, the path of any lost worker; at a stop it is handed back.
    """

    def __init__(self, deadline_seconds: float, hand_back: Callable[[], object] = lambda: None) -> None:
        self._deadline_seconds = deadline_seconds
        self._hand_back = hand_back
        self._job: tuple[UUID, float] | None = None
        self._stop_by: float | None = None
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    @contextmanager
    def watching(self, job_id: UUID) -> Iterator[None]:
        self._job = (job_id, time.monotonic())
        try:
            yield
        finally:
            self._job = None

    def drain(self) -> None:
        """The process was asked to stop: what runs may end, for `DRAIN_SECONDS`. Safe in a signal handler."""
        if self._stop_by is None:
            self._stop_by = time.monotonic() + DRAIN_SECONDS

    @property
    def draining(self) -> bool:
        return self._stop_by is not None

    def _watch(self) -> None:
        while True:
            time.sleep(WATCH_SECONDS)
            now = time.monotonic()
            job, stop_by = self._job, self._stop_by
            if job is not None and now - job[1] > self._deadline_seconds:
                log.critical("job_deadline_passed", job_id=str(job[0]), deadline_seconds=self._deadline_seconds)
                os._exit(EXIT_SOFTWARE)
            if stop_by is not None and now > stop_by:
                log.warning("drain_cut_short", job_id=str(job[0]) if job else None, after_seconds=DRAIN_SECONDS)
                # In a thread of its own, since it may hang, and so that whatever it raises, the process ends.
                handing_back = threading.Thread(target=self._hand_back, name="hand-back", daemon=True)
                handing_back.start()
                handing_back.join(HAND_BACK_SECONDS)
                os._exit(EXIT_SOFTWARE)


def requeue_predecessors_jobs(services: Services) -> None:
    """Requeue the jobs of dead workers of this machine and data directory, without waiting for their leases."""
    requeued = recovery.requeue_jobs_of_dead_workers(services, owner_prefix(services.settings), is_alive)
    log.info("predecessor_jobs_requeued", requeued=requeued)


def hand_back(services: Services, owner: str) -> int:
    """What this worker cannot end goes to the next one at once; that is no death of its job."""
    return recovery.requeue_jobs_of_dead_workers(services, owner, lambda holder: holder != owner, stopped=True)


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """What a task needs of the process that it runs in."""

    services: Services
    owner: str
    watchdog: Watchdog
    heartbeat: HeartbeatThread

    def time_for_more(self) -> Callable[[], bool]:
        """Whether a task that begins now may take up further jobs; asked each time before it does."""
        until = time.monotonic() + SHIFT_SECONDS
        return lambda: not self.watchdog.draining and time.monotonic() < until


def start(services: Services) -> WorkerProcess:
    """Name this process, watch it, and load the model before the first task."""
    owner = owner_name(services.settings)
    process = WorkerProcess(
        services=services,
        owner=owner,
        watchdog=Watchdog(services.settings.job_deadline_seconds, lambda: hand_back(services, owner)),
        heartbeat=HeartbeatThread(services, owner, "worker", prepare=partial(requeue_predecessors_jobs, services)),
    )
    _let_other_sessions_go_first()
    _load_model(services)
    wiring.freeze_loaded_objects()
    log.info("worker_started", owner=owner, pid=os.getpid())
    return process


def _let_other_sessions_go_first() -> None:
    """Linux divides the processor among sessions (setsid) before it looks at the priority of their threads: a worker
    that leads one, as a supervisor starts it, competes as a whole with an API that leads another."""
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # no Linux, or one without autogroups
            Path("/proc/self/autogroup").write_text(str(NICENESS))


def _load_model(services: Services) -> None:
    began = time.monotonic()
    try:
        embedder = services.embedders.get()
    except errors.EnvironmentFailure as exc:
        # Ending here would loop through restarts. Each job tries again and backs off; status shows the error.
        log.error("model_unavailable_at_start", error=telemetry.describe_error(exc))  # noqa: TRY400 - says it all
        return
    log.info("model_loaded", embedder=embedder.identity, seconds=round(time.monotonic() - began, 2))


def _started(process: psutil.Process) -> int:
    return int(process.create_time() * 1000)
