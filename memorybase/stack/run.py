"""`memorybase up`: from the lock on the data directory to the end of the last child."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from memorybase import errors
from memorybase.client import Client
from memorybase.settings import Settings, embedded
from memorybase.stack.children import NAMES, SERVICES, STORES, Plan, plan
from memorybase.stack.processes import Processes, end_leftovers
from memorybase.stack.state import DataDir, free_port, port_is_free, taken_by

READY_SECONDS = 120.0  # a cold disk and a busy machine
SIGN_IN_SECONDS = 5.0
PREPARE = ("-m", "memorybase", "prepare")

T = TypeVar("T")
Report = Callable[[str], None]


class _StopAsked(Exception):
    """A signal asked the stack to end."""


def run_stack(data_dir: Path, host: str, port: int, report: Report, *, with_parent: bool = False) -> None:
    """Run the embedded stack until SIGINT or SIGTERM. Raises when it cannot start or a child keeps dying; in every
    case nothing is left running. Port 0 takes a free one; `with_parent` ends it when standard input closes."""
    data = DataDir(data_dir)
    data.make()
    with data.locked():
        end_leftovers(data, NAMES, report)
        port = port or free_port(host)
        if not port_is_free(host, port):
            by = taken_by(port)
            raise errors.EnvironmentFailure(f"Port {port} on {host} is taken{by}. Choose another with --port.")
        settings = embedded(data.path)
        _note_ignored(settings, report)
        made = plan(settings, data, host=host, port=port, pid=os.getpid())
        data.write_stack(made.stack)
        try:
            asyncio.run(_run(made, report, with_parent=with_parent))
        finally:
            data.stack_file.unlink(missing_ok=True)


def _note_ignored(settings: Settings, report: Report) -> None:
    for name in ("redis_url", "chroma_url"):
        if getattr(settings, name) != Settings.model_fields[name].default:
            report(f"note: MEMORYBASE_{name.upper()} is set, but this stack runs its own")


async def _run(made: Plan, report: Report, *, with_parent: bool) -> None:
    stop = asyncio.Event()
    processes = Processes(made.data, made.children, report)
    _handle_signals(stop, processes)
    if with_parent:
        _end_with_parent(stop)
    await processes.open()
    try:
        with contextlib.suppress(_StopAsked):
            report(f"starting redis and chroma in {made.data.path}")
            await processes.start(STORES)
            await _unless_stopped(_prepare(made), stop, processes)
            # From here on every dead child is replaced. Not earlier: it would reap the preparing process as well.
            keeping = processes.keep()
            await _unless_stopped(_accepting(made), stop, processes, keeping)
            report("starting worker, sweeper and api")
            await processes.start(SERVICES)
            await _unless_stopped(_ready(made), stop, processes, keeping)
            processes.settled = True
            report(
                f"the API key is in {made.data.key_file}" if made.key_in_file else "the API key is MEMORYBASE_API_KEY"
            )
            report(f"ready {made.stack.url}")
            await _unless_stopped(_offer_sign_in(made, report), stop, processes, keeping)
            await _unless_stopped(stop.wait(), stop, processes, keeping)
    finally:
        await processes.stop()


def _handle_signals(stop: asyncio.Event, processes: Processes) -> None:
    def asked() -> None:
        if stop.is_set():
            processes.hasten()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, asked)


def _end_with_parent(stop: asyncio.Event) -> None:
    """A command that keeps a stack for a while may be killed outright; its end of our standard input closes then."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not os.read(sys.stdin.fileno(), 1):
            loop.remove_reader(sys.stdin.fileno())
            stop.set()

    loop.add_reader(sys.stdin.fileno(), read)


async def _unless_stopped(work: Awaitable[T], stop: asyncio.Event, processes: Processes, *also: asyncio.Task[Any]) -> T:
    """The work's result; raises when a signal asks to stop or a child keeps dying first."""
    task = asyncio.ensure_future(work)
    asked = asyncio.create_task(stop.wait())
    waiting: set[asyncio.Future[Any]] = {task, asked, processes.failure, *also}
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for one in (task, asked):
        if not one.done():
            one.cancel()
            await asyncio.wait([one])
    if stop.is_set():
        raise _StopAsked
    if processes.failure.done():
        raise processes.failure.result()
    for one in also:
        if one.done():
            one.result()  # it was to run for ever: what ended it is the news
    return task.result()


async def _prepare(made: Plan) -> None:
    """Migrations, the local user and the embedding model, in a process of their own: the supervisor stays small."""
    log = made.data.log_file("prepare")
    with log.open("w") as errors_to:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *PREPARE,
            env=made.environment,
            cwd=made.data.path,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=errors_to,
            start_new_session=True,
        )
        try:
            status = await process.wait()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
    if status != 0:
        last = made.data.last_log_line("prepare").removeprefix("error: ")
        raise errors.NotReady(f"{last or 'Preparing failed.'} (log: {log})")


async def _accepting(made: Plan) -> None:
    """Redis and Chroma take connections. The worker would get there by itself, but waits seconds between tries."""
    for url in (made.stack.redis_url, made.stack.chroma_url):
        address = urlsplit(url)
        while True:
            try:
                _, writer = await asyncio.open_connection(address.hostname, address.port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                break


async def _ready(made: Plan) -> None:
    """Every part answers; raises NotReady naming the one that does not."""
    missing = "the api does not answer"
    loop = asyncio.get_running_loop()
    deadline = loop.time() + READY_SECONDS
    async with httpx.AsyncClient(timeout=5.0, trust_env=False) as client:
        while loop.time() < deadline:
            try:
                answer = await client.get(made.health_url)
            except httpx.TransportError:
                pass
            else:
                if answer.status_code == 200:
                    return
                missing = answer.text
            await asyncio.sleep(0.1)
    raise errors.NotReady(f"Not ready after {READY_SECONDS:g} s: {missing}. The logs are in {made.data.logs}.")


async def _offer_sign_in(made: Plan, report: Report) -> None:
    """Print a link for whoever started the stack. Without one it is as good: the page takes the key as well."""
    if not made.settings.web:
        return
    try:
        link = await asyncio.to_thread(_sign_in_link, made)
    except errors.MemorybaseError as exc:
        report(f"note: there is no link to sign in: {exc.message}")
    else:
        report(f"sign in: {link}")


def _sign_in_link(made: Plan) -> str:
    key = made.data.api_key(made.settings)
    with Client(made.stack.url, key, timeout_seconds=SIGN_IN_SECONDS, tries=1) as client:
        return client.sign_in_link()
