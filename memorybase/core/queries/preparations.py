"""SQL for preparations: pending work on each session of a memory base's flow, and the statements of a page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.models import MemoryBase, Preparation, PreparationKind, Session

Row = Preparation


class PreparationKey(NamedTuple):
    memory_base_id: UUID
    generation: int
    kind: str


class SessionOfPage(NamedTuple):
    id: UUID
    created_at: datetime


def waiting(db: OrmSession) -> list[PreparationKey]:
    """The preparations of memory bases that are not being deleted, the oldest first."""
    found = (
        sa.select(Row.memory_base_id, Row.generation, Row.kind)
        .join(MemoryBase, MemoryBase.id == Row.memory_base_id)
        .where(MemoryBase.deleting_at.is_(None))
        .order_by(Row.started_at, Row.memory_base_id, Row.generation)
    )
    return [PreparationKey(*row) for row in db.execute(found)]


def lock(db: OrmSession, key: PreparationKey) -> Preparation | None:
    """The preparation; None if it is done, or another process does a page of it."""
    return db.scalar(sa.select(Row).where(*_is(key)).with_for_update(skip_locked=True))


def has(db: OrmSession, key: PreparationKey) -> bool:
    return db.scalar(sa.select(Row.kind).where(*_is(key))) is not None


def delete(db: OrmSession, key: PreparationKey) -> None:
    db.execute(sa.delete(Row).where(*_is(key)))


def delete_kinds(db: OrmSession, base_id: UUID, kinds: Sequence[str]) -> None:
    db.execute(sa.delete(Row).where(Row.memory_base_id == base_id, Row.kind.in_(kinds)))


def is_in_preparation(base_id: sa.SQLColumnExpression[UUID]) -> sa.ColumnElement[bool]:
    """Whether a memory base is being prepared: its lists and its build are not whole before."""
    kinds = (PreparationKind.HISTORY, PreparationKind.ALL, PreparationKind.SKIP, PreparationKind.BUILD)
    return is_pending(base_id, kinds)


def is_pending(base_id: sa.SQLColumnExpression[UUID], kinds: Sequence[str]) -> sa.ColumnElement[bool]:
    """Whether a preparation of one of these kinds has sessions left."""
    return sa.exists().where(Row.memory_base_id == base_id, Row.kind.in_(kinds)).correlate_except(Row)


def sessions_after(db: OrmSession, flow_id: UUID, preparation: Preparation, *, limit: int) -> list[SessionOfPage]:
    """The sessions of the flow that come next. A rename changes nothing of their order."""
    found = sa.select(Session.id, Session.created_at).where(Session.flow_id == flow_id)
    if preparation.after_created_at is not None:
        done = (
            sa.literal(preparation.after_created_at, Session.created_at.type),
            sa.literal(preparation.after_id, Session.id.type),
        )
        found = found.where(sa.tuple_(Session.created_at, Session.id) > sa.tuple_(*done))
    rows = db.execute(found.order_by(Session.created_at, Session.id).limit(limit))
    return [SessionOfPage(*row) for row in rows]


def unmark_passed(db: OrmSession, ids: Sequence[UUID]) -> None:
    """Let lists look for pending messages of these sessions again."""
    marked = sa.update(Session).where(Session.id.in_(ids), Session.passed_seq > 0)
    db.execute(marked.values(passed_seq=0).execution_options(synchronize_session=False))


def _is(key: PreparationKey) -> tuple[sa.ColumnElement[bool], ...]:
    return Row.memory_base_id == key.memory_base_id, Row.generation == key.generation, Row.kind == key.kind
