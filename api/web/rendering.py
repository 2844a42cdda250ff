"""Jinja2: the environment of all templates, and how they write values.

Everything is escaped (autoescape), and a name that a view does not pass is an error (StrictUndefined).
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from api.web import badges
from api.web.extension import folders, pages_of_features
from api.web.markdown import to_html
from memorybase import __version__
from memorybase.core.messages import ROLES, message_text
from memorybase.core.read_models.titles import is_generated, known_as, title_of
from memorybase.core.search.bands import MIN_SCORE, band_of
from memorybase.core.search.vector_search import PENDING_MESSAGES
from memorybase.core.sessions.planned_deletion import UNDO

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
THEME_COOKIE = "memorybase_theme"
FOUND_BEFORE = (
    f"Searches find what waits: the {PENDING_MESSAGES} newest messages of a memory by words and by meaning, older ones "
    "by words alone."
)
LATE = timedelta(hours=1)
UNDO_SECONDS = int(UNDO.total_seconds())  # of a deletion

_UTC = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d) UTC")

PLACES = (
    ("home", "Home", "/", "h"),
    ("conversations", "Conversations", "/conversations", "c"),
    ("memories", "Memories", "/memories", "m"),
    ("playground", "Playground", "/playground", "p"),
    ("jobs", "Jobs", "/jobs", "j"),
    ("settings", "Settings", "/settings/health", "s"),
)
"""The entries of the navigation: name, label, path, and the key after g."""


def render(request: Request, template: str, **values: Any) -> str:
    """`root`, the prefix of all links, is in every template; so is what `visit` has, where there is one."""
    root = str(request.scope.get("root_path", ""))

    def static(name: str) -> str:
        return f"{root}/static/{name}?v={_hash(name)}"

    return (
        _environment()
        .get_template(template)
        .render(root=root, request=request, theme=theme_of(request), static=static, **values)
    )


def theme_of(request: Request) -> str:
    """light, dark, or nothing: then the browser decides."""
    theme = request.cookies.get(THEME_COOKIE, "")
    return theme if theme in {"light", "dark"} else ""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader([TEMPLATES, *folders("templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    environment.filters |= FILTERS
    environment.globals |= GLOBALS | {"SETTINGS_TABS": [each.tab for each in pages_of_features().values() if each.tab]}
    return environment


@cache
def _hash(name: str) -> str:
    found = next(folder / name for folder in (STATIC, *folders("static")) if (folder / name).is_file())
    return hashlib.sha256(found.read_bytes()).hexdigest()[:12]


def address(path: str, **query: Any) -> str:
    """A path below /ui with its query; what is None, empty or False is left out, and True is written as 1."""
    pairs = [(name.rstrip("_"), "1" if value is True else value) for name, value in query.items()]
    kept = [(name, value) for name, value in pairs if value not in (None, "", False, [], ())]
    return f"{quote(path)}?{urlencode(kept, doseq=True)}" if kept else quote(path)


def inside(path: str, otherwise: str = "/") -> str:
    """The path, if it is one below /ui: a filled-in form must not lead to another site."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else otherwise


# How values are written


def number(value: int, *, capped: bool = False) -> str:
    """1,204; from 10,000 on 12.4 k, with the whole number on hover."""
    if value < 10_000:
        return f"{value:,}" + ("+" if capped else "")
    short = f"{value / 1_000:.1f} k" if value < 1_000_000 else f"{value / 1_000_000:.1f} M"
    return Markup('<span title="{}">{}{}</span>').format(f"{value:,}", short, "+" if capped else "")


def plural(count: int, singular: str, many: str | None = None) -> str:
    return f"{count:,} {singular if count == 1 else many or singular + 's'}"


def duration(seconds: float | None) -> str:
    """12 ms, 4.1 s, 6 min, 3 h, 2 days; a dash for None."""
    if seconds is None:
        return "\N{EN DASH}"
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 3_600:
        return f"{seconds // 60:.0f} min"
    if seconds < 86_400:
        return f"{seconds // 3_600:.0f} h"
    return plural(int(seconds // 86_400), "day")


def _iso(utc: datetime, timespec: str = "seconds") -> str:
    """A time of UTC for the script; %Y writes year 1 without zeros, which no browser reads."""
    return f"{utc.replace(tzinfo=None).isoformat(timespec=timespec)}Z"


def _titled(utc: datetime) -> str:
    return f"{utc.replace(tzinfo=None).isoformat(' ', 'seconds')} UTC"


def when(time: datetime | None, never: str = "never") -> str:
    """A <time>: the script writes it in the reader's zone and keeps "2 min ago" right."""
    if time is None:
        return never
    utc = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    seconds = (datetime.now(UTC) - utc).total_seconds()
    text = (
        f"{duration(seconds)} ago"
        if 1 <= seconds < 86_400
        else "now"
        if abs(seconds) < 1
        else f"{utc.day} {utc:%b %H:%M}"
    )
    return Markup('<time datetime="{}" title="{}">{}</time>').format(_iso(utc, "microseconds"), _titled(utc), text)


def came_late(written_at: datetime, captured_at: datetime) -> bool:
    """Whether it was captured so much later than it was written, as by an import, that both times are shown."""
    return captured_at - written_at > LATE


def score(value: float) -> str:
    """Two decimals; what rounds to nothing is "<0.01"."""
    return "<0.01" if value < 0.01 else f"{value:.2f}"


def clock(time: datetime) -> str:
    """The time of day; the script writes it in the reader's zone."""
    utc = time.astimezone(UTC)
    return Markup('<time data-clock datetime="{}" title="{}">{}</time>').format(_iso(utc), _titled(utc), f"{utc:%H:%M}")


def minute(time: datetime) -> str:
    """A date and the time of day; the script writes them in the reader's zone."""
    utc = time.astimezone(UTC)
    return Markup('<time data-exact datetime="{}" title="{}">{}</time>').format(
        _iso(utc), _titled(utc), f"{utc.day} {utc:%b %H:%M}"
    )


def zoned(text: str) -> str:
    """A text of the API, whose times of UTC the script writes in the reader's zone."""

    def written(found: re.Match[str]) -> str:
        try:
            return minute(datetime.fromisoformat(f"{found[1]}+00:00"))
        except ValueError:  # a name may have a date that never was
            return found[0]

    return Markup(_UTC.sub(written, str(escape(text))))  # noqa: S704 - escaped


def day(time: datetime) -> str:
    """A date; the script writes it in the reader's zone."""
    utc = time.astimezone(UTC)
    return Markup('<time data-day datetime="{}">{}</time>').format(_iso(utc), f"{utc.day} {utc:%b %Y}")


def marked(text: str, found: str) -> str:
    """The text with every occurrence of another marked, whatever its letter case."""
    if not found:
        return text
    pieces = re.split(f"({re.escape(found)})", text, flags=re.IGNORECASE)
    marks = [Markup("<mark>{}</mark>").format(piece) if n % 2 else escape(piece) for n, piece in enumerate(pieces)]
    return Markup("").join(marks)


def excerpt(content: Any, max_chars: int = 160) -> str:
    """The beginning of a message's text, in one line."""
    return truncate(" ".join(message_text(content).split()), max_chars) or "no text"


def speaker(name: str) -> str:
    """Who speaks: a role as a title, a name as it is."""
    return name.capitalize() if name in ROLES else name


def truncate(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[:max_chars].rstrip()}…"


# What every template has

FILTERS = {
    "number": number,
    "plural": plural,
    "duration": duration,
    "when": when,
    "score": score,
    "band": lambda value: band_of(value).name,
    "truncate_text": truncate,
    "clock": clock,
    "day": day,
    "minute": minute,
    "zoned": zoned,
    "marked": marked,
    "excerpt": excerpt,
    "speaker": speaker,
    "markdown": to_html,
}
GLOBALS = {
    "PLACES": PLACES,
    "version": __version__,
    "address": address,
    "came_late": came_late,
    "MIN_SCORE": MIN_SCORE,
    "UNDO_SECONDS": UNDO_SECONDS,
    "title_of": title_of,
    "is_generated": is_generated,
    "known_as": known_as,
    "FOUND_BEFORE": FOUND_BEFORE,
    "badges": badges,
}
