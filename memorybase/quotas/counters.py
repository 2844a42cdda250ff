"""Take slices of quotas from the database, and give back what is left of them. Each call is a short transaction of its
own, which only processes that have spent their slice wait for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors, metrics
from memorybase.database import clock
from memorybase.database.engine import Database
from memorybase.queries import quota_counters
from memorybase.queries.quota_counters import Counter
from memorybase.quotas.bounds import WINDOWS, Bound, window_of
from memorybase.services import Services

MOST_UNITS = 1_000  # of a slice, unless one call needs more
# A slice is this part of what is left, so that little lies idle in other processes when a quota is nearly used up.
PART_OF_LONG, PART_OF_MINUTE = 64, 16
RECOUNT_EVERY = timedelta(minutes=1)

FREED_BY = {
    "stored_messages": "Delete messages, sessions or end users, or wait until retention does",
    "end_users": "Erase an end user (DELETE /end-users/{end_user_id})",
}


@dataclass(frozen=True, slots=True)
class Grant:
    """Units of a window, and how many seconds it still lasts; None: for ever."""

    units: int
    window_start: datetime
    epoch: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Unspent:
    """The units of a slice that a process has left."""

    units: int
    window_start: datetime
    epoch: int


def take(services: Services, bound: Bound, wanted: int, unspent: Unspent | None = None) -> Grant:
    """Lease at least `wanted` units from the counter. The unspent rest of the caller's previous lease is returned
    first, even if this call raises QuotaExceeded."""
    while True:
        with services.database.transaction(durable=False, apart=True) as db:
            now = clock.now(db)
            start, end = window_of(bound.quota, now)
            if unspent is not None:
                quota_counters.give_back(db, *bound.counter, unspent.window_start, unspent.units, unspent.epoch)
            counter = _locked(db, bound, start)
            if counter is not None:
                left = bound.limit - counter.granted
                units = max(wanted, min(left // _part(bound), MOST_UNITS))
                if wanted <= left:
                    quota_counters.set_granted(db, *bound.counter, start, counter.granted + units)
        unspent = None
        if counter is None:
            start_counting(services, bound)
        elif wanted > left:
            raise exceeded(bound, counter.granted, wanted, now, end)
        else:
            return Grant(units, start, counter.epoch, None if end is None else (end - now).total_seconds())


def give_back(database: Database, bound: Bound, unspent: Unspent) -> None:
    with database.transaction(durable=False, apart=True) as db:
        quota_counters.give_back(db, *bound.counter, unspent.window_start, unspent.units, unspent.epoch)


def start_counting(services: Services, bound: Bound) -> None:
    """The first call since a quota of what is stored was set: count what is there already."""
    key_id = bound.subject_id if bound.whose == "key" else None
    stored = 0
    if bound.quota == "stored_messages":
        with services.database.reading() as db:
            stored = quota_counters.stored_messages(db, bound.user_id, key_id)
    with services.database.transaction(apart=True) as db:
        now = clock.now(db)
        if bound.quota == "end_users" and key_id is None:
            quota_counters.add_end_users_of_user(db, bound.user_id, now)
        if bound.quota == "end_users":
            stored = quota_counters.count_end_users(db, bound.subject_id)
        _add(db, bound, window_of(bound.quota, now)[0], stored, now + RECOUNT_EVERY)


def exceeded(bound: Bound, used: int, wanted: int, now: datetime, end: datetime | None) -> errors.QuotaExceeded:
    """The refusal of a call that wants more than is left."""
    metrics.QUOTA_REFUSALS.labels(bound.quota, bound.whose).inc()
    whose = "user" if bound.whose == "user" else "API key"
    text = (
        f"The quota {bound.quota} of this {whose} is {bound.limit}: {min(used, bound.limit)} used, {wanted} more wanted"
    )
    details: dict[str, Any] = {"quota": bound.quota, "whose": bound.whose, "used": used, "wanted": wanted}
    if end is None:
        freed_by = FREED_BY[bound.quota]
        return errors.QuotaFull(f"{text}. {freed_by}", limit=bound.limit, freed_by=freed_by, **details)
    seconds = (end - now).total_seconds()
    return errors.QuotaExceeded(
        f"{text}. It resets at {end.isoformat()}",
        limit=bound.limit,
        resets_at=end,
        retry_after_seconds=seconds,
        **details,
    )


def _locked(db: OrmSession, bound: Bound, start: datetime) -> Counter | None:
    """The counter of the window that begins then; None if what is stored must be counted first."""
    counter = quota_counters.lock_counter(db, *bound.counter, start)
    if counter is None and bound.quota in WINDOWS:
        _add(db, bound, start, 0, None)
        counter = quota_counters.lock_counter(db, *bound.counter, start)
    return counter


def _add(db: OrmSession, bound: Bound, start: datetime, granted: int, recount_at: datetime | None) -> None:
    quota_counters.add_counter(
        db,
        {
            "subject_id": bound.subject_id,
            "quota": bound.quota,
            "window_start": start,
            "user_id": bound.user_id,
            "granted": granted,
            "epoch": 0,
            "recount_at": recount_at,
        },
    )


def _part(bound: Bound) -> int:
    return PART_OF_MINUTE if bound.quota == "searches_per_minute" else PART_OF_LONG
