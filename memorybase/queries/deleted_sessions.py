"""Sessions that are marked as deleted: their rows that are left, in pages, and which of them can be removed."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.models import MemoryBase, Message, Run, Session
from memorybase.models import SessionProgress as Progress
from memorybase.queries import cursors, sessions


def count_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> tuple[int, int]:
    """How many messages and runs a session has."""
    messages, runs = (
        db.scalar(sa.select(sa.func.count()).where(table.flow_id == flow_id, table.session_id == session_id)) or 0
        for table in (Message, Run)
    )
    return messages, runs


def sessions_in_erasure(db: OrmSession, *, limit: int = 200) -> list[tuple[UUID, str]]:
    """(flow, session id) of sessions that are marked as deleted and still have messages or runs."""
    found = sa.select(Session.flow_id, Session.session_id).where(
        Session.deleted_at.is_not(None), sessions.rows_are_left()
    )
    return [(row[0], row[1]) for row in db.execute(found.limit(limit))]


def oldest_messages(db: OrmSession, session: Session, *, limit: int) -> list[tuple[UUID, int]]:
    """(id, seq) of the first messages of a session."""
    mine = (Message.flow_id == session.flow_id, Message.session_id == session.session_id)
    rows = db.execute(sa.select(Message.id, Message.seq).where(*mine).order_by(Message.seq).limit(limit))
    return [(row[0], row[1]) for row in rows]


def delete_messages(db: OrmSession, session: Session, *, to_seq: int) -> None:
    """Delete the messages of a session up to this one."""
    mine = (Message.flow_id == session.flow_id, Message.session_id == session.session_id)
    delete = sa.delete(Message).where(*mine, Message.seq <= to_seq)
    db.execute(delete.execution_options(synchronize_session=False))


def removable_sessions(db: OrmSession, *, limit: int) -> list[tuple[UUID, str]]:
    """(flow, session id) of sessions of which no rows are left and whose stores are repaired, the longest deleted
    first."""
    pending = (
        sa.exists()
        .where(
            Progress.flow_id == Session.flow_id,
            Progress.session_id == Session.session_id,
            MemoryBase.id == Progress.memory_base_id,
            Progress.generation.in_([MemoryBase.serving, MemoryBase.building]),
            sa.or_(cursors.is_repair_pending(), Progress.target_seq > Progress.cursor_seq),
        )
        .correlate(Session)
    )
    found = sa.select(Session.flow_id, Session.session_id).where(
        Session.deleted_at.is_not(None), ~sessions.rows_are_left(), ~pending
    )
    return [(row[0], row[1]) for row in db.execute(found.order_by(Session.deleted_at).limit(limit))]
