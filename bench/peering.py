"""Shared code of the peers' scripts, which read their work as JSON from standard input and print figures as JSON.

In:  {"model": folder, "warm": [message...], "work": {name: [[message...]...]}}, a list of calls per name
Out: {"versions": {package: version}, "work": {name: {"messages": n, "stored": n, "seconds": s}}}

A message is {"role", "content"}. The model is loaded and warm before a clock starts, and each name gets its own store.
This file runs in the peers' environment and cannot import memorybase.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

Message = dict[str, str]


class Store(Protocol):
    """One peer's store, initially empty."""

    def add(self, messages: Sequence[Message]) -> None:
        """Embed and store these in one call, as the peer documents it."""

    def count(self) -> int:
        """The number of entries."""


def prepare(home: str) -> None:
    """Disable downloads and telemetry; call this before importing a peer."""
    os.environ.update(
        HF_HUB_OFFLINE="1",
        TRANSFORMERS_OFFLINE="1",
        ANONYMIZED_TELEMETRY="False",
        MEM0_TELEMETRY="False",
        MEM0_DIR=home,
        LANGCHAIN_TRACING_V2="false",
        LANGSMITH_TRACING="false",
        TOKENIZERS_PARALLELISM="false",
    )
    logging.disable(logging.WARNING)


def serve(packages: Sequence[str], opener: Callable[[str], Callable[[Path], Store]]) -> None:
    """Do the work given on standard input; `opener` loads the model once and then opens stores."""
    request: dict[str, Any] = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="memorybase-peer-") as directory:
        prepare(directory)
        open_store = opener(request["model"])
        open_store(Path(directory) / "warm").add(request["warm"])
        work = {name: timed(open_store(Path(directory) / name), calls) for name, calls in request["work"].items()}
    print(json.dumps({"versions": {package: version(package) for package in packages}, "work": work}))


def timed(store: Store, calls: Sequence[Sequence[Message]]) -> dict[str, float]:
    """The figures of these calls, made one after the other."""
    began = time.perf_counter()
    for messages in calls:
        store.add(messages)
    seconds = time.perf_counter() - began
    return {"messages": sum(map(len, calls)), "stored": store.count(), "seconds": seconds}
