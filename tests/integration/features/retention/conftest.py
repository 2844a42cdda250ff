"""Fixtures of the retention tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness.days import Calendar, calendar


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calendar]:
    with calendar(monkeypatch) as moved:
        yield moved
