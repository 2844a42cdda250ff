"""What came in and what was ingested over time, and the delay between: a chart, its words, and the same as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.parts import Rows
from api.web.visits import Visit
from memorybase.read_models import activity
from memorybase.read_models.activity import Activity, Bucket

Options = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Window:
    """How far the chart looks back, in how many steps, and how a step's time is written."""

    words: str
    length: timedelta
    steps: int
    time: str


WINDOWS = {
    "Hour": Window("hour", timedelta(hours=1), 60, "%H:%M"),
    "Day": Window("day", timedelta(days=1), 48, "%H:%M"),
    "Week": Window("week", timedelta(days=7), 56, "%a %H:%M"),
}

# Drawn as SVG, so that the page's own colours hold in light and in dark.
FONT = "system-ui, Segoe UI, Roboto, sans-serif"  # by its name: widths are measured with it
QUIET, LINE, ACCENT, BUSY, WARN = "var(--quiet)", "var(--line)", "var(--accent)", "var(--busy)", "var(--warn)"


class ActivityChart:
    """Drawn once there is something to draw."""

    def __init__(self, visit: Visit, base_id: UUID) -> None:
        self._visit = visit
        self._base_id = base_id
        self._chart: ui.echart | None = None
        self._table: Rows[Bucket] | None = None
        with ui.element("section").classes("card"):
            with ui.element("div").classes("head"):
                parts.heading("Captured and ingested")
                with ui.element("div").classes("ways"):
                    self._choice = ui.toggle(list(WINDOWS), value="Hour", on_change=self._again)
                    self._choice.props('no-caps unelevated role=group aria-label="Window of the chart"')
            self._words = ui.label()
            self._drawing = ui.element("div").props("role=img")
            self._turn = parts.button("As a table", self._turn_table).props("aria-expanded=false")
            self._listing = ui.element("div")

    @property
    def _window(self) -> Window:
        return WINDOWS[str(self._choice.value)]

    async def show(self) -> None:
        since = datetime.now(UTC) - self._window.length
        steps = self._window.steps
        found = await self._visit.ask(activity.activity, self._base_id, since=since, buckets=steps)
        words = _summary(found, self._window)
        self._words.set_text(words)
        self._drawing.props["aria-label"] = words
        self._draw(found)
        if self._table:
            self._table.show(bucket for bucket in reversed(found.buckets) if _happened(bucket))

    async def _again(self) -> None:
        await parts.attempt(self.show())

    def _draw(self, found: Activity) -> None:
        if self._chart is None:
            if any(_happened(bucket) for bucket in found.buckets):
                with self._drawing:
                    self._chart = ui.echart(_options(found, self._window), renderer="svg").classes("chart")
            return
        self._chart.options.update(_options(found, self._window))
        self._chart.update()

    async def _turn_table(self) -> None:
        self._listing.clear()
        if self._table:
            self._table = None
        else:
            with self._listing:
                columns = ("From (UTC)", "Captured", "Ingested", "Mean delay", "Longest delay")
                self._table = Rows("Captured and ingested", columns, lambda bucket: bucket.at, _row)
        self._turn.props(f"aria-expanded={'true' if self._table else 'false'}")
        await self._again()


def _happened(bucket: Bucket) -> bool:
    return bool(bucket.captured or bucket.ingested)


def _summary(found: Activity, window: Window) -> str:
    captured = sum(bucket.captured for bucket in found.buckets)
    ingested = sum(bucket.ingested for bucket in found.buckets)
    words = (
        f"In the last {window.words} {parts.plural(captured, 'message')} captured, {parts.number(ingested)} ingested"
    )
    if not ingested:
        return f"{words}."
    mean = sum(bucket.ingested * (bucket.delay_mean_seconds or 0) for bucket in found.buckets) / ingested
    longest = max(bucket.delay_max_seconds or 0 for bucket in found.buckets)
    return f"{words} after {parts.span(mean)} on average and {parts.span(longest)} at most. Times are UTC."


def _row(bucket: Bucket) -> Callable[[Bucket], None]:
    cells = [parts.said("td", "") for _ in range(5)]

    def change(now: Bucket) -> None:
        shown = (
            now.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M"), parts.number(now.captured), parts.number(now.ingested),
            parts.span(now.delay_mean_seconds), parts.span(now.delay_max_seconds),
        )  # fmt: skip
        for cell, words in zip(cells, shown, strict=True):
            cell.set_text(words)

    change(bucket)
    return change


def _options(found: Activity, window: Window) -> Options:
    """Counts above, delays below, over one time."""
    times = [bucket.at.astimezone(UTC).strftime(window.time) for bucket in found.buckets]
    buckets = found.buckets
    return {
        "animation": False,
        "textStyle": {"fontFamily": FONT},
        "legend": {"top": 0, "textStyle": {"color": QUIET}, "inactiveColor": LINE},
        "tooltip": {
            "trigger": "axis", "backgroundColor": "var(--sheet)", "borderColor": LINE,
            "textStyle": {"color": "var(--ink)"},
        },
        "axisPointer": {"link": [{"xAxisIndex": "all"}], "lineStyle": {"color": QUIET}},
        "grid": [
            {"left": 48, "right": 12, "top": 76, "height": 120},
            {"left": 48, "right": 12, "top": 240, "height": 90},
        ],
        "xAxis": [_times(times, 0, shown=False), _times(times, 1, shown=True)],
        "yAxis": [_values("Messages", 0, whole=True), _values("Delay, seconds", 1, whole=False)],
        "series": [
            _series("Captured", "bar", 0, QUIET, [bucket.captured for bucket in buckets]),
            _series("Ingested", "bar", 0, ACCENT, [bucket.ingested for bucket in buckets]),
            _series("Mean delay", "line", 1, BUSY, [bucket.delay_mean_seconds for bucket in buckets]),
            _series("Longest delay", "line", 1, WARN, [bucket.delay_max_seconds for bucket in buckets], dashed=True),
        ],
    }  # fmt: skip


def _times(times: list[str], grid: int, *, shown: bool) -> Options:
    return {
        "type": "category", "gridIndex": grid, "data": times, "axisTick": {"show": False},
        "axisLine": {"lineStyle": {"color": LINE}}, "axisLabel": {"show": shown, "color": QUIET},
    }  # fmt: skip


def _values(name: str, grid: int, *, whole: bool) -> Options:
    return {
        "type": "value", "gridIndex": grid, "name": name, "splitNumber": 3,
        "nameTextStyle": {"color": QUIET, "align": "left"}, "axisLabel": {"color": QUIET},
        "splitLine": {"lineStyle": {"color": LINE}}, "minInterval": 1 if whole else 0,
    }  # fmt: skip


def _series(
    name: str, kind: str, grid: int, colour: str, values: list[int] | list[float | None], *, dashed: bool = False
) -> Options:
    made: Options = {
        "name": name, "type": kind, "xAxisIndex": grid, "yAxisIndex": grid, "data": values, "color": colour,
        "itemStyle": {"color": colour}, "emphasis": {"disabled": True},
    }  # fmt: skip
    if kind == "line":
        line = {"color": colour, "type": "dashed" if dashed else "solid"}
        made |= {"lineStyle": line, "symbol": "circle", "symbolSize": 6}
    return made
