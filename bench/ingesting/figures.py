"""The arithmetic of the report, and the table it is printed as."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Figures = dict[str, Any]

EACH = "each_ms"  # of the requests, in their order


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def latencies(seconds: Sequence[float]) -> Figures:
    """Percentiles in milliseconds, and of how many values; without a value only that."""
    if not seconds:
        return {"count": 0}
    shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
    return (
        {"count": len(seconds)}
        | {name: round(1000 * percentile(seconds, share), 1) for name, share in shares.items()}
        | {EACH: [round(1000 * value, 1) for value in seconds]}
    )


def rate(messages: int, seconds: float) -> float:
    return round(messages / seconds, 1)


def share_of_limit(pairs: Sequence[tuple[float, float]], limit: str = "limit") -> Figures:
    """What was reached and the limit, or what else it is compared with, from rates measured in turns; the share is the
    median of the pairs', so that a neighbour's noise has to hit both sides of most pairs to move it."""
    return {
        "messages_per_second": round(statistics.median(ours for ours, _ in pairs), 1),
        f"{limit}_per_second": round(statistics.median(theirs for _, theirs in pairs), 1),
        f"share_of_{limit}": round(statistics.median(ours / theirs for ours, theirs in pairs), 3),
        "pairs": [list(pair) for pair in pairs],
    }


def compared(ours: float, peers: Mapping[str, Figures]) -> Figures:
    """The peers' figures, each with how many times as fast memorybase was."""
    return {
        name: figures | {"memorybase_is_times_as_fast": round(ours / figures["messages_per_second"], 1)}
        for name, figures in peers.items()
    }


def growth(seconds: Sequence[float], window: int = 3) -> float:
    """How much more the last steps cost than the first ones: the medians' ratio. The very first step is left out, in
    which caches fill; a window never reaches past the middle."""
    steady = seconds[1:] if len(seconds) > 2 else seconds
    width = max(1, min(window, len(steady) // 2))
    return round(statistics.median(steady[-width:]) / statistics.median(steady[:width]), 3)


def rows(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Name and value of each figure, nested ones by a dotted name; long series stay in the JSON."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from rows(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            yield f"{prefix}{name}", f"{value}"


def requests(figures: Mapping[str, Any], section: str = "") -> Iterator[Figures]:
    """Each request of all sections and its milliseconds."""
    for name, value in figures.items():
        if name == EACH:
            yield from ({"section": section, "request": number, "ms": ms} for number, ms in enumerate(value, 1))
        elif isinstance(value, Mapping):
            yield from requests(value, f"{section}.{name}" if section else name)


def without_requests(figures: Mapping[str, Any]) -> Figures:
    return {
        name: without_requests(value) if isinstance(value, Mapping) else value
        for name, value in figures.items()
        if name != EACH
    }


def table(report: Mapping[str, Mapping[str, Any]]) -> str:
    lines: list[str] = []
    for section, figures in report.items():
        lines += ["", section]
        lines += [f"  {name:58} {value}" for name, value in rows(figures)]
    return "\n".join(lines)
