"""A start on an empty model folder: the model is exported in the background, and everything else goes on."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from harness import ChromaServer, RedisServer
from harness.pieces import Topology, topology
from harness.stack import EmbeddedStack, processes_of
from harness.waiting import wait_until

from memorybase.core.embedding.exported import exported_folder
from memorybase.core.embedding.source import DEFAULT_MODEL, find_source
from memorybase.core.settings import Settings

pytestmark = pytest.mark.slow  # the model is exported

EXPORT_SECONDS = 300.0  # ten alone; a loaded machine takes its time


@pytest.fixture
def exporting(tmp_path: Path) -> Iterator[IO[str]]:
    """The lock of an export, as another process that exports holds it until this is closed."""
    models = tmp_path / "empty"
    models.mkdir()
    target = exported_folder(Settings(data_dir=tmp_path, model_dir=models), find_source(DEFAULT_MODEL), "int8")
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


@pytest.fixture
def fresh(
    tmp_path: Path, redis_server: RedisServer, chroma_server: ChromaServer, exporting: IO[str]
) -> Iterator[Topology]:
    del exporting
    with topology(tmp_path, redis=redis_server, chroma=chroma_server, model_dir=tmp_path / "empty") as built:
        built.start(built.api, built.sweeper)
        yield built


def test_a_fresh_api_accepts_captures_and_sends_away_what_needs_the_model(fresh: Topology, exporting: IO[str]) -> None:
    fresh.worker.launch()
    answer = fresh.client.get("/health/ready")
    assert answer.status_code == 503
    assert "model" in answer.json()["error"]["details"]["failing"], answer.text
    assert answer.json()["error"]["details"]["reason"].startswith("preparing the embedding model (")

    fresh.call("PUT", "/flows/flow", 201, json={"name": "flow"})
    fresh.capture("the boat is at berth twelve")
    body = {"name": "notes", "flow_id": "flow", "capture": "all"}
    answer = fresh.client.post("/memories", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "model_preparing")
    assert answer.headers["retry-after"]

    exporting.close()
    wait_until(fresh.api.has_model, EXPORT_SECONDS, "the export")
    base = fresh.call("POST", "/memories", 201, json=body)["id"]
    fresh.call("POST", f"/memories/{base}/flush", 200, 202)
    fresh.wait_until_ingested(base, 1)
    assert [(job.attempts, job.outages) for job in fresh.jobs(base)] == [(1, 0)]
    assert fresh.worker.running
    logs = fresh.api.log.read_text() + fresh.worker.log.read_text()
    assert "Traceback" not in logs


@pytest.mark.parametrize("one_process", [False, True], ids=["stack", "one process"])
def test_up_says_once_that_it_prepares_the_model_and_is_ready_after_it(
    tmp_path: Path, exporting: IO[str], one_process: bool
) -> None:
    stack = EmbeddedStack(tmp_path)
    stack.one_process = one_process
    stack.changes = {"MEMORYBASE_MODEL_DIR": str(tmp_path / "empty")}
    try:
        stack.launch()
        wait_until(lambda: "preparing the embedding model" in stack.output(), EXPORT_SECONDS, "the line")
        exporting.close()
        wait_until(lambda: f"ready {stack.url}" in stack.output(), EXPORT_SECONDS, "the end of the export")
        lines = stack.output().splitlines()
        said = [line for line in lines if "embedding model" in line]
        assert said == [f"preparing the embedding model; captures are accepted at {stack.url}"]
        assert lines.index(said[0]) < lines.index(f"ready {stack.url}")
        assert stack.ready()
        assert not any("killing it" in line for line in lines)
    finally:
        stack.close()


def test_ctrl_c_while_the_model_is_prepared_leaves_neither_a_process_nor_a_part_of_the_model(tmp_path: Path) -> None:
    stack = EmbeddedStack(tmp_path)
    models = stack.data / "models"
    stack.changes = {"MEMORYBASE_MODEL_DIR": str(models)}
    try:
        stack.launch()
        wait_until(lambda: list(models.glob("*.part-*")), EXPORT_SECONDS, "the start of the export")
        os.kill(stack.pid, signal.SIGINT)
        assert stack.wait() == 0
        assert processes_of(stack.data) == []
        assert list(models.glob("*.part-*")) == []
    finally:
        stack.close()
