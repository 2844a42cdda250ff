"""The preparation of a model as a double that a test holds back."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from harness.doubles import FakeEmbedder
from memorybase.core.embedding import registry


class Gate:
    """A preparation that waits until `open` is set, and then fails if the test says so."""

    def __init__(self) -> None:
        self.began, self.open = threading.Event(), threading.Event()
        self.calls = 0
        self.loads = 0
        self.failure: Exception | None = None

    def prepare(self, *_: Any) -> None:
        self.calls += 1
        self.began.set()
        assert self.open.wait(60)
        if self.failure is not None:
            raise self.failure

    def load(self, _settings: Any, name: str) -> FakeEmbedder:
        self.loads += 1
        return FakeEmbedder(name)


def prepared_by(monkeypatch: pytest.MonkeyPatch, gate: Gate) -> None:
    """Let Embedders prepare models by the gate, and load fakes."""
    monkeypatch.setattr(registry, "prepare", gate.prepare)
    monkeypatch.setattr(registry, "load", gate.load)
