"""Requests that are in progress, for work beside them in the same process that keeps the interpreter for long."""

from __future__ import annotations

import threading
from types import TracebackType


class Foreground:
    """One of a process: a request enters and exits it, and other work waits for a gap before each long step."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._requests = 0
        self._is_idle = threading.Event()
        self._is_idle.set()

    def __enter__(self) -> None:
        with self._mutex:
            self._requests += 1
            self._is_idle.clear()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._mutex:
            self._requests -= 1
            if not self._requests:
                self._is_idle.set()

    def wait_for_gap(self, seconds: float) -> bool:
        """Wait until no request is in progress, no longer than this. Returns whether there is none."""
        return self._is_idle.wait(seconds)
