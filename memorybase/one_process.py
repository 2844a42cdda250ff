"""`memorybase up --one-process`: API, worker and sweeper as threads of one process over SQLite and Chroma's files.

It works in the data directory of the stack of several processes, under the same lock, with nothing converted. In place
of Redis stand `ProcessLocks` and `ProcessQueue`, in place of the Chroma server `InProcessChroma`. A kill leaves what a
killed worker leaves, and the next start recovers it in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import httpx
from memorybase_client import local_stack

from memorybase.core import collector, errors, telemetry
from memorybase.core.settings import Settings, embedded
from memorybase.stack.announce import local_of, note_for_clients, offer_sign_in, say_what_to_export, stay_noted
from memorybase.stack.children import reachable
from memorybase.stack.run import MODEL, missing_parts, opened
from memorybase.stack.state import DataDir, RunningStack, now_text
from memorybase.stack.watch import failing_parts

if TYPE_CHECKING:
    from memorybase.core.services import Services

LOG = "memorybase"  # logs/memorybase.log
LOOK_SECONDS = 10.0  # between two looks at the log's size and at the data directory
READY_POLL_SECONDS = 0.1
SWEEPER_STOP_SECONDS = 5.0
SWEEPER_STOP_SECONDS_OF_GUEST = 60.0  # nothing cuts it off, and a busy machine may take long
# Of glibc's mallopt: what is freed is overwritten, as in the stack's Chroma, and few threads have a heap of their own.
M_PERTURB, M_ARENA_MAX = -6, -8

Report = Callable[[str], None]

log = telemetry.get_logger(__name__)


def run_one_process(data_dir: Path, host: str, port: int, report: Report, *, with_parent: bool = False) -> None:
    """Run everything in this process until SIGINT or SIGTERM. Raises if it cannot start. Port 0 selects a free port;
    `with_parent` stops it when standard input closes."""
    with contextlib.suppress(KeyboardInterrupt), opened(data_dir, host, port, report, sweeper=LOG) as (data, free):
        _end_by_signals()
        settings = settings_of(data)
        _prepare_process(settings)
        stack = RunningStack(os.getpid(), f"http://{reachable(host)}:{free}", one_process=True, since=now_text())
        data.write_stack(stack)
        if with_parent:
            threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
        with data.log_file(LOG).open("a", encoding="utf-8") as log:
            telemetry.configure(settings, stream=log)
            OneProcess(settings, data, stack, report, log, note=not with_parent).run(host, free)


def settings_of(data: DataDir, **changes: Any) -> Settings:
    """The settings of one process in this directory, with its key."""
    settings = embedded(data.path, one_process=True, broker_url="", **changes)
    return settings.model_copy(update={"api_key": data.api_key(settings)})


def _end_by_signals() -> None:
    """Every signal that ends it does what Ctrl-C does. The server replaces the handlers while it serves."""
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.default_int_handler)


def _end_with_parent() -> None:
    """If the command that started it is killed, its end of our standard input closes."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    _request_stop()


def _request_stop() -> None:
    signal.raise_signal(signal.SIGTERM)


def _prepare_process(settings: Settings) -> None:
    """What a child gets in its environment, before a library reads it."""
    settings.prepare_this_process()
    with contextlib.suppress(AttributeError, OSError, TypeError):  # only glibc has it
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_ARENA_MAX, 2)
        mallopt(M_PERTURB, 255)


class Parts:
    """API, worker and sweeper over the same services, from the migration to the end of the last job.

    `output` gets what a child says. `failed` is called with the reason if one of them ends by itself, `asked` if
    somebody asks the worker to stop. With `is_guest` the process is a program's: nothing of it is changed, and a job
    that hangs does not end it.
    """

    def __init__(
        self,
        settings: Settings,
        data: DataDir,
        output: IO[str],
        *,
        asked: Callable[[], object],
        failed: Report,
        is_guest: bool = False,
    ) -> None:
        from api.app import create_app, with_page
        from memorybase import wiring
        from memorybase.core.auth import api_keys
        from memorybase.core.database import migrate
        from memorybase.core.vectors.shared import share
        from memorybase.core.vectors.stores import store_named
        from worker.thread import WorkerThread

        migrate.upgrade(settings.migration_url)
        self.services = services = wiring.build(settings, role="all")
        api_keys.ensure_local_user(services, str(settings.api_key))
        self.app = with_page(create_app(services))
        self.app.state.is_guest = is_guest
        self._end_sharing = share(store_named(services.vectors, "chroma"), data.run)
        self._worker = WorkerThread(
            wiring.for_worker(services),
            wiring.queue_of(services),
            stop_process=asked,
            failed=failed,
            is_guest=is_guest,
        )
        seconds = SWEEPER_STOP_SECONDS_OF_GUEST if is_guest else SWEEPER_STOP_SECONDS
        self._end_sweeping = threading.Event()
        self._sweepers_left = _start_sweeper(services, self._end_sweeping, output, failed, seconds)

    def stop(self) -> list[str]:
        """Let the running job end, and close everything. Returns what goes on: a process that ends cuts it off."""
        from memorybase import wiring

        self._end_sweeping.set()
        going_on = [] if self._worker.stop() else ["worker"]
        going_on += self._sweepers_left()
        self._end_sharing()
        try:
            wiring.close(self.services)
        except errors.VectorStoreUnavailable:
            going_on.append("vector store")
        return going_on


class OneProcess:
    """The process that serves the parts and reports."""

    def __init__(
        self,
        settings: Settings,
        data: DataDir,
        stack: RunningStack,
        report: Report,
        log: IO[str],
        *,
        note: bool = True,
    ) -> None:
        self._settings, self._data, self._stack = settings, data, stack
        self._report, self._log, self._note = report, log, note
        self._failure = ""

    def run(self, host: str, port: int) -> None:
        self._report(f"starting in {self._data.path}")
        with collector.spared():
            from api.file_limit import raise_file_limit
            from api.server import serve_app

            raise_file_limit()  # before Chroma reads it
            parts = Parts(self._settings, self._data, self._log, asked=_request_stop, failed=self._fail)
        local = local_of(self._stack.url, self._data, self._settings)
        threading.Thread(target=lambda: asyncio.run(self._announce(local)), name="announce", daemon=True).start()
        try:
            is_served = serve_app(parts.app, host, port, has_own_log=False)
        finally:
            self._report("stopping")
            local_stack.forget(local)
            parts.stop()
        if self._failure or not is_served:
            problem = self._failure or "the API did not start"
            raise errors.NotReady(f"{problem[0].upper()}{problem[1:]}. The log is {self._data.log_file(LOG)}")

    def _fail(self, reason: str) -> None:
        self._failure = self._failure or reason
        _request_stop()

    async def _announce(self, local: local_stack.LocalStack) -> None:
        """Say what the stack of several processes says, and then look after the log and the note for clients."""
        await self._until_ready(local)
        self._report(f"ready {local.url}")
        await offer_sign_in(local, self._settings, self._report)
        await asyncio.gather(self._look_after_files(), *([stay_noted(local)] if self._note else []))

    async def _until_ready(self, local: local_stack.LocalStack) -> None:
        said: set[str] = set()
        async with httpx.AsyncClient(timeout=5.0, trust_env=False) as client:
            while (found := await failing_parts(client, f"{local.url}/health/ready"))[0] != []:
                failing, problem = found
                if failing and MODEL in failing and (missing := missing_parts(failing, problem)) not in said:
                    if not said:
                        self._tell_clients(local)
                    said.add(missing)
                    self._report(f"{missing}; captures are accepted at {local.url}")
                await asyncio.sleep(READY_POLL_SECONDS)
        if not said:
            self._tell_clients(local)

    def _tell_clients(self, local: local_stack.LocalStack) -> None:
        if self._note:
            note_for_clients(local, self._report)
        say_what_to_export(self._data, embedded(self._data.path), self._report)

    async def _look_after_files(self) -> None:
        await look_after_files(self._data)
        self._fail(f"the data directory {self._data.path} was deleted")


async def look_after_files(data: DataDir) -> None:
    """Keep the log small, until somebody deletes the data directory."""
    while data.run.is_dir():
        data.trim_log(LOG)
        await asyncio.sleep(LOOK_SECONDS)


def _start_sweeper(
    services: Services, stop: threading.Event, output: IO[str], failed: Report, seconds: float
) -> Callable[[], list[str]]:
    """Start it. Returns what waits for its end, no longer than this, and names the threads that go on."""
    from memorybase.cli.sweep import sweep_with

    threads: list[threading.Thread] = []

    def run() -> None:
        try:
            threads.extend(sweep_with(services, stop, output))
        except Exception as error:  # a thread's edge: whoever has started it must know
            log.exception("sweeper_failed")
            failed(f"the sweeper ended: {telemetry.describe_error(error)}")

    threads.append(threading.Thread(target=run, name="sweeper", daemon=True))
    threads[0].start()

    def left() -> list[str]:
        deadline = time.monotonic() + seconds
        for thread in threads:  # the first one adds the others at its end
            thread.join(max(0.0, deadline - time.monotonic()))
        return [thread.name for thread in threads if thread.is_alive()]

    return left
