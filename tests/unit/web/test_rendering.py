"""How texts of the API are written on the page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from harness.rows import each_row

from api.web.bubbles import tool_calls
from api.web.rendering import clock, day, minute, when, zoned


def test_times_of_utc_in_a_text_are_for_the_script_and_the_rest_is_escaped() -> None:
    said = zoned("5 of 5 are used by <b>; new messages are refused until 2026-11-30 00:00 UTC.")
    assert said == (
        "5 of 5 are used by &lt;b&gt;; new messages are refused until "
        '<time data-exact datetime="2026-11-30T00:00:00Z" title="2026-11-30 00:00:00 UTC">30 Nov 00:00</time>.'
    )


@each_row("write", [when, minute, clock, day])
def test_a_time_of_the_first_century_has_a_year_of_four_digits(write: Callable[[datetime], str]) -> None:
    said = write(datetime(1, 1, 1, tzinfo=UTC))
    assert 'datetime="0001-01-01T00:00:00' in said
    assert "title" not in said or 'title="0001-01-01 00:00:00 UTC"' in said


@each_row("time", ["2026-02-30 10:00", "2026-13-01 10:00", "0000-01-01 10:00", "2026-11-30 24:61"])
def test_what_only_looks_like_a_time_stays(time: str) -> None:
    assert zoned(f"Log {time} UTC & others") == f"Log {time} UTC &amp; others"


@each_row(
    "arguments, shown",
    [
        ('{"q": "\\u00e9"}', '{\n  "q": "é"\n}'),
        ('{"q": "\\ud83d"}', '{"q": "\\ud83d"}'),
        ("{not json", "{not json"),
        ("[" * 30_000, "[" * 30_000),
    ],
)
def test_the_arguments_of_a_call_are_indented_unless_a_page_cannot_hold_them(arguments: str, shown: str) -> None:
    (call,) = tool_calls([{"id": "c", "function": {"name": "look", "arguments": arguments}}])
    assert call.arguments == shown
