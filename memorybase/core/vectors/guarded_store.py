"""A store that does not answer: calls to it fail at once, so that they delay nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memorybase.core.errors import MemorybaseError, VectorStoreUnavailable
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors.store import VectorStore

log = get_logger(__name__)

# A store that was quiet for this long is pinged first: a ping's deadline is a quarter of a call's.
QUIET_SECONDS = 5.0
RETRY_SECONDS = 1.0


class GuardedStore:
    """A store and whether it answers. While it does not, a thread pings it, and no caller waits for it."""

    def __init__(self, name: str, store: VectorStore, *, retry_seconds: float = RETRY_SECONDS) -> None:
        self.name = name
        self.store = store
        self._retry_seconds = retry_seconds
        self._lock = threading.Lock()
        self._answered_at: float | None = None
        self._is_away = False
        self._found: dict[str, Any] = {}  # by the ping that failed, such as the status
        self._closed = threading.Event()

    @contextmanager
    def call(self) -> Iterator[VectorStore]:
        """The store, for one call. Its VectorStoreUnavailable names it."""
        self.require()
        try:
            yield self.store
        except VectorStoreUnavailable as error:
            # The error may be about one collection or one write: only a ping tells whether the store answers.
            self._ping()
            raise self._named(error) from error
        self._answered_at = time.monotonic()

    def require(self) -> None:
        """Raises VectorStoreUnavailable if the store does not answer."""
        quiet = self._answered_at is None or time.monotonic() - self._answered_at > QUIET_SECONDS
        if not self._is_away and quiet:
            self._ping()
        if self._is_away:
            raise VectorStoreUnavailable(f"{self.name} does not answer", **self._found, store=self.name)

    def close(self) -> None:
        """Stop to ping. A later call pings again."""
        with self._lock:
            self._closed.set()
            self._closed = threading.Event()
            self._is_away, self._answered_at = False, None

    def _ping(self) -> bool:
        try:
            self.store.ping()
        except MemorybaseError as error:  # also what a proxy says in its place while it comes back
            self._found = {name: value for name, value in error.details.items() if name != "store"}
            self._away()
            return False
        self._answered_at = time.monotonic()
        return True

    def _away(self) -> None:
        with self._lock:
            if self._is_away:
                return
            self._is_away = True
            log.warning("vector_store_away", store=self.name)
            name = f"ping {self.name}"
            threading.Thread(target=self._wait_until_it_answers, args=(self._closed,), name=name, daemon=True).start()

    def _wait_until_it_answers(self, closed: threading.Event) -> None:
        while not closed.wait(self._retry_seconds):
            if self._ping():
                with self._lock:
                    if self._closed is closed:
                        self._is_away = False
                log.info("vector_store_back", store=self.name)
                return

    def _named(self, error: VectorStoreUnavailable) -> VectorStoreUnavailable:
        details: dict[str, Any] = {**error.details, "store": self.name}
        return VectorStoreUnavailable(f"{self.name}: {error.message}", **details)
