"""The children of a stack: one that dies is started again, after its whole process group was killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from memorybase_client.private_files import write_private

from memorybase.core import errors
from memorybase.stack.children import DISPENSABLE, Child
from memorybase.stack.state import DataDir

CHECK_SECONDS = 2.0  # between two looks at the data directory
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


@dataclass(slots=True)
class _Kept:
    child: Child
    process: asyncio.subprocess.Process | None = None
    started: float = 0.0
    deaths: int = 0  # in a row, each before STEADY_SECONDS
    starts: int = 0
    noted: bool = True  # its pid is in its pid file


class Processes:
    """The children of one stack. Create it inside a running event loop."""

    def __init__(self, data: DataDir, children: Sequence[Child], report: Callable[[str], None]) -> None:
        self._data = data
        self._report = report
        self._kept = {child.name: _Kept(child) for child in children}
        self.failure: asyncio.Future[errors.MemorybaseError] = asyncio.get_running_loop().create_future()
        self.is_serving = False  # the stack has accepted captures
        self._stopping = asyncio.Event()
        self._starting = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._run(self._check())

    async def start(self, names: Sequence[str]) -> None:
        """Start these children, in order, and again whenever they end; does not wait until they answer."""
        for name in names:
            await self._start(self._kept[name])
            self._run(self._keep(self._kept[name]))

    def keeps_ending(self, name: str) -> bool:
        """Whether the child ended several times in a row soon after its start."""
        return self._kept[name].deaths >= DEATHS_BEFORE_READY

    async def stop(self) -> None:
        """Stop the children one after the other, the last started first."""
        self._stopping.set()
        async with self._starting:  # the start that has begun is over, and none follows
            pass
        for kept in reversed(self._kept.values()):
            if kept.process is not None:
                self._report(f"stopping {kept.child.name}")
                await _end(kept.process, kept.child.graceful_seconds)
            self._clean_up(kept)
        await asyncio.wait(self._tasks)

    def running_since(self, name: str) -> float | None:
        """When the child was started, on the monotonic clock; None if it does not run."""
        kept = self._kept.get(name)  # a stack may have no Chroma
        return None if kept is None or kept.process is None else kept.started

    def kill_child(self, name: str) -> None:
        """Kill a running child with its group, to be restarted like one that died. A wedged one may ignore SIGTERM."""
        process = self._kept[name].process
        if process is not None:
            kill_group(process.pid)

    def kill(self) -> None:
        """Kill all children, also those that are stopping."""
        for name in self._kept:
            self.kill_child(name)

    def _run(self, work: Coroutine[None, None, None]) -> None:
        """Do this until the stack stops. Its error is a failure of the stack."""

        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (exc := task.exception()) is not None and not self.failure.done():
                self.failure.set_exception(exc)

        task = asyncio.create_task(work)
        task.add_done_callback(ended)
        self._tasks.add(task)

    async def _check(self) -> None:
        trimmed = time.monotonic()
        while not await self._is_stopping(CHECK_SECONDS):
            if not self._data.run.is_dir():  # no child can start without it
                self._fail(errors.EnvironmentFailure(self._describe_deletion()))
                return
            for kept in self._kept.values():
                if kept.child.while_running is not None and kept.process is not None:
                    await asyncio.to_thread(kept.child.while_running)
                if not kept.noted and kept.process is not None:
                    self._note_pid(kept, kept.process.pid)
            if time.monotonic() - trimmed > TRIM_SECONDS:
                trimmed = time.monotonic()
                for name in self._kept:
                    self._data.trim_log(name)

    async def _keep(self, kept: _Kept) -> None:
        """Start the child again whenever it has ended, until the stack stops or fails."""
        while True:
            delay: float | None = MAX_DELAY_SECONDS  # if the system refused to start it, for lack of memory for example
            if kept.process is not None:
                status = await kept.process.wait()
                self._clean_up(kept)
                if self._stopping.is_set():
                    return
                delay = self._pause(kept, status)
            if delay is None or await self._is_stopping(delay):
                return
            await self._start(kept)

    async def _is_stopping(self, seconds: float) -> bool:
        """Whether the stack stops within these seconds. Returns as soon as it does."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()

    async def _start(self, kept: _Kept) -> None:
        async with self._starting:
            if self._stopping.is_set():
                return
            try:
                if kept.child.before_start is not None:
                    await asyncio.to_thread(kept.child.before_start, self._report)
                kept.process = await self._spawn(kept.child)
            except OSError as exc:
                self._report(f"{kept.child.name} cannot be started: {exc.strerror}; trying again")
                return
            kept.started = time.monotonic()
            kept.starts += 1
            if kept.starts > 1:
                self._report(f"{kept.child.name} was restarted: process {kept.process.pid}, restart {kept.starts - 1}")
            self._note_pid(kept, kept.process.pid)

    async def _spawn(self, child: Child) -> asyncio.subprocess.Process:
        # A child writes its log itself: a pipe to the supervisor would break or block it when that is killed or frozen.
        with self._data.log_file(child.name).open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *child.command,
                env=child.environment,
                cwd=self._data.path,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _note_pid(self, kept: _Kept, pid: int) -> None:
        # On a full disk this fails, and the child must start nevertheless; `_check` tries again.
        try:
            write_private(self._data.pid_file(kept.child.name), str(pid))
        except OSError:
            kept.noted = False
        else:
            kept.noted = True

    def _clean_up(self, kept: _Kept) -> None:
        if kept.process is not None:
            kill_group(kept.process.pid)
            kept.process = None
        kept.noted = True
        self._data.pid_file(kept.child.name).unlink(missing_ok=True)

    def _pause(self, kept: _Kept, status: int) -> float | None:
        """Seconds until the dead child is started again, or None if its end is that of the stack."""
        name = kept.child.name
        kept.deaths = 1 if time.monotonic() - kept.started >= STEADY_SECONDS else kept.deaths + 1
        killed = sys.platform != "win32" and status == -signal.SIGKILL
        how = f"was ended by signal {-status}" if status < 0 else f"exited with status {status}"
        may_fail = name == ESSENTIAL if self.is_serving else name not in DISPENSABLE
        if may_fail and not killed and kept.deaths >= (DEATHS if self.is_serving else DEATHS_BEFORE_READY):
            self._fail(errors.NotReady(self._describe_deaths(kept, how)))
            return None
        if kept.deaths == DEATHS_BEFORE_READY and not killed:
            self._report(f"note: {self._describe_deaths(kept, how)}")
        delay = _delay(kept.deaths)
        delay = min(delay, KILLED_DELAY_SECONDS) if killed else delay
        self._report(f"{name} {how}; restarting it" + (f" in {delay:g} s" if delay else ""))
        return delay

    def _fail(self, failure: errors.MemorybaseError) -> None:
        if not self.failure.done():
            self.failure.set_result(failure)

    def _describe_deletion(self) -> str:
        return f"The data directory {self._data.path} was deleted while the stack was running. Start the stack again."

    def _describe_deaths(self, kept: _Kept, how: str) -> str:
        name = kept.child.name
        last = self._data.last_log_line(name)
        text = f"{name} {how}, {kept.deaths} times in a row. Its log is {self._data.log_file(name)}"
        return f"{text}; the last line: {last}" if last else f"{text}."


def end_leftovers(data: DataDir, names: Sequence[str], report: Callable[[str], None]) -> None:
    """End processes that a killed supervisor left behind: those that a pid file names and that are provably ours. A
    process id alone may belong to another process by now. The caller has locked the directory."""
    data.stack_file.unlink(missing_ok=True)
    for name in reversed(names):
        path = data.pid_file(name)
        process = _ours(path, data)
        if process is not None:
            report(f"ending {name}, left over from a stack that was killed (process {process.pid})")
            process.terminate()
            _await_end(process)
            # Kill it if it is frozen or busy, and its own children. Its data is safe on disk or in SQL.
            kill_group(process.pid)
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
        process = psutil.Process(int(path.read_text(encoding="utf-8")))
        is_older = process.create_time() <= path.stat().st_mtime + CLOCK_SECONDS
        is_leader = sys.platform != "win32" and os.getpgid(process.pid) == process.pid  # there is no child there
        # Every child starts in the data directory; Redis then changes to its own directory below it.
        is_in_data_dir = Path(process.cwd()).is_relative_to(data.path)
    except (OSError, ValueError, psutil.Error):
        return None
    return process if is_older and is_leader and is_in_data_dir else None


async def _end(process: asyncio.subprocess.Process, graceful_seconds: float) -> None:
    """Ask the process to end, and kill it if it has not ended after these seconds."""
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), graceful_seconds)
    except TimeoutError:
        kill_group(process.pid)
        await process.wait()


def kill_group(pid: int) -> None:
    """Kill a child with what it has started. Each child leads its own session and group; the id is not reused while
    any member lives."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _delay(deaths: int) -> float:
    """Seconds until a child that died so often is started again."""
    if deaths == 1:
        return 0.0
    return float(min(FIRST_DELAY_SECONDS * 2 ** min(deaths, MAX_DOUBLINGS), MAX_DELAY_SECONDS))
