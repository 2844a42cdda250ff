"""Counts requests to embedding endpoints in this process; whoever has a database moves the counts to SQL."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests with their outcome, and what the answered ones cost."""

    requests: int = 0
    failed_requests: int = 0
    texts: int = 0
    tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


class UsageCounter:
    """Usage by model since it was last taken."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._by_model: dict[str, Usage] = {}

    def add(self, model: str, usage: Usage) -> None:
        with self._guard:
            self._by_model[model] = self._by_model.get(model, Usage()) + usage

    def take(self) -> dict[str, Usage]:
        """All usage since the last call. Who cannot store it gives it back with `add_all`."""
        with self._guard:
            taken, self._by_model = self._by_model, {}
            return taken

    def add_all(self, taken: Mapping[str, Usage]) -> None:
        for model, usage in taken.items():
            self.add(model, usage)


OF_THIS_PROCESS = UsageCounter()
