"""Messages that no worker survives, or that the model has no vector for: each ends as one dead letter, alone; also
where the worker is a thread of the one process, which dies with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import wait_until
from harness.constants import SWEEP
from harness.pieces import KEY, PATIENCE, Topology, topology
from harness.stack import run_memorybase
from harness.worker import BROKEN_MODEL, sabotage

from memorybase.core.models import JobState

pytestmark = pytest.mark.slow

DEADLY = "the volcano speaks"
NOT_A_NUMBER = "the whirlpool speaks"
HARMLESS = [f"note number {n} is about the harbour" for n in range(5)]


@pytest.fixture(params=["processes", "one process"])
def stack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Topology]:
    given: dict[str, Any] = {"one_process": True}
    if request.param == "processes":
        given = {name: request.getfixturevalue(f"{name}_server") for name in ("redis", "chroma")}
    values = {SWEEP: 0.3, "memorybase.core.ingestion.lost_worker.MAX_LOST_WORKERS": 2}
    with topology(tmp_path / "stack", **given, values=values) as built:
        built.worker.changes = sabotage(tmp_path / "broken", BROKEN_MODEL)
        built.start(built.api, built.sweeper)
        yield built


def dead_letters(stack: Topology, base: str) -> dict[str, Any]:
    items = stack.call("GET", f"/memories/{base}/dead-letters")["items"]
    return {item["error"]["code"]: item for item in items}


def command(stack: Topology, *words: str) -> str:
    url = f"http://127.0.0.1:{stack.api.port}"
    done = run_memorybase("dead-letters", *words, "--memory", "memory of flow", "--url", url, "--key", KEY)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bad_message_alone_becomes_a_dead_letter(stack: Topology) -> None:
    base = stack.base(threshold=3)
    with stack.nothing_ingested():
        stack.capture(DEADLY, *HARMLESS[:2], session="deadly")
        stack.capture(HARMLESS[2], NOT_A_NUMBER, *HARMLESS[3:], session="not a number")

    workers = int(stack.one_process is not None)
    while not stack.is_ready(base):
        if not stack.worker.running:  # as its supervisor would
            stack.worker.launch()
            workers += 1
        wait_until(lambda: not stack.worker.running or stack.is_ready(base), PATIENCE, "an end")

    # Twice with its neighbours, twice alone; the fifth worker finds it put aside.
    assert workers == 5
    stack.assert_exact(base, len(HARMLESS))
    letters = dead_letters(stack, base)
    assert stack.status(base)["dead_letters"] == len(letters) == 2
    assert letters["worker_lost"]["session_id"] == "deadly"
    assert letters["text_rejected"]["session_id"] == "not a number"
    lost_workers = {job.session_id: job.lost_workers for job in stack.jobs(base) if job.lost_workers}
    assert lost_workers == {"deadly": 2}
    assert {job.state for job in stack.jobs(base)} == {JobState.DONE, JobState.FAILED}
    listed = command(stack, "list")
    assert all(item["id"] in listed and item["message_id"] in listed for item in letters.values())
    assert "volcano" not in listed

    stack.worker.stop()
    stack.worker.changes = {}  # its model is whole
    stack.worker.start()
    assert "retrying 1 dead letter" in command(stack, "retry", letters["worker_lost"]["id"])
    stack.wait_until_ingested(base, len(HARMLESS) + 1)
    stack.assert_exact(base, len(HARMLESS) + 1)
    assert list(dead_letters(stack, base)) == ["text_rejected"]
    assert "discarded 1 dead letter" in command(stack, "discard", letters["text_rejected"]["id"])
    assert dead_letters(stack, base) == {}
    assert "no dead letters" in command(stack, "list")
    stack.assert_exact(base, len(HARMLESS) + 1)
