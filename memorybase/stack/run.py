"""`memorybase up`: from the lock on the data directory until the last child has ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from memorybase_client import local_stack

from memorybase.core import errors
from memorybase.core.settings import Settings, embedded
from memorybase.stack import chroma_files
from memorybase.stack.announce import local_of, note_for_clients, offer_sign_in, say_what_to_export, stay_noted
from memorybase.stack.children import DISPENSABLE, NAMES, SERVICES, Plan, plan
from memorybase.stack.private import keep_new_files_private, tighten
from memorybase.stack.processes import Processes, end_leftovers, kill_group
from memorybase.stack.restore import complete_restore
from memorybase.stack.state import RESTORED, DataDir, check_port, free_port
from memorybase.stack.watch import failing_parts, watch

READY_SECONDS = 600.0  # allows for a cold disk and a small, busy machine
PROGRESS_SECONDS = 20.0  # between two lines on what a start still waits for
PREPARE = ("-m", "memorybase", "prepare", "--without-model")
# How the API's readiness says that the model is not prepared.
MODEL, PREPARING = "model", "preparing the embedding model"
NOT_FOR_CAPTURES = DISPENSABLE | {MODEL}

T = TypeVar("T")
Report = Callable[[str], None]


class _StopRequested(Exception):
    """A signal requested a stop."""


def run_stack(data_dir: Path, host: str, port: int, report: Report, *, with_parent: bool = False) -> None:
    """Run the embedded stack until SIGINT or SIGTERM. Raises if it cannot start or the API keeps dying. Never leaves
    a process running. Port 0 selects a free port; `with_parent` stops the stack when standard input closes."""
    with opened(data_dir, host, port, report) as (data, free):
        settings = embedded(data.path, one_process=False)
        _note_ignored(settings, report)
        planned = plan(settings, data, host=host, port=free, pid=os.getpid())
        data.write_stack(planned.stack)
        asyncio.run(_run(planned, report, with_parent=with_parent))


@contextlib.contextmanager
def opened(
    data_dir: Path, host: str, port: int, report: Report, *, sweeper: str = "sweeper"
) -> Iterator[tuple[DataDir, int]]:
    """The data directory, locked and ready for either form of the stack, and the port, a free one for 0. `sweeper`: the
    log that the sweeper writes. Raises Conflict if a stack runs in it, and EnvironmentFailure."""
    keep_new_files_private()
    data = DataDir(data_dir)
    if not data.run.exists():  # nothing is left over that could have the port; a refused start makes nothing
        check_port(host, port)
    with opened_directory(data, report):
        if (data.path / RESTORED).exists():
            report(f"note: the vector store is repaired after a restore, in the background ({data.log_file(sweeper)})")
        check_port(host, port)
        yield data, port or free_port(host)


@contextlib.contextmanager
def opened_directory(data: DataDir, report: Report) -> Iterator[int]:
    """Lock the data directory and make it ready; the lock file's descriptor. Raises Conflict if it is locked, and
    EnvironmentFailure."""
    data.make()
    with data.locked() as lock:
        tighten(data.path, report)
        end_leftovers(data, NAMES, report)
        complete_restore(data, report)
        chroma_files.compact_postponed(data.path / "chroma", report)
        try:
            yield lock
        finally:
            data.stack_file.unlink(missing_ok=True)
            for part in (data.path / "models").glob("*.part-*"):  # of an export that was stopped with its process
                shutil.rmtree(part, ignore_errors=True)


def _note_ignored(settings: Settings, report: Report) -> None:
    for name in ("redis_url", "broker_url", "chroma_url"):
        if getattr(settings, name) != Settings.model_fields[name].default:
            report(f"note: MEMORYBASE_{name.upper()} is ignored, because this stack runs its own")


async def _run(planned: Plan, report: Report, *, with_parent: bool) -> None:
    stop = asyncio.Event()
    processes = Processes(planned.data, planned.children, report)
    watching: asyncio.Task[None] | None = None
    noting: asyncio.Task[None] | None = None
    local: local_stack.LocalStack | None = None
    _handle_signals(stop, processes)
    if with_parent:
        _end_with_parent(stop)
    try:
        with contextlib.suppress(_StopRequested):
            report(f"starting {' and '.join(planned.stores)} in {planned.data.path}")
            await processes.start(planned.stores)
            await _unless_stopped(_prepare(planned), stop, processes)
            await _unless_stopped(_accepting(planned), stop, processes)
            report("starting worker, sweeper and api")
            await processes.start(SERVICES)
            missing = await _unless_stopped(_serving(planned, processes, report), stop, processes)
            processes.is_serving = True
            watching = asyncio.create_task(watch(processes, planned.health_url, planned.data.path, report))
            local = local_of(planned.stack.url, planned.data, planned.settings)
            if not with_parent:
                note_for_clients(local, report)
                noting = asyncio.create_task(stay_noted(local))
            say_what_to_export(planned.data, planned.settings, report)
            if missing:
                report(f"{missing}; captures are accepted at {planned.stack.url}")
                await _unless_stopped(_ready(planned, processes, report, missing), stop, processes, watching)
            report(f"ready {planned.stack.url}")
            await _unless_stopped(offer_sign_in(local, planned.settings, report), stop, processes, watching)
            await _unless_stopped(stop.wait(), stop, processes, watching)
    finally:
        for task in filter(None, (watching, noting)):
            task.cancel()
            await asyncio.wait([task])
        if local is not None:
            local_stack.forget(local)
        await processes.stop()


def _handle_signals(stop: asyncio.Event, processes: Processes) -> None:
    def request_stop() -> None:
        if stop.is_set():
            processes.kill()
        stop.set()

    if sys.platform != "win32":  # where no stack of several processes runs
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, request_stop)


def _end_with_parent(stop: asyncio.Event) -> None:
    """If the command that started the stack is killed, its end of our standard input closes."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not os.read(sys.stdin.fileno(), 1):
            loop.remove_reader(sys.stdin.fileno())
            stop.set()

    loop.add_reader(sys.stdin.fileno(), read)


async def _unless_stopped(work: Awaitable[T], stop: asyncio.Event, processes: Processes, *also: asyncio.Task[Any]) -> T:
    """The work's result. Raises if a signal requests a stop or a child keeps dying before that."""
    task = asyncio.ensure_future(work)
    stop_requested = asyncio.create_task(stop.wait())
    waiting: set[asyncio.Future[Any]] = {task, stop_requested, processes.failure, *also}
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for waited in (task, stop_requested):
        if not waited.done():
            waited.cancel()
            await asyncio.wait([waited])
    if stop.is_set():
        raise _StopRequested
    if processes.failure.done():
        raise processes.failure.result()
    for other in also:
        if other.done():
            other.result()  # it should run for ever, so this raises the error that ended it
    return task.result()


async def _prepare(planned: Plan) -> None:
    """Run migrations and prepare the local user in a separate process, to keep the supervisor small."""
    log = planned.data.log_file("prepare")
    with log.open("w", encoding="utf-8") as errors_to:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *PREPARE,
            env=planned.environment,
            cwd=planned.data.path,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=errors_to,
            start_new_session=True,
        )
        try:
            status = await process.wait()
        except asyncio.CancelledError:
            kill_group(process.pid)
            await process.wait()
            raise
    if status != 0:
        last = planned.data.last_log_line("prepare").removeprefix("error: ")
        raise errors.NotReady(f"{last or 'Preparation failed.'} (log: {log})")


async def _accepting(planned: Plan) -> None:
    """Wait until Redis and Chroma accept connections. The worker would retry too, but waits seconds in between."""
    for url in filter(None, (planned.stack.redis_url, planned.stack.chroma_url)):
        address = urlsplit(url)
        while True:
            try:
                _, writer = await asyncio.open_connection(address.hostname, address.port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                break


async def _serving(planned: Plan, processes: Processes, report: Report) -> str:
    """Wait until every part answers, or every part that captures need while the model is not prepared or others keep
    ending; returns what is missing, for people. Reports now and then what it waits for.

    Raises NotReady that names the part that does not answer.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    reported = 0.0
    async with httpx.AsyncClient(timeout=5.0, trust_env=False) as client:
        while True:
            failing, problem = await failing_parts(client, planned.health_url)
            waited = loop.time() - began
            is_late = waited > READY_SECONDS
            if failing is not None and NOT_FOR_CAPTURES.issuperset(failing):
                if is_late or _is_worth_a_line(failing, processes):
                    return missing_parts(failing, problem)
            elif is_late:
                named = ", ".join(failing or ["api"])
                text = f"Not ready after {READY_SECONDS:g} s: {named} ({problem}). The logs are in {planned.data.logs}."
                raise errors.NotReady(text)
            if waited >= reported + PROGRESS_SECONDS and failing != []:
                reported = waited
                report(f"waiting for {', '.join(failing or ['api'])} ({waited:.0f} s)")
            await asyncio.sleep(0.1)


async def _ready(planned: Plan, processes: Processes, report: Report, missing: str) -> None:
    """Wait until every part answers. Reports once what else turns out to be missing."""
    reported = {missing}
    async with httpx.AsyncClient(timeout=5.0, trust_env=False) as client:
        while True:
            failing, problem = await failing_parts(client, planned.health_url)
            if failing == []:
                return
            if failing and _is_worth_a_line(failing, processes):
                missing = missing_parts(failing, problem)
                if missing not in reported:
                    report(f"{missing}; captures are accepted at {planned.stack.url}")
                reported.add(missing)
            await asyncio.sleep(1.0)


def _is_worth_a_line(failing: list[str], processes: Processes) -> bool:
    """Whether these parts will be missing for longer than a start takes. Nothing failing counts as such."""
    return MODEL in failing or (
        DISPENSABLE.issuperset(failing) and all(processes.keeps_ending(name) for name in failing)
    )


def missing_parts(failing: list[str], problem: str) -> str:
    """The missing parts, for people; empty if there are none. The model comes first: its worker waits for it."""
    if MODEL not in failing:
        return f"not ready: {', '.join(failing)}" if failing else ""
    return PREPARING if problem.startswith(PREPARING) else f"not ready: {problem.rstrip('.')}"
