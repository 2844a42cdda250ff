"""UI components that several pages share, and how values are written."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote, urlencode
from uuid import UUID

from nicegui import events, ui
from nicegui.elements.mixins.text_element import TextElement

from api.web.visits import Visit
from memorybase import errors, telemetry
from memorybase.database import paging

Item = TypeVar("Item")
Handler = Callable[..., Any]
Tone = Literal["good", "busy", "warn", "bad", "calm"]

REFRESH_SECONDS = 1.0
INTERVAL_FACTOR = 10  # a page whose refreshes are slow spends one tenth of its time refreshing

CAPTURE = """curl {url}/v1/flows/{flow}/runs \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{{"session_id": "first", "messages": [{{"role": "user", "content": "Hello"}},
       {{"role": "assistant", "content": "Hi!"}}]}}'"""

log = telemetry.get_logger(__name__)


# ---------------------------------------------------------------------------------------------------------------
# Values as text


def number(value: int, *, capped: bool = False) -> str:
    return f"{value:,}" + ("+" if capped else "")


def plural(count: int, singular: str, many: str | None = None) -> str:
    return f"{number(count)} {singular if count == 1 else many or singular + 's'}"


def pending(messages: int, threshold: int, *, capped: bool = False) -> str:
    return f"{number(messages, capped=capped)} / {number(threshold)}"


def ago(time: datetime | None) -> str:
    """Time since then; "never" for None."""
    if time is None:
        return "never"
    seconds = (datetime.now(UTC) - _aware(time)).total_seconds()
    return f"{duration(seconds)} ago" if seconds >= 1 else "just now"


def duration(seconds: float | None) -> str:
    """A duration in its largest unit; "-" for None."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            return plural(int(seconds // size), unit)
    return f"{seconds:.0f} s"


def utc_time(time: datetime | None) -> str:
    """A UTC time to the second; "never" for None."""
    return _aware(time).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if time else "never"


def _aware(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def truncate(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[:max_chars].rstrip()}…"


def error_text(error: errors.MemorybaseError) -> str:
    """An error's message, with the value and the bound if it has them."""
    text = error.message
    if error.field and error.limit is not None:
        text = f"{text} ({error.field}: {error.value!r}, limit {error.limit!r})"
    return text if text.endswith((".", "!", "?", ")")) else f"{text}."


# ---------------------------------------------------------------------------------------------------------------
# Notifications


def notify(text: str, kind: Literal["positive", "negative", "warning", "info"] = "positive") -> None:
    timeout = 8_000 if kind == "positive" else 20_000
    ui.notify(text, type=kind, position="bottom", close_button="Close", timeout=timeout)


async def attempt(work: Awaitable[Item]) -> Item | None:
    """The result of the work, or None after an error of memorybase, which is shown as a notification."""
    try:
        return await work
    except errors.Unauthorized:
        ui.navigate.reload()  # leads to the sign-in form
    except errors.MemorybaseError as error:
        notify(error_text(error), "negative")
    return None


# ---------------------------------------------------------------------------------------------------------------
# Components


def text_element(tag: str, text: str) -> TextElement:
    """An HTML element whose text can be changed."""
    return TextElement(tag=tag, text=text)


def heading(text: str, level: int = 2) -> TextElement:
    return text_element(f"h{level}", text)


def hint(text: str) -> ui.label:
    return ui.label(text).classes("muted")


def badge(text: str, tone: Tone) -> ui.label:
    return ui.label(text).classes(f"badge {tone}")


def set_badge(label: ui.label, text: str, tone: Tone) -> None:
    label.set_text(text)
    label.classes(replace=f"badge {tone}")


def button(text: str, on_click: Handler, *, kind: Literal["primary", "secondary", "danger"] = "secondary") -> ui.button:
    element = ui.button(text, on_click=on_click).props("no-caps unelevated" if kind == "primary" else "no-caps outline")
    if kind == "danger":
        element.props("color=negative")
    return element


def icon_button(icon: str, label: str, on_click: Handler) -> ui.button:
    """An icon; the label is its tooltip and its accessible name."""
    element = ui.button(icon=icon, on_click=on_click).props(f"flat round dense aria-label={json.dumps(label)}")
    with element:
        ui.tooltip(label)
    return element


def switch(label: str, on_change: Callable[[bool], Awaitable[None]], *, show_label: bool = True) -> ui.switch:
    """A switch. `on_change` is called for the user's clicks only, not for values that the page sets."""
    element = ui.switch(label if show_label else "").props(f"aria-label={json.dumps(label)}")
    # The event has several arguments; the first is the value.
    element.on("update:model-value", lambda event: on_change(bool(event.args)), [None])
    return element


@contextmanager
def card(title: str | None = None) -> Iterator[None]:
    with ui.element("section").classes("card"):
        if title:
            heading(title)
        yield


class Stat:
    """A figure with its name, updated in place."""

    def __init__(self, name: str, value: str = "") -> None:
        with ui.element("div").classes("stat"):
            ui.label(name).classes("name")
            self._value = ui.label(value).classes("value")

    def show(self, value: str) -> None:
        self._value.set_text(value)


class ProgressBar:
    """A progress bar with its value as text, also for screen readers."""

    def __init__(self, name: str) -> None:
        self._name = name
        with ui.element("div").classes("bar") as self.element:
            with ui.element("div").classes("track").props("role=progressbar aria-valuemin=0") as self._track:
                self._fill = ui.element("div").classes("fill")
            self._label = ui.label().classes("muted")

    def show(self, done: int, total: int, text: str | None = None) -> None:
        label = text or f"{number(done)} of {number(total)}"
        share = min(1.0, done / total) if total else 0.0
        self._fill.style(f"width: {share:.1%}")
        # ARIA requires a value within its bounds; aria-valuetext has the real one.
        self._track.props(
            f"aria-valuemax={max(total, 1)} aria-valuenow={min(done, max(total, 1))} "
            f"aria-valuetext={json.dumps(label)} aria-label={json.dumps(self._name)}"
        )
        self._label.set_text(label)


@contextmanager
def banner(title: str, text: str = "", kind: Literal["warn", "bad", "info"] = "warn") -> Iterator[None]:
    """An alert; build its buttons and links inside."""
    with ui.element("div").classes(f"banner {kind}").props("role=alert"):
        ui.label(title).classes("title")
        if text:
            ui.label(text)
        with ui.element("div").classes("actions"):
            yield


def empty_state(title: str, text: str, command: str | None = None) -> None:
    """What to do next where there is nothing to list, and a command that does it."""
    with ui.element("div").classes("empty"):
        ui.label(title).classes("title")
        ui.label(text)
        if command:
            code_block(command)


def code_block(command: str) -> None:
    """A command with a button that copies it."""
    with ui.element("div").classes("code"):
        text_element("pre", command).props('tabindex="0"')
        icon_button("content_copy", "Copy", lambda: _copy(command))


def capture_command(visit: Visit, flow: str) -> str:
    """A command that captures a run of this flow, named by either of its ids."""
    return CAPTURE.format(url=visit.origin, flow=quote(flow, safe=""))


def _copy(text: str) -> None:
    ui.clipboard.write(text)
    notify("Copied.")


# ---------------------------------------------------------------------------------------------------------------
# Confirmation


async def confirm(title: str, text: str, *, action: str, cancel: str = "Cancel", typed: str | None = None) -> bool:
    """Whether the user confirms; `typed` is a text to type first."""
    with ui.dialog().props(f"aria-label={json.dumps(title)}") as dialog, ui.card().classes("dialog"):
        heading(title)
        ui.label(text)
        with ui.element("div").classes("actions"):
            no = button(cancel, lambda: dialog.submit(False))
            yes = button(action, lambda: dialog.submit(True), kind="danger")
        if typed is not None:
            yes.disable()

            def compare(event: events.ValueChangeEventArguments[Any]) -> None:
                yes.set_enabled(event.value == typed)

            field = ui.input(f"Type {typed} to confirm", on_change=compare).props("outlined dense autofocus")
            field.move(target_index=2)
        else:
            no.props("autofocus")
    answer = await dialog
    dialog.delete()
    return bool(answer)


# ---------------------------------------------------------------------------------------------------------------
# Content that refreshes


def next_interval(minimum: float, seconds: float, previous: float) -> float:
    """Seconds until the next refresh. Two slow refreshes in a row lengthen it, so that open pages leave the database to
    the workers. One alone does not: the first refresh builds the page."""
    return max(minimum, INTERVAL_FACTOR * min(seconds, previous))


class Poller:
    """Refreshes a page every second, less often if a refresh is slow. Shows an error in place until one succeeds."""

    def __init__(self, refresh: Callable[[], Awaitable[None]], *, seconds: float = REFRESH_SECONDS) -> None:
        self._refresh = refresh
        self._minimum = seconds
        self._error = ui.label().classes("banner bad").props("role=status")
        self._error.set_visibility(False)
        self._previous_seconds = 0.0
        self._timer = ui.timer(seconds, self.refresh, immediate=False)

    def stop(self) -> None:
        self._timer.cancel()

    async def refresh(self) -> None:
        """Refresh now; errors are shown, not raised."""
        started = time.monotonic()
        try:
            await self._refresh()
        except errors.Unauthorized:
            ui.navigate.reload()
        except errors.NotFound as error:
            self._timer.cancel()
            self._show_error(error_text(error))
        except errors.MemorybaseError as error:
            log.warning("page_not_refreshed", error=telemetry.describe_error(error))
            self._show_error(f"{error_text(error)} The data shown may be out of date. Retrying.")
        else:
            self._error.set_visibility(False)
        seconds = time.monotonic() - started
        self._timer.interval = next_interval(self._minimum, seconds, self._previous_seconds)
        self._previous_seconds = seconds

    def _show_error(self, text: str) -> None:
        self._error.set_text(text)
        self._error.set_visibility(True)


class KeyedList(Generic[Item]):
    """Items below one element, updated in place: elements that stay keep their focus, and only changes are sent.

    `build` fills the element of one item, a `tag`, and returns the function that updates it.
    """

    def __init__(
        self,
        body: ui.element,
        tag: str,
        key: Callable[[Item], Hashable],
        build: Callable[[Item], Callable[[Item], None]],
    ) -> None:
        self._body = body
        self._tag = tag
        self._key = key
        self._build = build
        self._shown: dict[Hashable, tuple[Item, ui.element, Callable[[Item], None]]] = {}

    def show(self, items: Iterable[Item], *, update_all: bool = False) -> None:
        """Show these items in this order. `update_all` also updates unchanged items, for the texts of `ago`."""
        by_key = {self._key(item): item for item in items}
        if list(by_key) != list(self._shown):
            self._arrange(by_key)
        for key, item in by_key.items():
            before, element, update = self._shown[key]
            if update_all or before != item:
                update(item)
                self._shown[key] = (item, element, update)

    def _arrange(self, by_key: dict[Hashable, Item]) -> None:
        for key in [key for key in self._shown if key not in by_key]:
            self._shown.pop(key)[1].delete()
        for index, (key, item) in enumerate(by_key.items()):
            if key in self._shown:
                self._shown[key][1].move(self._body, target_index=index)
                continue
            with self._body, ui.element(self._tag) as element:
                update = self._build(item)
            self._after_build(element)
            element.move(self._body, target_index=index)
            self._shown[key] = (item, element, update)
        self._shown = {key: self._shown[key] for key in by_key}

    def _after_build(self, element: ui.element) -> None:
        """Called with each new element."""


class Table(KeyedList[Item]):
    """A table that is updated in place. `build` makes the cells of one row, each with `cell(...)`.

    On a narrow screen a row becomes a card, with the column's name before each value.
    """

    def __init__(
        self,
        name: str,
        columns: Sequence[str],
        key: Callable[[Item], Hashable],
        build: Callable[[Item], Callable[[Item], None]],
    ) -> None:
        self._columns = columns
        self._element = ui.element("div").classes("table")
        with self._element, ui.element("table"):
            text_element("caption", name).classes("visually-hidden")
            with ui.element("thead"), ui.element("tr"):
                for column in columns:
                    with ui.element("th").props("scope=col"):
                        text_element("span", column or "Actions").classes("" if column else "visually-hidden")
            body = ui.element("tbody")
        super().__init__(body, "tr", key, build)

    def set_visibility(self, visible: bool) -> None:
        self._element.set_visibility(visible)

    def _after_build(self, element: ui.element) -> None:
        for column, table_cell in zip(self._columns, element.default_slot.children, strict=True):
            table_cell.props(f"data-label={json.dumps(column)}")


@contextmanager
def cell(kind: str = "") -> Iterator[None]:
    """A cell in a row of a Table."""
    with ui.element("td").classes(kind):
        yield


def text_cell(text: str = "", kind: str = "") -> ui.label:
    """A cell that holds one label."""
    with cell(kind):
        return ui.label(text)


class Pager:
    """The current page of a list with buttons for the previous and the next; hidden if there is only one page."""

    def __init__(self, on_change: Callable[[], Awaitable[None]], *, size: int = paging.DEFAULT_SIZE) -> None:
        self.size = size
        self.page = 1
        self._on_change = on_change
        with ui.element("nav").classes("pager").props('aria-label="Pages"') as self._element:
            self._previous = button("Previous", lambda: self._turn(-1))
            self._label = ui.label()
            self._next = button("Next", lambda: self._turn(1))
        self._element.set_visibility(False)

    @property
    def request(self) -> paging.PageRequest:
        return paging.PageRequest(page=self.page, size=self.size)

    def show(self, total: int) -> None:
        last = max(1, -(-total // self.size))
        self._label.set_text(f"Page {self.page:,} of {last:,} ({number(total)} in total)")
        self._previous.set_enabled(self.page > 1)
        self._next.set_enabled(self.page < last)
        self._element.set_visibility(last > 1 or self.page > 1)

    async def first(self) -> None:
        self.page = 1
        await self._on_change()

    async def _turn(self, by: int) -> None:
        self.page = max(1, self.page + by)
        await self._on_change()


def link(visit: Visit, text: str, path: str) -> TextElement:
    """A link to a page; `path` is relative to /ui."""
    element = text_element("a", text)
    element.props["href"] = f"{visit.root}{path}"  # ui.link would add the prefix a second time
    return element


def session_path(flow_id: UUID, session_id: str, base_id: UUID | None = None) -> str:
    """The path of a session's page, with its state in a memory base if one is given. A session id may be any text."""
    query = {"flow_id": flow_id, "session_id": session_id, "memory_base_id": base_id}
    return "/session?" + urlencode({name: value for name, value in query.items() if value is not None})
