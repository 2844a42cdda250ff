"""Deleted messages: their ids, so that none comes back unasked, and their versions, so that none is given twice."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.upsert import insert
from memorybase.models import DeletedMessage, Message, Session


class Deleted(NamedTuple):
    """A deleted message as a capture of its id finds it. `conversation_id` is the primary key of its session."""

    message_id: UUID
    conversation_id: UUID
    seq: int
    version: int
    stays_deleted: bool


def remember_message(db: OrmSession, session: Session, message: Message) -> None:
    """One message is about to be deleted: while its session lives, its id stays deleted."""
    _remember(db, session, Message.id == message.id, stays_deleted=True)


def remember_session(db: OrmSession, session: Session) -> None:
    """A whole session is about to be emptied: whoever posts it again begins it anew, in further versions."""
    _remember(db, session, Message.session_id == session.session_id, stays_deleted=False)
    db.execute(
        sa.update(DeletedMessage).where(DeletedMessage.conversation_id == session.id).values(stays_deleted=False)
    )


def _remember(db: OrmSession, session: Session, which: sa.ColumnElement[bool], *, stays_deleted: bool) -> None:
    doomed = sa.select(
        Message.flow_id, Message.id, sa.literal(session.id, sa.Uuid()), Message.seq, Message.version,
        sa.literal(stays_deleted),
    ).where(Message.flow_id == session.flow_id, which)  # fmt: skip
    columns = ["flow_id", "message_id", "conversation_id", "seq", "version", "stays_deleted"]
    db.execute(insert(db, DeletedMessage).from_select(columns, doomed))


_OF_IDS = sa.select(
    DeletedMessage.message_id, DeletedMessage.conversation_id, DeletedMessage.seq, DeletedMessage.version,
    DeletedMessage.stays_deleted,
).where(
    DeletedMessage.flow_id == sa.bindparam("flow_id"),
    DeletedMessage.message_id.in_(sa.bindparam("ids", expanding=True)),
)  # fmt: skip


def fetch(db: OrmSession, flow_id: UUID, ids: Collection[UUID]) -> dict[UUID, Deleted]:
    """Which of the ids were messages of this flow."""
    rows = db.execute(_OF_IDS, {"flow_id": flow_id, "ids": list(ids)})
    return {row.message_id: Deleted(*row) for row in rows}


def delete(db: OrmSession, flow_id: UUID, ids: Collection[UUID]) -> None:
    """These are messages again, and carry their versions themselves."""
    if ids:
        db.execute(
            sa.delete(DeletedMessage).where(DeletedMessage.flow_id == flow_id, DeletedMessage.message_id.in_(ids))
        )


def set_expiry(db: OrmSession, session: Session, when: datetime) -> None:
    """The session is gone from SQL and from every store; its versions matter until no late write can come."""
    db.execute(sa.update(DeletedMessage).where(DeletedMessage.conversation_id == session.id).values(expires_at=when))


def delete_expired(db: OrmSession, now: datetime, *, limit: int) -> int:
    """How many went, at most `limit`."""
    doomed = (
        sa.select(DeletedMessage.flow_id, DeletedMessage.message_id).where(DeletedMessage.expires_at < now).limit(limit)
    )
    pairs = db.execute(doomed).all()
    for flow_id in {pair.flow_id for pair in pairs}:
        delete(db, flow_id, [pair.message_id for pair in pairs if pair.flow_id == flow_id])
    return len(pairs)
