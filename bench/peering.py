"""Shared code of the peers' scripts, which read their work as JSON from standard input and print figures as JSON.

In:  {"model": folder, "warm": [message...], "questions": [text...], "work": {name: [[message...]...]}}, a list of calls
     per name
Out: {"versions": {package: version}, "work": {name: {"messages": n, "stored": n, "seconds": s, "search_ms": ms}},
     "rss_mb": mb}

In:  {"model": folder, "directory": folder, "calls": [[message...]...]}: for a script that may be killed meanwhile
Out: a line after each call, and at last {"texts": [text...]}, what the store in this directory holds

A message is {"role", "content"}. The model is loaded and warm before a clock starts, and each name gets its own store.
This file runs in the peers' environment and cannot import memorybase.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

Message = dict[str, str]


class Store(Protocol):
    """One peer's store: what is in its directory, initially nothing."""

    def add(self, messages: Sequence[Message]) -> None:
        """Embed and store these in one call, as the peer documents it."""

    def count(self) -> int:
        """The number of entries."""

    def search(self, question: str) -> None:
        """Search as the peer documents it, for ten entries."""

    def texts(self) -> list[str]:
        """The text of each entry."""


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
    if "directory" in request:
        add_until_killed(request, opener)
        return
    with tempfile.TemporaryDirectory(prefix="memorybase-peer-") as directory:
        prepare(directory)
        open_store = opener(request["model"])
        open_store(Path(directory) / "warm").add(request["warm"])
        questions = request["questions"]
        work = {
            name: timed(open_store(Path(directory) / name), calls, questions) for name, calls in request["work"].items()
        }
    versions = {package: version(package) for package in packages}
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1_000_000
    print(json.dumps({"versions": versions, "work": work, "rss_mb": round(rss, 1)}))


def add_until_killed(request: dict[str, Any], opener: Callable[[str], Callable[[Path], Store]]) -> None:
    directory = Path(request["directory"])
    prepare(str(directory))
    store = opener(request["model"])(directory / "store")
    for number, messages in enumerate(request["calls"]):
        store.add(messages)
        print(number, flush=True)
    print(json.dumps({"texts": store.texts()}), flush=True)


def timed(store: Store, calls: Sequence[Sequence[Message]], questions: Sequence[str]) -> dict[str, float]:
    """The figures of these calls, made one after the other, and the median of searches after them."""
    began = time.perf_counter()
    for messages in calls:
        store.add(messages)
    seconds = time.perf_counter() - began
    took = []
    for question in questions:
        began = time.perf_counter()
        store.search(question)
        took.append(1000 * (time.perf_counter() - began))
    messages, search_ms = sum(map(len, calls)), round(statistics.median(took), 1)
    return {"messages": messages, "stored": store.count(), "seconds": seconds, "search_ms": search_ms}
