"""Work that a row asks for and one worker at a time does: a summary, a map, the facts of a session.

A worker claims the row for the time of a lease, works while no transaction is open, and writes under the version that
it claimed: if another worker or a change of what it reads came between, nothing is stored. A lost notification or
worker only delays the work, because the sweeper notifies workers of rows that wait without a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deadlines
from memorybase.core.database import engine
from memorybase.core.database.due import change_if_due
from memorybase.core.database.upsert import rows_affected
from memorybase.core.models.leased_work import LeasedWork
from memorybase.core.queries.timestamps import Limit
from memorybase.core.services import Services, Task
from memorybase.core.settings import Settings

Row = TypeVar("Row", bound=LeasedWork)

SWEEP_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Work(Generic[Row]):
    """A kind of work.

    `task` has an argument if workers are notified of each row, and none if they look for rows themselves. `only`: which
    rows may be worked on. `longest_pause`: how far ahead a row may wait, if not as long as notifications do.
    """

    model: type[Row]
    task: Task
    lease: Callable[[Services], timedelta]
    only: tuple[sa.ColumnElement[bool], ...] = ()
    longest_pause: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Claim(Generic[Row]):
    """A worker's claim. `row` is as it was before."""

    row: Row

    @property
    def id(self) -> UUID:
        return _id(self.row)

    @property
    def version(self) -> int:
        return self.row.version + 1

    @property
    def attempts(self) -> int:
        return self.row.attempts + 1


def claim(
    db: OrmSession, row: Row | None, now: datetime, lease: timedelta, *, is_asked: bool = False, **values: Any
) -> Claim[Row] | None:
    """A claim on the row; None if nothing is pending, a worker has claimed it, or it has changed since it was read.
    `is_asked`: whether a caller wants the work, pending or not."""
    if row is None or (row.notify_at is None and not is_asked):
        return None
    if row.lease_until is not None and row.lease_until > now:
        return None
    claimed = Claim(row)
    db.expunge(row)
    values = {"version": claimed.version, "attempts": claimed.attempts, "lease_until": now + lease} | values
    return claimed if _write(db, row, row.version, values) else None


def write(db: OrmSession, claimed: Claim[Row], **values: Any) -> bool:
    """Write to the row and keep the claim; False if the claim is lost."""
    return _write(db, claimed.row, claimed.version, values)


def finish(db: OrmSession, claimed: Claim[Row], **values: Any) -> bool:
    """Write the result and end the claim; False if the claim is lost."""
    ended = {"version": claimed.version + 1, "lease_until": None, "notify_at": None, "attempts": 0}
    return _write(db, claimed.row, claimed.version, ended | values)


def put_off(db: OrmSession, claimed: Claim[Row], until: datetime | None, **values: Any) -> bool:
    """End the claim without a result: the work waits until then, or is no longer pending. False if the claim is
    lost."""
    ended = {"version": claimed.version + 1, "lease_until": None, "notify_at": until}
    return _write(db, claimed.row, claimed.version, ended | values)


def backoff(attempts: int) -> timedelta:
    """The pause after this many attempts."""
    return timedelta(seconds=min(deadlines.BACKOFF_SECONDS * 2 ** min(attempts, 16), deadlines.NOTIFY_MAX_SECONDS))


def outdate(row: LeasedWork) -> None:
    """What a worker is making for the row is not stored. The caller has locked the row."""
    row.version += 1
    row.lease_until = None


def delay(db: OrmSession, row: LeasedWork, until: datetime) -> None:
    """Let pending work that no worker has claimed wait until then."""
    model = type(row)
    update = sa.update(model).where(_is(row), model.notify_at.is_not(None), model.lease_until.is_(None))
    db.execute(update.values(notify_at=until).execution_options(synchronize_session=False))


def has_due(work: Work[Row], db: OrmSession, now: datetime) -> bool:
    return db.scalar(_due(work, now).with_only_columns(sa.literal(1)).limit(1)) is not None


def due(work: Work[Row], db: OrmSession, now: datetime, *, limit: int) -> list[Row]:
    """Pending rows that no worker has claimed, locked, those first that have waited longest; others skip them."""
    order = (work.model.notify_at, _key(work.model))
    found = _due(work, now).order_by(*order).limit(limit).with_for_update(skip_locked=True, key_share=True)
    return list(db.scalars(found.execution_options(populate_existing=True)))


# Notifications.


def enqueue_due(work: Work[Any], services: Services) -> int:
    """The sweeper's step: notify workers of what is still pending, since a notification or a worker was lost or a pause
    is over. Returns the number of notifications."""
    if work.task.argument:
        return change_if_due(services.database, partial(has_due, work), partial(_enqueue, work, services))
    return change_if_due(services.database, partial(has_due, work), lambda *_: services.queue.notify(work.task))


def _enqueue(work: Work[Row], services: Services, db: OrmSession, now: datetime) -> int:
    rows = due(work, db, now, limit=SWEEP_LIMIT)
    for row in rows:
        row.notify_at = now + timedelta(seconds=deadlines.NOTIFY_AFTER_SECONDS)
    enqueue_after_commit(work, db, services, [_id(row) for row in rows])
    return len(rows)


def enqueue_after_commit(work: Work[Any], db: OrmSession, services: Services, ids: Sequence[UUID]) -> None:
    """Notify workers of these rows once the transaction is committed."""
    if ids:
        engine.after_commit(db, lambda: services.queue.notify(work.task, ids))


def longest_notify(settings: Settings) -> timedelta:
    """Until workers are notified again of work that waits."""
    return timedelta(seconds=max(deadlines.NOTIFY_MAX_SECONDS, settings.backoff_max_seconds))


def limits(work: Work[Any], services: Services) -> Iterator[Limit]:
    """How far ahead the row's timestamps may lie."""
    yield Limit(work.model.notify_at, work.longest_pause or longest_notify(services.settings))
    yield Limit(work.model.lease_until, work.lease(services))


# Statements.


def _write(db: OrmSession, row: LeasedWork, version: int, values: dict[str, Any]) -> bool:
    model = type(row)
    fixed = (getattr(model, name) == getattr(row, name) for name in model.fixed)
    update = sa.update(model).where(_is(row), model.version == version, *fixed).values(values)
    return rows_affected(db, update.execution_options(synchronize_session=False)) == 1


def _due(work: Work[Row], now: datetime) -> sa.Select[Row]:
    model = work.model
    is_free = sa.or_(model.lease_until.is_(None), model.lease_until <= now)
    return sa.select(model).where(model.notify_at <= now, is_free, *work.only)


def _is(row: LeasedWork) -> sa.ColumnElement[bool]:
    is_row: sa.ColumnElement[bool] = _key(type(row)) == _id(row)
    return is_row


def _id(row: LeasedWork) -> UUID:
    found: UUID = getattr(row, _key(type(row)).key)
    return found


def _key(model: type[LeasedWork]) -> Any:
    mapper = sa.inspect(model)
    return getattr(model, mapper.get_property_by_column(mapper.primary_key[0]).key)
