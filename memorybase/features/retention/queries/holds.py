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

from memorybase.core import errors
from memorybase.core.database.paging import Found, Keyset, Listing, PageRequest, given
from memorybase.core.database.upsert import rows_affected
from memorybase.core.deletions import Deletion, OfChat, OfEndUser, OfFlow, OfNode, OfSession, OfUse
from memorybase.core.models import Chat, Flow, MemoryUse, RestorableMessage, Session, User
from memorybase.core.queries.sessions import SessionRow
from memorybase.features.retention.models import LegalHold

Hold = LegalHold
NAMED = 20  # holds that an error names
_HOLDS = Listing(
    sa.select(Hold, Session.session_id).outerjoin(Session, Session.id == Hold.session_uuid),
    Keyset("holds", (Hold.placed_at, Hold.id)),
    sa.select(Hold.id),
)
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
    wanted = (*given(flow_id, Hold.flow_id), *given(end_user_id, Hold.end_user_id))
    return _HOLDS.page(db, request, Hold.user_id == user_id, *wanted)


# The check before a deletion, in its transaction.


def refuse_if_held(db: OrmSession, user_id: UUID, deletion: Deletion) -> None:
    """Raises Held for what a hold keeps, wholly or in part."""
    if found := _found(db, user_id, deletion):
        raise errors.Held(holds=[str(each) for each in found])


def is_held(db: OrmSession, user_id: UUID, deletion: Deletion) -> bool:
    """Whether a hold keeps it; the sweeper then leaves it as it is."""
    return bool(_found(db, user_id, deletion))


def _found(db: OrmSession, user_id: UUID, deletion: Deletion) -> Sequence[UUID]:
    """The first of the user's holds that keep it, with no new one before the transaction ends."""
    db.execute(sa.select(User.id).where(User.id == user_id).with_for_update(read=True))
    found = sa.select(Hold.id).where(Hold.user_id == user_id, _keeps(user_id, deletion))
    return db.scalars(found.order_by(Hold.placed_at, Hold.id).limit(NAMED)).all()


def _keeps(user_id: UUID, deletion: Deletion) -> sa.ColumnElement[bool]:
    match deletion:
        case OfFlow(flow_id):
            return keeps_anything_of(flow_id)
        case OfSession(session):
            return _keeps_session(session)
        case OfEndUser(end_user_id):
            return _keeps_end_user(user_id, end_user_id)
        case OfNode(flow_id, memory_id):
            return sa.or_(_is_on_flow(flow_id), Hold.end_user_id.in_(_people_of_node(memory_id)))
        case OfChat(flow_id, end_user_id):
            by_person = () if end_user_id is None else (Hold.end_user_id == end_user_id,)
            return sa.or_(_is_on_flow(flow_id), *by_person)
        case OfUse(use_id):
            return sa.exists().where(MemoryUse.id == use_id, _keeps_use()).correlate(Hold)


def _is_on_flow(flow_id: UUID) -> sa.ColumnElement[bool]:
    return sa.and_(Hold.flow_id == flow_id, _ON_WHOLE_FLOW)


def _keeps_session(session: SessionRow) -> sa.ColumnElement[bool]:
    keeps = [_is_on_flow(session.flow_id), Hold.session_uuid == session.id]
    if session.end_user_id is not None:
        keeps.append(Hold.end_user_id == session.end_user_id)
    return sa.or_(*keeps)


def _people_of_node(memory_id: UUID) -> sa.Select[Any]:
    return sa.select(Chat.end_user_id).where(Chat.chat_memory_id == memory_id, Chat.end_user_id.is_not(None))


def _keeps_end_user(user_id: UUID, end_user_id: str) -> sa.ColumnElement[bool]:
    """Whether a hold keeps any session, chat or memory use of the end user."""
    mine = (Flow.user_id == user_id, Session.end_user_id == end_user_id, Session.deleted_at.is_(None))
    sessions = sa.select(Session.id).join(Flow, Flow.id == Session.flow_id).where(*mine)
    session_flows = sa.select(Session.flow_id).join(Flow, Flow.id == Session.flow_id).where(*mine)
    flows = [session_flows]
    for table in (Chat, MemoryUse):
        of_person = (Flow.user_id == user_id, table.end_user_id == end_user_id)
        flows.append(sa.select(table.flow_id).join(Flow, Flow.id == table.flow_id).where(*of_person))
    in_flow = sa.and_(_ON_WHOLE_FLOW, sa.or_(*(Hold.flow_id.in_(each) for each in flows)))
    return sa.or_(Hold.end_user_id == end_user_id, Hold.session_uuid.in_(sessions), in_flow)


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
