"""When messages that wait are ingested, in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from api.web.timeline import starts


def test_what_waits_starts_by_its_threshold_or_when_its_session_is_idle() -> None:
    def said(idle_after: int, **fields: Any) -> str:
        return starts(cast("Any", SimpleNamespace(auto_capture=True, pending=2, threshold=50, **fields)), idle_after)

    assert said(600) == "2 of 50 messages. Ingestion starts with 50, or 10 min after the last one."
    assert said(0) == "2 of 50 messages. Ingestion starts with 50."


def test_a_memory_that_is_off_starts_nothing_by_itself() -> None:
    off = cast("Any", SimpleNamespace(auto_capture=False, pending=2, threshold=50))
    assert starts(off, 600) == "This memory is off and ingests only when asked."
