"""A circuit breaker: after failures in a row nobody calls for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Circuit:
    """Says whether a call may be made, for many threads. The pause begins after this number of failures in a row; each
    further one doubles it, up to `longest_seconds` if that is more."""

    def __init__(
        self,
        pause_seconds: float,
        *,
        failures: int = 1,
        longest_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pause_seconds = pause_seconds
        self._longest_seconds = max(longest_seconds, pause_seconds)
        self._allowed = failures
        self._clock = clock
        self._guard = threading.Lock()
        self._failures = 0
        self._next_at = 0.0

    @property
    def is_paused(self) -> bool:
        """Whether calls should wait. After the pause all callers may try."""
        return self._clock() < self._next_at

    def seconds_to_wait(self) -> float:
        """0: call now, and report the result. Else the seconds until somebody may try: one caller after each pause."""
        with self._guard:
            if self._failures < self._allowed:
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

    def failed(self, pause_seconds: float | None = None) -> float:
        """Returns the pause that begins, by default the circuit's own."""
        with self._guard:
            self._failures += 1
            further = self._failures - self._allowed
            if further < 0:
                return 0.0
            seconds = pause_seconds or min(self._pause_seconds * 2.0 ** min(further, 20), self._longest_seconds)
            self._next_at = self._clock() + seconds
            return seconds
