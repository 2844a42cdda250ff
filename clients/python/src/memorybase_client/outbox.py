"""Captures and other calls that wait on disk while memorybase is unreachable.

`Client(outbox="/var/lib/app/outbox")` or `Client(outbox=Outbox(...))`; then `client.capture(...)` stores a run here and
returns at once, and a thread sends what waits, oldest first. A run has an id before it is stored, so one whose answer
was lost is sent again and stored once. `client.later(...)` stores another call that may be repeated. Several processes
may share a directory: one of them sends at a time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from memorybase_client import errors
from memorybase_client._calls import Call, call_of, encoded, jittered, kept, segment
from memorybase_client._outbox_store import SenderLock, Store, Waiting, no_fork

log = logging.getLogger("memorybase_client")

MAX_CAPTURES = 10_000
MAX_BYTES = 64_000_000
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
MAX_DOUBLINGS = 16  # of a pause: more would not fit into a float after an outage of hours
OTHER_SENDER_SECONDS = 1.0  # how soon after another process died this one sends
LOOK_SECONDS = 60.0  # for what a process that died has left
CLOSE_SECONDS = 2.0
MAX_ATTEMPTS = 5  # of a run at which the server fails inside

# The key is wrong, revoked or lacks a scope: people change that, and nothing is wrong with the run.
_OF_THE_KEY = frozenset({401, 403})


class Send(Protocol):
    """Sends one capture or call, or raises MemorybaseError."""

    def __call__(self, flow_id: str, body: bytes) -> None: ...

    def close(self) -> None: ...


# Of what to call at each answer, the store, and the target of this client's rows in it.
MakeSend = Callable[[Callable[[], None], Store, str], Send]


@dataclass(frozen=True, slots=True)
class Refused:
    """A run, or a call, that the server will never accept, and why."""

    flow_id: str
    code: str
    message: str
    at: str
    run: dict[str, Any] = field(repr=False)


class _Outcome(Enum):
    EMPTY = "nothing waits"
    OTHER = "another process sends"
    FAILED = "memorybase is away"
    SOON = "memorybase prepares its model"


class Outbox:
    """A bounded queue of captures in its own directory. Beyond a bound the oldest are deleted and counted in `lost`.
    Raises OSError or sqlite3.Error if the directory cannot be used."""

    def __init__(self, directory: str | Path, *, max_captures: int = MAX_CAPTURES, max_bytes: int = MAX_BYTES) -> None:
        self.directory = Path(directory).absolute()  # the process may change its own
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._store = Store(self.directory, max_captures=max_captures, max_bytes=max_bytes)
        self._sender = SenderLock(self.directory)
        self._target = ""
        self._make_send: MakeSend | None = None
        self._lost_here = 0
        self._reset()

    def __repr__(self) -> str:
        return f"Outbox({str(self.directory)!r})"

    def _reset(self) -> None:
        """Everything that a forked child must not have from its parent."""
        self._pid = os.getpid()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._attempt_ended = threading.Condition()
        self._answered_at = 0.0
        self._failures = 0
        self._failed_in_a_row = 0
        self._is_backing_off = False

    def bind(self, url: str, key: str, make_send: MakeSend) -> None:
        """Send with this client from now on. Captures of another address or key are left alone: they may be another
        user's."""
        if self._make_send is not None:
            raise ValueError("An outbox belongs to one client; make another one of the same directory")
        self._target = hashlib.sha256(f"{url}\n{key}".encode()).hexdigest()
        self._make_send = make_send
        others = self._store.of_others(self._target)
        if others:
            log.warning("%d captures of another address or key wait in the outbox; see Outbox.adopt", others)
        if self._store.waiting(self._target):
            self._start()

    # What callers ask

    @property
    def waiting(self) -> int:
        """Captures and calls that the server does not have yet."""
        return self._own().waiting(self._target)

    @property
    def lost(self) -> int:
        """Captures that will never be sent: deleted at a bound, or not storable on this disk."""
        return self._own().lost() + self._lost_here

    def refused(self) -> list[Refused]:
        """The latest captures that the server refused for good, oldest first."""
        return [
            Refused(flow_id, code, message, at, json.loads(body))
            for flow_id, code, message, at, body in self._own().refused(self._target)
        ]

    def retry_refused(self) -> int:
        """Send what was refused again, after what waits; returns how many."""
        count = self._own().retry_refused(self._target)
        self._start()
        return count

    def adopt(self) -> None:
        """Send also what other addresses or keys have left, with this client: after a change of the key."""
        self._own().adopt(self._target)
        self._start()

    def put(self, flow_id: str, run: Mapping[str, Any]) -> None:
        """Store a run. Never raises: what cannot be stored is logged and counted in `lost`."""
        try:
            body = encoded({name: value for name, value in run.items() if value is not None})
        except (TypeError, ValueError, RecursionError) as error:
            self.lose(error)
        else:
            self._put(flow_id, body)

    def put_call(self, flow_id: str, call: Call, answer: str) -> None:
        """Store a call that may be repeated, with the name of its answer's model. Never raises, as put()."""
        self._put(flow_id, kept(call, answer))

    def lose(self, error: Exception) -> None:
        """Count what cannot be stored, and log why."""
        self._lost_here += 1
        log.error("a capture is lost: it cannot be stored in %s (%s)", self.directory, type(error).__name__)

    def _put(self, flow_id: str, body: bytes) -> None:
        try:
            segment(flow_id, "flow_id")
            lost = self._own().put(self._target, flow_id, body)
        except (OSError, ValueError, sqlite3.Error) as error:
            self.lose(error)
            return
        if lost:
            log.error("%d captures are lost: the outbox %s has no room for them", lost, self.directory)
        self._start()

    def flush(self, timeout_seconds: float = 10.0) -> int:
        """Send what waits now, until the server has it or the time is over; returns how much of it still waits. Raises
        nothing of the server's."""
        return self._flush(timeout_seconds, timeout_seconds, is_patient=True)

    def settle(self, timeout_seconds: float = 1.0, *, longest_seconds: float | None = None) -> int:
        """Send what waits, without waiting for memorybase to come back: ends with the first attempt that fails, and
        after `timeout_seconds`. With `longest_seconds` it goes on until then while memorybase answers in that time."""
        return self._flush(timeout_seconds, longest_seconds or timeout_seconds, is_patient=False)

    def close(self, flush_seconds: float = CLOSE_SECONDS) -> None:
        """Send the waiting entries unless memorybase is unreachable, and stop. The next client with this directory
        sends the rest."""
        if self._closing.is_set() or self._pid != os.getpid():  # a forked child's parent goes on
            return
        self._flush(flush_seconds, flush_seconds, is_patient=False)
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(1.0)
        if self._thread is None or not self._thread.is_alive():
            self._store.close()

    # Sending

    def _own(self) -> Store:
        """The store as this process may use it."""
        if self._pid != os.getpid():
            self._reset()
        return self._store

    def _start(self) -> None:
        """Wake the thread, unless it waits for memorybase to come back."""
        with self._starting:
            if (self._thread is None or not self._thread.is_alive()) and not self._closing.is_set():
                thread = threading.Thread(target=self._run, name="memorybase-outbox", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the interpreter ends, or the machine has no more threads
                    log.warning("captures wait in %s for the next client", self.directory)
                    return
                self._thread = thread
        if not self._is_backing_off:
            self._wake.set()

    def _flush(self, timeout_seconds: float, longest_seconds: float, *, is_patient: bool) -> int:
        begin = time.monotonic()
        store, failures = self._own(), self._failures
        newest = store.newest(self._target)  # others capture meanwhile, and need not be waited for
        while (waiting := store.waiting_up_to(self._target, newest)) and (is_patient or failures == self._failures):
            deadline = min(max(begin, self._answered_at) + timeout_seconds, begin + longest_seconds)
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self._start()
            self._wake.set()
            with self._attempt_ended:
                self._attempt_ended.wait(min(left, FIRST_PAUSE_SECONDS))
        return waiting

    def _run(self) -> None:
        if self._make_send is None:
            return
        with no_fork():  # a module that is being imported at a fork could never be imported in the child
            send = self._make_send(self._answered, self._store, self._target)
        while not self._closing.is_set():
            self._wake.clear()
            try:
                outcome = self._deliver(send)
            except (OSError, sqlite3.Error) as error:
                log.warning("the outbox %s cannot be read (%s)", self.directory, type(error).__name__)
                outcome = _Outcome.FAILED
            self._failures += outcome is _Outcome.FAILED
            self._is_backing_off = outcome is _Outcome.FAILED
            with self._attempt_ended:
                self._attempt_ended.notify_all()
            self._wake.wait(self._pause_after(outcome))
            self._is_backing_off = False
        send.close()

    def _answered(self) -> None:
        self._answered_at = time.monotonic()

    def _pause_after(self, outcome: _Outcome) -> float:
        if outcome is _Outcome.FAILED:
            self._failed_in_a_row += 1
            return jittered(
                min(FIRST_PAUSE_SECONDS * 2 ** min(self._failed_in_a_row, MAX_DOUBLINGS), LONGEST_PAUSE_SECONDS)
            )
        self._failed_in_a_row = 0
        if outcome is _Outcome.SOON:
            return FIRST_PAUSE_SECONDS
        return OTHER_SENDER_SECONDS if outcome is _Outcome.OTHER else LOOK_SECONDS

    def _deliver(self, send: Send) -> _Outcome:
        """Send in order until nothing waits."""
        if self._store.oldest(self._target) is None:
            return _Outcome.EMPTY
        if not self._sender.take():
            return _Outcome.OTHER
        try:
            while not self._closing.is_set() and (capture := self._store.oldest(self._target)) is not None:
                if (failed := self._send(send, capture)) is not None:
                    return failed
            self._store.tidy()
            return _Outcome.EMPTY
        finally:
            self._sender.release()

    def _send(self, send: Send, capture: Waiting) -> _Outcome | None:
        """None if the capture is done with: stored, or refused for good."""
        body = capture.body.encode()
        try:
            send(capture.flow_id, body)
        except errors.MemorybaseError as error:
            if not _is_final(error, capture.attempts + 1):
                if error.status == 500:  # an outage says nothing about the run
                    self._store.attempted(capture.id)
                log.warning("the outbox waits: %s", error.code)
                return _Outcome.SOON if isinstance(error, errors.ModelPreparing) else _Outcome.FAILED
            if call_of(capture.flow_id, body)[1] == "NodeUse":  # no message is lost, and nobody would send it again
                self._store.remove(capture.id)
                log.warning("what a model was given is not recorded: %s", error.code)
                return None
            self._store.refuse(capture.id, error.code, error.message)
            log.error("a capture was refused: %s; see Outbox.refused", error.code)  # noqa: TRY400 - no news in it
        else:
            self._store.remove(capture.id)
        return None


def _is_final(error: errors.MemorybaseError, failures_inside: int) -> bool:
    """Whether no repetition can succeed."""
    if error.retryable or isinstance(error, errors.ConnectionFailed | errors.UnexpectedAnswer):
        return False
    if isinstance(error, errors.CallerError | errors.MessageFailure):
        return error.status not in _OF_THE_KEY
    return error.status == 500 and failures_inside >= MAX_ATTEMPTS
