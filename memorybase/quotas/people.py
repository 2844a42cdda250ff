"""The end users that count toward quotas: each has a row, inserted when it is seen first."""

from __future__ import annotations

import time
from uuid import UUID
from weakref import WeakKeyDictionary

from sqlalchemy.orm import Session as OrmSession

from memorybase.database import clock, engine
from memorybase.database.engine import Database
from memorybase.queries import quota_counters
from memorybase.quotas import counters
from memorybase.quotas.bounds import NO_WINDOW, Bound
from memorybase.services import Services

# An end user who was erased and comes back within this time is counted again by the next recount only.
KNOWN_SECONDS = 60.0
MOST_KNOWN = 50_000

Known = dict[tuple[UUID, str], float]  # until when, by the monotonic clock
_KNOWN: WeakKeyDictionary[Database, Known] = WeakKeyDictionary()


def is_known(services: Services, bound: Bound, end_user_id: str) -> bool:
    """Whether this process has seen the end user counted a moment ago."""
    return _known(services.database).get((bound.subject_id, end_user_id), 0.0) > time.monotonic()


def admit(services: Services, bound: Bound, end_user_id: str) -> None:
    """Count the end user unless it is counted. Raises QuotaFull."""
    with services.database.reading(snapshot=False) as db:
        is_there = quota_counters.knows_end_user(db, bound.subject_id, end_user_id)
    while not is_there:
        with services.database.transaction(apart=True) as db:
            counter = quota_counters.lock_counter(db, *bound.counter, NO_WINDOW)
            # Again under the lock: another process may have counted it a moment ago.
            is_there = counter is not None and quota_counters.knows_end_user(db, bound.subject_id, end_user_id)
            now = clock.now(db)
            if counter is not None and not is_there and counter.granted < bound.limit:
                quota_counters.add_end_user(
                    db,
                    {
                        "subject_id": bound.subject_id,
                        "end_user_id": end_user_id,
                        "user_id": bound.user_id,
                        "first_seen_at": now,
                    },
                )
                quota_counters.set_granted(db, *bound.counter, NO_WINDOW, counter.granted + 1)
        if counter is None:
            counters.start_counting(services, bound)
        elif not is_there and counter.granted >= bound.limit:
            raise counters.exceeded(bound, counter.granted, 1, now, None)
        else:
            is_there = True
    _remember(services.database, bound.subject_id, end_user_id)


def forget(db: OrmSession, database: Database, user_id: UUID, end_user_id: str) -> None:
    """The end user was erased, and counts no more."""
    for subject_id in quota_counters.delete_end_user(db, user_id, end_user_id):
        quota_counters.one_less(db, subject_id, "end_users", NO_WINDOW)
    known = _known(database)
    engine.after_commit(db, lambda: [known.pop(each, None) for each in list(known) if each[1] == end_user_id])


def _known(database: Database) -> Known:
    return _KNOWN.setdefault(database, {})


def _remember(database: Database, subject_id: UUID, end_user_id: str) -> None:
    known = _known(database)
    if len(known) >= MOST_KNOWN:
        known.clear()
    known[subject_id, end_user_id] = time.monotonic() + KNOWN_SECONDS
