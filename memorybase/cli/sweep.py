"""The sweeper's process: a pass every few seconds, heartbeats, a clean stop."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from dataclasses import asdict
from typing import Any

from memorybase import errors, telemetry, wiring
from memorybase.operations import heartbeats, sweeper
from memorybase.services import Services
from memorybase.settings import Settings

# A sweeper with a pass that takes longer counts as dead, even though its process lives: its heartbeats stop.
STUCK_SECONDS = 120.0

log = telemetry.get_logger(__name__)


def sweep_once(settings: Settings) -> dict[str, Any]:
    """One pass; the count of each step. Raises EnvironmentFailure if a step failed."""
    telemetry.configure(settings)
    report = asdict(sweeper.sweep(wiring.build(settings, role="sweeper")))
    failed = report.pop("failed_steps")
    if failed:
        raise errors.EnvironmentFailure(f"These steps failed: {', '.join(failed)}. Run `memorybase doctor` for fixes.")
    return report


def sweep_for_ever(settings: Settings) -> None:
    """Sweep until SIGTERM or SIGINT."""
    telemetry.configure(settings)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    services = wiring.build(settings, role="sweeper")
    heartbeat = SweeperHeartbeat(services, stop)
    heartbeat.start()
    log.info("sweeper_started", pid=os.getpid(), every_seconds=settings.sweep_seconds)
    while not stop.is_set():
        _pass(services)
        heartbeat.pass_completed()
        stop.wait(settings.sweep_seconds)
    heartbeat.join(settings.heartbeat_seconds + settings.redis_timeout_seconds)
    log.info("sweeper_stopped")


def _pass(services: Services) -> None:
    try:
        report = asdict(sweeper.sweep(services))
    except errors.EnvironmentFailure as exc:
        log.warning("sweep_failed", error=telemetry.describe_error(exc))
    except Exception:  # the process's edge: the next pass may succeed
        log.exception("sweep_failed")
    else:
        found = {name: value for name, value in report.items() if value}
        if found:
            log.info("swept", **found)


class SweeperHeartbeat(threading.Thread):
    """Writes heartbeats to the database while passes complete; deletes its row at a clean stop."""

    def __init__(self, services: Services, stop: threading.Event) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._services = services
        self._stop_requested = stop
        self._owner = f"sweeper:{socket.gethostname()}:{os.getpid()}"
        self._last_pass = time.monotonic()
        self._answering = True

    def pass_completed(self) -> None:
        self._last_pass = time.monotonic()

    def run(self) -> None:
        while not self._stop_requested.is_set():
            if time.monotonic() - self._last_pass < STUCK_SECONDS:
                self._try(heartbeats.beat, self._owner, "sweeper")
            self._stop_requested.wait(self._services.settings.heartbeat_seconds)
        self._try(heartbeats.forget_beat, self._owner)

    def _try(self, action: Any, *arguments: str) -> None:
        """Logs once per outage, not once per heartbeat."""
        try:
            action(self._services, *arguments)
            failure = None
        except Exception as exc:  # noqa: BLE001 - a thread's edge: whatever fails, the next beat tries again
            failure = exc
        if (failure is None) != self._answering:
            self._answering = failure is None
            if failure is None:
                log.info("heartbeat_resumed")
            else:
                log.warning("heartbeat_failed", error=telemetry.describe_error(failure))
