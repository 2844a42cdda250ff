"""The usual alternatives beside memorybase, with the same messages and the same model; `make bench-peers` measures more
of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from comparing.child import PEERS, Child, Environments, Peer, empty_directory, messages

from ingesting.figures import Figures, rate
from memorybase.core.embedding.source import find_source

MEASURED = [PEERS[name] for name in ("langchain", "mem0")]
WARM = 5  # messages before the clock starts
QUESTIONS = [f"What was said about the harbour in week {number}?" for number in range(20)]


class Peers:
    """Those that are installed."""

    def __init__(self, environments: Path, model: str) -> None:
        self._environments = Environments(environments, find_source(model).folder)
        self.installed = [peer for peer in MEASURED if self._environments.has(peer)]
        self.versions: dict[str, str] = {}  # of those that were measured

    def measure(self, texts: Sequence[str], size: int | None) -> dict[str, Figures]:
        """What each makes of these texts in calls of `size`, or in one call."""
        return {peer.name: self._measure(peer, texts[: peer.messages], size) for peer in self.installed}

    def _measure(self, peer: Peer, texts: Sequence[str], size: int | None) -> Figures:
        with empty_directory() as directory, Child(self._environments, peer, directory) as child:

            def add(name: str, texts: Sequence[str]) -> None:
                child.call("add", person="bench", session=name, messages=messages(texts, name), key=name)

            add("warm", [f"warm {number}" for number in range(WARM)])
            width, began = size or len(texts), time.perf_counter()
            for index in range(0, len(texts), width):
                add(f"call-{index}", texts[index : index + width])
            seconds = time.perf_counter() - began
            took = [child.timed("search", person="bench", question=each, limit=10)[0] for each in QUESTIONS]
            about = child.call("about")
            self.versions |= about["versions"]
            return {
                "messages": len(texts),
                "stored": len(child.call("texts")) - WARM,
                "messages_per_second": rate(len(texts), seconds),
                "search_p50_ms": round(statistics.median(took), 1),
                "most_rss_mb": about["most_rss_mb"],
            }
