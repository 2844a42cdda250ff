"""What a row of a job says, without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from harness.rows import each_row

from api.web.job_words import details_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def job(**values: Any) -> Any:
    plain = {
        "state": "queued",
        "ended": False,
        "attempts": 0,
        "error": None,
        "total_chunks": 0,
        "stored_chunks": 0,
        "available_at": NOW - timedelta(seconds=1),
    }
    return SimpleNamespace(**plain | values)


@each_row(
    ("values", "worker", "running", "said"),
    [
        ({}, None, 0, ["attempt 1", "waits for a worker"]),
        ({}, None, 2, ["attempt 1", "waits behind 2 jobs"]),
        ({"attempts": 3, "error": "lost"}, None, 1, ["attempt 3", "lost", "waits behind 1 job"]),
        (
            {"total_chunks": 3470, "stored_chunks": 1200},
            None,
            1,
            ["attempt 1", "1,200 of 3,470 chunks", "others take their turn"],
        ),
        ({"state": "running", "attempts": 7}, "host:data:4711:99", 1, ["attempt 7", "worker host 4711"]),
        ({"state": "done", "ended": True, "attempts": 1}, None, 0, []),
        ({"state": "failed", "ended": True, "attempts": 4, "error": "lost"}, None, 0, ["4 attempts", "lost"]),
    ],
)
def test_a_row_says_what_its_job_does_or_waits_for(
    values: dict[str, Any], worker: str | None, running: int, said: list[str]
) -> None:
    assert details_of(job(**values), worker, running, NOW) == said


def test_a_postponed_job_says_when_it_is_tried_again() -> None:
    later = job(attempts=2, error="The store is away", available_at=NOW + timedelta(minutes=5, seconds=30))
    assert details_of(later, None, 1, NOW) == ["attempt 2", "The store is away", "next attempt in 5 min"]
