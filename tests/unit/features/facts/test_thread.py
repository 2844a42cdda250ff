"""The thread that distils: it goes on while something is pending, survives defects, and pauses after failures."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from harness.distiller import Answer, Model
from harness.rows import each_row
from harness.world import build_world

from memorybase.core.conversation.summarizers.chat_completions import ChatEndpoint, EndpointUnavailable
from memorybase.core.services import Services
from memorybase.features.facts import thread
from memorybase.features.facts.job import Outcome
from memorybase.features.facts.thread import DistillerThread


def test_a_defect_ends_a_page_and_not_the_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread, "FAILURES", 100)
    world = build_world(f"sqlite:///{tmp_path / 'facts.db'}", tmp_path)
    outcomes: list[Outcome | None] = [Outcome.STORED, None, Outcome.STORED, Outcome.NOTHING_PENDING]
    idle, failed = threading.Event(), threading.Event()

    def distil(_services: Services, _endpoint: ChatEndpoint) -> Outcome:
        outcome = outcomes.pop(0)
        if outcome is None:
            failed.set()
            raise ZeroDivisionError
        if outcome is Outcome.NOTHING_PENDING:
            idle.set()
        return outcome

    distiller = DistillerThread(world.services, Model().endpoint(), distil=distil)
    distiller.wake()
    assert failed.wait(30)
    distiller.wake()  # as the sweeper does
    assert idle.wait(30)
    distiller.stop()
    assert outcomes == []
    world.close()


@each_row(("asked", "pauses"), [("90", [90.0]), (None, [])])
def test_a_pause_that_the_endpoint_asks_for_begins_with_the_first_failure(
    tmp_path: Path, asked: str | None, pauses: list[float]
) -> None:
    world = build_world(f"sqlite:///{tmp_path / 'facts.db'}", tmp_path)
    model = Model(lambda _: Answer(status=429, raw="{}", retry_after=asked))
    outcomes = [Outcome.UNAVAILABLE, Outcome.NOTHING_PENDING]
    now = 0.0
    paused: list[float] = []
    idle = threading.Event()

    def distil(_services: Services, endpoint: ChatEndpoint) -> Outcome:
        outcome = outcomes.pop(0)
        if outcome is Outcome.UNAVAILABLE:
            with pytest.raises(EndpointUnavailable):
                endpoint.complete([{"role": each, "content": ""} for each in ("system", "user")], max_tokens=1)
        else:
            idle.set()
        return outcome

    def pause(seconds: float) -> None:
        nonlocal now
        paused.append(seconds)
        now += seconds

    distiller = DistillerThread(world.services, model.endpoint(clock=lambda: now), distil=distil, pause=pause)
    distiller.wake()
    assert idle.wait(30)
    distiller.stop()
    assert paused == pauses
    world.close()
