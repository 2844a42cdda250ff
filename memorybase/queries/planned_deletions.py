"""Sessions and memory bases that are deleted soon, and that until then can be kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.upsert import insert, rows_affected
from memorybase.models import MemoryBase, PlannedBaseDeletion, PlannedDeletion, Session
from memorybase.queries.joins import own_base


class Planned(NamedTuple):
    """A session to delete, and whose it is."""

    session_uuid: UUID
    user_id: UUID
    flow_id: UUID
    session_id: str


def add(db: OrmSession, session_uuids: Sequence[UUID], batch_id: UUID, user_id: UUID, due_at: datetime) -> None:
    """A session that is planned already joins the new batch, unless its deletion has started."""
    if not session_uuids:
        return
    statement = insert(db, PlannedDeletion)
    db.execute(
        statement.on_conflict_do_update(
            index_elements=["session_uuid"],
            set_={"batch_id": batch_id, "due_at": due_at},
            where=PlannedDeletion.started.is_(False),
        ),
        [
            {"session_uuid": each, "batch_id": batch_id, "user_id": user_id, "due_at": due_at, "started": False}
            for each in session_uuids
        ],
    )


def withdraw(db: OrmSession, user_id: UUID, batch_id: UUID) -> int:
    """Cancel the planned deletion of a batch's sessions that has not started. Returns the number kept."""
    mine = (PlannedDeletion.batch_id == batch_id, PlannedDeletion.user_id == user_id)
    return rows_affected(db, sa.delete(PlannedDeletion).where(*mine, PlannedDeletion.started.is_(False)))


def due(db: OrmSession, now: datetime, *, limit: int) -> list[Planned]:
    """Planned deletions whose time has come or that were interrupted, the oldest first."""
    # Each has a session; with an inner join and statistics SQLite would read every session.
    statement = (
        sa.select(PlannedDeletion.session_uuid, PlannedDeletion.user_id, Session.flow_id, Session.session_id)
        .outerjoin(Session, Session.id == PlannedDeletion.session_uuid)
        .where(PlannedDeletion.due_at <= now)
        .order_by(PlannedDeletion.due_at, PlannedDeletion.session_uuid)
        .limit(limit)
    )
    return [Planned(*row) for row in db.execute(statement)]


def start(db: OrmSession, session_uuid: UUID) -> bool:
    """After this it cannot be kept; False if the deletion was cancelled."""
    row = sa.update(PlannedDeletion).where(PlannedDeletion.session_uuid == session_uuid)
    return rows_affected(db, row.values(started=True)) > 0


def finish(db: OrmSession, session_uuid: UUID) -> None:
    db.execute(sa.delete(PlannedDeletion).where(PlannedDeletion.session_uuid == session_uuid))


# Memory bases. Their deletion starts in the transaction that takes them, so none is ever half done.


def add_bases(db: OrmSession, base_ids: Sequence[UUID], batch_id: UUID, user_id: UUID, due_at: datetime) -> None:
    """A memory base that is planned already joins the new batch."""
    if not base_ids:
        return
    statement = insert(db, PlannedBaseDeletion)
    db.execute(
        statement.on_conflict_do_update(
            index_elements=["memory_base_id"], set_={"batch_id": batch_id, "due_at": due_at}
        ),
        [{"memory_base_id": each, "batch_id": batch_id, "user_id": user_id, "due_at": due_at} for each in base_ids],
    )


def withdraw_bases(db: OrmSession, user_id: UUID, batch_id: UUID) -> int:
    """Cancel the planned deletion of a batch's memory bases that are not deleted. Returns the number kept."""
    kept = sa.select(MemoryBase.id).where(own_base(user_id))
    mine = (PlannedBaseDeletion.batch_id == batch_id,)
    return rows_affected(db, sa.delete(PlannedBaseDeletion).where(*mine, PlannedBaseDeletion.memory_base_id.in_(kept)))


def is_base_planned(db: OrmSession, user_id: UUID, base_id: UUID) -> bool:
    mine = (PlannedBaseDeletion.memory_base_id == base_id, PlannedBaseDeletion.user_id == user_id)
    return db.execute(sa.select(PlannedBaseDeletion.memory_base_id).where(*mine)).first() is not None


def due_bases(db: OrmSession, now: datetime, *, limit: int) -> list[UUID]:
    """Memory bases whose planned deletion is due, the oldest first."""
    statement = (
        sa.select(PlannedBaseDeletion.memory_base_id)
        .where(PlannedBaseDeletion.due_at <= now)
        .order_by(PlannedBaseDeletion.due_at, PlannedBaseDeletion.memory_base_id)
        .limit(limit)
    )
    return list(db.scalars(statement))


def take_base(db: OrmSession, base_id: UUID, now: datetime) -> bool:
    """After this it cannot be kept; False if the deletion was cancelled, or planned again for later."""
    mine = (PlannedBaseDeletion.memory_base_id == base_id, PlannedBaseDeletion.due_at <= now)
    return rows_affected(db, sa.delete(PlannedBaseDeletion).where(*mine)) > 0
