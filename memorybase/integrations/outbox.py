"""Writes that wait in this process while memory is away, so that a flow neither fails nor waits for it.

Every write must be safe to repeat: one whose answer was lost is sent again. What waits is lost with the process.

The Python client's outbox on disk cannot take its place. It holds captures, by HTTP. What waits here are calls: of the
domain too (InProcess has no HTTP), of chats and node executions, and captures that first read what memory has, to send
only what is new. Reads go through here as well, so that they see the writes before them and do not wait for memory
that hangs.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from memorybase import errors
from memorybase.telemetry import get_logger

log = get_logger(__name__)

Answer = TypeVar("Answer")

MAX_WAITING = 1_000  # writes; beyond it the oldest is given up
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
SLOW_SECONDS = 1.0  # a failure that took longer is not tried again for as long as it took


@dataclass(frozen=True, slots=True)
class Write:
    """A write to send. `name` says what it is in logs."""

    name: str
    send: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Refused:
    """A write that memory refused, or that was given up because too many waited."""

    name: str
    error: Exception


class Outbox:
    """Sends writes in order. `refused` holds the latest ones that will never be stored."""

    def __init__(
        self,
        *,
        max_waiting: int = MAX_WAITING,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.refused: deque[Refused] = deque(maxlen=100)
        self._max_waiting = max_waiting
        self._first_pause = first_pause_seconds
        self._waiting: deque[Write] = deque()
        self._sending = threading.Lock()  # held while a write is sent: one at a time, in order
        self._lock = threading.Lock()  # held briefly, for the fields
        self._failures = 0
        self._clock = clock
        self._silent_until = clock()  # memory hangs: a flow of many nodes must not wait at each
        self._timer: threading.Timer | None = None

    def __len__(self) -> int:
        """How many writes wait."""
        return len(self._waiting)

    def send(
        self, name: str, send: Callable[[], object], *, may_repeat: bool = True, raise_refused: bool = True
    ) -> None:
        """Send the write, after those that wait. If memory is away, keep it and return; report it as refused if it may
        not be repeated. Raises CallerError if memory refuses it now, unless told otherwise; nothing else."""
        write = Write(name, send)
        if self._may_try() and self._try(write, raise_refused=raise_refused):
            return
        if not may_repeat:
            self.report(name, errors.NotReady("Memory was away, and this write cannot be repeated"))
            return
        with self._lock:
            self._waiting.append(write)
            given_up = self._waiting.popleft() if len(self._waiting) > self._max_waiting else None
        if given_up is not None:
            self.report(given_up.name, errors.NotReady(f"More than {self._max_waiting} writes waited for memory"))
        self._retry_later(self._first_pause)

    def read(self, name: str, fallback: Answer, read: Callable[[], Answer]) -> Answer:
        """What memory answers, once it has what waits; the fallback, with a warning in the log, if it is away."""
        if self._may_try():
            began = self._clock()
            try:
                return read()
            except Exception as error:
                if not is_away(error):
                    raise
                self._failed(began)
        log.warning("memory_not_read", what=name)
        return fallback

    def flush(self) -> int:
        """Send what waits, oldest first, until memory fails; returns how many still wait. Never raises."""
        failures = self._failures
        with self._sending:
            while self._waiting and failures == self._failures:  # another thread's failure is news enough
                write = self._waiting[0]
                if self._try(write):
                    with self._lock:
                        if self._waiting and self._waiting[0] is write:  # otherwise it was given up meanwhile
                            self._waiting.popleft()
        return len(self._waiting)

    def _may_try(self) -> bool:
        """Whether a call may succeed now: memory does not hang, and what waited is sent."""
        return self._clock() >= self._silent_until and not (self._waiting and self.flush())

    def _failed(self, began: float) -> None:
        now = self._clock()
        self._failures += 1
        if now - began > SLOW_SECONDS:
            self._silent_until = now + (now - began)

    def _try(self, write: Write, *, raise_refused: bool = False) -> bool:
        """Whether the write is done with: stored, or refused for good."""
        began = self._clock()
        try:
            write.send()
        except Exception as error:
            if is_away(error):
                self._failed(began)
                log.warning("memory_away", write=write.name, waiting=len(self._waiting), error_code=code_of(error))
                return False
            if raise_refused and isinstance(error, errors.CallerError):
                raise
            self.report(write.name, error)
        self._silent_until = began  # memory answers
        return True

    def report(self, name: str, error: Exception) -> None:
        """A write will never be stored: say so in the log and in `refused`."""
        self.refused.append(Refused(name, error))
        log.error("memory_write_refused", write=name, error_code=code_of(error), reason=reason_of(error))

    def _retry_later(self, pause: float) -> None:
        """Flush in the background until nothing waits; one timer at a time."""
        with self._lock:
            if self._timer is not None or not self._waiting:
                return
            self._timer = threading.Timer(pause, self._retry, [pause])
            self._timer.daemon = True
            self._timer.start()

    def _retry(self, pause: float) -> None:
        self.flush()
        with self._lock:
            self._timer = None
        self._retry_later(min(2 * pause, LONGEST_PAUSE_SECONDS))


def is_away(error: Exception) -> bool:
    """Whether a repetition may succeed: memory is unreachable, fails or is busy."""
    return isinstance(error, errors.EnvironmentFailure | errors.RateLimited | OSError)


def code_of(error: Exception) -> str:
    """The error's code, or its class if it is not ours."""
    return error.code if isinstance(error, errors.MemorybaseError) else type(error).__name__


def reason_of(error: Exception) -> str | None:
    """Our error's message; another one's may quote a message."""
    return error.message if isinstance(error, errors.MemorybaseError) else None
