"""Messages that no worker survives, or that the model has no vector for: each ends as one dead letter, alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import ChromaServer, RedisServer, wait_until
from harness.constants import SWEEP
from harness.pieces import KEY, PATIENCE, Topology, topology
from harness.stack import run_memorybase
from harness.worker import BROKEN_MODEL, WorkerServer, sabotaged

from memorybase.core.models import JobState

pytestmark = pytest.mark.slow

DEADLY = "the volcano speaks"
NOT_A_NUMBER = "the whirlpool speaks"
HARMLESS = [f"note number {n} is about the harbour" for n in range(5)]


@pytest.fixture
def stack(tmp_path: Path, redis_server: RedisServer, chroma_server: ChromaServer) -> Iterator[Topology]:
    stores: Any = {"redis": redis_server, "chroma": chroma_server}
    values = {SWEEP: 0.3, "memorybase.core.ingestion.lost_worker.MAX_LOST_WORKERS": 2}
    with topology(tmp_path, **stores, values=values) as built:
        built.start(built.api, built.sweeper)
        yield built


@pytest.fixture
def broken_worker(stack: Topology, tmp_path: Path) -> Iterator[WorkerServer]:
    """A worker with the broken model."""
    worker = sabotaged(stack.settings, tmp_path / "broken", BROKEN_MODEL)
    yield worker
    worker.close()


def dead_letters(stack: Topology, base: str) -> dict[str, Any]:
    items = stack.call("GET", f"/memories/{base}/dead-letters")["items"]
    return {item["error"]["code"]: item for item in items}


def command(stack: Topology, *words: str) -> str:
    url = f"http://127.0.0.1:{stack.api.port}"
    done = run_memorybase("dead-letters", *words, "--memory", "memory of flow", "--url", url, "--key", KEY)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bad_message_alone_becomes_a_dead_letter(stack: Topology, broken_worker: WorkerServer) -> None:
    base = stack.base(threshold=3)
    stack.capture(DEADLY, *HARMLESS[:2], session="deadly")
    stack.capture(HARMLESS[2], NOT_A_NUMBER, *HARMLESS[3:], session="not a number")

    workers = 0
    while stack.status(base)["status"] != "ready":
        if not broken_worker.running:  # as its supervisor would
            broken_worker.launch()
            workers += 1
        wait_until(lambda: not broken_worker.running or stack.status(base)["status"] == "ready", PATIENCE, "an end")

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

    broken_worker.stop()
    stack.start_worker()  # its model is whole
    assert "retrying 1 dead letter" in command(stack, "retry", letters["worker_lost"]["id"])
    stack.wait_until_ingested(base, len(HARMLESS) + 1)
    stack.assert_exact(base, len(HARMLESS) + 1)
    assert list(dead_letters(stack, base)) == ["text_rejected"]
    assert "discarded 1 dead letter" in command(stack, "discard", letters["text_rejected"]["id"])
    assert dead_letters(stack, base) == {}
    assert "no dead letters" in command(stack, "list")
    stack.assert_exact(base, len(HARMLESS) + 1)
