"""A whole stack as one child process of a command."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

from memorybase.core import errors
from memorybase.core.settings import embedded
from memorybase.stack.children import import_path
from memorybase.stack.processes import kill_group
from memorybase.stack.state import DataDir

STOP_SECONDS = 60.0


class StackChild:
    """`memorybase up` on a free port: ready inside the `with` block, stopped after it. Use it in the main thread."""

    def __init__(
        self, data: DataDir, report: Callable[[str], None], *, database_url: str = "", one_process: bool = False
    ) -> None:
        # Its own database or the caller's, but never the environment's, because this stack may be deleted. Its own
        # Chroma for the same reason. No web page, because nobody signs in to it.
        own: dict[str, Any] = {"vector_store": "chroma", "pgvector_url": "", "one_process": one_process}
        own |= {"database_read_url": "", "database_direct_url": ""}
        self.settings = embedded(data.path, database_url=database_url, web=False, **own)
        self.url = ""
        self.chroma_url = ""
        self._data = data
        self._report = report
        self._answered = threading.Event()
        self._failure = "the stack ended before it was ready"

    def __enter__(self) -> Self:
        # SIGTERM ends this process like Ctrl-C, through __exit__.
        self._old_handler = signal.signal(signal.SIGTERM, _exit)
        options = ["--with-parent", "--port", "0", "--data-dir", str(self._data.path)]
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "memorybase", "up", *options],
            stdin=subprocess.PIPE,  # never written to: it closes, and so stops the stack, if this process is killed
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env=import_path(self.settings.child_environment()),
            start_new_session=True,  # Ctrl-C reaches this process only, which then stops the stack
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self._await_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        status = self._stop()
        if status != 0 and kind is None:
            raise errors.NotReady(f"The stack ended with status {status}. Its logs are in {self._data.logs}.")

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def _await_ready(self) -> None:
        self._answered.wait()  # it answers or ends, and says meanwhile what it waits for
        running = self._data.running()
        if not self.url or running is None:
            raise errors.NotReady(self._failure)
        self.chroma_url = running.chroma_url

    def _read(self) -> None:
        for line in self._process.stdout or ():
            text = line.rstrip()
            if text.startswith("ready "):
                self.url = text.removeprefix("ready ")
                self._answered.set()
            elif text.startswith("error: "):
                self._failure = text.removeprefix("error: ")
            elif text.startswith("not ready: "):
                self._failure = f"the stack is {text}"
                self._answered.set()
            self._report(text)
        self._answered.set()

    def _stop(self) -> int:
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            kill_group(self._process.pid)
            status = self._process.wait()
        self._reader.join(5)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        signal.signal(signal.SIGTERM, self._old_handler)
        return status


def _exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
