"""Child processes supervised by circus: a dead child is restarted after its whole process group was killed."""

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
from memorybase_client.private_files import write_private
from tornado.ioloop import IOLoop

from memorybase import errors
from memorybase.stack.children import DISPENSABLE, Child
from memorybase.stack.state import DataDir

CHECK_SECONDS = 2.0  # for everything but the end of a child, which is noticed at once
TRIM_SECONDS = 10.0  # how often the size of log files is checked
STEADY_SECONDS = 10.0  # a child that lived this long has started successfully
FIRST_DELAY_SECONDS = 0.25
MAX_DOUBLINGS = 16  # any number of deaths has a delay
MAX_DELAY_SECONDS = 10.0
KILLED_DELAY_SECONDS = 1.0  # killed from outside, which is not the child's fault: restart it soon
DEATHS_BEFORE_READY = 3
DEATHS = 10
ESSENTIAL = "api"  # once the stack is serving, only its repeated end is the stack's: captures need nothing else
LEFTOVER_SECONDS = 5.0
CLOCK_SECONDS = 1.0  # tolerance between the clocks of process start times and file times

# exec keeps the process id. The children write their logs themselves: a pipe to the supervisor would break or block
# them when the supervisor is killed or frozen.
_SHELL = 'log=$1; shift; exec "$@" >>"$log" 2>&1'


@dataclass(slots=True)
class _Kept:
    child: Child
    watcher: Watcher
    pid: int | None = None
    started: float = 0.0
    deaths: int = 0  # in a row, each before STEADY_SECONDS
    starts: int = 0
    noted: bool = True  # its pid is in its pid file
    retry_at: float = 0.0  # if the system refused to start it, for lack of memory for example


class Processes:
    """The children of one stack. Create it inside a running event loop, in the main thread."""

    def __init__(self, data: DataDir, children: Sequence[Child], report: Callable[[str], None]) -> None:
        logging.getLogger("circus").setLevel(logging.CRITICAL)  # `report` is the only output
        self._data = data
        self._report = report
        self._loop = IOLoop.current()
        self._kept = {child.name: _Kept(child, self._watcher(child)) for child in children}
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        # It receives no commands: inproc: endpoints have no port or path that others could reach. Its periodic check is
        # off (check_delay) because two of its calls at once raise; `_keep` checks instead.
        self._arbiter = Arbiter(
            [kept.watcher for kept in self._kept.values()],
            "inproc://memorybase-control",
            "inproc://memorybase-events",
            check_delay=-1,
            loop=self._loop,
        )
        for number, handler in handlers.items():  # circus has replaced them
            signal.signal(number, handler)
        self.failure: asyncio.Future[errors.MemorybaseError] = asyncio.get_running_loop().create_future()
        self.is_serving = False  # the stack has accepted captures
        self._stopping = asyncio.Event()
        self._wake = asyncio.Event()  # a child may have ended, or the stack stops
        self._keeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        await self._arbiter.start()

    async def start(self, names: Sequence[str]) -> None:
        """Start these children, in order; does not wait until they answer."""
        for name in names:
            self._kept[name].watcher.autostart = True
            await self._arbiter.start_watcher(self._kept[name].watcher)

    def keep(self) -> asyncio.Task[None]:
        """Restart dead children from now on. This reaps every child process, so no other code may wait for one."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._wake.set)
        self._keeping = asyncio.create_task(self._keep())
        return self._keeping

    async def _keep(self) -> None:
        trimmed = time.monotonic()
        while not self._stopping.is_set():
            if not self._data.run.is_dir():
                # No child can start without it.
                if not self.failure.done():
                    self.failure.set_result(errors.EnvironmentFailure(self._describe_deletion()))
                return
            self._wake.clear()
            await self._arbiter.manage_watchers()
            for kept in self._kept.values():
                if not kept.noted:
                    self._note_pid(kept)
                if kept.watcher.autostart and kept.watcher.is_stopped() and time.monotonic() >= kept.retry_at:
                    kept.retry_at = time.monotonic() + MAX_DELAY_SECONDS
                    await self._arbiter.start_watcher(kept.watcher)
            if time.monotonic() - trimmed > TRIM_SECONDS:
                trimmed = time.monotonic()
                for name in self._kept:
                    self._data.trim_log(name)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), CHECK_SECONDS)

    def keeps_ending(self, name: str) -> bool:
        """Whether the child ended several times in a row soon after its start."""
        return self._kept[name].deaths >= DEATHS_BEFORE_READY

    async def stop(self) -> None:
        """Stop the children one after the other, the last started first."""
        self._stopping.set()
        self._wake.set()
        if self._keeping is not None:
            # Wait for it instead of cancelling it: it may be starting a child.
            await asyncio.wait([self._keeping])
        for kept in reversed(self._kept.values()):
            if not kept.watcher.is_stopped():
                self._report(f"stopping {kept.child.name}")
                kept.watcher.numprocesses = 1
                await kept.watcher.stop()
            self._clean_up(kept)
        self._arbiter.stop_controller_and_close_sockets()

    def running_since(self, name: str) -> float | None:
        """When the child was started, on the monotonic clock; None if it does not run."""
        kept = self._kept.get(name)  # a stack may have no Chroma
        return None if kept is None or kept.pid is None else kept.started

    def kill_child(self, name: str) -> None:
        """Kill a running child with its group, to be restarted like one that died. A wedged one may ignore SIGTERM."""
        pid = self._kept[name].pid
        if pid is not None:
            _kill_group(pid)

    def kill(self) -> None:
        """Kill children that are still stopping."""
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
            max_retry=1,  # by default it tries again for ever, without a pause; `_keep` tries again later
            loop=self._loop,
            hooks={
                "before_spawn": (self._before_spawn, False),
                "after_spawn": (self._after_spawn, False),
                "after_reap": (self._after_reap, False),
            },
        )

    def _before_spawn(self, watcher: Watcher, **_: Any) -> bool:
        kept = self._kept[watcher.name]
        if kept.pid is not None:  # it died between two checks of circus, which did not call `after_reap`
            self._report(f"{watcher.name} ended; restarting it")
        self._clean_up(kept)
        return True

    def _after_spawn(self, watcher: Watcher, pid: int, **_: Any) -> bool:
        kept = self._kept[watcher.name]
        kept.pid, kept.started = pid, time.monotonic()
        kept.starts += 1
        if kept.starts > 1:
            self._report(f"{watcher.name} was restarted: process {pid}, restart {kept.starts - 1}")
        self._note_pid(kept)
        return True

    def _note_pid(self, kept: _Kept) -> None:
        # On a full disk this fails, and the child must start nevertheless; `_keep` tries again.
        try:
            write_private(self._data.pid_file(kept.child.name), str(kept.pid))
        except OSError:
            kept.noted = False
        else:
            kept.noted = True

    def _after_reap(self, watcher: Watcher, exit_code: int, **_: Any) -> bool:
        kept = self._kept[watcher.name]
        self._clean_up(kept)
        if not self._stopping.is_set():
            self._schedule_restart(kept, exit_code)
        return True

    def _clean_up(self, kept: _Kept) -> None:
        if kept.pid is not None:
            _kill_group(kept.pid)
            kept.pid = None
        kept.noted = True
        self._data.pid_file(kept.child.name).unlink(missing_ok=True)

    def _schedule_restart(self, kept: _Kept, exit_code: int) -> None:
        """Restart the dead child now or after a delay, or fail the stack."""
        name = kept.child.name
        kept.deaths = 1 if time.monotonic() - kept.started >= STEADY_SECONDS else kept.deaths + 1
        killed = exit_code == -signal.SIGKILL
        how = f"was ended by signal {-exit_code}" if exit_code < 0 else f"exited with status {exit_code}"
        may_fail = name == ESSENTIAL if self.is_serving else name not in DISPENSABLE
        if may_fail and not killed and kept.deaths >= (DEATHS if self.is_serving else DEATHS_BEFORE_READY):
            kept.watcher.numprocesses = 0
            if not self.failure.done():
                self.failure.set_result(errors.NotReady(self._describe_deaths(kept, how)))
            return
        if kept.deaths == DEATHS_BEFORE_READY and not killed:
            self._report(f"note: {self._describe_deaths(kept, how)}")
        delay = _delay(kept.deaths)
        delay = min(delay, KILLED_DELAY_SECONDS) if killed else delay
        self._report(f"{name} {how}; restarting it" + (f" in {delay:g} s" if delay else ""))
        if delay:
            kept.watcher.numprocesses = 0
            self._loop.call_later(delay, self._restart, kept)

    def _restart(self, kept: _Kept) -> None:
        kept.watcher.numprocesses = 1
        self._wake.set()

    def _describe_deletion(self) -> str:
        return f"The data directory {self._data.path} was deleted while the stack was running. Start the stack again."

    def _describe_deaths(self, kept: _Kept, how: str) -> str:
        name = kept.child.name
        last = self._data.last_log_line(name)
        text = f"{name} {how}, {kept.deaths} times in a row. Its log is {self._data.log_file(name)}"
        return f"{text}; the last line: {last}" if last else f"{text}."


def end_leftovers(data: DataDir, names: Sequence[str], report: Callable[[str], None]) -> None:
    """End processes that a killed supervisor left behind: those that a pid file names and that are provably ours. A
    process id alone may belong to another process by now."""
    for name in reversed(names):
        path = data.pid_file(name)
        process = _ours(path, data)
        if process is not None:
            report(f"ending {name}, left over from a stack that was killed (process {process.pid})")
            process.terminate()
            _await_end(process)
            # Kill it if it is frozen or busy, and its own children. Its data is safe on disk or in SQL.
            _kill_group(process.pid)
            _await_end(process)
        path.unlink(missing_ok=True)


def _await_end(process: psutil.Process) -> None:
    """Wait a while for its end. A zombie has ended: the process that adopted it may never reap it."""
    deadline = time.monotonic() + LEFTOVER_SECONDS
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.05)


def _ours(path: Path, data: DataDir) -> psutil.Process | None:
    """The process that a pid file names, if it is older than the file, leads its group and runs in our directory."""
    try:
        process = psutil.Process(int(path.read_text()))
        is_older = process.create_time() <= path.stat().st_mtime + CLOCK_SECONDS
        is_leader = os.getpgid(process.pid) == process.pid
        # Every child starts in the data directory; Redis then changes to its own directory below it.
        is_in_data_dir = Path(process.cwd()).is_relative_to(data.path)
    except (OSError, ValueError, psutil.Error):
        return None
    return process if is_older and is_leader and is_in_data_dir else None


def _kill_group(pid: int) -> None:
    # Each child leads its own session and group; the id is not reused while any member lives.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _delay(deaths: int) -> float:
    """Seconds until a child that died so often is started again."""
    if deaths == 1:
        return 0.0
    return float(min(FIRST_DELAY_SECONDS * 2 ** min(deaths, MAX_DOUBLINGS), MAX_DELAY_SECONDS))
