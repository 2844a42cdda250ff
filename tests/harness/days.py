"""Days pass: the database's clock is ahead from then on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock


class Calendar:
    """The database's clock, which a test moves ahead."""

    def __init__(self) -> None:
        self._now = clock.now
        self.ahead = timedelta(0)

    def now(self, db: OrmSession) -> datetime:
        return self._now(db) + self.ahead

    def pass_days(self, days: float) -> None:
        self.ahead += timedelta(days=days)


@contextmanager
def calendar(patch: pytest.MonkeyPatch) -> Iterator[Calendar]:
    """The calendar of one test."""
    moved = Calendar()
    with patch.context() as patched:
        patched.setattr(clock, "now", moved.now)
        yield moved
