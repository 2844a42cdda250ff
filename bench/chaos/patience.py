"""How long a wait for rest may take: as long as something moves, whatever the machine is busy with."""

from __future__ import annotations

import time
from collections.abc import Mapping

import sqlalchemy as sa

from memorybase.core.database.engine import Database
from memorybase.core.models import SessionProgress


class Patience:
    """Over once nothing has moved for so many seconds.

    What is left counts only if it is less than ever: jobs that fail and begin again move nothing.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._moved = time.monotonic()
        self._least: dict[str, int] = {}
        self._reached = 0

    def look(self, left: Mapping[str, int], reached: int) -> None:
        """`left`: how much there is to do, by kind; `reached`: the position of all that goes on."""
        if reached > self._reached or any(count < self._least.get(name, count + 1) for name, count in left.items()):
            self._moved = time.monotonic()
        self._reached = reached
        self._least |= {name: min(count, self._least.get(name, count)) for name, count in left.items()}

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._moved + self._seconds


def reached(database: Database) -> int:
    """The sum of all cursors and repairs: it grows with each job that does something."""
    position = sa.func.coalesce(sa.func.sum(SessionProgress.cursor_seq + SessionProgress.repaired), 0)
    with database.reading() as db:
        return int(db.scalar(sa.select(position)) or 0)
