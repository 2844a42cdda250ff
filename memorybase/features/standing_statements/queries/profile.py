"""SQL for messages in which a person describes themselves: user messages of some sessions, bounded by the index on a
session's dialogue.

The newest sessions are read from their newest message on, and the oldest from their first, up to a number of messages.
Pinned messages come from their partial index, whatever their age.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.models import IS_PINNED, Message, Session
from memorybase.core.queries.joins import MESSAGE_OF_SESSION
from memorybase.features.standing_statements.queries.statements import Owner

SESSIONS = 200  # at most, from either end

End = Literal["newest", "oldest"]


class Written(NamedTuple):
    """A message of a person, or a pinned one."""

    id: UUID
    session_id: str
    seq: int
    content: Any
    timestamp: datetime


def has_session(db: OrmSession, owner: Owner) -> bool:
    found = sa.select(Session.id).where(Session.flow_id == owner.flow_id, *_of(owner))
    return db.execute(found.limit(1)).first() is not None


def written(db: OrmSession, owner: Owner, end: End, *, at_most: int) -> list[Written]:
    """User messages from one end of the owner's history, within that many messages of any role. Muted ones are left
    out."""
    whole, part = _sessions(db, owner, end, at_most)
    found = _written(db, Message.session_uuid.in_(whole)) if whole else []
    if part is not None:
        session, condition = part
        found += _written(db, Message.session_uuid == session, condition)
    return found


def pinned(db: OrmSession, owner: Owner, *, limit: int) -> list[Written]:
    """The owner's pinned messages of any role, the last captured first."""
    statement = (
        _rows()
        .join(Session, MESSAGE_OF_SESSION)
        .where(
            Message.flow_id == owner.flow_id,
            Session.flow_id == owner.flow_id,
            IS_PINNED,
            Message.muted == sa.false(),
            *_of(owner),
        )
    )
    return [Written(*row) for row in db.execute(statement.order_by(Message.captured_at.desc()).limit(limit))]


def _sessions(
    db: OrmSession, owner: Owner, end: End, at_most: int
) -> tuple[list[UUID], tuple[UUID, sa.ColumnElement[bool]] | None]:
    """The sessions that are read as a whole, and the one that is read in part."""
    by_time = Session.last_captured_at.desc() if end == "newest" else Session.last_captured_at.asc()
    statement = sa.select(Session.id, Session.last_seq).where(Session.flow_id == owner.flow_id, *_of(owner))
    whole: list[UUID] = []
    left = at_most
    for session, last_seq in db.execute(statement.order_by(by_time).limit(SESSIONS)):
        if last_seq > left:
            within = Message.seq > last_seq - left if end == "newest" else Message.seq <= left
            return whole, (session, within)
        whole.append(session)
        left -= last_seq
    return whole, None


def _written(db: OrmSession, *conditions: sa.ColumnElement[bool]) -> list[Written]:
    mine: Sequence[sa.ColumnElement[bool]] = (
        Message.is_dialogue == sa.true(),
        Message.role == "user",
        Message.muted == sa.false(),
    )
    return [Written(*row) for row in db.execute(_rows().where(*mine, *conditions))]


def _rows() -> sa.Select[Any]:
    return sa.select(Message.id, Message.session_id, Message.seq, Message.content, Message.timestamp)


def _of(owner: Owner) -> list[sa.ColumnElement[bool]]:
    exists = Session.deleted_at.is_(None)
    if owner.session_uuid is not None:
        return [exists, Session.id == owner.session_uuid]
    if owner.end_user_id is None:
        return [exists, Session.end_user_id.is_(None)]
    return [exists, Session.end_user_id == owner.end_user_id]
