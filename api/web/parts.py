"""What several pages are made of."""

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
Mood = Literal["good", "busy", "warn", "bad", "calm"]

LIVE_SECONDS = 1.0
LOOKS_SHARE = 10  # a page whose looks take long looks for one tenth of the time

CAPTURE = """curl {url}/v1/flows/{flow}/runs \\
  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
  -d '{{"session_id": "first", "messages": [{{"role": "user", "content": "Hello"}},
       {{"role": "assistant", "content": "Hi!"}}]}}'"""

log = telemetry.get_logger(__name__)


# ---------------------------------------------------------------------------------------------------------------
# Words


def number(value: int, *, capped: bool = False) -> str:
    return f"{value:,}" + ("+" if capped else "")


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def ago(then: datetime | None) -> str:
    """How long ago, in words; "never" without a time."""
    if then is None:
        return "never"
    seconds = (datetime.now(UTC) - _aware(then)).total_seconds()
    return f"{span(seconds)} ago" if seconds >= 1 else "just now"


def span(seconds: float | None) -> str:
    """A duration in words, in its largest unit."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            return plural(int(seconds // size), unit)
    return f"{seconds:.0f} s"


def moment(then: datetime | None) -> str:
    """A time, to the second, in UTC."""
    return _aware(then).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if then else "never"


def _aware(then: datetime) -> datetime:
    return then if then.tzinfo else then.replace(tzinfo=UTC)


def clipped(words: str, at_most: int) -> str:
    """The beginning of a text that may be long."""
    return words if len(words) <= at_most else f"{words[:at_most].rstrip()}…"


def in_words(error: errors.MemorybaseError) -> str:
    """What happened, with the value and the bound where there are any."""
    said = error.message
    if error.field and error.limit is not None:
        said = f"{said} ({error.field}: {error.value!r}, limit {error.limit!r})"
    return said if said.endswith((".", "!", "?", ")")) else f"{said}."


# ---------------------------------------------------------------------------------------------------------------
# Saying what happened


def tell(words: str, mood: Literal["positive", "negative", "warning", "info"] = "positive") -> None:
    ui.notify(
        words, type=mood, position="bottom", close_button="Close", timeout=8_000 if mood == "positive" else 20_000
    )


async def attempt(work: Awaitable[Item]) -> Item | None:
    """The work's result; an error of ours is said on the page, and the result is None."""
    try:
        return await work
    except errors.Unauthorized:
        ui.navigate.reload()  # the entrance asks for a key that holds
    except errors.MemorybaseError as error:
        tell(in_words(error), "negative")
    return None


# ---------------------------------------------------------------------------------------------------------------
# Small parts


def said(tag: str, words: str) -> TextElement:
    """An HTML element with a text that can be changed."""
    return TextElement(tag=tag, text=words)


def heading(words: str, level: int = 2) -> TextElement:
    return said(f"h{level}", words)


def words(said: str) -> ui.label:
    """A sentence of ours that explains."""
    return ui.label(said).classes("quiet")


def badge(words: str, mood: Mood) -> ui.label:
    return ui.label(words).classes(f"badge {mood}")


def button(words: str, on_click: Handler, *, kind: Literal["first", "second", "danger"] = "second") -> ui.button:
    """A button in one of three weights."""
    made = ui.button(words, on_click=on_click).props("no-caps unelevated" if kind == "first" else "no-caps outline")
    if kind == "danger":
        made.props("color=negative")
    return made


def icon_button(icon: str, words: str, on_click: Handler) -> ui.button:
    """A button that shows a picture; screen readers and tooltips say the words."""
    made = ui.button(icon=icon, on_click=on_click).props(f"flat round dense aria-label={json.dumps(words)}")
    with made:
        ui.tooltip(words)
    return made


def switch(words: str, on_turn: Callable[[bool], Awaitable[None]], *, shown: bool = True) -> ui.switch:
    """A switch; `on_turn` hears the reader alone, not what the page shows by itself. Not `shown`: the words are read
    out, not written."""
    made = ui.switch(words if shown else "").props(f"aria-label={json.dumps(words)}")
    # Of what the browser says with it, the first is the value.
    made.on("update:model-value", lambda event: on_turn(bool(event.args)), [None])
    return made


@contextmanager
def card(title: str | None = None) -> Iterator[None]:
    with ui.element("section").classes("card"):
        if title:
            heading(title)
        yield


class Stat:
    """A figure with its name, changed in place."""

    def __init__(self, name: str, value: str = "") -> None:
        with ui.element("div").classes("stat"):
            ui.label(name).classes("name")
            self._value = ui.label(value).classes("value")

    def show(self, value: str) -> None:
        self._value.set_text(value)


class Bar:
    """Progress as a bar with its words, for eyes and for screen readers."""

    def __init__(self, name: str) -> None:
        self._name = name
        with ui.element("div").classes("bar") as self.element:
            with ui.element("div").classes("track").props("role=progressbar aria-valuemin=0") as self._track:
                self._fill = ui.element("div").classes("fill")
            self._words = ui.label().classes("quiet")

    def show(self, done: int, total: int, words: str | None = None) -> None:
        said = words or f"{number(done)} of {number(total)}"
        share = min(1.0, done / total) if total else 0.0
        self._fill.style(f"width: {share:.1%}")
        # ARIA wants the value within its bounds; what is above them is said in words.
        self._track.props(
            f"aria-valuemax={max(total, 1)} aria-valuenow={min(done, max(total, 1))} "
            f"aria-valuetext={json.dumps(said)} aria-label={json.dumps(self._name)}"
        )
        self._words.set_text(said)


@contextmanager
def banner(title: str, words: str = "", mood: Literal["warn", "bad", "info"] = "warn") -> Iterator[ui.element]:
    """Something that the reader should act on; what is built inside are the ways to."""
    with ui.element("div").classes(f"banner {mood}").props("role=alert") as made:
        ui.label(title).classes("title")
        if words:
            ui.label(words)
        with ui.element("div").classes("ways"):
            yield made


@contextmanager
def empty(title: str, words: str, command: str | None = None) -> Iterator[None]:
    """An empty state: what to do next, and a command that does it."""
    with ui.element("div").classes("empty"):
        ui.label(title).classes("title")
        ui.label(words)
        if command:
            code(command)
        yield


def code(command: str) -> None:
    """A command to copy."""
    with ui.element("div").classes("code"):
        said("pre", command).props('tabindex="0"')
        icon_button("content_copy", "Copy", lambda: _copy(command))


def capture_command(visit: Visit, flow: str) -> str:
    """A command that captures a run of this flow, by any id that it goes by."""
    return CAPTURE.format(url=visit.origin, flow=quote(flow, safe=""))


def _copy(words: str) -> None:
    ui.clipboard.write(words)
    tell("Copied.")


# ---------------------------------------------------------------------------------------------------------------
# Questions


async def confirm(title: str, words: str, *, action: str, stay: str = "Cancel", typed: str | None = None) -> bool:
    """Whether the reader wants it; with `typed`, that has to be typed first. `stay`: what not wanting it is called."""
    with ui.dialog().props(f"aria-label={json.dumps(title)}") as dialog, ui.card().classes("question"):
        heading(title)
        ui.label(words)
        with ui.element("div").classes("ways"):
            no = button(stay, lambda: dialog.submit(False))
            yes = button(action, lambda: dialog.submit(True), kind="danger")
        if typed is not None:
            yes.disable()

            def look(event: events.ValueChangeEventArguments[Any]) -> None:
                yes.set_enabled(event.value == typed)

            field = ui.input(f"Type {typed} to confirm", on_change=look).props("outlined dense autofocus")
            field.move(target_index=2)
        else:
            no.props("autofocus")
    answer = await dialog
    dialog.delete()
    return bool(answer)


# ---------------------------------------------------------------------------------------------------------------
# Live content


def rest(least: float, took: float, before: float) -> float:
    """Seconds until the next look, by what this one and the one before it took: who looks on must not take the database
    from who works. One long look alone is no sign of that; the first one builds the page."""
    return max(least, LOOKS_SHARE * min(took, before))


class Live:
    """Looks again every second while somebody looks, less often where a look takes long; what cannot be reached is
    said once, where it is shown."""

    def __init__(self, look: Callable[[], Awaitable[None]], *, seconds: float = LIVE_SECONDS) -> None:
        self._look = look
        self._seconds = seconds
        self._trouble = ui.label().classes("banner bad").props("role=status")
        self._trouble.set_visibility(False)
        self._took = 0.0  # the look before
        self._timer = ui.timer(seconds, self._again, immediate=False)

    async def now(self) -> None:
        """At once, and in the same words when it fails."""
        await self._again()

    def stop(self) -> None:
        self._timer.cancel()

    async def _again(self) -> None:
        began = time.monotonic()
        try:
            await self._look()
        except errors.Unauthorized:
            ui.navigate.reload()
        except errors.NotFound as error:
            self._timer.cancel()
            self._say(in_words(error))
        except errors.MemorybaseError as error:
            log.warning("page_not_refreshed", error=telemetry.describe_error(error))
            self._say(f"{in_words(error)} What is shown may be old; it is looked at again all the while.")
        else:
            self._trouble.set_visibility(False)
        took = time.monotonic() - began
        self._timer.interval = rest(self._seconds, took, self._took)
        self._took = took

    def _say(self, words: str) -> None:
        self._trouble.set_text(words)
        self._trouble.set_visibility(True)


class Keyed(Generic[Item]):
    """Items below one element, changed in place: those that stay keep their focus, only what differs is built anew.

    `build` fills one item's element, a `tag`, and returns what changes it when the item has changed.
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

    def show(self, items: Iterable[Item], *, anew: bool = False) -> None:
        """Show these, in this order; `anew`: also those that are as they were, for times that grow older."""
        wanted = {self._key(item): item for item in items}
        if list(wanted) != list(self._shown):
            self._arrange(wanted)
        for key, item in wanted.items():
            before, element, change = self._shown[key]
            if anew or before != item:
                change(item)
                self._shown[key] = (item, element, change)

    def _arrange(self, wanted: dict[Hashable, Item]) -> None:
        for key in [key for key in self._shown if key not in wanted]:
            self._shown.pop(key)[1].delete()
        for index, (key, item) in enumerate(wanted.items()):
            if key in self._shown:
                self._shown[key][1].move(self._body, target_index=index)
                continue
            with self._body, ui.element(self._tag) as element:
                change = self._build(item)
            self._built(element)
            element.move(self._body, target_index=index)
            self._shown[key] = (item, element, change)
        self._shown = {key: self._shown[key] for key in wanted}

    def _built(self, element: ui.element) -> None:
        """What the list itself has to say of a new one."""


class Rows(Keyed[Item]):
    """A table that changes in place. `build` makes the cells of one row, each a `cell(...)`.

    On a narrow screen a row becomes a card, and the columns' names stand before the values.
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
            said("caption", name).classes("unseen")
            with ui.element("thead"), ui.element("tr"):
                for column in columns:
                    with ui.element("th").props("scope=col"):
                        said("span", column or "Actions").classes("" if column else "unseen")
            body = ui.element("tbody")
        super().__init__(body, "tr", key, build)

    def set_visibility(self, visible: bool) -> None:
        self._element.set_visibility(visible)

    def _built(self, element: ui.element) -> None:
        for column, one in zip(self._columns, element.default_slot.children, strict=True):
            one.props(f"data-label={json.dumps(column)}")


@contextmanager
def cell(kind: str = "") -> Iterator[ui.element]:
    """One cell of a row of Rows."""
    with ui.element("td").classes(kind) as made:
        yield made


class Pager:
    """Which page of a list is shown, and the ways to the others; hidden while there is one page only."""

    def __init__(self, turned: Callable[[], Awaitable[None]], *, size: int = paging.DEFAULT_SIZE) -> None:
        self.size = size
        self.page = 1
        self._total = 0
        self._turned = turned
        with ui.element("nav").classes("pager").props('aria-label="Pages"') as self._element:
            self._back = button("Previous", lambda: self._turn(-1))
            self._words = ui.label()
            self._on = button("Next", lambda: self._turn(1))
        self._element.set_visibility(False)

    @property
    def request(self) -> paging.PageRequest:
        return paging.PageRequest(page=self.page, size=self.size)

    def show(self, total: int) -> None:
        self._total = total
        last = max(1, -(-total // self.size))
        self._words.set_text(f"Page {self.page:,} of {last:,} ({number(total)})")
        self._back.set_enabled(self.page > 1)
        self._on.set_enabled(self.page < last)
        self._element.set_visibility(last > 1 or self.page > 1)

    async def first(self) -> None:
        self.page = 1
        await self._turned()

    async def _turn(self, by: int) -> None:
        self.page = max(1, self.page + by)
        await self._turned()


def link(visit: Visit, words: str, path: str) -> TextElement:
    """A link to one of our pages; `path` begins below /ui."""
    made = said("a", words)
    made.props["href"] = f"{visit.root}{path}"  # ui.link would put what is before it there once more
    return made


def session_path(flow_id: UUID, session_id: str, base_id: UUID | None = None) -> str:
    """Where a session is shown, as a memory base sees it if one is named; a session's id may be any text."""
    named = {"flow_id": flow_id, "session_id": session_id, "memory_base_id": base_id}
    return "/session?" + urlencode({name: value for name, value in named.items() if value is not None})
