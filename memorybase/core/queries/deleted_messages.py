"""Deleted messages: their ids, which a replay must not restore, and their versions, which must not be reused."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import records
from memorybase.core.database.upsert import core, insert, rows_affected
from memorybase.core.models import DeletedMessage, Message
from memorybase.core.queries.sessions import SessionRow


class Deleted(NamedTuple):
    """A deleted message, for a capture of its id. `session_uuid` is `sessions.id`."""

    message_id: UUID
    session_uuid: UUID
    seq: int
    version: int
    stays_deleted: bool


_COLUMNS = core(DeletedMessage).c
_OF_IDS = sa.select(*records.columns(DeletedMessage, Deleted)).where(
    _COLUMNS.flow_id == sa.bindparam("flow_id"), _COLUMNS.message_id.in_(sa.bindparam("ids", expanding=True))
)


def remember_message(db: OrmSession, session: SessionRow, message: Message, follows_id: UUID | None) -> None:
    """Record one message before it is deleted: its id stays deleted as long as its session exists. `follows_id` is
    followed in its place."""
    _remember(db, session, Message.id == message.id, stays_deleted=True, follows_id=follows_id)


def remember_messages(db: OrmSession, session: SessionRow, *, to_seq: int) -> None:
    """Record the messages of a session up to this one before they are deleted with it: posted again, they are stored
    with higher versions."""
    which = sa.and_(Message.session_uuid == session.id, Message.seq <= to_seq)
    _remember(db, session, which, stays_deleted=False)


def allow_all(db: OrmSession, session: SessionRow, *, limit: int | None) -> int:
    """The session is deleted: let messages that were deleted from it before be posted again. At most `limit`; returns
    their number."""
    stays = sa.and_(DeletedMessage.session_uuid == session.id, DeletedMessage.stays_deleted == sa.true())
    return _update_some(db, stays, limit, stays_deleted=False)


def _update_some(db: OrmSession, which: sa.ColumnElement[bool], limit: int | None, **values: Any) -> int:
    key = (DeletedMessage.flow_id, DeletedMessage.message_id)
    some = sa.tuple_(*key).in_(sa.select(*key).where(which).limit(limit))
    update = sa.update(DeletedMessage).where(some).values(**values)
    return rows_affected(db, update.execution_options(synchronize_session=False))


def _remember(
    db: OrmSession,
    session: SessionRow,
    which: sa.ColumnElement[bool],
    *,
    stays_deleted: bool,
    follows_id: UUID | None = None,
) -> None:
    messages = sa.select(
        Message.flow_id,
        Message.id,
        sa.literal(session.id, sa.Uuid()),
        Message.seq,
        Message.version,
        sa.literal(stays_deleted),
        sa.literal(follows_id, sa.Uuid()),
    ).where(Message.flow_id == session.flow_id, which)
    columns = ["flow_id", "message_id", "session_uuid", "seq", "version", "stays_deleted", "follows_id"]
    db.execute(insert(db, DeletedMessage).from_select(columns, messages))


def fetch(db: OrmSession, flow_id: UUID, ids: Collection[UUID]) -> dict[UUID, Deleted]:
    """The deleted messages of this flow among these ids."""
    if not ids:
        return {}
    rows = records.fetch_all(db, Deleted, _OF_IDS, {"flow_id": flow_id, "ids": list(ids)})
    return {row.message_id: row for row in rows}


def followed_instead(db: OrmSession, session: SessionRow, ids: Collection[UUID]) -> dict[UUID, UUID | None]:
    """The message that is followed in place of each of these deleted messages of the session; None: a thread begins.
    Messages that were deleted later are passed over."""
    where = (DeletedMessage.flow_id == session.flow_id, DeletedMessage.session_uuid == session.id)
    first = sa.select(DeletedMessage.message_id.label("named"), DeletedMessage.follows_id.label("follows"))
    chain = first.where(*where, DeletedMessage.message_id.in_(ids)).cte("chain", recursive=True)
    further = sa.select(chain.c.named, DeletedMessage.follows_id)
    chain = chain.union(further.where(*where, DeletedMessage.message_id == chain.c.follows))
    is_deleted = sa.exists().where(*where, DeletedMessage.message_id == chain.c.follows)
    rows = db.execute(sa.select(chain.c.named, chain.c.follows).where(~is_deleted))
    return {row.named: row.follows for row in rows}


def delete(db: OrmSession, flow_id: UUID, ids: Collection[UUID]) -> None:
    """Forget that these messages were deleted: they were stored again."""
    if ids:
        db.execute(
            sa.delete(DeletedMessage).where(DeletedMessage.flow_id == flow_id, DeletedMessage.message_id.in_(ids))
        )


def allow(db: OrmSession, flow_id: UUID, ids: Collection[UUID]) -> None:
    """These ids are messages again, under other ids: their deletion no longer counts."""
    if ids:
        mine = (DeletedMessage.flow_id == flow_id, DeletedMessage.message_id.in_(ids))
        db.execute(sa.update(DeletedMessage).where(*mine).values(stays_deleted=False))


def set_expiry(db: OrmSession, session: SessionRow, when: datetime, *, limit: int) -> int:
    """The session is removed from SQL and every store: keep its versions until no late write can arrive. Of up to
    `limit` of them; of how many."""
    kept = sa.and_(DeletedMessage.session_uuid == session.id, DeletedMessage.expires_at.is_(None))
    return _update_some(db, kept, limit, expires_at=when)


def has_expired(db: OrmSession, now: datetime) -> bool:
    """Whether a row has expired."""
    return db.execute(_expired(now).limit(1)).first() is not None


def delete_expired(db: OrmSession, now: datetime, *, limit: int) -> int:
    """Delete up to `limit` expired rows, and return their number."""
    pairs = db.execute(_expired(now).limit(limit)).all()
    for flow_id in {pair.flow_id for pair in pairs}:
        delete(db, flow_id, [pair.message_id for pair in pairs if pair.flow_id == flow_id])
    return len(pairs)


def _expired(now: datetime) -> sa.Select[UUID, UUID]:
    return sa.select(DeletedMessage.flow_id, DeletedMessage.message_id).where(DeletedMessage.expires_at < now)
