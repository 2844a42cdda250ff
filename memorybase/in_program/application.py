"""The parts of one data directory in a program: opened with its first client and ended with its last."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from memorybase.core import errors, telemetry
from memorybase.one_process import LOG, Parts, look_after_files, settings_of
from memorybase.stack.private import make_private
from memorybase.stack.run import opened_directory
from memorybase.stack.state import DataDir, RunningStack, now_text

if TYPE_CHECKING:
    from memorybase.in_program.transport import Transport

STOP_SECONDS = 3.0  # that requests have at the end, as those of the server have

T = TypeVar("T")

log = telemetry.get_logger(__name__)

_starting = threading.Lock()  # Alembic migrates one database at a time in a process


class Application:
    """Everything of one data directory. Its event loop runs in a thread of its own."""

    def __init__(self, data: DataDir, stated: dict[str, Any]) -> None:
        self.data, self.stated = data, stated
        self.clients: weakref.WeakSet[Transport] = weakref.WeakSet()
        self.key = ""
        self.app: Any = None
        self._lock = -1  # the file's descriptor
        self._problem = ""
        self._opened = contextlib.ExitStack()
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._requests: set[asyncio.Task[None]] = set()
        self._waiting: set[Future[Any]] = set()
        self._is_ended = False

    def start(self) -> None:
        """Raises errors of memorybase.core.errors, and ValueError for a setting."""
        with contextlib.ExitStack() as opened:
            reported: list[str] = []
            self._lock = opened.enter_context(opened_directory(self.data, reported.append))
            settings = settings_of(self.data, **self.stated)
            if not settings.database_url:
                make_private(self.data.path)
            stream = opened.enter_context(self.data.log_file(LOG).open("a", encoding="utf-8"))
            opened.callback(telemetry.log_apart(settings, stream))
            for text in reported:
                log.info("data_directory_opened", note=text)
            self.data.write_stack(RunningStack(os.getpid(), "", one_process=True, since=now_text(), in_program=True))
            self.key = str(settings.api_key)
            with _starting:
                self._parts = Parts(settings, self.data, stream, asked=self._asked, failed=self.fail, is_guest=True)
            self.app = self._parts.app
            try:
                self._serve()
            except BaseException:
                self._parts.stop()
                raise
            self._opened = opened.pop_all()

    def stop(self) -> None:
        """Let requests and the running job end, and close the directory. Raises NotReady if something goes on: then the
        directory stays locked."""
        self.call_soon(self._stop.set)
        self._thread.join()
        if going_on := self._parts.stop():
            named = " and ".join(going_on)
            raise errors.NotReady(f"The {named} did not end. {self.data.path} is locked until this program ends.")
        self._opened.close()

    def close_lock(self) -> None:
        """In a fork: the lock stays the parent's, and would outlive it here."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @property
    def is_of_parent(self) -> bool:
        """Whether this process is a fork of the one that opened it."""
        return os.getpid() != self._pid

    def problem(self) -> str:
        """Why it answers no requests; empty if it does."""
        if self.is_of_parent:
            return (
                f"{self.data.path} was opened by process {self._pid}, and a fork has none of its threads. Use it in "
                "that process, or start others with multiprocessing's method spawn."
            )
        if self._problem:
            stored = "What was captured is stored"
            return f"{self._problem}. {stored}: close the clients of {self.data.path} and open it again."
        return ""

    def fail(self, reason: str) -> None:
        """A part has ended by itself: from now on each request says so."""
        log.critical("part_failed", reason=reason)
        self._problem = self._problem or f"{reason[0].upper()}{reason[1:]}"

    def submit(self, work: Coroutine[Any, Any, T], request: httpx.Request) -> Future[T]:
        """Run it in the loop. Raises ConnectError when that has ended."""
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError as error:
            work.close()
            raise httpx.ConnectError("memorybase is closed", request=request) from error
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        if self._is_ended:  # the loop may not look at it any more
            future.cancel()
        return future

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin a request; for the loop's thread."""
        task = asyncio.create_task(work)
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    def call_soon(self, function: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(function)

    def _asked(self) -> None:
        self.fail("somebody asked the worker to stop")

    def _serve(self) -> None:
        is_started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(is_started,), name="api", daemon=True)
        self._thread.start()
        is_started.result()

    def _run(self, is_started: Future[None]) -> None:
        try:
            # Not asyncio.run(), which notebooks replace.
            with asyncio.Runner() as runner:
                runner.run(self._until_stopped(is_started))
        except Exception as error:  # a thread's edge: whoever waits for it must know
            log.exception("api_failed")
            self.fail(f"the API ended: {telemetry.describe_error(error)}")
            if not is_started.done():
                is_started.set_exception(error)
        finally:
            self._is_ended = True
            for future in list(self._waiting):
                future.cancel()

    async def _until_stopped(self, is_started: Future[None]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with self.app.router.lifespan_context(self.app):
            is_started.set_result(None)
            looking = asyncio.create_task(self._look_after_files())
            await self._stop.wait()
            looking.cancel()
            self.app.state.ending = True
            if self._requests:
                await asyncio.wait(self._requests, timeout=STOP_SECONDS)

    async def _look_after_files(self) -> None:
        await look_after_files(self.data)
        self.fail(f"the data directory {self.data.path} was deleted")
