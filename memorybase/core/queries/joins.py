"""Which rows belong together and to whom, as conditions by name."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from memorybase.core.database.upsert import core
from memorybase.core.models import (
    DeadLetter,
    Flow,
    Generation,
    LedgerEntry,
    MemoryBase,
    Message,
    Session,
    SessionProgress,
)

Condition = sa.ColumnElement[bool]
_SESSIONS = core(Session).c

MESSAGE_OF_SESSION: Condition = Message.session_uuid == Session.id
# A generation is the one of the memory base that serves.
SERVES: Condition = sa.and_(Generation.memory_base_id == MemoryBase.id, Generation.generation == MemoryBase.serving)
# A dead letter of a memory base is in the serving generation or the build, and not discarded.
DEAD_LETTER_IS_SHOWN: Condition = sa.and_(
    sa.or_(DeadLetter.generation == MemoryBase.serving, DeadLetter.generation == MemoryBase.building),
    DeadLetter.state != "discarded",
)


def own_flow(user_id: UUID) -> Condition:
    """Whether a flow is the user's and not being deleted."""
    return sa.and_(Flow.user_id == user_id, Flow.deleting_at.is_(None))


def own_base(user_id: UUID) -> Condition:
    """Whether a memory base is the user's and not being deleted."""
    return sa.and_(MemoryBase.user_id == user_id, MemoryBase.deleting_at.is_(None))


def key_of(flow_id: UUID | sa.BindParameter[Any], session_id: str | sa.BindParameter[Any]) -> sa.ScalarSelect[UUID]:
    """`sessions.id`, by which other tables refer to the session that callers know by this id."""
    return keys_of(flow_id, _SESSIONS.session_id == session_id).scalar_subquery()


def keys_of(flow_id: UUID | sa.BindParameter[Any], which: Condition) -> sa.Select[UUID]:
    """The `sessions.id` of the flow's sessions that match."""
    # Looked up once, whatever tables the statement around it has.
    return sa.select(_SESSIONS.id).where(_SESSIONS.flow_id == flow_id, which).correlate(None)


def serving_progress(session: sa.SQLColumnExpression[UUID] = Session.id, base: Any = MemoryBase) -> Condition:
    """Whether a row of progress is the session's in the serving generation of the memory base."""
    return sa.and_(
        SessionProgress.memory_base_id == base.id,
        SessionProgress.generation == base.serving,
        SessionProgress.session_uuid == session,
    )


def serving_entry(message_id: sa.SQLColumnExpression[UUID] = Message.id, base: Any = MemoryBase) -> Condition:
    """Whether a ledger entry is the message's in the serving generation of the memory base."""
    return sa.and_(
        LedgerEntry.memory_base_id == base.id,
        LedgerEntry.generation == base.serving,
        LedgerEntry.message_id == message_id,
    )
