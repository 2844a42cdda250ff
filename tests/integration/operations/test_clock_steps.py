"""A clock that was an hour ahead and was stepped back: nothing waits for that hour."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.world import World
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.auth import api_keys
from memorybase.core.database import clock
from memorybase.core.models import (
    Base,
    Chat,
    ChatMemory,
    DeletedMessage,
    Generation,
    Heartbeat,
    IdempotencyKey,
    IngestionJob,
    MemoryBase,
    MemoryUse,
    PlannedBaseDeletion,
    PlannedDeletion,
    Preparation,
    PreparationKind,
    RestorableMessage,
    Session,
    SessionSummary,
    WebTicket,
)
from memorybase.core.models.base import UtcDateTime
from memorybase.core.operations import clock_steps, health, heartbeats, sweeper
from memorybase.core.queries import heartbeats as turns
from memorybase.core.queries import timestamps
from memorybase.core.services import Services
from memorybase.features.facts.models import Distillation
from memorybase.features.memory_map.models import MemoryMap
from memorybase.features.quotas.models import QuotaCounter
from memorybase.features.webhooks.models import WebhookDelivery, WebhookEndpoint

AHEAD = timedelta(hours=1)

# Timestamps that a lower clock does no harm to, and why. Each other one has a limit in clock_steps.
UNLIMITED = {
    "only shown, listed or used as an age, which is at least 0": (
        "api_keys.created_at audit_entries.at chat_memories.created_at chat_memories.updated_at "
        "chat_records.created_at chats.created_at chats.updated_at dead_letters.created_at dead_letters.updated_at "
        "distillations.updated_at documents.created_at facts.created_at facts.said_at flows.created_at "
        "generations.created_at heartbeats.started_at idempotency_keys.created_at ingestion_jobs.embedded_at "
        "ingestion_jobs.embedding_at ingestion_jobs.written_at knowledge_bases.created_at ledger.ingested_at "
        "legal_holds.placed_at memory_bases.created_at memory_bases.mismatch_since memory_bases.paused_at "
        "memory_maps.as_of memory_maps.computed_at memory_maps.failing_since memory_uses.recorded_at "
        "messages.captured_at messages.timestamp node_executions.created_at node_executions.updated_at "
        "redaction_keys.created_at "
        "retention_passes.expired_before retention_passes.finished_at retention_passes.started_at runs.created_at "
        "search_labels.marked_at session_progress.last_sync_at sessions.created_at sessions.renamed_at "
        "standing_statements.changed_at standing_statements.said_at summaries.created_at summaries.updated_at "
        "users.created_at web_tickets.created_at webhook_deliveries.last_attempt_at webhook_deliveries.occurred_at "
        "webhook_endpoints.created_at"
    ),
    "chosen by the caller": "api_keys.expires_at sessions.expires_at",
    "a place in the order of sessions": "preparations.after_created_at",
    "only whether it is set counts": (
        "api_keys.revoked_at flows.deleting_at heartbeats.drain_requested_at heartbeats.draining_at "
        "knowledge_bases.deleting_at memory_bases.deleting_at sessions.deleted_at standing_statements.deleted_at"
    ),
    "deletes or disables later by the step": (
        "quota_end_users.first_seen_at webhook_deliveries.finished_at webhook_endpoints.disabled_at "
        "webhook_endpoints.failing_since"
    ),
    "written at most once a minute: the mark of use is late by the step": "api_keys.last_used_at",
    "corrected or ignored where it is read": (
        "ingestion_jobs.finished_at message_changes.at messages.edited_at quota_counters.window_start "
        "sessions.last_captured_at"
    ),
}


@contextmanager
def an_hour_ahead(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    now = clock.now

    def ahead(db: OrmSession) -> datetime:
        return now(db) + AHEAD

    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", ahead)
        yield


def limited(world: World) -> list[timestamps.Limit]:
    with world.services.database.reading() as db:
        return list(clock_steps.limits(db, world.services))


def sweep(world: World) -> sweeper.SweepReport:
    """One pass, long after the one before."""
    world.execute(sa.delete(Heartbeat).where(Heartbeat.name == clock_steps.TURN))
    return world.sweep()


def test_every_timestamp_has_a_limit_or_a_reason_for_none(world: World) -> None:
    world.new_base()
    stored = {
        f"{table.name}.{column.name}"
        for table in Base.metadata.tables.values()
        for column in table.columns
        if isinstance(column.type, UtcDateTime)
    }
    reasons = {name for names in UNLIMITED.values() for name in names.split()}
    with_limit = {f"{limit.column.class_.__tablename__}.{limit.column.key}" for limit in limited(world)}
    assert stored - reasons == with_limit
    assert reasons <= stored


def test_every_limited_timestamp_is_moved_back(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "a")
    _rows_of_every_table(world)
    with world.services.database.transaction() as db:
        waiting = {"memory_base_id": base, "generation": 1, "kind": PreparationKind.HISTORY}
        db.add(Preparation(**waiting, started_at=clock.now(db)))
        db.flush()
        far = clock.now(db) + timedelta(days=1_000)
        for limit in limited(world):
            db.execute(sa.update(limit.column.class_).values({limit.column.key: far}))
    assert sweep(world).done["clamped"] >= len(limited(world))
    with world.services.database.reading() as db:
        now = clock.now(db)
        for limit in limited(world):
            latest = sa.select(sa.func.max(limit.column)).where(limit.only if limit.only is not None else sa.true())
            # The pass has done what was to be prepared.
            assert (db.scalar(latest) or now) <= now + limit.ahead + timestamps.SLACK, limit.column
    assert world.active_jobs(base)


def test_timestamps_within_their_limits_stay(world: World) -> None:
    world.new_base(threshold=1)
    world.new_base(threshold=1_000, idle_after=86_400)
    world.say("s", "a")
    world.vectors.away = True
    world.drain()
    heartbeats.beat(world.services, "worker@1", "worker")
    assert sweep(world).done["clamped"] == 0


class TestWork:
    def test_an_idle_session_captured_ahead_is_ingested(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = world.new_base(threshold=100, idle_after=60)
        other = world.new_base(threshold=100, idle_after=86_400)
        with an_hour_ahead(monkeypatch):
            world.say("s", "a")
        sweep(world)
        world.pass_time(61)
        assert sweep(world).done["idle"] == 1
        world.assert_settled(base)
        assert world.ledger(other) == []


class TestOperations:
    def test_a_turn_that_was_taken_ahead_is_taken_again(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        def take() -> bool:
            return turns.take_turn(world.services.database, "turn:x", timedelta(days=1))

        with an_hour_ahead(monkeypatch):
            assert take()
        assert take()
        assert not take()

    def test_jobs_that_ended_ahead_hide_no_stalled_queue(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        world.new_base(threshold=1)
        with an_hour_ahead(monkeypatch):
            world.say("s", "a")
            world.drain()
        world.say("other", "a")
        world.pass_time(61)
        assert health.read_vitals(world.services).queue_stalled


def _rows_of_every_table(world: World) -> None:
    """A row in each table with a limited timestamp."""
    services, flow_id = world.services, world.flow_id
    heartbeats.beat(services, "worker@1", "worker")
    key, _ = api_keys.create_key(services, world.user_id, name="key", scopes=api_keys.SCOPES)
    memory_id = uuid4()
    _insert(services, ChatMemory, id=memory_id, flow_id=flow_id)
    _insert(services, Chat, flow_id=flow_id, chat_memory_id=memory_id)
    _insert(services, SessionSummary, flow_id=flow_id, session_id="s")
    _insert(services, DeletedMessage, flow_id=flow_id)
    _insert(services, MemoryUse, flow_id=flow_id)
    _insert(services, Distillation, memory_base_id=_memory_base_id(services), flow_id=flow_id, session_id="s")
    _insert(services, PlannedDeletion, session_uuid=_session_uuid(services), user_id=world.user_id)
    _insert(services, PlannedBaseDeletion, memory_base_id=_memory_base_id(services), user_id=world.user_id)
    _insert(services, MemoryMap, memory_base_id=_memory_base_id(services))
    _insert(
        services,
        RestorableMessage,
        flow_id=flow_id,
        session_uuid=_session_uuid(services),
        message={},
        links=[],
        removed=[],
    )
    for kind in ("link", "session"):
        _insert(services, WebTicket, token_hash=kind.encode(), key_id=key.id, kind=kind)
    _insert(services, IdempotencyKey, user_id=world.user_id)
    endpoint_id = uuid4()
    _insert(services, WebhookEndpoint, id=endpoint_id, user_id=world.user_id)
    _insert(services, WebhookDelivery, user_id=world.user_id, endpoint_id=endpoint_id, state="pending")
    _insert(services, QuotaCounter, subject_id=world.user_id, user_id=world.user_id)
    assert all(_is_filled(services, table) for table in (Generation, IngestionJob, Session))


def _memory_base_id(services: Services) -> UUID:
    with services.database.reading() as db:
        return db.scalars(sa.select(MemoryBase.id)).one()


def _session_uuid(services: Services) -> UUID:
    with services.database.reading() as db:
        return db.scalars(sa.select(Session.id)).first() or uuid4()


def _insert(services: Services, table: type[Any], **values: Any) -> None:
    """A row with these values, and with any values of their types in its other required columns."""
    anything: dict[type, Any] = {UUID: uuid4(), str: "x", int: 0, bool: False, object: {}, bytes: b""}
    required = {
        column.name: datetime.now(UTC) if isinstance(column.type, UtcDateTime) else anything[column.type.python_type]
        for column in table.__table__.columns
        if not column.nullable and column.default is None and column.name not in values
    }
    with services.database.transaction() as db:
        db.execute(sa.insert(table).values(required | values))


def _is_filled(services: Services, table: type[Any]) -> bool:
    with services.database.reading() as db:
        return db.scalar(sa.select(sa.func.count()).select_from(table)) > 0
