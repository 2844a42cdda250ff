"""A Celery worker whose embedder sleeps instead of computing, for bench/workers.py.

BENCH_TEXT_SECONDS=0.05 celery -A sleeping_worker worker
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from ingesting.doubles import FakeEmbedder, FakeEmbedders
from numpy.typing import NDArray

from memorybase import wiring
from memorybase.core.services import Services
from memorybase.core.settings import Settings

SECONDS = float(os.environ.get("BENCH_TEXT_SECONDS", "0"))


class SleepingEmbedder(FakeEmbedder):
    """Sleeps for each text."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        time.sleep(SECONDS * len(texts))
        return super().embed(texts)


class SleepingEmbedders(FakeEmbedders):
    def get(self, model: str | None = None) -> FakeEmbedder:
        name = model or self.default
        return self._loaded.setdefault(name, SleepingEmbedder(name))


_build = wiring.build


def build(settings: Settings | None = None, *, role: wiring.Role = "cli") -> Services:
    """The services of a process, with this embedder."""
    return replace(_build(settings, role=role), embedders=SleepingEmbedders())


wiring.build = build

from worker.app import app  # noqa: E402 - it takes the services that are built here

__all__ = ["app"]
