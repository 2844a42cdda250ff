"""The worker as a thread."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from memorybase.core.process_queue import ProcessQueue
from worker import process
from worker.thread import WorkerThread


def test_a_worker_that_ends_by_itself_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(process, "start", fail)
    reasons: list[str] = []
    said = threading.Event()

    def failed(reason: str) -> None:
        reasons.append(reason)
        said.set()

    worker = WorkerThread(cast("Any", None), ProcessQueue(), stop_process=lambda: None, failed=failed, is_guest=True)

    assert said.wait(60)
    assert reasons == ["the worker ended: OSError: no room"]
    assert worker.stop()


def test_a_watchdog_of_a_guest_reports_a_job_that_hangs_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "WATCH_SECONDS", 0.01)
    reasons: list[str] = []
    said = threading.Event()

    def abandon(reason: str) -> None:
        reasons.append(reason)
        said.set()

    with process.Watchdog(0, abandon=abandon).watching(cast("Any", "job")):
        assert said.wait(60)
    assert reasons == ["a job took longer than 0 s"]
