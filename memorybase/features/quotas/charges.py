"""Charges captures, restorations and searches to quotas: one statement for each bound."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors, metrics
from memorybase.core.callers import Caller, CountFirst
from memorybase.core.database import clock, engine
from memorybase.core.extension import Charge
from memorybase.core.services import Services
from memorybase.core.settings import QuotaName
from memorybase.core.telemetry import get_logger
from memorybase.features.quotas import counting, queries
from memorybase.features.quotas.bounds import Bound, bounds_of, window_of

log = get_logger(__name__)

FREED_BY = {
    "stored_messages": "Delete messages, sessions or end users, or wait until retention does",
    "end_users": "Erase an end user (DELETE /end-users/{end_user_id})",
}


def charge_messages(db: OrmSession, charge: Charge) -> None:
    """Charge messages that the transaction stores: restored ones are no new ones of the day. Until it commits, other
    captures of the user wait for its counters. Raises QuotaExceeded, CountFirst."""
    if not charge.messages:
        return
    # Looked for before anything is locked.
    new_to = [
        (bound, charge.end_user_id)
        for bound in bounds_of(charge.caller, "end_users")
        if charge.end_user_id is not None and not queries.knows_end_user(db, bound.subject_id, charge.end_user_id)
    ]
    stored: tuple[QuotaName, ...] = ("stored_messages",)
    names = stored if charge.are_restored else ("messages_per_day", *stored)
    _charge(db, bounds_of(charge.caller, *names), charge.messages, charge.now)
    for bound, person in new_to:
        _count_end_user(db, bound, person, charge.now)


def charge_search(services: Services, caller: Caller) -> None:
    """One search. If the database takes no charge, the search is admitted. Raises QuotaExceeded."""
    bounds = bounds_of(caller, "searches_per_minute")
    if not bounds:
        return
    try:
        with services.database.transaction(durable=False, apart=True) as db:
            engine.commit_without_disk(db)
            _charge(db, bounds, 1, clock.now(db))
    except errors.EnvironmentFailure as error:
        metrics.QUOTA_UNCHECKED.labels("searches_per_minute").inc()
        log.warning("quota_unchecked", quota="searches_per_minute", error_code=error.code)


def _charge(db: OrmSession, bounds: Iterable[Bound], units: int, now: datetime) -> None:
    """In the order of the bounds, the user's first: transactions that charge the same wait for each other in turn."""
    for bound in bounds:
        db.flush()  # what else the transaction locks, it locks before the counter
        start, end = window_of(bound.quota, now)
        if end is None:
            fits = queries.charge_stored(db, *bound.counter, units, bound.limit)
        else:
            fits = queries.charge_window(db, *bound.counter, start, bound.user_id, units, bound.limit)
        if fits:
            continue
        used = queries.used(db, *bound.counter, start)
        if used is None and end is None:
            raise CountFirst(partial(counting.start, bound))
        raise _exceeded(bound, used or 0, units, now, end)


def _count_end_user(db: OrmSession, bound: Bound, end_user_id: str, now: datetime) -> None:
    """Count the end user unless another capture has counted it meanwhile."""
    # Lock the counter before the end user's row, as a recount does: else the two could wait for each other.
    if queries.lock_counter(db, *bound.counter) is None:
        raise CountFirst(partial(counting.start, bound))
    if queries.add_end_user(db, bound.subject_id, end_user_id, bound.user_id, now):
        _charge(db, [bound], 1, now)


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
