"""Legal holds: what they keep, and the check before every deletion.

A hold and a deletion never overlap: a deletion share-locks the user's row before it looks for holds, and a new hold
locks that row exclusively. So a deletion that found no hold is committed before the hold is acknowledged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database.paging import Found, Keyset, PageRequest, fetch_page
from memorybase.database.upsert import rows_affected
from memorybase.models import Chat, Flow, LegalHold, MemoryUse, RestorableMessage, Session, User
from memorybase.queries.sessions import SessionRow

Hold = LegalHold
NAMED = 20  # holds that an error names
_OLDEST_FIRST = Keyset("holds", (Hold.placed_at, Hold.id))
_ON_WHOLE_FLOW = Hold.session_uuid.is_(None)


def add(db: OrmSession, hold: Hold) -> None:
    """Store a hold, after every deletion that did not see it."""
    db.execute(sa.select(User.id).where(User.id == hold.user_id).with_for_update(key_share=True))
    db.add(hold)
    db.flush()


def remove(db: OrmSession, user_id: UUID, hold_id: UUID) -> bool:
    return rows_affected(db, sa.delete(Hold).where(Hold.id == hold_id, Hold.user_id == user_id)) > 0


def page(
    db: OrmSession, user_id: UUID, request: PageRequest, *, flow_id: UUID | None, end_user_id: str | None
) -> Found:
    """The user's holds with the present ids of their sessions, oldest first."""
    mine = [Hold.user_id == user_id]
    if flow_id is not None:
        mine.append(Hold.flow_id == flow_id)
    if end_user_id is not None:
        mine.append(Hold.end_user_id == end_user_id)
    shown = sa.select(Hold, Session.session_id).outerjoin(Session, Session.id == Hold.session_uuid).where(*mine)
    return fetch_page(db, shown, sa.select(Hold.id).where(*mine), _OLDEST_FIRST, request)


# Checks before a deletion, in its transaction.


def refuse_if_session_held(db: OrmSession, user_id: UUID, session: SessionRow) -> None:
    """Raises Held. The caller has locked the session."""
    _refuse(_found(db, user_id, _keeps_session(session)))


def is_session_held(db: OrmSession, user_id: UUID, session: SessionRow) -> bool:
    """Whether a legal hold keeps the session; the sweeper then leaves it as it is."""
    return bool(_found(db, user_id, _keeps_session(session)))


def refuse_if_chat_held(db: OrmSession, user_id: UUID, flow_id: UUID, end_user_id: str | None) -> None:
    """Raises Held for a chat of that end user, or of none. The caller has locked the chat."""
    _refuse(_found(db, user_id, _keeps_chat(flow_id, end_user_id)))


def is_chat_held(db: OrmSession, user_id: UUID, flow_id: UUID, end_user_id: str | None) -> bool:
    return bool(_found(db, user_id, _keeps_chat(flow_id, end_user_id)))


def refuse_if_anything_held(db: OrmSession, user_id: UUID, flow_id: UUID) -> None:
    """Raises Held if a hold keeps anything of the flow."""
    _refuse(_found(db, user_id, keeps_anything_of(flow_id)))


def refuse_if_end_user_held(db: OrmSession, user_id: UUID, end_user_id: str) -> None:
    """Raises Held if a hold keeps any session, chat or memory use of the end user."""
    mine = (Flow.user_id == user_id, Session.end_user_id == end_user_id, Session.deleted_at.is_(None))
    sessions = sa.select(Session.id).join(Flow, Flow.id == Session.flow_id).where(*mine)
    session_flows = sa.select(Session.flow_id).join(Flow, Flow.id == Session.flow_id).where(*mine)
    chat_flows = (
        sa.select(Chat.flow_id)
        .join(Flow, Flow.id == Chat.flow_id)
        .where(Flow.user_id == user_id, Chat.end_user_id == end_user_id)
    )
    use_flows = (
        sa.select(MemoryUse.flow_id)
        .join(Flow, Flow.id == MemoryUse.flow_id)
        .where(Flow.user_id == user_id, MemoryUse.end_user_id == end_user_id)
    )
    flows = (session_flows, chat_flows, use_flows)
    in_flow = sa.and_(_ON_WHOLE_FLOW, sa.or_(*(Hold.flow_id.in_(each) for each in flows)))
    _refuse(_found(db, user_id, sa.or_(Hold.end_user_id == end_user_id, Hold.session_uuid.in_(sessions), in_flow)))


def refuse_if_node_held(db: OrmSession, user_id: UUID, flow_id: UUID, chat_memory_id: UUID) -> None:
    """Raises Held if a hold keeps any chat of the memory."""
    talked = sa.select(Chat.end_user_id).where(Chat.chat_memory_id == chat_memory_id, Chat.end_user_id.is_not(None))
    in_flow = sa.and_(Hold.flow_id == flow_id, _ON_WHOLE_FLOW)
    _refuse(_found(db, user_id, sa.or_(in_flow, Hold.end_user_id.in_(talked))))


# Conditions for statements of the sweeper, which checks again before it deletes.


def keeps_anything_of(flow_id: UUID) -> sa.ColumnElement[bool]:
    """Whether a hold is on the flow, on a session of it, or on an end user who has a session or chat in it."""
    in_sessions = sa.select(Session.end_user_id).where(Session.flow_id == flow_id, Session.end_user_id.is_not(None))
    in_chats = sa.select(Chat.end_user_id).where(Chat.flow_id == flow_id, Chat.end_user_id.is_not(None))
    return sa.or_(Hold.flow_id == flow_id, Hold.end_user_id.in_(in_sessions), Hold.end_user_id.in_(in_chats))


def has_any(db: OrmSession, user_id: UUID, *which: sa.ColumnElement[bool]) -> bool:
    return db.scalar(sa.select(Hold.id).where(Hold.user_id == user_id, *which).limit(1)) is not None


def session_held(user_id: UUID | sa.SQLColumnExpression[UUID]) -> sa.Exists:
    """Whether a hold keeps the outer statement's `Session`."""
    keeps = sa.or_(
        sa.and_(Hold.flow_id == Session.flow_id, _ON_WHOLE_FLOW),
        Hold.session_uuid == Session.id,
        Hold.end_user_id == Session.end_user_id,
    )
    return sa.exists().where(Hold.user_id == user_id, keeps).correlate_except(Hold)


def has_held_session(db: OrmSession, user_id: UUID, flow_id: UUID, session_id: str) -> bool:
    """Whether a hold keeps this session, to show it."""
    mine = (Session.flow_id == flow_id, Session.session_id == session_id, session_held(user_id))
    return db.scalar(sa.select(Session.id).where(*mine)) is not None


def chat_held(user_id: UUID) -> sa.Exists:
    """Whether a hold keeps the outer statement's `Chat`."""
    keeps = sa.or_(sa.and_(Hold.flow_id == Chat.flow_id, _ON_WHOLE_FLOW), Hold.end_user_id == Chat.end_user_id)
    return sa.exists().where(Hold.user_id == user_id, keeps).correlate_except(Hold)


def restorable_held() -> sa.Exists:
    """Whether a hold keeps the outer statement's `RestorableMessage`."""
    its = sa.and_(Session.id == RestorableMessage.session_uuid, Flow.id == Session.flow_id)
    return sa.exists().where(its, session_held(Flow.user_id)).correlate_except(Session, Flow)


def use_held() -> sa.Exists:
    """Whether a hold keeps the outer statement's `MemoryUse`, or, if it names no session, anything of its flow. Who
    deletes calls `share_users` first."""
    own = (Hold.user_id == Flow.user_id, Flow.id == MemoryUse.flow_id)
    return sa.exists().where(*own, _keeps_use()).correlate_except(Hold, Flow)


def refuse_if_use_held(db: OrmSession, user_id: UUID, use_id: UUID) -> None:
    """Raises Held for what a model was given."""
    _refuse(_found(db, user_id, _keeps_this_use(use_id)))


def is_use_held(db: OrmSession, user_id: UUID, use_id: UUID) -> bool:
    return bool(_found(db, user_id, _keeps_this_use(use_id)))


def _keeps_this_use(use_id: UUID) -> sa.Exists:
    return sa.exists().where(MemoryUse.id == use_id, _keeps_use()).correlate(Hold)


def _keeps_use() -> sa.ColumnElement[bool]:
    its = sa.and_(Session.flow_id == MemoryUse.flow_id, Session.session_id == MemoryUse.session_id)
    return sa.or_(
        sa.and_(Hold.flow_id == MemoryUse.flow_id, sa.or_(_ON_WHOLE_FLOW, MemoryUse.session_id.is_(None))),
        Hold.end_user_id == MemoryUse.end_user_id,
        sa.exists()
        .where(its, sa.or_(Hold.session_uuid == Session.id, Hold.end_user_id == Session.end_user_id))
        .correlate_except(Session),
        sa.and_(MemoryUse.session_id.is_(None), MemoryUse.end_user_id.is_(None), Hold.end_user_id.is_not(None)),
    )


def share_users(db: OrmSession, user_ids: Collection[UUID]) -> None:
    """No new hold of these users until the transaction ends."""
    for user_id in sorted(user_ids):
        db.execute(sa.select(User.id).where(User.id == user_id).with_for_update(read=True))


def _keeps_session(session: SessionRow) -> sa.ColumnElement[bool]:
    keeps: list[Any] = [sa.and_(Hold.flow_id == session.flow_id, _ON_WHOLE_FLOW), Hold.session_uuid == session.id]
    if session.end_user_id is not None:
        keeps.append(Hold.end_user_id == session.end_user_id)
    return sa.or_(*keeps)


def _keeps_chat(flow_id: UUID, end_user_id: str | None) -> sa.ColumnElement[bool]:
    in_flow = sa.and_(Hold.flow_id == flow_id, _ON_WHOLE_FLOW)
    return in_flow if end_user_id is None else sa.or_(in_flow, Hold.end_user_id == end_user_id)


def _found(db: OrmSession, user_id: UUID, keeps: sa.ColumnElement[bool]) -> Sequence[UUID]:
    """The first of the user's holds that keep it, with no new one before the transaction ends."""
    db.execute(sa.select(User.id).where(User.id == user_id).with_for_update(read=True))
    found = sa.select(Hold.id).where(Hold.user_id == user_id, keeps).order_by(Hold.placed_at, Hold.id)
    return db.scalars(found.limit(NAMED)).all()


def _refuse(found: Sequence[UUID]) -> None:
    if found:
        raise errors.Held(holds=[str(each) for each in found])
