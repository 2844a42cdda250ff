"""Charges captures, restorations and searches to quotas: one statement for each bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors, metrics
from memorybase.database import clock, engine
from memorybase.queries import quota_counters
from memorybase.quotas import counting
from memorybase.quotas.bounds import Bound, Caller, current, window_of
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

Result = TypeVar("Result")

FREED_BY = {
    "stored_messages": "Delete messages, sessions or end users, or wait until retention does",
    "end_users": "Erase an end user (DELETE /end-users/{end_user_id})",
}


class _Uncounted(Exception):
    """What is stored was not counted yet for this bound. It is counted outside the transaction, which may be slow."""

    def __init__(self, bound: Bound) -> None:
        super().__init__()
        self.bound = bound


def charged(services: Services, user_id: UUID, store: Callable[[Caller], Result]) -> Result:
    """Call `store` with the caller that it charges in its transaction. It is called again if a quota of what is stored
    is new and had to be counted. Raises QuotaExceeded."""
    caller = current(services, user_id)
    while True:
        try:
            return store(caller)
        except _Uncounted as missing:
            counting.start(services, missing.bound)


def charge_messages(db: OrmSession, caller: Caller, units: int, end_user_id: str | None, now: datetime) -> None:
    """Charge new messages, at the end of the transaction that stores them: until it commits, other captures of the user
    wait for its counters. To be called within `charged`. Raises QuotaExceeded."""
    if not units:
        return
    # Looked for before anything is locked.
    new_to = [
        (bound, end_user_id)
        for bound in caller.end_users
        if end_user_id is not None and not quota_counters.knows_end_user(db, bound.subject_id, end_user_id)
    ]
    _charge_all(db, caller.messages, units, now)
    for bound, person in new_to:
        _count_end_user(db, bound, person, now)


def charge_restored(db: OrmSession, caller: Caller, units: int, now: datetime) -> None:
    """Charge deleted messages that are stored again, like `charge_messages`: they are no new ones of the day, nor is
    their end user. Raises QuotaFull."""
    _charge_all(db, (each for each in caller.messages if each.quota == "stored_messages"), units, now)


def charge_search(services: Services, user_id: UUID) -> None:
    """One search. If the database takes no charge, the search is admitted. Raises QuotaExceeded."""
    searches = current(services, user_id).searches
    if not searches:
        return
    try:
        with services.database.transaction(durable=False, apart=True) as db:
            engine.commit_without_disk(db)
            _charge_all(db, searches, 1, clock.now(db))
    except errors.EnvironmentFailure as error:
        metrics.QUOTA_UNCHECKED.labels("searches_per_minute").inc()
        log.warning("quota_unchecked", quota="searches_per_minute", error_code=error.code)


def _charge_all(db: OrmSession, bounds: Iterable[Bound], units: int, now: datetime) -> None:
    """In the order of the bounds, the user's first: transactions that charge the same wait for each other in turn."""
    for bound in bounds:
        db.flush()  # what else the transaction locks, it locks before the counter
        _charge(db, bound, units, now)


def _charge(db: OrmSession, bound: Bound, units: int, now: datetime) -> None:
    start, end = window_of(bound.quota, now)
    if end is None:
        fits = quota_counters.charge_stored(db, *bound.counter, units, bound.limit)
    else:
        fits = quota_counters.charge_window(db, *bound.counter, start, bound.user_id, units, bound.limit)
    if fits:
        return
    used = quota_counters.used(db, *bound.counter, start)
    if used is None and end is None:
        raise _Uncounted(bound)
    raise _exceeded(bound, used or 0, units, now, end)


def _count_end_user(db: OrmSession, bound: Bound, end_user_id: str, now: datetime) -> None:
    """Count the end user unless another capture has counted it meanwhile."""
    # Lock the counter before the end user's row, as a recount does: else the two could wait for each other.
    if quota_counters.lock_counter(db, *bound.counter) is None:
        raise _Uncounted(bound)
    if quota_counters.add_end_user(db, bound.subject_id, end_user_id, bound.user_id, now):
        _charge(db, bound, 1, now)


def _exceeded(bound: Bound, used: int, wanted: int, now: datetime, end: datetime | None) -> errors.QuotaExceeded:
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
    return errors.QuotaExceeded(
        f"{text}. It resets at {end.isoformat()}",
        limit=bound.limit,
        resets_at=end,
        retry_after_seconds=(end - now).total_seconds(),
        **details,
    )
