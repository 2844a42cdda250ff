"""The sweeper's process: a pass every few seconds, heartbeats, a clean stop."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import IO, Any, TypeVar

from memorybase import wiring
from memorybase.core import errors, telemetry, tracing
from memorybase.core.extension import Background
from memorybase.core.operations import store_check, sweeper, vector_indexes
from memorybase.core.operations.heartbeats import HeartbeatThread
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.stack import compaction

# A sweeper with a step that takes longer counts as dead, even though its process lives: its heartbeats stop.
STUCK_SECONDS = 120.0
CHILD_POLL_SECONDS = 0.2
RETRY_SECONDS = 10.0
BESIDE_SECONDS = 10.0  # between two looks for indexes to build and files to compact, which take minutes

log = telemetry.get_logger(__name__)

Result = TypeVar("Result")


def sweep_once(settings: Settings) -> dict[str, Any]:
    """One pass; the count of each step. Raises EnvironmentFailure if a step failed."""
    telemetry.configure(settings)
    services = wiring.build(settings, role="sweeper")
    report = sweeper.sweep(services)
    done = {step.name: report.done[step.name] for step in sweeper.steps_of(services)}
    done["indexes"] = vector_indexes.build_indexes(services)
    for each in _beside(services):
        done[each.name] = each.once(services)
    if report.failed_steps:
        failed = ", ".join(report.failed_steps)
        raise errors.EnvironmentFailure(f"These steps failed: {failed}. Run `memorybase doctor` for fixes.")
    return done


def sweep_for_ever(settings: Settings) -> None:
    """Sweep until SIGTERM or SIGINT."""
    telemetry.configure(settings)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    sweep_with(wiring.build(settings, role="sweeper"), stop)
    tracing.flush()


def sweep_with(services: Services, stop: threading.Event, output: IO[str] = sys.stderr) -> list[threading.Thread]:
    """Sweep until `stop`, with threads that work beside the passes. Returns those: each ends after its step. `output`
    gets what a child says."""
    settings = services.settings
    name = f"sweeper:{socket.gethostname()}:{os.getpid()}"
    heartbeat = HeartbeatThread(services, name, "sweeper", stuck_seconds=STUCK_SECONDS)
    # Before the first heartbeat: the store's own may be of a sweeper that was stopped long ago.
    _try(store_check.check_store, services)
    heartbeat.confirm()
    # Beside the passes, and no reason for a process to wait at its end: a build that is cut off leaves nothing.
    work: list[tuple[str, Callable[[Services, threading.Event], object]]] = [
        ("indexes", _index_for_ever),
        ("compaction", _compact_for_ever),
        ("restore", partial(_follow_restore, output=output)),
    ]
    work += [(each.name, each.run) for each in _beside(services)]
    beside = [threading.Thread(target=run, args=(services, stop), name=name, daemon=True) for name, run in work]
    for thread in beside:
        thread.start()
    log.info("sweeper_started", pid=os.getpid(), every_seconds=settings.sweep_seconds)
    sweep_until(stop, services, heartbeat.confirm)
    heartbeat.stop()
    log.info("sweeper_stopped")
    return beside


def sweep_until(
    stop: threading.Event,
    services: Services,
    confirm: Callable[[], None],
    now: Callable[[], float] = time.monotonic,
) -> None:
    """A pass every `sweep_seconds`, or at once while one is behind; `confirm` is called after each of its steps.

    After a failure of the database no lease counts as expired for as long as a lease lasts: living workers renew first.
    """
    agenda = sweeper.Agenda(now())
    steps = sweeper.steps_of(services)
    while not stop.is_set():
        due = _try(sweeper.due_now, services)
        if due is not None and "store_check" in due:
            _try(store_check.check_store, services)
        confirm()
        started = now()
        report = None
        if due is not None:
            report = _try(partial(_pass, confirm=confirm, leave=agenda.leave(steps, due, started)), services)
        if report is not None:
            agenda.rest(steps, report, started)
        if report is None or report.database_failed:
            agenda.defer("requeued", now() + services.settings.lease_seconds)
        stop.wait(0 if report is not None and report.is_behind else services.settings.sweep_seconds)


def _beside(services: Services) -> list[Background]:
    return [each for hooks in services.hooks for each in hooks.background]


def _index_for_ever(services: Services, stop: threading.Event) -> None:
    while not stop.wait(BESIDE_SECONDS):
        _try(_build_indexes, services)


def _compact_for_ever(services: Services, stop: threading.Event) -> None:
    while not stop.wait(BESIDE_SECONDS):
        _try(compaction.compact, services)


def _follow_restore(services: Services, stop: threading.Event, output: IO[str]) -> None:
    """Make the vector store follow a database that was restored, in a process that may load the model."""
    settings = services.settings
    while settings.restored_dir.exists():
        log.info("restore_followed", data_dir=str(settings.data_dir))
        command = [sys.executable, "-m", "memorybase", "restore", "--apply", "--finish"]
        with subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=settings.child_environment()
        ) as child:
            while child.poll() is None:
                if stop.wait(CHILD_POLL_SECONDS):
                    child.kill()  # the next start begins anew
                    return
        if child.returncode != 0:
            log.warning("restore_not_followed", again_in_seconds=RETRY_SECONDS)
            if stop.wait(RETRY_SECONDS):
                return


def _build_indexes(services: Services) -> None:
    if built := vector_indexes.build_indexes(services):
        log.info("indexes_built", built=built)


def _pass(services: Services, *, confirm: Callable[[], None], leave: Collection[str]) -> sweeper.SweepReport:
    report = sweeper.sweep(services, confirm, leave=leave)
    if report.done or report.failed_steps:
        failed = {"failed_steps": report.failed_steps} if report.failed_steps else {}
        log.info("swept", **report.done, **failed)
    return report


def _try(step: Callable[[Services], Result], services: Services) -> Result | None:
    """The result of the step; None if it fails."""
    try:
        return step(services)
    except errors.EnvironmentFailure as exc:
        log.warning("sweep_failed", error=telemetry.describe_error(exc))
    except Exception:  # the process's edge: the next pass may succeed
        log.exception("sweep_failed")
    return None
