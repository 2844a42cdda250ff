"""Which messages a memory base counts, which of those are pending or due, and which sessions have none pending.

counted   taken by the memory base: outputs only, or every user and assistant message
pending   counted, and beyond the session's cursor
due       pending, and not beyond the session's target: a job is to ingest them

A search adds messages that were edited since they were ingested: it finds both before they are in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnySelect
from memorybase.core.database.upsert import rows_affected
from memorybase.core.models import IS_BEHIND, Capture, Flow, Generation, MemoryBase, Message, Session, SessionProgress
from memorybase.core.queries.joins import MESSAGE_OF_SESSION, serving_progress
from memorybase.core.queries.planner_hints import for_each_row

Progress = SessionProgress
Value = TypeVar("Value")
Seq = sa.SQLColumnExpression[int]

# Of a session's row in a generation, or 0 while it has none.
CURSOR: sa.ColumnElement[int] = sa.func.coalesce(Progress.cursor_seq, 0)
TARGET: sa.ColumnElement[int] = sa.func.coalesce(Progress.target_seq, 0)
# Each is the condition of a partial index.
SESSION_IS_DUE: sa.ColumnElement[bool] = Progress.target_seq > Progress.cursor_seq
SESSION_IS_EDITED: sa.ColumnElement[bool] = Progress.dirty > Progress.repaired


def is_counted(capture: Capture | sa.SQLColumnExpression[Any], message: Any = Message) -> sa.ColumnElement[bool]:
    """Whether a message counts: for one capture, by its index, or for the column of each row. `message`: an alias, or a
    table's columns."""
    counts: sa.SQLColumnExpression[bool]
    if isinstance(capture, str):  # also of a row, where it is no Capture
        counts = message.is_output if capture == Capture.OUTPUTS else message.is_dialogue
    else:
        counts = sa.case((capture == Capture.OUTPUTS, message.is_output), else_=message.is_dialogue)
    return counts == sa.true()


def is_pending(
    capture: Capture | sa.SQLColumnExpression[Any], cursor: Seq, message: Any = Message
) -> sa.ColumnElement[bool]:
    """Whether a message counts and is beyond the cursor of its session."""
    return sa.and_(is_counted(capture, message), message.seq > cursor)


def is_due(
    capture: Capture | sa.SQLColumnExpression[Any], cursor: Seq, target: Seq, message: Any = Message
) -> sa.ColumnElement[bool]:
    """Whether a message is pending and not beyond the target of its session."""
    return sa.and_(is_pending(capture, cursor, message), message.seq <= target)


def by_capture(expression: Callable[[Capture], sa.ColumnElement[Value]]) -> sa.ColumnElement[Value]:
    """One of two expressions, by the capture of the row's generation, so that each reads the index of its capture."""
    return sa.case((Generation.capture == Capture.OUTPUTS, expression(Capture.OUTPUTS)), else_=expression(Capture.ALL))


class SessionBehind(NamedTuple):
    """A session that is not marked as passed. `is_passed`: it can be."""

    flow_id: UUID
    id: UUID
    is_passed: bool


def sessions_behind(db: OrmSession, after: SessionBehind | None, limit: int) -> list[SessionBehind]:
    """Sessions that are not marked as passed, after this one in the order of their index."""
    statement = sa.select(Session.flow_id, Session.id, ~_is_behind_in_any()).where(IS_BEHIND)
    if after is not None:
        key = sa.tuple_(Session.flow_id, Session.id)
        statement = statement.where(key > sa.tuple_(sa.literal(after.flow_id), sa.literal(after.id)))
    rows = db.execute(statement.order_by(Session.flow_id, Session.id).limit(limit))
    return [SessionBehind(*row) for row in rows]


def mark_passed(db: OrmSession, found: Sequence[SessionBehind]) -> int:
    """Mark those of these sessions that every memory base has passed, and return their number. Waits for no lock."""
    # A memory base is created under its flow's lock, so that the update sees it or finds the flow locked.
    flows = sa.select(Flow.id).where(Flow.id.in_({each.flow_id for each in found}))
    free = set(db.scalars(flows.with_for_update(read=True, skip_locked=True)))
    rows = sa.select(Session.id).where(Session.id.in_([each.id for each in found if each.flow_id in free]))
    locked = list(db.scalars(rows.with_for_update(key_share=True, skip_locked=True)))
    marking = sa.update(Session).where(Session.id.in_(locked), IS_BEHIND, ~_is_behind_in_any())
    marking = marking.values(passed_seq=Session.last_seq).execution_options(synchronize_session=False)
    return rows_affected(db, marking)


class PendingWalk(NamedTuple):
    """A statement over memory bases and their sessions that are behind, with the cursor and the target of each."""

    statement: AnySelect
    cursor: sa.ColumnElement[int]
    target: sa.ColumnElement[int]
    is_sqlite: bool

    def join_messages(
        self,
        capture: Capture | sa.SQLColumnExpression[Any],
        *columns: sa.SQLColumnExpression[Any],
        only: Sequence[sa.ColumnElement[bool]] = (),
    ) -> Messages:
        """Join the pending messages that match `only`. `columns`: those of the messages that are read."""
        pending = (
            MESSAGE_OF_SESSION,
            is_pending(capture, self.cursor),
            *only,
        )
        if self.is_sqlite:
            return Messages(self.statement.join(Message, sa.and_(*pending)), columns)
        found = for_each_row(sa.select(*(columns or (Message.seq,))).where(*pending).correlate_except(Message))
        return Messages(self.statement.join(found, sa.true()), tuple(found.c))


class Messages(NamedTuple):
    """The statement with the messages, and their columns."""

    statement: AnySelect
    columns: tuple[sa.SQLColumnExpression[Any], ...]


def walk_behind(db: OrmSession, statement: AnySelect) -> PendingWalk:
    """Join the progress of each session that is behind to a statement over memory bases and sessions, in this order."""
    is_sqlite = db.get_bind().dialect.name == "sqlite"
    cursor_seq: sa.SQLColumnExpression[int]
    target_seq: sa.SQLColumnExpression[int]
    if is_sqlite:
        statement = statement.outerjoin(Progress, serving_progress())
        cursor_seq, target_seq = Progress.cursor_seq, Progress.target_seq
    else:
        row = sa.select(Progress.cursor_seq, Progress.target_seq).where(serving_progress())
        lateral = for_each_row(row.correlate_except(Progress))
        statement = statement.outerjoin(lateral, sa.true())
        cursor_seq, target_seq = lateral.c.cursor_seq, lateral.c.target_seq
    cursor, target = sa.func.coalesce(cursor_seq, 0), sa.func.coalesce(target_seq, 0)
    here = (Session.flow_id == MemoryBase.flow_id, IS_BEHIND, Session.last_seq > cursor)
    return PendingWalk(statement.where(*here), cursor, target, is_sqlite)


def _is_behind_in_any() -> sa.Exists:
    behind = (MemoryBase.flow_id == Session.flow_id, MemoryBase.deleting_at.is_(None), Session.last_seq > CURSOR)
    return sa.select(MemoryBase.id).outerjoin(Progress, serving_progress()).where(*behind).correlate(Session).exists()
