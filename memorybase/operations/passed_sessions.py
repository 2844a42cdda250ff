"""The sweeper's marks on sessions that every memory base has passed."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from memorybase.database.engine import Database
from memorybase.queries import pending
from memorybase.queries.pending import SessionBehind
from memorybase.services import Services

LIMIT = 500  # sessions that one pass looks at; the next pass goes on after them

_reached: WeakKeyDictionary[Database, SessionBehind] = WeakKeyDictionary()


def mark_passed(services: Services) -> int:
    """Mark sessions that every memory base has passed; how many."""
    database = services.database
    with database.reading() as db:
        found = pending.sessions_behind(db, _reached.pop(database, None), LIMIT)
    if len(found) == LIMIT:
        _reached[database] = found[-1]
    passed = [each for each in found if each.is_passed]
    if not passed:
        return 0
    with database.transaction(durable=False) as db:
        return pending.mark_passed(db, passed)
