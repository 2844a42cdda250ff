"""Sessions and memory bases that are deleted soon, and that until then can be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.upsert import insert, rows_affected
from memorybase.core.models import MemoryBase, PlannedBaseDeletion, PlannedDeletion, Session


class PlannedSession(NamedTuple):
    """A session to delete, and whose it is."""

    user_id: UUID
    flow_id: UUID
    session_id: str


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """What is planned to be deleted: its plans, the column with its id, and when it can be kept."""

    table: type[PlannedDeletion] | type[PlannedBaseDeletion]
    key: sa.orm.InstrumentedAttribute[UUID]
    can_be_kept: sa.ColumnElement[bool]


SESSIONS = Kind(PlannedDeletion, PlannedDeletion.session_uuid, PlannedDeletion.started.is_(False))
_KEPT_BASES = sa.select(MemoryBase.id).where(MemoryBase.deleting_at.is_(None))
BASES = Kind(
    PlannedBaseDeletion, PlannedBaseDeletion.memory_base_id, PlannedBaseDeletion.memory_base_id.in_(_KEPT_BASES)
)


def add(db: OrmSession, kind: Kind, ids: Sequence[UUID], batch_id: UUID, user_id: UUID, due_at: datetime) -> None:
    """What is planned already joins the new batch, unless its deletion has started."""
    if not ids:
        return
    plan: dict[str, Any] = {"batch_id": batch_id, "due_at": due_at}
    rows = [{kind.key.key: each, "user_id": user_id, **plan} for each in ids]
    db.execute(
        insert(db, kind.table).on_conflict_do_update(index_elements=[kind.key], set_=plan, where=kind.can_be_kept),
        rows,
    )


def withdraw(db: OrmSession, kind: Kind, user_id: UUID, batch_id: UUID) -> int:
    """Cancel those planned deletions of a batch that have not started. Returns the number kept."""
    mine = (kind.table.batch_id == batch_id, kind.table.user_id == user_id, kind.can_be_kept)
    return rows_affected(db, sa.delete(kind.table).where(*mine))


def is_planned(db: OrmSession, kind: Kind, user_id: UUID, row_id: UUID) -> bool:
    mine = (kind.key == row_id, kind.table.user_id == user_id)
    return db.execute(sa.select(kind.key).where(*mine)).first() is not None


def due(db: OrmSession, kind: Kind, now: datetime, *, limit: int) -> list[UUID]:
    """The ids of what is due or was interrupted, the oldest plan first."""
    due_ids = sa.select(kind.key).where(kind.table.due_at <= now).order_by(kind.table.due_at, kind.key)
    return list(db.scalars(due_ids.limit(limit)))


def start(db: OrmSession, session_uuid: UUID, now: datetime) -> PlannedSession | None:
    """After this the session cannot be kept. None if its deletion was cancelled, or is planned again for later."""
    mine = (PlannedDeletion.session_uuid == session_uuid, PlannedDeletion.due_at <= now)
    if not rows_affected(db, sa.update(PlannedDeletion).where(*mine).values(started=True)):
        return None
    columns = (PlannedDeletion.user_id, Session.flow_id, Session.session_id)
    started = sa.select(*columns).join(Session, Session.id == PlannedDeletion.session_uuid).where(*mine)
    return PlannedSession(*db.execute(started).one())


def finish(db: OrmSession, kind: Kind, row_id: UUID, now: datetime) -> bool:
    """Forget a plan that is due. False if it was cancelled, or is planned again for later."""
    return rows_affected(db, sa.delete(kind.table).where(kind.key == row_id, kind.table.due_at <= now)) > 0
