"""Work that is seldom due: it is looked for before a write transaction begins."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock
from memorybase.core.database.engine import Database


def change_if_due(
    database: Database,
    is_due: Callable[[OrmSession, datetime], bool],
    change: Callable[[OrmSession, datetime], int],
    *,
    durable: bool = True,
) -> int:
    """Call `change` with the time in a write transaction, and return its result; 0 without a transaction if `is_due`
    says no.

    A transaction that changes nothing keeps SQLite's other writers waiting, and on PostgreSQL costs two more round
    trips. `change` looks again: another process may have done the work since.
    """
    with database.reading(snapshot=False) as db:
        if not is_due(db, clock.now(db)):
            return 0
    with database.transaction(durable=durable) as db:
        return change(db, clock.now(db))
