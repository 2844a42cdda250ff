"""Deliveries of webhooks: list and replay them, discard dead ones, delete old ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID, uuid4

from pydantic import Field

from memorybase.core import errors
from memorybase.core.database import clock, engine
from memorybase.core.database.due import change_if_due
from memorybase.core.database.paging import Page, PageRequest, page_of
from memorybase.core.described import Id
from memorybase.core.queries.ownership import require
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.features.webhooks import outbox, queries
from memorybase.features.webhooks.errors import WebhookDisabled
from memorybase.features.webhooks.models import WebhookDelivery
from memorybase.features.webhooks.outbox import EventType

REPLAY_LIMIT = 1_000  # in one call
DISCARD_LIMIT = 1_000  # the same
DELETE_LIMIT = 1_000  # in one pass of the sweeper
KEPT = timedelta(days=7)  # how long finished deliveries are listed


class DeliveryState(StrEnum):
    """State of a delivery; a dead one had all its attempts, or its endpoint is gone."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A delivery of an event to a webhook."""

    id: Id
    webhook_id: Annotated[UUID, Field(description="The webhook.")]
    event_id: Annotated[
        UUID, Field(description="The event: the `webhook-id` of the request, the same for each attempt and webhook.")
    ]
    event_type: Annotated[EventType, Field(description="The type of the event.")]
    state: Annotated[DeliveryState, Field(description="`pending`, `delivered` or `dead`.")]
    attempts: Annotated[int, Field(description="How many attempts were made since its creation or replay.")]
    next_attempt_at: Annotated[
        datetime | None,
        Field(
            description="When the next attempt is due; while one is in progress, when it counts as lost. Null "
            "unless pending."
        ),
    ]
    last_attempt_at: Annotated[
        datetime | None, Field(description="When the last attempt ended; null before the first.")
    ]
    last_status: Annotated[int | None, Field(description="HTTP status of the last answer; null without one.")]
    last_error: Annotated[str | None, Field(description="Why the last attempt failed; null if it succeeded.")]
    occurred_at: Annotated[datetime, Field(description="When the event happened.")]
    finished_at: Annotated[datetime | None, Field(description="When it was delivered or died; null while pending.")]
    body: Annotated[str, Field(description="The JSON text that is signed and sent.")]

    @property
    def ended(self) -> bool:
        return self.state is not DeliveryState.PENDING


@dataclass(frozen=True, slots=True)
class Replayed:
    """Number of dead deliveries that start again, and whether more are left."""

    replayed: Annotated[int, Field(description="How many deliveries are sent again.")]
    remaining: Annotated[bool, Field(description="Whether more dead deliveries match.")]


@dataclass(frozen=True, slots=True)
class Discarded:
    """Number of dead deliveries that were deleted, and whether more are left."""

    discarded: Annotated[int, Field(description="How many deliveries were deleted.")]
    remaining: Annotated[bool, Field(description="Whether more dead deliveries match.")]


def list_deliveries(
    services: Services,
    user_id: UUID,
    webhook_id: UUID,
    request: PageRequest,
    *,
    state: DeliveryState | None = None,
    event_type: EventType | None = None,
) -> Page[DeliveryView]:
    """Newest first. Raises NotFound."""
    with services.database.reading() as db:
        require(queries.endpoint_of(db, user_id, webhook_id), "webhook", webhook_id)
        found = queries.deliveries_page(db, webhook_id, state=state, event_type=event_type, request=request)
        return page_of(found, lambda row: _view(row.WebhookDelivery))


def get_delivery(services: Services, user_id: UUID, webhook_id: UUID, delivery_id: UUID) -> DeliveryView:
    """Raises NotFound."""
    with services.database.reading() as db:
        require(queries.endpoint_of(db, user_id, webhook_id), "webhook", webhook_id)
        return _view(require(queries.delivery_of(db, webhook_id, delivery_id), "delivery", delivery_id))


def get_deliveries(services: Services, delivery_ids: Collection[UUID]) -> dict[UUID, DeliveryView]:
    """Deliveries by id that exist, for who has read them before."""
    with services.database.reading() as db:
        return {row.id: _view(row) for row in queries.deliveries_by_id(db, delivery_ids)}


def send_test(services: Services, user_id: UUID, webhook_id: UUID) -> DeliveryView:
    """Let the sweeper send a test event to the webhook, in one attempt. It is no event of the webhook: its failure
    disables nothing, and a replay of dead deliveries leaves it. Raises NotFound, WebhookDisabled."""
    with services.database.transaction() as db:
        endpoint = require(queries.endpoint_of(db, user_id, webhook_id, lock=True), "webhook", webhook_id)
        if endpoint.disabled_at is not None:
            raise WebhookDisabled(field="webhook_id", value=webhook_id)
        now = clock.now(db)
        body = outbox.body_of(EventType.WEBHOOK_TEST, {"webhook_id": webhook_id}, now)
        row = queries.new_delivery(user_id, webhook_id, uuid4(), EventType.WEBHOOK_TEST, body, now)
        queries.insert_deliveries(db, [row])
        engine.created(db, delivery_id=row["id"])
        return _view(require(queries.delivery_of(db, webhook_id, row["id"]), "delivery", row["id"]))


def replay(services: Services, user_id: UUID, webhook_id: UUID, delivery_id: UUID) -> DeliveryView:
    """Send a delivery again, with all its attempts and under its `webhook-id`. Raises NotFound."""
    with services.database.transaction() as db:
        require(queries.endpoint_of(db, user_id, webhook_id), "webhook", webhook_id)
        queries.replay(db, webhook_id, [delivery_id], clock.now(db))
        return _view(require(queries.delivery_of(db, webhook_id, delivery_id), "delivery", delivery_id))


def replay_dead(services: Services, user_id: UUID, webhook_id: UUID, since: datetime) -> Replayed:
    """Replay all dead deliveries of events since then, oldest first, up to REPLAY_LIMIT. Raises NotFound."""
    with services.database.transaction() as db:
        require(queries.endpoint_of(db, user_id, webhook_id), "webhook", webhook_id)
        ids = queries.dead_since(db, webhook_id, since, limit=REPLAY_LIMIT)
        if ids:
            queries.replay(db, webhook_id, ids, clock.now(db))
        return Replayed(len(ids), bool(queries.dead_since(db, webhook_id, since, limit=1)))


def discard(services: Services, user_id: UUID, webhook_id: UUID, delivery_id: UUID) -> None:
    """Delete a dead delivery: it is no problem any more, and cannot be sent again. Raises NotFound, Conflict."""
    with services.database.transaction() as db:
        require(queries.endpoint_of(db, user_id, webhook_id), "webhook", webhook_id)
        if queries.delete_dead(db, webhook_id, [delivery_id]):
            return
        found = require(queries.delivery_of(db, webhook_id, delivery_id), "delivery", delivery_id)
        message = f"Only a dead delivery can be discarded; this one is {found.state}"
        raise errors.Conflict(message, field="delivery_id", value=delivery_id)


def discard_dead(services: Services, user_id: UUID, webhook_id: UUID, until: datetime | None) -> Discarded:
    """Discard all deliveries that were dead by then, oldest first, up to DISCARD_LIMIT. Raises NotFound."""
    with services.database.transaction() as db:
        require(queries.endpoint_of(db, user_id, webhook_id), "webhook", webhook_id)
        ids = queries.dead_until(db, webhook_id, until, limit=DISCARD_LIMIT)
        if ids:
            queries.delete_dead(db, webhook_id, ids)
        return Discarded(len(ids), bool(queries.dead_until(db, webhook_id, until, limit=1)))


def delete_old(services: Services) -> int:
    """The sweeper's step: delete deliveries that ended KEPT ago, and return their number. Also deletes secrets that no
    longer sign."""
    change_if_due(services.database, queries.has_ended_secret, queries.forget_former_secrets, durable=False)
    return change_if_due(
        services.database,
        lambda db, now: queries.has_old(db, now - KEPT),
        lambda db, now: queries.delete_old(db, now - KEPT, limit=DELETE_LIMIT),
        durable=False,
    )


def _view(delivery: WebhookDelivery) -> DeliveryView:
    is_pending = delivery.state == DeliveryState.PENDING
    return view_of(
        DeliveryView,
        delivery,
        webhook_id=delivery.endpoint_id,
        event_type=EventType(delivery.event_type),
        state=DeliveryState(delivery.state),
        next_attempt_at=delivery.available_at if is_pending else None,
    )
