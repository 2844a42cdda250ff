"""The statements of webhooks. Lock order: the endpoint, then its deliveries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import records
from memorybase.core.database.paging import Found, Keyset, Listing, PageRequest, given
from memorybase.core.database.upsert import core, rows_affected
from memorybase.core.models import UtcDateTime
from memorybase.core.queries.statistics import bounded_count
from memorybase.features.webhooks.models import (
    DELIVERY_IS_PENDING,
    IS_DEAD,
    IS_FINISHED,
    WebhookDelivery,
    WebhookEndpoint,
)

TEST = "webhook.test"  # the type of an event that somebody asked for; such deliveries count nowhere

Delivery = WebhookDelivery
Endpoint = WebhookEndpoint


class Subscription(NamedTuple):
    """The data of an endpoint that recording an event needs."""

    id: UUID
    event_types: list[str]


class DueEndpoint(NamedTuple):
    """The data of an endpoint that sending needs."""

    id: UUID
    url: str
    secret: str
    former_secret: str | None
    former_secret_until: datetime | None
    failing_since: datetime | None


class ClaimedDelivery(NamedTuple):
    """A delivery that this process sends, under its epoch."""

    id: UUID
    event_id: UUID
    event_type: str
    body: str
    attempts: int
    epoch: int


class HealthCounts(NamedTuple):
    """Numbers of webhooks. failing: enabled, and the last attempt failed."""

    working: int
    failing: int
    disabled: int


class DeadDeliveries(NamedTuple):
    """Number of events that an endpoint did not get, and since when."""

    events: int
    since: datetime


_DELIVERIES, _ENDPOINTS = core(Delivery).c, core(Endpoint).c
_IS_ENABLED = _ENDPOINTS.disabled_at.is_(None)
# Each event runs this statement, so it is built once. It waits for an endpoint that is being deleted, which is then
# gone: without the lock, the foreign key of a delivery would fail the transaction of the event.
_ENABLED = (
    sa.select(*records.columns(Endpoint, Subscription))
    .where(_ENDPOINTS.user_id == sa.bindparam("user_id"), _IS_ENABLED)
    .order_by(_ENDPOINTS.id)
    .with_for_update(read=True, key_share=True)
)
_INSERT = sa.insert(core(Delivery))
_DUE_ENDPOINTS = (
    sa.select(*records.columns(Endpoint, DueEndpoint))
    .where(
        _IS_ENABLED,
        sa.select(_DELIVERIES.id)
        .where(
            _DELIVERIES.endpoint_id == _ENDPOINTS.id,
            DELIVERY_IS_PENDING,
            _DELIVERIES.available_at <= sa.bindparam("now"),
        )
        .correlate(core(Endpoint))
        .exists(),
    )
    .order_by(_ENDPOINTS.id)
)
_DUE = (
    sa.select(*records.columns(Delivery, ClaimedDelivery))
    .where(
        _DELIVERIES.endpoint_id == sa.bindparam("endpoint_id"),
        DELIVERY_IS_PENDING,
        _DELIVERIES.available_at <= sa.bindparam("now"),
    )
    .order_by(_DELIVERIES.available_at)
    .limit(sa.bindparam("at_most", type_=sa.Integer))
    .with_for_update(skip_locked=True)
)
_IS_NO_TEST = Delivery.event_type != TEST
_OF_WEBHOOK = Listing(
    sa.select(Delivery), Keyset("webhook deliveries", (Delivery.occurred_at, Delivery.id), descending=True)
)


# Events


def share_enabled_endpoints(db: OrmSession, user_id: UUID) -> list[Subscription]:
    """The user's enabled endpoints, which are not deleted until this transaction ends."""
    return records.fetch_all(db, Subscription, _ENABLED, {"user_id": user_id})


def new_delivery(
    user_id: UUID, endpoint_id: UUID, event_id: UUID, event_type: str, body: str, now: datetime
) -> dict[str, Any]:
    return {
        "id": uuid4(),
        "user_id": user_id,
        "endpoint_id": endpoint_id,
        "event_id": event_id,
        "event_type": str(event_type),
        "body": body,
        "state": "pending",
        "attempts": 0,
        "epoch": 0,
        "available_at": now,
        "occurred_at": now,
    }


def insert_deliveries(db: OrmSession, rows: Sequence[Mapping[str, Any]]) -> None:
    records.execute(db, _INSERT, rows)


# Sending


def due_endpoints(db: OrmSession, now: datetime) -> list[DueEndpoint]:
    """Enabled endpoints with a delivery that is due."""
    return records.fetch_all(db, DueEndpoint, _DUE_ENDPOINTS, {"now": now})


def claim(
    db: OrmSession, endpoint_id: UUID, now: datetime, lease_until: datetime, *, limit: int
) -> list[ClaimedDelivery]:
    """Claim due deliveries of an endpoint, oldest first, without those that another sender claims now."""
    parameters = {"endpoint_id": endpoint_id, "now": now, "at_most": limit}
    due = records.fetch_all(db, ClaimedDelivery, _DUE, parameters)
    if due:
        claimed = sa.update(core(Delivery)).where(_DELIVERIES.id.in_([each.id for each in due]))
        records.execute(db, claimed.values(available_at=lease_until, epoch=_DELIVERIES.epoch + 1), {})
    return [each._replace(epoch=each.epoch + 1) for each in due]


def update_claimed(db: OrmSession, claimed: ClaimedDelivery, **values: Any) -> bool:
    """Write the result of an attempt; False if the claim is lost."""
    own = (_DELIVERIES.id == claimed.id) & (_DELIVERIES.epoch == claimed.epoch) & DELIVERY_IS_PENDING
    return records.execute(db, sa.update(core(Delivery)).where(own).values(**values), {}).rowcount == 1


def mark_working(db: OrmSession, endpoint_id: UUID) -> None:
    db.execute(sa.update(core(Endpoint)).where(_ENDPOINTS.id == endpoint_id).values(failing_since=None))


def mark_failing(db: OrmSession, endpoint_id: UUID, now: datetime) -> None:
    """Keep the time of the first failure."""
    first = (_ENDPOINTS.id == endpoint_id) & _ENDPOINTS.failing_since.is_(None)
    db.execute(sa.update(core(Endpoint)).where(first).values(failing_since=now))


def disable(
    db: OrmSession, endpoint_id: UUID, now: datetime, reason: str, *, failing_before: datetime | None = None
) -> bool:
    """Disable an enabled endpoint, with `failing_before` only if it has been failing since then. Returns whether it
    did."""
    which = (_ENDPOINTS.id == endpoint_id) & _IS_ENABLED
    if failing_before is not None:
        which &= _ENDPOINTS.failing_since <= failing_before
    statement = sa.update(core(Endpoint)).where(which).values(disabled_at=now, disabled_reason=reason)
    return rows_affected(db, statement) == 1


# Endpoints of a user


def endpoints_of(db: OrmSession, user_id: UUID) -> list[Endpoint]:
    """Oldest first."""
    mine = sa.select(Endpoint).where(Endpoint.user_id == user_id)
    return list(db.scalars(mine.order_by(Endpoint.created_at, Endpoint.id)))


def endpoint_of(db: OrmSession, user_id: UUID, endpoint_id: UUID, *, lock: bool = False) -> Endpoint | None:
    statement = sa.select(Endpoint).where(Endpoint.id == endpoint_id, Endpoint.user_id == user_id)
    if lock:
        statement = statement.with_for_update(key_share=True).execution_options(populate_existing=True)
    return db.scalar(statement)


def dead_deliveries(db: OrmSession, endpoint_ids: Collection[UUID], *, at_most: int) -> dict[UUID, DeadDeliveries]:
    """For each endpoint with dead deliveries their number, up to `at_most`, without tests."""
    if not endpoint_ids:
        return {}
    each = [
        sa.select(Delivery.endpoint_id, Delivery.occurred_at)
        .where(Delivery.endpoint_id == endpoint_id, IS_DEAD, _IS_NO_TEST)
        .order_by(Delivery.occurred_at)
        .limit(at_most)
        .subquery()
        for endpoint_id in endpoint_ids
    ]
    dead = sa.union_all(*(sa.select(some) for some in each)).subquery()
    first = sa.func.min(dead.c.occurred_at, type_=UtcDateTime())
    rows = db.execute(sa.select(dead.c.endpoint_id, sa.func.count(), first).group_by(dead.c.endpoint_id))
    return {endpoint_id: DeadDeliveries(count, since) for endpoint_id, count, since in rows}


def has_ended_secret(db: OrmSession, now: datetime) -> bool:
    """Whether the overlap of a former secret has ended."""
    return db.scalar(sa.select(Endpoint.id).where(Endpoint.former_secret_until <= now).limit(1)) is not None


def forget_former_secrets(db: OrmSession, now: datetime) -> int:
    """Delete the secrets whose overlap has ended, and return their number."""
    ended = sa.update(core(Endpoint)).where(_ENDPOINTS.former_secret_until <= now)
    return rows_affected(db, ended.values(former_secret=None, former_secret_until=None))


def delete_endpoint(db: OrmSession, user_id: UUID, endpoint_id: UUID) -> bool:
    """Delete an endpoint with its deliveries. Returns whether there was one."""
    mine = (_ENDPOINTS.id == endpoint_id) & (_ENDPOINTS.user_id == user_id)
    return rows_affected(db, sa.delete(core(Endpoint)).where(mine)) == 1


def count_deliveries(db: OrmSession, endpoint_ids: Collection[UUID]) -> dict[tuple[UUID, str], int]:
    """Number of deliveries by endpoint and state, without tests."""
    statement = sa.select(Delivery.endpoint_id, Delivery.state, sa.func.count())
    counted = (Delivery.endpoint_id.in_(endpoint_ids), _IS_NO_TEST)
    rows = db.execute(statement.where(*counted).group_by(Delivery.endpoint_id, Delivery.state))
    return {(endpoint_id, state): count for endpoint_id, state, count in rows}


def count_by_health(db: OrmSession) -> HealthCounts:
    """Of all users."""
    fails = Endpoint.failing_since.is_not(None)
    enabled = Endpoint.disabled_at.is_(None)
    counts = (
        sa.func.count().filter(enabled, ~fails),
        sa.func.count().filter(enabled, fails),
        sa.func.count().filter(~enabled),
    )
    return HealthCounts(*db.execute(sa.select(*counts)).one())


def count_pending(db: OrmSession) -> int:
    """Deliveries to enabled webhooks that have not ended, up to a bound."""
    waiting = sa.select(Delivery.id).join(Endpoint, Endpoint.id == Delivery.endpoint_id)
    return bounded_count(db, waiting.where(DELIVERY_IS_PENDING, Endpoint.disabled_at.is_(None)))


# Deliveries of a user


def deliveries_page(
    db: OrmSession, endpoint_id: UUID, *, state: str | None, event_type: str | None, request: PageRequest
) -> Found:
    """Newest first."""
    wanted = (*given(state, Delivery.state), *given(event_type, Delivery.event_type))
    return _OF_WEBHOOK.page(db, request, Delivery.endpoint_id == endpoint_id, *wanted)


def deliveries_by_id(db: OrmSession, delivery_ids: Collection[UUID]) -> Sequence[Delivery]:
    return db.scalars(sa.select(Delivery).where(Delivery.id.in_(delivery_ids))).all()


def delivery_of(db: OrmSession, endpoint_id: UUID, delivery_id: UUID) -> Delivery | None:
    return db.scalar(sa.select(Delivery).where(Delivery.id == delivery_id, Delivery.endpoint_id == endpoint_id))


def replay(db: OrmSession, endpoint_id: UUID, delivery_ids: Collection[UUID], now: datetime) -> int:
    """Let deliveries start again with all their attempts; an attempt in progress no longer counts. How many."""
    which = (_DELIVERIES.endpoint_id == endpoint_id) & _DELIVERIES.id.in_(delivery_ids)
    again = {
        "state": "pending",
        "attempts": 0,
        "epoch": _DELIVERIES.epoch + 1,
        "available_at": now,
        "finished_at": None,
    }
    return rows_affected(db, sa.update(core(Delivery)).where(which).values(again))


def dead_since(db: OrmSession, endpoint_id: UUID, since: datetime, *, limit: int) -> list[UUID]:
    """Dead deliveries of events since then, oldest first, locked; without tests."""
    return _dead(db, endpoint_id, Delivery.occurred_at >= since, limit=limit)


def dead_until(db: OrmSession, endpoint_id: UUID, until: datetime | None, *, limit: int) -> list[UUID]:
    """Deliveries that were dead by then, oldest first; None: all dead ones."""
    which = [] if until is None else [Delivery.finished_at <= until]
    return _dead(db, endpoint_id, *which, limit=limit)


def _dead(db: OrmSession, endpoint_id: UUID, *which: sa.ColumnElement[bool], limit: int) -> list[UUID]:
    statement = sa.select(Delivery.id).where(Delivery.endpoint_id == endpoint_id, IS_DEAD, _IS_NO_TEST, *which)
    ordered = statement.order_by(Delivery.occurred_at, Delivery.id).limit(limit)
    return list(db.scalars(ordered.with_for_update(skip_locked=True)))


def delete_dead(db: OrmSession, endpoint_id: UUID, delivery_ids: Collection[UUID]) -> int:
    """Delete those of these deliveries of an endpoint that are dead. Returns the number deleted."""
    which = (_DELIVERIES.endpoint_id == endpoint_id) & _DELIVERIES.id.in_(delivery_ids) & IS_DEAD
    return rows_affected(db, sa.delete(core(Delivery)).where(which))


def has_old(db: OrmSession, before: datetime) -> bool:
    """Whether `delete_old` would delete a delivery."""
    return any(db.scalar(which.limit(1)) is not None for which in _old(before))


def delete_old(db: OrmSession, before: datetime, *, limit: int) -> int:
    """Delete deliveries that ended before then, and those that wait for an endpoint disabled before then. Returns the
    number deleted."""
    ids: list[UUID] = []
    for which in _old(before):
        ids += db.scalars(which.limit(limit - len(ids)).with_for_update(skip_locked=True, of=Delivery))
    if ids:
        db.execute(sa.delete(core(Delivery)).where(_DELIVERIES.id.in_(ids)))
    return len(ids)


def _old(before: datetime) -> tuple[sa.Select[UUID], sa.Select[UUID]]:
    finished = sa.select(Delivery.id).where(IS_FINISHED, Delivery.finished_at < before)
    waiting = (
        sa.select(Delivery.id)
        .join(Endpoint, Endpoint.id == Delivery.endpoint_id)
        .where(Endpoint.disabled_at < before, DELIVERY_IS_PENDING)
    )
    return finished, waiting
