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
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

import httpx
from memorybase_client import local_stack

from memorybase.core import collector, errors
from memorybase.core.settings import Settings, embedded
from memorybase.stack.announce import local_of, note_for_clients, offer_sign_in, say_what_to_export, stay_noted
from memorybase.stack.children import reachable
from memorybase.stack.run import MODEL, missing_parts, opened
from memorybase.stack.state import DataDir, RunningStack, now_text
from memorybase.stack.watch import failing_parts

if TYPE_CHECKING:
    from memorybase.core.services import Services
    from worker.thread import WorkerThread

LOG = "memorybase"  # logs/memorybase.log
LOOK_SECONDS = 10.0  # between two looks at the log's size and at the data directory
READY_POLL_SECONDS = 0.1
SWEEPER_STOP_SECONDS = 5.0
# Of glibc's mallopt: what is freed is overwritten, as in the stack's Chroma, and few threads have a heap of their own.
M_PERTURB, M_ARENA_MAX = -6, -8

Report = Callable[[str], None]


def run_one_process(data_dir: Path, host: str, port: int, report: Report, *, with_parent: bool = False) -> None:
    """Run everything in this process until SIGINT or SIGTERM. Raises if it cannot start. Port 0 selects a free port;
    `with_parent` stops it when standard input closes."""
    with contextlib.suppress(KeyboardInterrupt), opened(data_dir, host, port, report, sweeper=LOG) as (data, free):
        _end_by_signals()
        settings = embedded(data.path, one_process=True, broker_url="")
        settings = settings.model_copy(update={"api_key": data.api_key(settings)})
        _prepare_process(settings)
        stack = RunningStack(os.getpid(), f"http://{reachable(host)}:{free}", one_process=True, since=now_text())
        data.write_stack(stack)
        if with_parent:
            threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
        with data.log_file(LOG).open("a", encoding="utf-8") as log:
            from memorybase.core import telemetry

            telemetry.configure(settings, stream=log)
            OneProcess(settings, data, stack, report, log, note=not with_parent).run(host, free)


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


class OneProcess:
    """The parts of the process, from the migration to the end of the last job."""

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

    def run(self, host: str, port: int) -> None:
        with collector.spared():
            from api.app import create_app, with_page
            from api.file_limit import raise_file_limit
            from api.server import serve_app
            from memorybase import wiring
            from memorybase.core.vectors.shared import share
            from memorybase.core.vectors.stores import store_named

        raise_file_limit()  # before Chroma reads it
        self._report(f"starting in {self._data.path}")
        services = self._services()
        app = with_page(create_app(services))
        local = local_of(self._stack.url, self._data, self._settings)
        end_sharing = share(store_named(services.vectors, "chroma"), self._data.run)
        worker, stop_sweeper = _start_worker(services), _start_sweeper(services, self._log)
        threading.Thread(target=lambda: asyncio.run(self._announce(local)), name="announce", daemon=True).start()
        try:
            is_served = serve_app(app, host, port, has_own_log=False)
        finally:
            self._report("stopping")
            local_stack.forget(local)
            worker.stop()
            stop_sweeper()
            end_sharing()
            wiring.close(services)
        if not is_served:
            raise errors.NotReady(f"The API did not start. The log is {self._data.log_file(LOG)}")

    def _services(self) -> Services:
        from memorybase import wiring
        from memorybase.core.auth import api_keys
        from memorybase.core.database import migrate

        migrate.upgrade(self._settings.migration_url)
        services = wiring.build(self._settings, role="all")
        api_keys.ensure_local_user(services, str(self._settings.api_key))
        return services

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
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if not self._data.run.is_dir():
                self._report(f"error: The data directory {self._data.path} was deleted. Start the stack again.")
                _request_stop()
                return
            self._data.trim_log(LOG)


def _start_worker(services: Services) -> WorkerThread:
    from memorybase import wiring
    from worker.thread import WorkerThread

    return WorkerThread(wiring.for_worker(services), wiring.queue_of(services), _request_stop)


def _start_sweeper(services: Services, log: IO[str]) -> Callable[[], None]:
    """Start it, and return what stops it."""
    from memorybase.cli.sweep import sweep_with

    stop = threading.Event()
    thread = threading.Thread(target=sweep_with, args=(services, stop, log), name="sweeper", daemon=True)
    thread.start()

    def end() -> None:
        stop.set()
        thread.join(SWEEPER_STOP_SECONDS)  # a step that takes longer is cut off with the process

    return end
