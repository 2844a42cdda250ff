"""Sessions that are deleted soon, and that until then can be kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.upsert import insert, rows_affected
from memorybase.models import PlannedDeletion, Session


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
    """Keep the sessions of a batch whose deletion has not started; how many."""
    mine = (PlannedDeletion.batch_id == batch_id, PlannedDeletion.user_id == user_id)
    return rows_affected(db, sa.delete(PlannedDeletion).where(*mine, PlannedDeletion.started.is_(False)))


def due(db: OrmSession, now: datetime, *, limit: int) -> list[Planned]:
    """Those whose time has come, the oldest first, and those whose deletion was interrupted."""
    statement = (
        sa.select(PlannedDeletion.session_uuid, PlannedDeletion.user_id, Session.flow_id, Session.session_id)
        .join(Session, Session.id == PlannedDeletion.session_uuid)
        .where(PlannedDeletion.due_at <= now)
        .order_by(PlannedDeletion.due_at, PlannedDeletion.session_uuid)
        .limit(limit)
    )
    return [Planned(*row) for row in db.execute(statement)]


def start(db: OrmSession, session_uuid: UUID) -> bool:
    """From now on it cannot be kept; False if it was withdrawn."""
    row = sa.update(PlannedDeletion).where(PlannedDeletion.session_uuid == session_uuid)
    return rows_affected(db, row.values(started=True)) > 0


def finish(db: OrmSession, session_uuid: UUID) -> None:
    db.execute(sa.delete(PlannedDeletion).where(PlannedDeletion.session_uuid == session_uuid))
