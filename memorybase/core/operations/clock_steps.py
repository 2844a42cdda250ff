"""After the clock was stepped back: timestamps that lie further ahead than any process sets them are moved back.

Otherwise what waits for them would wait for as long as the clock was ahead: a lease or a backoff for an hour, say. Past
timestamps need nothing: work that waits for them runs early, which is harmless.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import telemetry
from memorybase.core.auth.web_sessions import LINK_LIFETIME, SESSION_LIFETIME
from memorybase.core.conversation.session_memory import summaries
from memorybase.core.database import clock
from memorybase.core.idempotency import KEPT, LEASE
from memorybase.core.memory_bases import consistency
from memorybase.core.models import (
    IS_ACTIVE,
    DeletedMessage,
    Generation,
    Heartbeat,
    IdempotencyKey,
    IngestionJob,
    MemoryBase,
    PlannedBaseDeletion,
    PlannedDeletion,
    Preparation,
    RestorableMessage,
    SessionProgress,
    WebTicket,
)
from memorybase.core.queries import heartbeats, leased_work, timestamps
from memorybase.core.queries.timestamps import NOW, Limit
from memorybase.core.services import Services
from memorybase.core.sessions.deletion import LATE_WRITE
from memorybase.core.sessions.planned_deletion import UNDO

Progress = SessionProgress
TURN = "turn:clock"
EVERY = timedelta(seconds=30)

log = telemetry.get_logger(__name__)


def clamp_timestamps(services: Services) -> int:
    """Move timestamps back that lie too far ahead, and return their number. Runs in one sweeper, every 30 s."""
    if not heartbeats.take_turn(services.database, TURN, EVERY):
        return 0
    with services.database.reading() as db:
        now = clock.now(db)
        ahead = [limit for limit in limits(db, services) if timestamps.is_exceeded(db, limit, now)]
    return sum(_clamp(services, limit) for limit in ahead)


def limits(db: OrmSession, services: Services) -> Iterator[Limit]:
    """Every timestamp that decides when something happens, except times that callers choose (the expiry of a key)."""
    settings = services.settings
    lease = timedelta(seconds=settings.lease_seconds)
    backoff = timedelta(seconds=settings.backoff_max_seconds)
    notify = leased_work.longest_notify(settings)
    yield Limit(Progress.lease_until, lease)
    yield Limit(Progress.audit_at, lease)
    for seconds in timestamps.idle_times(db):
        # The sweeper computes it again at once.
        yield Limit(Progress.idle_due_at, timedelta(seconds=seconds), timestamps.is_of_idle_time(seconds), becomes=NOW)
    yield Limit(IngestionJob.available_at, backoff, IS_ACTIVE, becomes=NOW)
    yield Limit(IngestionJob.notify_at, notify, IS_ACTIVE, becomes=NOW)
    yield Limit(IngestionJob.notified_at, only=IS_ACTIVE)
    yield Limit(IngestionJob.created_at, only=IS_ACTIVE)
    yield Limit(IngestionJob.started_at, only=IS_ACTIVE)
    yield Limit(Generation.retired_at)
    yield Limit(Preparation.started_at)
    yield Limit(MemoryBase.mismatch_checked_at)
    yield Limit(MemoryBase.compare_at, consistency.LONGEST_PAUSE, becomes=NOW)
    yield Limit(DeletedMessage.expires_at, LATE_WRITE)
    yield Limit(RestorableMessage.deleted_at)
    yield Limit(Heartbeat.beat_at)
    yield Limit(WebTicket.expires_at, LINK_LIFETIME, timestamps.IS_LINK)
    yield Limit(WebTicket.expires_at, SESSION_LIFETIME, timestamps.IS_WEB_SESSION)
    yield Limit(IdempotencyKey.lease_until, LEASE)
    yield Limit(IdempotencyKey.expires_at, KEPT)
    yield from leased_work.limits(summaries.WORK, services)
    yield Limit(PlannedDeletion.due_at, UNDO)
    yield Limit(PlannedBaseDeletion.due_at, UNDO)
    for hooks in services.hooks:
        yield from hooks.limits(services)


def _clamp(services: Services, limit: Limit) -> int:
    with services.database.transaction() as db:
        moved = timestamps.move_back(db, limit, clock.now(db))
    if moved:
        log.warning("timestamps_moved_back", column=str(limit.column), rows=moved)
    return moved
