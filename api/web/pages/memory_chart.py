"""Messages captured and ingested over time, and the delay between: a chart, a summary and a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.parts import Table
from api.web.visits import Visit
from memorybase.read_models import activity
from memorybase.read_models.activity import Activity, Bucket

Options = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Window:
    """A time range of the chart, its number of buckets, and the time format of its axis."""

    label: str
    length: timedelta
    buckets: int
    time_format: str


WINDOWS = {
    "Hour": Window("hour", timedelta(hours=1), 60, "%H:%M"),
    "Day": Window("day", timedelta(days=1), 48, "%H:%M"),
    "Week": Window("week", timedelta(days=7), 56, "%a %H:%M"),
}

# The chart is SVG, so these CSS variables follow the light and dark theme.
FONT = "system-ui, Segoe UI, Roboto, sans-serif"  # not a variable: ECharts measures text with it
MUTED, BORDER, ACCENT, BUSY, WARN = "var(--muted)", "var(--border)", "var(--accent)", "var(--busy)", "var(--warn)"


class ActivityChart:
    """The chart appears with the first message of the time range."""

    def __init__(self, visit: Visit, base_id: UUID) -> None:
        self._visit = visit
        self._base_id = base_id
        self._chart: ui.echart | None = None
        self._table: Table[Bucket] | None = None
        with ui.element("section").classes("card"):
            with ui.element("div").classes("head"):
                parts.heading("Captured and ingested")
                with ui.element("div").classes("actions"):
                    self._range = ui.toggle(list(WINDOWS), value="Hour", on_change=self._reload)
                    self._range.props('no-caps unelevated role=group aria-label="Time range"')
            self._summary = ui.label()
            self._image = ui.element("div").props("role=img")
            self._toggle = parts.button("Show as table", self._toggle_table).props("aria-expanded=false")
            self._table_area = ui.element("div")

    @property
    def _window(self) -> Window:
        return WINDOWS[str(self._range.value)]

    async def show(self) -> None:
        window = self._window
        since = datetime.now(UTC) - window.length
        data = await self._visit.read(activity.activity, self._base_id, since=since, buckets=window.buckets)
        summary = _summary(data, window)
        self._summary.set_text(summary)
        self._image.props["aria-label"] = summary
        self._draw(data)
        if self._table:
            self._table.show(bucket for bucket in reversed(data.buckets) if _has_messages(bucket))

    async def _reload(self) -> None:
        await parts.attempt(self.show())

    def _draw(self, data: Activity) -> None:
        if self._chart is None:
            if any(map(_has_messages, data.buckets)):
                with self._image:
                    self._chart = ui.echart(_options(data, self._window), renderer="svg").classes("chart")
            return
        self._chart.options.update(_options(data, self._window))
        self._chart.update()

    async def _toggle_table(self) -> None:
        self._table_area.clear()
        if self._table:
            self._table = None
        else:
            with self._table_area:
                columns = ("From (UTC)", "Captured", "Ingested", "Mean delay", "Maximum delay")
                self._table = Table("Captured and ingested", columns, lambda bucket: bucket.at, _row)
        self._toggle.props(f"aria-expanded={'true' if self._table else 'false'}")
        self._toggle.set_text("Hide table" if self._table else "Show as table")
        await self._reload()


def _has_messages(bucket: Bucket) -> bool:
    return bool(bucket.captured or bucket.ingested)


def _summary(data: Activity, window: Window) -> str:
    captured = sum(bucket.captured for bucket in data.buckets)
    ingested = sum(bucket.ingested for bucket in data.buckets)
    text = f"Last {window.label}: {parts.plural(captured, 'message')} captured, {parts.number(ingested)} ingested"
    if not ingested:
        return f"{text}."
    mean = sum(bucket.ingested * (bucket.delay_mean_seconds or 0) for bucket in data.buckets) / ingested
    maximum = max(bucket.delay_max_seconds or 0 for bucket in data.buckets)
    return f"{text}. Mean delay {parts.duration(mean)}, maximum {parts.duration(maximum)}. Times are UTC."


def _row(bucket: Bucket) -> Callable[[Bucket], None]:
    cells = [parts.text_element("td", "") for _ in range(5)]

    def update(bucket: Bucket) -> None:
        texts = (
            bucket.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M"), parts.number(bucket.captured),
            parts.number(bucket.ingested), parts.duration(bucket.delay_mean_seconds),
            parts.duration(bucket.delay_max_seconds),
        )  # fmt: skip
        for cell, text in zip(cells, texts, strict=True):
            cell.set_text(text)

    update(bucket)
    return update


def _options(data: Activity, window: Window) -> Options:
    """Counts above and delays below, on the same time axis."""
    buckets = data.buckets
    times = [bucket.at.astimezone(UTC).strftime(window.time_format) for bucket in buckets]
    return {
        "animation": False,
        "textStyle": {"fontFamily": FONT},
        "legend": {"top": 0, "textStyle": {"color": MUTED}, "inactiveColor": BORDER},
        "tooltip": {
            "trigger": "axis", "backgroundColor": "var(--surface)", "borderColor": BORDER,
            "textStyle": {"color": "var(--text)"},
        },
        "axisPointer": {"link": [{"xAxisIndex": "all"}], "lineStyle": {"color": MUTED}},
        "grid": [
            {"left": 48, "right": 12, "top": 76, "height": 120},
            {"left": 48, "right": 12, "top": 240, "height": 90},
        ],
        "xAxis": [_time_axis(times, 0, shown=False), _time_axis(times, 1, shown=True)],
        "yAxis": [_value_axis("Messages", 0, integer=True), _value_axis("Delay, seconds", 1, integer=False)],
        "series": [
            _series("Captured", "bar", 0, MUTED, [bucket.captured for bucket in buckets]),
            _series("Ingested", "bar", 0, ACCENT, [bucket.ingested for bucket in buckets]),
            _series("Mean delay", "line", 1, BUSY, [bucket.delay_mean_seconds for bucket in buckets]),
            _series("Maximum delay", "line", 1, WARN, [bucket.delay_max_seconds for bucket in buckets], dashed=True),
        ],
    }  # fmt: skip


def _time_axis(times: list[str], grid: int, *, shown: bool) -> Options:
    return {
        "type": "category", "gridIndex": grid, "data": times, "axisTick": {"show": False},
        "axisLine": {"lineStyle": {"color": BORDER}}, "axisLabel": {"show": shown, "color": MUTED},
    }  # fmt: skip


def _value_axis(name: str, grid: int, *, integer: bool) -> Options:
    return {
        "type": "value", "gridIndex": grid, "name": name, "splitNumber": 3,
        "nameTextStyle": {"color": MUTED, "align": "left"}, "axisLabel": {"color": MUTED},
        "splitLine": {"lineStyle": {"color": BORDER}}, "minInterval": 1 if integer else 0,
    }  # fmt: skip


def _series(
    name: str, kind: str, grid: int, colour: str, values: list[int] | list[float | None], *, dashed: bool = False
) -> Options:
    series: Options = {
        "name": name, "type": kind, "xAxisIndex": grid, "yAxisIndex": grid, "data": values, "color": colour,
        "itemStyle": {"color": colour}, "emphasis": {"disabled": True},
    }  # fmt: skip
    if kind == "line":
        line = {"color": colour, "type": "dashed" if dashed else "solid"}
        series |= {"lineStyle": line, "symbol": "circle", "symbolSize": 6}
    return series
