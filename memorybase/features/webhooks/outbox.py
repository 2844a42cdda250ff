"""The outbox of webhooks: events become deliveries in the transaction in which they happen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import events
from memorybase.core.events import Event
from memorybase.features.webhooks import queries


class EventType(StrEnum):
    """Types of events that an endpoint can subscribe to."""

    JOB_COMPLETED = events.EventType.JOB_COMPLETED
    JOB_FAILED = events.EventType.JOB_FAILED
    DEAD_LETTER_CREATED = events.EventType.DEAD_LETTER_CREATED
    MEMORY_MISMATCH = events.EventType.MEMORY_MISMATCH
    MEMORY_REGENERATED = events.EventType.MEMORY_REGENERATED
    SESSION_ERASED = events.EventType.SESSION_ERASED
    RETENTION_EXPIRED = events.EventType.RETENTION_EXPIRED
    WEBHOOK_TEST = queries.TEST  # sent on request, to the webhook that is tested, whatever it subscribes to


def record(db: OrmSession, user_id: UUID, happened: Sequence[Event], now: datetime) -> int:
    """Write the events to the outbox of the user's subscribed endpoints. Returns the number of deliveries.

    Part of the caller's transaction. One statement for users without endpoints.
    """
    endpoints = queries.share_enabled_endpoints(db, user_id)
    if not endpoints:
        return 0
    rows = [
        queries.new_delivery(user_id, endpoint.id, event_id, event.type, body, now)
        for event, event_id, body in ((event, uuid4(), body_of(event.type, event.data, now)) for event in happened)
        for endpoint in endpoints
        if event.type in endpoint.event_types
    ]
    if rows:
        queries.insert_deliveries(db, rows)
    return len(rows)


def body_of(event_type: str, data: Mapping[str, Any], now: datetime) -> str:
    """The body of the request: it is stored once, so that every attempt sends the same."""
    at = now.astimezone(UTC).isoformat().replace("+00:00", "Z")
    content = {"type": event_type, "timestamp": at, "data": data}
    return json.dumps(content, separators=(",", ":"), default=str)
