"""Child processes kept by circus: a dead one is replaced, with its whole process group gone first."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from circus.arbiter import Arbiter
from circus.watcher import Watcher
from tornado.ioloop import IOLoop

from memorybase import errors
from memorybase.stack.children import Child
from memorybase.stack.state import DataDir

LOOK_SECONDS = 0.25  # how soon a dead child is noticed
TRIM_SECONDS = 10.0  # how often the log files' size is looked at
STEADY_SECONDS = 10.0  # a child that lived this long had started well
MAX_DELAY_SECONDS = 10.0
KILLED_DELAY_SECONDS = 1.0  # killed from outside: it is not the child's fault, so it may try again soon
DEATHS_BEFORE_READY = 3
DEATHS = 10
LEFTOVER_SECONDS = 5.0
CLOCK_SECONDS = 1.0  # start times and file times come from clocks that are read in different ways

# The shell makes way for the program, so the process id stays. The children write their logs themselves: a pipe to
# the supervisor would break, and they with it, whenever the supervisor is killed or frozen.
_SHELL = 'log=$1; shift; exec "$@" >>"$log" 2>&1'


@dataclass(slots=True)
class _Kept:
    child: Child
    watcher: Watcher
    pid: int | None = None
    started: float = 0.0
    deaths: int = 0  # in a row, without a steady life between


class Processes:
    """The children of one stack. Make it inside a running event loop, in the main thread."""

    def __init__(self, data: DataDir, children: Sequence[Child], report: Callable[[str], None]) -> None:
        logging.getLogger("circus").setLevel(logging.CRITICAL)  # we report in our own words
        self._data = data
        self._report = report
        self._loop = IOLoop.current()
        self._kept = {child.name: _Kept(child, self._watcher(child)) for child in children}
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        # Nobody sends it commands. inproc: endpoints have no port or path that others could reach, and no periodic
        # look of its own (check_delay): we look, one thing at a time, since two of its calls at once raise.
        self._arbiter = Arbiter(
            [kept.watcher for kept in self._kept.values()],
            "inproc://memorybase-control",
            "inproc://memorybase-events",
            check_delay=-1,
            loop=self._loop,
        )
        for number, handler in handlers.items():  # circus has put in its own
            signal.signal(number, handler)
        self.failure: asyncio.Future[errors.MemorybaseError] = asyncio.get_running_loop().create_future()
        self.settled = False  # the stack has been ready once
        self._enough = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        await self._arbiter.start()

    async def start(self, names: Sequence[str]) -> None:
        """Start these children, in order; does not wait until they answer."""
        for name in names:
            self._kept[name].watcher.autostart = True
            await self._arbiter.start_watcher(self._kept[name].watcher)

    def keep(self) -> asyncio.Task[None]:
        """Replace the dead from now on. Nothing else may wait for a child process meanwhile: this reaps them all."""
        self._keeping = asyncio.create_task(self._keep())
        return self._keeping

    async def _keep(self) -> None:
        trimmed = time.monotonic()
        while not self._enough.is_set():
            await self._arbiter.manage_watchers()
            if time.monotonic() - trimmed > TRIM_SECONDS:
                trimmed = time.monotonic()
                for name in self._kept:
                    self._data.trim_log(name)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._enough.wait(), LOOK_SECONDS)

    async def stop(self) -> None:
        """End the children, the last started first, each before the next."""
        self._enough.set()
        if self._keeping is not None:
            # To its end, not cancelled: it may be about to start a child.
            await asyncio.wait([self._keeping])
        for kept in reversed(self._kept.values()):
            if not kept.watcher.is_stopped():
                self._report(f"stopping {kept.child.name}")
                kept.watcher.numprocesses = 1
                await kept.watcher.stop()
            self._bury(kept)
        self._arbiter.stop_controller_and_close_sockets()

    def hasten(self) -> None:
        """Stop waiting for children that are slow to end."""
        for kept in self._kept.values():
            kept.watcher.graceful_timeout = 0
            if kept.pid is not None:
                _kill_group(kept.pid)

    def _watcher(self, child: Child) -> Watcher:
        log = self._data.log_file(child.name)
        return Watcher(
            child.name,
            "/bin/sh",
            args=["-c", _SHELL, "sh", str(log), *child.command],
            env=child.environment,
            working_dir=str(self._data.path),
            graceful_timeout=child.graceful_seconds,
            singleton=True,
            autostart=False,
            max_retry=-1,
            loop=self._loop,
            hooks={
                "before_spawn": (self._before_spawn, False),
                "after_spawn": (self._after_spawn, False),
                "after_reap": (self._after_reap, False),
            },
        )

    def _before_spawn(self, watcher: Watcher, **_: Any) -> bool:
        # A child that died between two looks of circus was replaced without `after_reap`.
        self._bury(self._kept[watcher.name])
        return True

    def _after_spawn(self, watcher: Watcher, pid: int, **_: Any) -> bool:
        kept = self._kept[watcher.name]
        kept.pid, kept.started = pid, time.monotonic()
        path = self._data.pid_file(watcher.name)
        scratch = path.with_suffix(".new")
        scratch.write_text(str(pid))
        scratch.replace(path)
        return True

    def _after_reap(self, watcher: Watcher, exit_code: int, **_: Any) -> bool:
        kept = self._kept[watcher.name]
        self._bury(kept)
        if not self._enough.is_set():
            self._mourn(kept, exit_code)
        return True

    def _bury(self, kept: _Kept) -> None:
        if kept.pid is not None:
            _kill_group(kept.pid)
            kept.pid = None
        self._data.pid_file(kept.child.name).unlink(missing_ok=True)

    def _mourn(self, kept: _Kept, exit_code: int) -> None:
        """Decide when the dead child is replaced, or that the stack gives up."""
        name = kept.child.name
        kept.deaths = 1 if time.monotonic() - kept.started >= STEADY_SECONDS else kept.deaths + 1
        killed = exit_code == -signal.SIGKILL
        how = f"was ended by signal {-exit_code}" if exit_code < 0 else f"exited with status {exit_code}"
        if not killed and kept.deaths >= (DEATHS if self.settled else DEATHS_BEFORE_READY):
            self._fail(name, how, kept.deaths)
            return
        delay = 0.0 if kept.deaths == 1 else min(0.25 * 2**kept.deaths, MAX_DELAY_SECONDS)
        delay = min(delay, KILLED_DELAY_SECONDS) if killed else delay
        self._report(f"{name} {how}; starting it again" + (f" in {delay:g} s" if delay else ""))
        if delay:
            kept.watcher.numprocesses = 0
            self._loop.call_later(delay, setattr, kept.watcher, "numprocesses", 1)

    def _fail(self, name: str, how: str, deaths: int) -> None:
        self._kept[name].watcher.numprocesses = 0
        last = self._data.last_log_line(name)
        text = f"{name} {how}, {deaths} times in a row. Its log is {self._data.log_file(name)}"
        if not self.failure.done():
            self.failure.set_result(errors.NotReady(f"{text}; the last line: {last}" if last else f"{text}."))


def end_leftovers(data: DataDir, names: Sequence[str], report: Callable[[str], None]) -> None:
    """End what a killed supervisor left behind: processes that a pid file names and that are provably ours, since a
    process id alone may belong to somebody else by now."""
    for name in reversed(names):
        path = data.pid_file(name)
        process = _ours(path, data)
        if process is not None:
            report(f"ending {name}, left over from a stack that was killed (process {process.pid})")
            process.terminate()
            _await_end(process)
            # Itself where it is frozen or busy, since what it holds is safe on disk or in SQL; and what it started.
            _kill_group(process.pid)
            _await_end(process)
        path.unlink(missing_ok=True)


def _await_end(process: psutil.Process) -> None:
    """For a while. A zombie has ended: who adopted it need not be somebody who buries the dead."""
    deadline = time.monotonic() + LEFTOVER_SECONDS
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.05)


def _ours(path: Path, data: DataDir) -> psutil.Process | None:
    """The process that a pid file names: older than the file, leading its group, and at home in our directory."""
    try:
        process = psutil.Process(int(path.read_text()))
        older = process.create_time() <= path.stat().st_mtime + CLOCK_SECONDS
        leads = os.getpgid(process.pid) == process.pid
        # Every child starts inside the data directory; Redis goes to its own below it.
        at_home = Path(process.cwd()).is_relative_to(data.path)
    except (OSError, ValueError, psutil.Error):
        return None
    return process if older and leads and at_home else None


def _kill_group(pid: int) -> None:
    # Each child leads its own session and group; the number stays taken while any member lives.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
