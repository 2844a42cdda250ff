"""A circuit breaker: after failures in a row nobody calls for a while, then one caller tries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FAILURES = 5  # in a row, until it opens


class Circuit:
    """Says whether a call may be made, for many threads."""

    def __init__(self, pause_seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._guard = threading.Lock()
        self._failures = 0
        self._next_at = 0.0

    def seconds_to_wait(self) -> float:
        """0: call now, and report the result. Else the seconds until somebody may try."""
        with self._guard:
            if self._failures < FAILURES:
                return 0.0
            now = self._clock()
            if now < self._next_at:
                return self._next_at - now
            # This caller tries. If it never reports, the next one tries after another pause.
            self._next_at = now + self._pause_seconds
            return 0.0

    def succeeded(self) -> None:
        with self._guard:
            self._failures = 0

    def failed(self) -> None:
        with self._guard:
            self._failures += 1
            if self._failures >= FAILURES:
                self._next_at = self._clock() + self._pause_seconds
