"""The header Retry-After: a number of seconds or a date, and anything else is as if it were not sent."""

from __future__ import annotations

from datetime import UTC, datetime

from harness.rows import each_row

from memorybase.core.retry_after import seconds_in

NOW = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)


@each_row(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Mon, 02 Mar 2026 12:01:30 GMT", 90.0),
        ("Mon, 02 Mar 2026 13:01:30 +0100", 90.0),
        ("Mon, 02 Mar 2026 12:01:30 -0000", 90.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_seconds_and_dates_are_read(value: str | None, seconds: float | None) -> None:
    assert seconds_in(value, now=NOW) == seconds
