"""The figures as text: lines while measuring, a table for the docs, and a plot of cost against size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

Figures = Mapping[str, Any]

WIDTH, HEIGHT, LEFT, BOTTOM, LEGEND = 640, 420, 60, 40, 260
DASHES = ("", ' stroke-dasharray="5 3"', ' stroke-dasharray="1 3"')
COLORS = ("#1b6ca8", "#c2571a", "#2e7d32", "#8e24aa", "#b71c1c", "#00838f", "#5d4037", "#546e7a")


def cost(figures: Figures) -> float:
    """A call's processor time in milliseconds: this process's and, where it was measured, the servers'."""
    return float(figures["own_ms"]) + float(figures["server_ms"] or 0)


def short_lines(operations: Mapping[str, Figures]) -> str:
    """One store's short operations, a line each."""
    return "\n".join(
        f"  {name:34} {each['p50_ms']:9} {each['p95_ms']:9} ms, cpu {each['own_ms']:8} + {each['server_ms']}"
        for name, each in operations.items()
    )


def long_line(name: str, figures: Figures) -> str:
    """What was done once."""
    cpu = f"{figures['own_seconds']} + {figures['server_seconds']}"
    return f"  {name:34} {figures['seconds']:9} s, cpu {cpu}  {figures['note']}"


def markdown(found: Figures) -> str:
    """A table for each store and number of sessions: processor time by size, with the wall times of the largest."""
    about = found["about"]
    where = ", ".join(f"{about[name]}" for name in ("machine", "system", "at", "data"))
    parts = [f"`{about['command']}`", f"{where}, load before {about['load_before']}."]
    for (store, sessions), cells in _groups(found).items():
        parts.append(f"### {store}, {sessions:,} sessions")
        parts += [
            _table(cells, "operations"),
            _steps_table(cells),
            _long_table(cells),
            _bytes_table(cells),
            _process_table(cells),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _groups(found: Figures) -> dict[tuple[str, int], list[Figures]]:
    """Without a cell whose measurement failed."""
    groups: dict[tuple[str, int], list[Figures]] = {}
    for cell in found["cells"]:
        if "processes" not in cell:  # its last figures
            continue
        groups.setdefault((cell["store"], cell["sessions"]), []).append(cell)
    return groups


def _table(cells: Sequence[Figures], part: str) -> str:
    """Processor time in milliseconds by size, its growth, and the wall times at the last size."""
    names = list(cells[0].get(part, {}))
    if not names:
        return ""
    head = [*(f"{cell['messages']:,}" for cell in cells), "growth", "p50", "p95"]
    rows = []
    for name in names:
        each = [cell[part][name] for cell in cells]
        costs = [cost(one) for one in each]
        growth = f"{costs[-1] / costs[0]:.2f}" if costs[0] else ""
        rows.append([name, *(f"{value:.2f}" for value in costs), growth, each[-1]["p50_ms"], each[-1]["p95_ms"]])
    return _lines(["milliseconds", *head], rows)


def _steps_table(cells: Sequence[Figures]) -> str:
    """Of SQLite's virtual machine."""
    names = list(cells[0].get("operations", {}))
    rows = [[name, *(f"{cell['operations'][name]['sqlite_steps']:,}" for cell in cells)] for name in names]
    is_sqlite = any(cell["operations"][name]["sqlite_steps"] for cell in cells for name in names)
    return _lines(["steps of SQLite", *(f"{cell['messages']:,}" for cell in cells)], rows) if is_sqlite else ""


def _long_table(cells: Sequence[Figures]) -> str:
    names = list(cells[0].get("long", {}))
    head = ["seconds of the processors", *(f"{cell['messages']:,}" for cell in cells)]
    rows = [[name, *(_seconds(cell["long"][name]) for cell in cells)] for name in names]
    return _lines(head, rows) if rows else ""


def _seconds(figures: Figures) -> str:
    return f"{figures['own_seconds'] + figures['server_seconds']:.2f}"


def _bytes_table(cells: Sequence[Figures]) -> str:
    names = list(cells[-1]["bytes_a_message"])
    rows = [[name, *(cell["bytes_a_message"].get(name, "") for cell in cells)] for name in names]
    rows.append(["all", *(f"{sum(cell['bytes_a_message'].values()):.0f}" for cell in cells)])
    return _lines(["bytes a message", *(f"{cell['messages']:,}" for cell in cells)], rows)


def _process_table(cells: Sequence[Figures]) -> str:
    names = list(cells[-1]["processes"])
    rows = [
        [name, *(" / ".join(str(value) for value in cell["processes"].get(name, {}).values()) for cell in cells)]
        for name in names
    ]
    return _lines(["memory / disk, MB", *(f"{cell['messages']:,}" for cell in cells)], rows)


def _lines(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    table = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in table)


def svg(found: Figures) -> str:
    """Processor time of each operation against the number of messages, both logarithmic; a chart for each store."""
    charts = [
        _chart(f"{store}, {sessions:,} sessions", cells, LEFT, number * HEIGHT)
        for number, ((store, sessions), cells) in enumerate(_groups(found).items())
        if "operations" in cells[0]
    ]
    size = f'width="{WIDTH + LEGEND}" height="{HEIGHT * len(charts)}"'
    style = 'font-family="sans-serif" font-size="11"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(charts) + "\n</svg>\n"


def _chart(title: str, cells: Sequence[Figures], left: int, top: int) -> str:
    names = list(cells[0]["operations"])
    sizes = [cell["messages"] for cell in cells]
    costs = {name: [max(cost(cell["operations"][name]), 0.01) for cell in cells] for name in names}
    lowest, highest = min(map(min, costs.values())), max(map(max, costs.values()))

    def across(size: float) -> float:
        return left + (WIDTH - 2 * left) * _share(size, sizes[0], sizes[-1])

    def down(value: float) -> float:
        return top + HEIGHT - BOTTOM - (HEIGHT - 2 * BOTTOM) * _share(value, lowest, highest)

    parts = [f'<text x="{left}" y="{top + 20}" font-size="14">{escape(title)}: milliseconds of the processors</text>']
    y = top + HEIGHT - 15
    parts += [f'<text x="{across(size):.0f}" y="{y}" text-anchor="middle">{size:,}</text>' for size in sizes]
    for power in range(math.ceil(math.log10(lowest)), math.floor(math.log10(highest)) + 1):
        mark = down(10.0**power)
        parts.append(f'<line x1="{left}" x2="{WIDTH - left}" y1="{mark:.0f}" y2="{mark:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 5}" y="{mark + 4:.0f}" text-anchor="end">{10.0**power:g}</text>')
    for number, (name, values) in enumerate(costs.items()):
        color, dash = COLORS[number % len(COLORS)], DASHES[number // len(COLORS) % len(DASHES)]
        points = " ".join(f"{across(size):.0f},{down(value):.0f}" for size, value in zip(sizes, values, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"{dash}/>')
        y = top + 45 + 15 * number
        parts.append(f'<line x1="{WIDTH}" x2="{WIDTH + 20}" y1="{y - 4}" y2="{y - 4}" stroke="{color}"{dash}/>')
        parts.append(f'<text x="{WIDTH + 25}" y="{y}">{escape(name)} {values[-1]:.1f}</text>')
    return "\n".join(parts)


def _share(value: float, low: float, high: float) -> float:
    return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low)) if high > low else 0.5
