"""Webhooks of a world: subscribe, look at the outbox, let time pass, and send what is due."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from harness.api import Api
from harness.world import WorkerKilled, World
from memorybase.core import events
from memorybase.core.database import clock
from memorybase.core.events import Event
from memorybase.core.ingestion import lost_worker
from memorybase.features.webhooks import endpoints
from memorybase.features.webhooks.endpoints import WebhookWithSecret
from memorybase.features.webhooks.models import WebhookDelivery, WebhookEndpoint
from memorybase.features.webhooks.outbox import EventType
from memorybase.features.webhooks.queries import ClaimedDelivery
from memorybase.features.webhooks.requests import Attempt
from memorybase.features.webhooks.sender import Sender

URL = "https://hooks.example.com/memorybase"
OK, FAILED, GONE = Attempt(status=204), Attempt(status=500, error="status 500"), Attempt(status=410, error="status 410")


def subscribe(
    world: World, *types: EventType, url: str = URL, description: str = "", user_id: UUID | None = None
) -> WebhookWithSecret:
    """A webhook for these types of events, by default for all."""
    return endpoints.create(
        world.services,
        user_id or world.user_id,
        url=url,
        event_types=types or tuple(EventType),
        description=description,
    )


def happen(world: World, count: int = 1) -> None:
    """Record so many events."""
    with world.services.database.transaction() as db:
        found = [Event(EventType.JOB_FAILED, {"number": number}) for number in range(count)]
        events.record(db, world.services, world.user_id, found, clock.now(db))


def lose_workers(world: World) -> None:
    """Let every worker end on what is pending, until its job has failed."""

    def die(_texts: object) -> None:
        raise WorkerKilled

    world.embedder.before_embed, usual = die, world.embedder.before_embed
    world.locks.away = True
    for _ in range(lost_worker.MAX_LOST_WORKERS):
        with pytest.raises(WorkerKilled):
            world.drain()
        world.pass_time(61)
        world.sweep()
    world.embedder.before_embed, world.locks.away = usual, False


def let_die(world: World, webhook_id: UUID, *, days: int = 0) -> None:
    """Let all deliveries of a webhook have ended without success, so many days ago."""
    ended = datetime.now(UTC) - timedelta(days=days)
    mine = sa.update(WebhookDelivery).where(WebhookDelivery.endpoint_id == webhook_id)
    with world.services.database.transaction() as db:
        db.execute(mine.values(state="dead", finished_at=ended))


def rows(world: World, webhook_id: UUID | None = None) -> list[WebhookDelivery]:
    """The outbox, in the order of events."""
    with world.services.database.reading() as db:
        found = db.scalars(sa.select(WebhookDelivery).order_by(WebhookDelivery.occurred_at, WebhookDelivery.id))
        return [row for row in found if webhook_id in (None, row.endpoint_id)]


def endpoint_row(world: World, webhook_id: UUID) -> WebhookEndpoint:
    with world.services.database.reading() as db:
        return db.get_one(WebhookEndpoint, webhook_id)


def deliver(world: World | Api, answer: Attempt | Callable[[ClaimedDelivery], Attempt] = OK) -> list[ClaimedDelivery]:
    """Send what is due, each delivery once; those that were sent."""
    sent: list[ClaimedDelivery] = []

    def post(_endpoint: Any, delivery: ClaimedDelivery, _now: Any) -> Attempt:
        sent.append(delivery)
        return answer(delivery) if callable(answer) else answer

    sender = Sender(world.services, post)
    while sender.start_due():
        assert sender.wait(10)
    return sent


def pass_time(world: World, **duration: float) -> None:
    """Let time pass for the outbox, and for what is known of the endpoints."""
    gone = timedelta(**duration)
    columns = {
        WebhookDelivery: ("available_at", "occurred_at", "finished_at"),
        WebhookEndpoint: ("failing_since", "disabled_at", "former_secret_until"),
    }
    with world.services.database.transaction() as db:
        for table, names in columns.items():
            for row in db.scalars(sa.select(table)):
                for name in names:
                    moment = getattr(row, name)
                    setattr(row, name, moment and moment - gone)
