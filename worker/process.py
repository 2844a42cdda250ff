"""The worker process: its name, heartbeat, watchdog, and the jobs of its dead predecessor."""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from uuid import UUID, getnode, uuid4

import psutil

from memorybase.core import collector, deadlines, errors, telemetry
from memorybase.core.embedding import Embedder
from memorybase.core.embedding.background import NICENESS
from memorybase.core.extension import WorkerThread
from memorybase.core.ingestion import job_runner as ingestion
from memorybase.core.ingestion import recovery
from memorybase.core.operations.heartbeats import HeartbeatThread
from memorybase.core.queries import heartbeats
from memorybase.core.services import Services, Task
from memorybase.core.settings import Settings

# The clock behind a process's start time may be adjusted; a pid is not reused within this long.
START_TOLERANCE_MILLISECONDS = 2_000
# A stop that takes longer requeues the job for another worker; supervisors kill soon after.
DRAIN_SECONDS = 15.0
REQUEUE_SECONDS = 3.0  # after that the job is left to its lease: the database is unavailable
# One task takes other waiting jobs for this long. Then the next task runs: repairs and jobs that must run alone.
TASK_SECONDS = 10.0
WATCH_SECONDS = 0.5  # how late the watchdog may be
GROWN_BYTES = 64_000_000  # since the last time that memory was given back
EXIT_SOFTWARE = 70  # sysexits.h: an internal software error

Abandon = Callable[[str], object]

log = telemetry.get_logger(__name__)


def owner_prefix(settings: Settings) -> str:
    """The prefix of the names of all workers on this data directory whose pids this process can look up."""
    mine = hashlib.sha256(f"{_directory_id(settings.data_dir)}:{_pid_space()}".encode()).hexdigest()[:12]
    return f"{socket.gethostname()}:{mine}:"


def _pid_space() -> str:
    """The scope within which a pid names one process: containers and machines of one host name may share a data
    directory."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8")
        return f"{boot}:{Path('/proc/self/ns/pid').readlink()}"
    except OSError:  # not Linux
        return str(getnode())


def _directory_id(directory: Path) -> str:
    """A random id that the data directory keeps: containers of one host name may have the same path and other disks,
    and must not take each other's processes for dead. The path's own if it cannot keep one."""
    path, new = directory / "worker_id", uuid4().hex[:12]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=directory) as written:
            written.write(new)
            written.flush()
            os.link(written.name, path)  # whole or not at all, by whichever worker is first
        return path.read_text(encoding="utf-8")
    except OSError:
        return hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:12]


def owner_name(settings: Settings) -> str:
    """This process's name in leases and heartbeats: host, data directory, pid and start time."""
    me = psutil.Process()
    return f"{owner_prefix(settings)}{me.pid}:{_started(me)}"


def is_alive(owner: str) -> bool:
    """Whether that process of this host still runs. A name that cannot be parsed counts as alive."""
    try:
        pid, started = (int(part) for part in owner.rsplit(":", 2)[1:])
    except ValueError:
        return True
    try:
        process = psutil.Process(pid)
        same = abs(_started(process) - started) <= START_TOLERANCE_MILLISECONDS
        # A zombie is dead; its supervisor has not collected it yet.
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Watchdog:
    """Ends the process when a job exceeds its deadline, or a stop exceeds `DRAIN_SECONDS`.

    The solo pool has no time limits, and a thread that hangs in a library cannot be interrupted. Past the deadline the
    job is recovered like that of any lost worker; at a stop it is requeued. `abandon`, if given, is called with the
    reason instead: the process is a program's, which goes on.
    """

    def __init__(
        self,
        deadline_seconds: float,
        requeue: Callable[[], object] = lambda: None,
        *,
        now: Callable[[], float] = time.monotonic,
        abandon: Abandon | None = None,
    ) -> None:
        self._deadline_seconds = deadline_seconds
        self._requeue = requeue
        self._now = now
        self._abandon = abandon
        self._job: tuple[UUID, float] | None = None
        self._stop_by: float | None = None
        self._stopped = threading.Event()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    @contextmanager
    def watching(self, job_id: UUID) -> Iterator[None]:
        self._job = (job_id, self._now())
        try:
            yield
        finally:
            self._job = None

    def restart(self) -> None:
        """The running job has made progress: its deadline starts again."""
        if self._job is not None:
            self._job = (self._job[0], self._now())

    def drain(self) -> None:
        """Give the running job `DRAIN_SECONDS` to end. Safe in a signal handler."""
        if self._stop_by is None:
            self._stop_by = self._now() + DRAIN_SECONDS

    @property
    def draining(self) -> bool:
        return self._stop_by is not None

    def stop(self) -> None:
        """No job runs any more."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(WATCH_SECONDS):
            now = self._now()
            job, stop_by = self._job, self._stop_by
            if job is not None and now - job[1] > self._deadline_seconds:
                log.critical("job_deadline_passed", job_id=str(job[0]), deadline_seconds=self._deadline_seconds)
                self._end(f"a job took longer than {self._deadline_seconds:g} s")
                return
            if stop_by is not None and now > stop_by:
                log.warning("drain_cut_short", job_id=str(job[0]) if job else None, after_seconds=DRAIN_SECONDS)
                # In a thread: if it hangs or raises, the process still ends.
                requeueing = threading.Thread(target=self._requeue, name="requeue", daemon=True)
                requeueing.start()
                requeueing.join(REQUEUE_SECONDS)
                self._end(f"a job did not end within {DRAIN_SECONDS:g} s")
                return

    def _end(self, reason: str) -> None:
        if self._abandon is None:
            os._exit(EXIT_SOFTWARE)
        self._abandon(reason)


def requeue_predecessors_jobs(services: Services) -> None:
    """Requeue the jobs of dead workers of this machine and data directory, without waiting for their leases."""
    requeued = recovery.requeue_jobs_of_dead_workers(services, owner_prefix(services.settings), is_alive)
    log.info("predecessor_jobs_requeued", requeued=requeued)


def requeue_own_jobs(services: Services, owner: str) -> int:
    """Requeue the jobs that this worker cannot end, without counting it as lost."""
    return recovery.requeue_jobs_of_dead_workers(services, owner, lambda holder: holder != owner, stopped=True)


def give_jobs_back(services: Services, owner: str) -> None:
    """Requeue what this worker cannot end, and delete its heartbeat: it ends now."""
    requeue_own_jobs(services, owner)
    with services.database.transaction() as db:
        heartbeats.delete(db, owner)


class FreedMemory:
    """Returns freed memory to the system after a task that made the process grow; glibc keeps it otherwise."""

    def __init__(self, resident: Callable[[], int] = lambda: psutil.Process().memory_info().rss) -> None:
        self._resident_now = resident
        self._resident = resident()

    def give_back(self) -> bool:
        """Give free memory back. Returns whether the process had grown."""
        if self._resident_now() < self._resident + GROWN_BYTES:
            return False
        with suppress(AttributeError, OSError, TypeError):  # only glibc has it
            ctypes.CDLL(None).malloc_trim(0)
        self._resident = self._resident_now()
        return True


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """Parts of the worker's process that tasks need."""

    services: Services
    owner: str
    watchdog: Watchdog
    heartbeat: HeartbeatThread
    memory: FreedMemory = field(default_factory=FreedMemory)
    threads: Mapping[Task, WorkerThread] = field(default_factory=dict)  # of features, by the task that wakes each

    def start_task(self) -> Callable[[], bool]:
        """For a task that starts now: a function that says whether it may take another job."""
        until = time.monotonic() + TASK_SECONDS
        return lambda: not self.watchdog.draining and time.monotonic() < until

    def wake(self, task: Task) -> None:
        """Wake the thread of a feature, unless that is off; returns at once."""
        if task in self.threads:
            self.threads[task].wake()

    def stop_threads(self) -> None:
        for thread in self.threads.values():
            thread.stop()

    def ingest_waiting(self) -> None:
        """Run waiting jobs, for no longer than a task may. A long task calls it between its steps."""
        ingestion.run_waiting(self.services, owner=self.owner, may_continue=self.start_task())
        self.watchdog.restart()


def start(
    services: Services,
    *,
    stop: Callable[[], object] | None = None,
    abandon: Abandon | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> WorkerProcess:
    """Start the watchdog and the heartbeat, and load the model before the first task. `stop`: stops the process in
    which a thread is the worker, when somebody asks for that. `abandon`: that process is a program's, which a job
    that hangs does not end. `is_stopped`: whether to wait for the model no longer."""
    owner = owner_name(services.settings)
    process = WorkerProcess(
        services=services,
        owner=owner,
        watchdog=Watchdog(deadlines.JOB_SECONDS, lambda: give_jobs_back(services, owner), abandon=abandon),
        heartbeat=HeartbeatThread(
            services,
            owner,
            "worker",
            prepare=partial(requeue_predecessors_jobs, services),
            drain=stop or _stop_as_asked,
        ),
        threads=_threads(services),
    )
    if stop is None:
        _lower_priority()
    _load_model(services, is_stopped)
    if abandon is None:
        collector.spare_loaded()
    log.info("worker_started", owner=owner, pid=os.getpid())
    return process


def _threads(services: Services) -> dict[Task, WorkerThread]:
    begun = {task: begin(services) for hooks in services.hooks for task, begin in hooks.threads.items()}
    return {task: thread for task, thread in begun.items() if thread is not None}


def _stop_as_asked() -> None:
    """Celery's warm shutdown, as when a supervisor ends the process."""
    log.info("drain_requested")
    os.kill(os.getpid(), signal.SIGTERM)


def _lower_priority() -> None:
    """Lower the priority of this worker's autogroup, if it leads a session (setsid), as under a supervisor.

    Linux shares the CPU among sessions before it considers thread priorities, so the worker's whole session competes
    with that of an API.
    """
    if sys.platform == "linux" and os.getsid(0) == os.getpid():
        with suppress(OSError):  # a kernel without autogroups
            Path("/proc/self/autogroup").write_text(str(NICENESS), encoding="utf-8")


def _load_model(services: Services, is_stopped: Callable[[], bool] = lambda: False) -> None:
    started = time.monotonic()
    try:
        embedder = _once_prepared(services, is_stopped)
    except errors.EnvironmentFailure as exc:
        # Exiting would cause a restart loop. Each job retries and backs off; the job shows the error.
        log.error("model_unavailable_at_start", error=telemetry.describe_error(exc))  # noqa: TRY400 - no traceback
        return
    log.info("model_loaded", embedder=embedder.identity, seconds=round(time.monotonic() - started, 2))


def _once_prepared(services: Services, is_stopped: Callable[[], bool]) -> Embedder:
    """The default model, however long it takes: jobs stay queued meanwhile. Raises ModelUnavailable."""
    while True:
        try:
            return services.embedders.get()
        except errors.ModelPreparing:  # raised after a few seconds
            if is_stopped():
                raise
            log.info("model_preparing", reason=services.embedders.problem())


def _started(process: psutil.Process) -> int:
    return int(process.create_time() * 1000)
