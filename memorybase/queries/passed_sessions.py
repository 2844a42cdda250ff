"""Which sessions every memory base of the flow has passed: lists look for pending messages in the other ones alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.upsert import rows_affected
from memorybase.models import IS_BEHIND, Flow, MemoryBase, Message, Session, SessionProgress

Base = MemoryBase
Progress = SessionProgress


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
    """Mark those of these sessions that every memory base has passed; how many. Waits for no lock."""
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

    statement: sa.Select[*tuple[Any, ...]]
    cursor: sa.ColumnElement[int]
    target: sa.ColumnElement[int]
    is_sqlite: bool

    def join_messages(self, counted: sa.ColumnElement[bool], *columns: sa.SQLColumnExpression[Any]) -> Messages:
        """Join the counted messages beyond the cursor. `columns`: those of the messages that are read."""
        beyond = (
            # The coalesce hides the constant flow_id from the planner: it must go from the sessions that are behind to
            # their messages, and not through the flow's whole history.
            Message.flow_id == sa.func.coalesce(Session.flow_id, Session.flow_id),
            Message.session_id == Session.session_id,
            counted,
            Message.seq > self.cursor,
        )
        if self.is_sqlite:
            return Messages(self.statement.join(Message, sa.and_(*beyond)), columns)
        found = sa.select(*(columns or (Message.seq,))).where(*beyond).correlate_except(Message).offset(0).lateral()
        return Messages(self.statement.join(found, sa.true()), tuple(found.c))


class Messages(NamedTuple):
    """The statement with the messages, and their columns."""

    statement: sa.Select[*tuple[Any, ...]]
    columns: tuple[sa.SQLColumnExpression[Any], ...]


def walk_behind(db: OrmSession, statement: sa.Select[*tuple[Any, ...]]) -> PendingWalk:
    """Join the progress of each session that is behind to a statement over memory bases and sessions.

    The order of the joins is fixed: a planner does not know how few sessions are behind. PostgreSQL keeps the order
    because it cannot pull up an OFFSET; SQLite has no LATERAL and keeps it anyway.
    """
    is_sqlite = db.get_bind().dialect.name == "sqlite"
    cursor_seq: sa.SQLColumnExpression[int]
    target_seq: sa.SQLColumnExpression[int]
    if is_sqlite:
        statement = statement.outerjoin(Progress, _served())
        cursor_seq, target_seq = Progress.cursor_seq, Progress.target_seq
    else:
        row = sa.select(Progress.cursor_seq, Progress.target_seq).where(_served()).correlate_except(Progress)
        lateral = row.offset(0).lateral()
        statement = statement.outerjoin(lateral, sa.true())
        cursor_seq, target_seq = lateral.c.cursor_seq, lateral.c.target_seq
    cursor, target = sa.func.coalesce(cursor_seq, 0), sa.func.coalesce(target_seq, 0)
    here = (Session.flow_id == Base.flow_id, IS_BEHIND, Session.last_seq > cursor)
    return PendingWalk(statement.where(*here), cursor, target, is_sqlite)


def _served() -> sa.ColumnElement[bool]:
    return sa.and_(
        Progress.memory_base_id == Base.id,
        Progress.generation == Base.serving,
        Progress.session_id == Session.session_id,
    )


def _is_behind_in_any() -> sa.Exists:
    behind = (
        Base.flow_id == Session.flow_id,
        Base.deleting_at.is_(None),
        sa.func.coalesce(Progress.cursor_seq, 0) < Session.last_seq,
    )
    return sa.select(Base.id).outerjoin(Progress, _served()).where(*behind).correlate(Session).exists()
