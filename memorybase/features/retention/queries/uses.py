"""Memory uses whose run is due, and old ones."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.core.models import Flow, MemoryUse, Run, Session
from memorybase.features.retention.queries import holds


class DueUse(NamedTuple):
    """A use whose run is due. `captured_in` is the session of the run if it is captured, with its person."""

    id: UUID
    flow_id: UUID
    user_id: UUID
    session_id: str | None
    captured_in: str | None
    captured_for: str | None
    is_known: bool  # the session that it was asked for is stored


def has_due(db: OrmSession, now: datetime) -> bool:
    return db.scalar(sa.select(MemoryUse.id).where(MemoryUse.run_due_at <= now).limit(1)) is not None


def due_uses(db: OrmSession, now: datetime, *, limit: int) -> list[DueUse]:
    """Uses whose run should have been captured by now, the longest waiting first."""
    asked, captured = aliased(Session), aliased(Session)
    its = (asked.flow_id == MemoryUse.flow_id, asked.session_id == MemoryUse.session_id)
    statement = (
        sa.select(
            MemoryUse.id,
            MemoryUse.flow_id,
            Flow.user_id,
            MemoryUse.session_id,
            captured.session_id.label("captured_in"),
            captured.end_user_id.label("captured_for"),
            asked.id.is_not(None).label("is_known"),
        )
        .join(Flow, Flow.id == MemoryUse.flow_id)
        .outerjoin(Run, sa.and_(Run.id == MemoryUse.run_id, Run.flow_id == MemoryUse.flow_id))
        .outerjoin(captured, captured.id == Run.session_uuid)
        .outerjoin(asked, sa.and_(*its, asked.deleted_at.is_(None)))
        .where(MemoryUse.run_due_at <= now)
        .order_by(MemoryUse.run_due_at)
        .limit(limit)
    )
    return [DueUse(*row) for row in db.execute(statement)]


class OldUse(NamedTuple):
    """A use, and whether a legal hold keeps it."""

    id: UUID
    recorded_at: datetime
    user_id: UUID
    flow_id: UUID
    is_held: bool


def old_uses(db: OrmSession, before: datetime, *, after: OldUse | None, limit: int) -> list[OldUse]:
    """Uses that were recorded until then, of all flows, the oldest first."""
    place = (MemoryUse.recorded_at, MemoryUse.id)
    statement = (
        sa.select(MemoryUse.id, MemoryUse.recorded_at, Flow.user_id, Flow.id, holds.use_held().label("is_held"))
        .join(Flow, Flow.id == MemoryUse.flow_id)
        .where(MemoryUse.recorded_at <= before)
        .order_by(*place)
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(sa.tuple_(*place) > sa.tuple_(sa.literal(after.recorded_at), sa.literal(after.id)))
    return [OldUse(*row) for row in db.execute(statement)]


def set_run_due(db: OrmSession, ids: Collection[UUID], due_at: datetime | None) -> None:
    change = sa.update(MemoryUse).where(MemoryUse.id.in_(ids)).values(run_due_at=due_at)
    db.execute(change.execution_options(synchronize_session=False))


def move_to_session(db: OrmSession, use_id: UUID, session_id: str, end_user_id: str | None) -> None:
    """The use's run was captured in this session, and that which it was asked for is not stored."""
    change = sa.update(MemoryUse).where(MemoryUse.id == use_id).values(session_id=session_id, end_user_id=end_user_id)
    db.execute(change.execution_options(synchronize_session=False))
