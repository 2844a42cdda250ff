"""Heartbeats of workers and sweepers, in SQL, so that they work while Redis is down."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Literal

from memorybase.core import deadlines, telemetry
from memorybase.core.database import clock
from memorybase.core.operations import embedding_usage
from memorybase.core.queries import heartbeats
from memorybase.core.services import Services

Kind = Literal["worker", "sweeper"]

log = telemetry.get_logger(__name__)


def beat(services: Services, name: str, kind: Kind, *, draining: bool = False) -> bool:
    """Write a heartbeat. Returns whether somebody has asked this process to stop."""
    with services.database.transaction(durable=False) as db:
        return heartbeats.beat(db, name, kind, clock.now(db), draining=draining)


class HeartbeatThread:
    """Writes a process's heartbeat from the first `confirm()` on, and deletes it at `stop()`.

    It survives outages of the database. `prepare` runs first and is retried until it succeeds. Without another
    `confirm()` within `stuck_seconds` the heartbeat stops: the process runs and does no work. `drain` is called once,
    in the thread, when somebody has asked the process to stop.
    """

    def __init__(
        self,
        services: Services,
        name: str,
        kind: Kind,
        *,
        prepare: Callable[[], object] | None = None,
        stuck_seconds: float = math.inf,
        drain: Callable[[], object] | None = None,
    ) -> None:
        self._services = services
        self._name = name
        self._kind: Kind = kind
        self._prepare = prepare
        self._stuck_seconds = stuck_seconds
        self._drain = drain
        self._is_draining = False
        self._confirmed_at: float | None = None
        self._stopped = False
        self._wake = threading.Event()
        self._is_failing = False
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def confirm(self) -> None:
        """The process does its work."""
        is_first = self._confirmed_at is None
        self._confirmed_at = time.monotonic()
        if is_first:
            self._wake.set()

    def draining(self) -> None:
        """The process takes no more work; its next heartbeat says so. Safe in a signal handler."""
        self._is_draining = True

    def stop(self) -> None:
        """Stop and delete the heartbeat; waits no longer than one interval."""
        self._stopped = True
        self._wake.set()
        self._thread.join(deadlines.HEARTBEAT_SECONDS)

    def _run(self) -> None:
        while not self._stopped:
            self._try(self._beat)
            self._wake.wait(deadlines.HEARTBEAT_SECONDS)
            self._wake.clear()
        self._try(self._delete)

    def _beat(self) -> None:
        if self._prepare is not None:
            self._prepare()
            self._prepare = None
        if self._confirmed_at is not None and time.monotonic() - self._confirmed_at < self._stuck_seconds:
            asked = beat(self._services, self._name, self._kind, draining=self._is_draining)
            if asked and self._drain is not None:
                drain, self._drain = self._drain, None
                drain()
        embedding_usage.store(self._services)

    def _delete(self) -> None:
        with self._services.database.transaction() as db:
            heartbeats.delete(db, self._name)
        embedding_usage.store(self._services)

    def _try(self, step: Callable[[], None]) -> None:
        """Log the start and the end of an outage, not every heartbeat."""
        failure: Exception | None = None
        try:
            step()
        except Exception as error:  # noqa: BLE001 - a thread's edge: the next heartbeat tries again
            failure = error
        if failure is not None and not self._is_failing:
            log.warning("heartbeat_failed", error=telemetry.describe_error(failure))
        elif failure is None and self._is_failing:
            log.info("heartbeat_resumed")
        self._is_failing = failure is not None
