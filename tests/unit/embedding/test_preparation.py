"""A model is prepared in a thread, once, and those who need it wait no longer than they said."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.preparing import Gate, prepared_by
from harness.waiting import wait_until

from memorybase import wiring
from memorybase.core.embedding import Embedders, export, exported, registry
from memorybase.core.embedding.model_cache import FAILURE_SECONDS
from memorybase.core.embedding.preparation import RETRY_SECONDS, Preparation
from memorybase.core.errors import ModelPreparing, ModelUnavailable
from memorybase.core.settings import Settings

PATIENCE = 60.0  # of what does not wait in vain


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0  # when a machine has just started, the monotonic clock says little more

    def __call__(self) -> float:
        return self.now


def test_one_thread_prepares_for_all_who_wait(gate: Gate) -> None:
    preparation = Preparation("m", gate.prepare)
    assert preparation.problem() is None  # nobody asked for it
    preparation.start()
    for _ in range(3):
        with pytest.raises(ModelPreparing) as last:
            preparation.wait(0.001)
    assert (last.value.status_code, last.value.retryable) == (503, True)
    gate.open.set()
    threads = [threading.Thread(target=preparation.wait, args=(PATIENCE,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    preparation.wait(PATIENCE)
    assert gate.calls == 1
    assert preparation.problem() is None


def test_the_progress_is_the_time_since_its_start(gate: Gate) -> None:
    clock = Clock()
    preparation = Preparation("m", gate.prepare, clock=clock)
    preparation.start()
    clock.now += 12
    assert preparation.problem() == "preparing the embedding model (12 s)"
    with pytest.raises(ModelPreparing, match=r"12 s"):
        preparation.wait(0.001)


@pytest.mark.parametrize("failure", [ModelUnavailable("The disk is full."), OSError("The disk is full")])
def test_a_failure_is_told_and_tried_again_at_the_next_request_but_not_at_once(gate: Gate, failure: Exception) -> None:
    clock = Clock()
    preparation = Preparation("m", gate.prepare, clock=clock)
    gate.failure = failure
    gate.open.set()
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match=r"The disk is full|cannot be prepared") as last:
            preparation.wait(PATIENCE)
    assert not isinstance(last.value, ModelPreparing)
    assert gate.calls == 1
    assert preparation.problem() == f"the embedding model cannot be prepared: {last.value.message}"

    gate.failure = None
    clock.now += FAILURE_SECONDS
    preparation.wait(PATIENCE)
    assert gate.calls == 2
    assert preparation.problem() is None


def test_readiness_tries_a_failed_preparation_again_after_a_while(gate: Gate) -> None:
    clock = Clock()
    preparation = Preparation("m", gate.prepare, clock=clock)
    gate.failure = ModelUnavailable("no room")
    gate.open.set()
    with pytest.raises(ModelUnavailable):
        preparation.wait(PATIENCE)
    clock.now += RETRY_SECONDS - 1
    assert preparation.problem() is not None
    assert gate.calls == 1
    gate.failure = None
    clock.now += 1
    wait_until(lambda: preparation.problem() is None, PATIENCE, "the second attempt")
    assert gate.calls == 2


def test_only_processes_that_serve_do_not_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gate: Gate) -> None:
    prepared_by(monkeypatch, gate)
    monkeypatch.setattr(wiring, "WAIT_SECONDS", 0.001)
    settings = Settings(data_dir=tmp_path)
    for role in ("api", "worker"):
        with pytest.raises(ModelPreparing):
            wiring.build(settings, role=role).embedders.get()  # type: ignore[arg-type]
    assert gate.calls == 2  # one thread in each process
    assert wiring.build(settings, role="cli").embedders.get().dimension > 0  # its caller exports and loads


def test_two_processes_with_one_folder_export_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gate: Gate) -> None:
    written: list[str] = []
    arrived = threading.Semaphore(0)

    def write(source: Path, folder: Path) -> None:
        written.append(source.name)
        gate.prepare()
        (folder / "manifest.json").write_text("{}")

    def in_thread(_settings: Any, _source: Any, arguments: list[str], folder: Path) -> None:
        """What the exporter's process does, without the process."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        arrived.release()
        with export._lock(folder):
            if not folder.is_dir():
                export._export_whole(write, Path(arguments[1]), folder)

    monkeypatch.setattr(exported, "_export_in_child", in_thread)
    api, worker = (
        Embedders(Settings(data_dir=tmp_path, model_dir=tmp_path), background=background, wait_seconds=0.001)
        for background in (False, True)
    )
    for embedders in (api, worker):
        embedders.prepare()
        assert (embedders.problem() or "").startswith("preparing the embedding model (")
    assert all(arrived.acquire(timeout=PATIENCE) for _ in range(2))
    assert gate.began.wait(PATIENCE)
    gate.open.set()
    for embedders in (api, worker):
        wait_until(lambda embedders=embedders: embedders.problem() is None, PATIENCE, "the preparation")
    assert len(written) == 1


def test_a_prepared_model_is_only_looked_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("nothing to export or to load")

    monkeypatch.setattr(exported, "SHIPPED", tmp_path / "image")
    settings = Settings(data_dir=tmp_path / "data")
    source = registry.find_source(settings.embedding_model)
    (tmp_path / "image" / exported.exported_folder(settings, source, "int8").name).mkdir(parents=True)
    monkeypatch.setattr(exported, "_export_in_child", refuse)
    monkeypatch.setattr(registry, "load", refuse)
    embedders = Embedders(settings, wait_seconds=PATIENCE)
    embedders.prepare()
    wait_until(lambda: embedders.problem() is None, PATIENCE, "the preparation")
    assert not (tmp_path / "data").exists()
