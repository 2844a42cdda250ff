"""One picture: messages a second beside the peers, and how long a caller waits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

BARS = ("memorybase", "one_process", "limit", "langchain", "mem0")
LABELS = ("memorybase", "memorybase, one process", "embed + upsert only", "LangChain index()", "mem0 add(infer=False)")
WIDTH = 0.16


def rates(section: Mapping[str, Any]) -> list[float]:
    """The heights of BARS; 0 for who was not measured."""
    one, *peers = (section.get(name, {}).get("messages_per_second", 0.0) for name in ("one_process", *BARS[3:]))
    return [section["messages_per_second"], one, section["limit_per_second"], *peers]


def waits(report: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """p50 and p95 in milliseconds of what was measured of the stack."""
    found: dict[str, Mapping[str, Any]] = {}
    for database in ("SQLite", "PostgreSQL"):
        found[f"capture, {database}"] = report.get("capture" if database == "SQLite" else "postgresql", {})
    for name, load in report.get("searchable", {}).items():
        found[f"searchable, {name.replace('_', ' ')}"] = load.get("from_answer", {})
    for name, size in report.get("search", {}).items():
        found[f"search, {name.replace('_', ' ')}"] = size
    return {name: (each["p50_ms"], each["p95_ms"]) for name, each in found.items() if "p50_ms" in each}


def plot(report: Mapping[str, Any], file: Path) -> None:
    """Draw what the report holds."""
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    sections = [name for name in ("bulk", "tens") if name in report]
    for index, label in enumerate(LABELS):
        heights = [rates(report[name])[index] for name in sections]
        places = [number + (index - 2) * WIDTH for number in range(len(sections))]
        bars = left.bar(places, heights, WIDTH, label=label)
        left.bar_label(bars, fmt="%.0f", fontsize=8)
    left.set_xticks(range(len(sections)), sections)
    left.set_ylabel("messages a second")
    left.margins(y=0.1)  # room for the numbers
    left.legend(fontsize=8)
    found = waits(report)
    for shift, (index, label) in ((-0.2, (0, "p50")), (0.2, (1, "p95"))):
        bars = right.barh(
            [number + shift for number in range(len(found))], [p[index] for p in found.values()], 0.4, label=label
        )
        right.bar_label(bars, fmt="%.0f", fontsize=8)
    right.set_yticks(range(len(found)), list(found))
    right.invert_yaxis()
    right.set_xlabel("milliseconds")
    right.margins(x=0.1)
    right.legend(fontsize=8)
    figure.savefig(file)
