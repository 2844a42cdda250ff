"""Events of webhooks, written to the outbox in the transaction in which they happen. None contains message text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase.queries import webhooks
from memorybase.queries.memory_bases import NewMismatch


class EventType(StrEnum):
    """Types of events that an endpoint can subscribe to."""

    JOB_COMPLETED = "job.completed"
    JOB_FAILED = "job.failed"
    DEAD_LETTER_CREATED = "dead_letter.created"
    MEMORY_MISMATCH = "memory.mismatch"
    MEMORY_REGENERATED = "memory.regenerated"
    SESSION_ERASED = "session.erased"
    RETENTION_EXPIRED = "retention.expired"
    WEBHOOK_TEST = webhooks.TEST  # sent on request, to the webhook that is tested, whatever it subscribes to


@dataclass(frozen=True, slots=True)
class Event:
    """`data` is for receivers: ids, counts and codes, no text of messages. docs/reference/webhooks.md lists it."""

    type: EventType
    data: dict[str, Any]


def record(db: OrmSession, user_id: UUID, events: Sequence[Event], now: datetime) -> int:
    """Write the events to the outbox of the user's subscribed endpoints. Returns the number of deliveries.

    Part of the caller's transaction. One statement for users without endpoints; none without events.
    """
    if not events:
        return 0
    endpoints = webhooks.share_enabled_endpoints(db, user_id)
    if not endpoints:
        return 0
    rows = [
        webhooks.new_delivery(user_id, endpoint.id, event_id, event.type, body, now)
        for event, event_id, body in ((event, uuid4(), body_of(event, now)) for event in events)
        for endpoint in endpoints
        if event.type in endpoint.event_types
    ]
    if rows:
        webhooks.insert_deliveries(db, rows)
    return len(rows)


def body_of(event: Event, now: datetime) -> str:
    """The body of the request: it is stored once, so that every attempt sends the same."""
    at = now.astimezone(UTC).isoformat().replace("+00:00", "Z")
    content = {"type": event.type, "timestamp": at, "data": event.data}
    return json.dumps(content, separators=(",", ":"), default=str)


def record_mismatch(db: OrmSession, began: NewMismatch | None, now: datetime) -> None:
    """Record that a memory base differs from its store, if that has just begun."""
    if began is None:
        return
    data = {
        "memory_base_id": began.memory_base_id,
        "flow_id": began.flow_id,
        "generation": began.generation,
        "chunks_missing": began.chunks_missing,
    }
    record(db, began.user_id, [Event(EventType.MEMORY_MISMATCH, data)], now)
