"""The sweeper's process: a pass every few seconds, heartbeats, a clean stop."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from memorybase import errors, telemetry, wiring
from memorybase.operations import store_check, sweeper, vector_indexes
from memorybase.operations.heartbeats import HeartbeatThread
from memorybase.services import Services
from memorybase.settings import Settings

# A sweeper with a pass that takes longer counts as dead, even though its process lives: its heartbeats stop.
STUCK_SECONDS = 120.0

log = telemetry.get_logger(__name__)


def sweep_once(settings: Settings) -> dict[str, Any]:
    """One pass; the count of each step. Raises EnvironmentFailure if a step failed."""
    telemetry.configure(settings)
    services = wiring.build(settings, role="sweeper")
    report = asdict(sweeper.sweep(services))
    report["indexes"] = vector_indexes.build_indexes(services)
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
    name = f"sweeper:{socket.gethostname()}:{os.getpid()}"
    heartbeat = HeartbeatThread(services, name, "sweeper", stuck_seconds=STUCK_SECONDS)
    # Before the first heartbeat: the store's own may be of a sweeper that was stopped long ago.
    _try(store_check.check_store, services)
    heartbeat.confirm()
    # Beside the passes, and no reason to wait at the end: a build that is cut off leaves nothing.
    threading.Thread(target=_index_for_ever, args=(services, stop), name="indexes", daemon=True).start()
    log.info("sweeper_started", pid=os.getpid(), every_seconds=settings.sweep_seconds)
    sweep_until(stop, services, heartbeat.confirm)
    heartbeat.stop()
    log.info("sweeper_stopped")


def sweep_until(stop: threading.Event, services: Services, confirm: Callable[[], None]) -> None:
    """A pass every `sweep_seconds`, or at once while one is behind; `confirm` is called after each."""
    while not stop.is_set():
        _try(store_check.check_store, services)
        is_behind = _try(_pass, services)
        confirm()
        stop.wait(0 if is_behind else services.settings.sweep_seconds)


def _index_for_ever(services: Services, stop: threading.Event) -> None:
    while not stop.wait(services.settings.sweep_seconds):
        _try(_build_indexes, services)


def _build_indexes(services: Services) -> None:
    if built := vector_indexes.build_indexes(services):
        log.info("indexes_built", built=built)


def _pass(services: Services) -> bool:
    """Whether the next pass should follow at once."""
    report = sweeper.sweep(services)
    if found := {name: value for name, value in asdict(report).items() if value}:
        log.info("swept", **found)
    return report.is_behind


def _try(step: Callable[[Services], object], services: Services) -> object:
    """What the step returns; None if it fails."""
    try:
        return step(services)
    except errors.EnvironmentFailure as exc:
        log.warning("sweep_failed", error=telemetry.describe_error(exc))
    except Exception:  # the process's edge: the next pass may succeed
        log.exception("sweep_failed")
    return None
