"""What happens to sessions, jobs and memory bases, for features that tell others. No event contains message text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.queries.memory_bases import NewMismatch
from memorybase.core.services import Services


class EventType(StrEnum):
    """Types of events of the core."""

    JOB_COMPLETED = "job.completed"
    JOB_FAILED = "job.failed"
    DEAD_LETTER_CREATED = "dead_letter.created"
    MEMORY_MISMATCH = "memory.mismatch"
    MEMORY_REGENERATED = "memory.regenerated"
    SESSION_ERASED = "session.erased"
    RETENTION_EXPIRED = "retention.expired"


@dataclass(frozen=True, slots=True)
class Event:
    """`type`: an EventType, or a feature's own. `data` is for other systems: ids, counts and codes."""

    type: str
    data: dict[str, Any]


def record(db: OrmSession, services: Services, user_id: UUID, events: Sequence[Event], now: datetime) -> None:
    """Tell the features, in the caller's transaction: what they store exists if and only if the event happened."""
    if not events:
        return
    for hooks in services.hooks:
        hooks.on_events(db, user_id, events, now)


def record_mismatch(db: OrmSession, services: Services, began: NewMismatch | None, now: datetime) -> None:
    """Tell them that a memory base differs from its store, if that is new."""
    if began is None:
        return
    data = {
        "memory_base_id": began.memory_base_id,
        "flow_id": began.flow_id,
        "generation": began.generation,
        "chunks_missing": began.chunks_missing,
    }
    record(db, services, began.user_id, [Event(EventType.MEMORY_MISMATCH, data)], now)
