"""Which rows belong together and to whom, as conditions by name."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from memorybase.models import DeadLetter, Flow, Generation, LedgerEntry, MemoryBase, Message, Session, SessionProgress

Condition = sa.ColumnElement[bool]

MESSAGE_OF_SESSION: Condition = sa.and_(Message.flow_id == Session.flow_id, Message.session_id == Session.session_id)
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


def serving_progress(session_id: sa.SQLColumnExpression[str] = Session.session_id, base: Any = MemoryBase) -> Condition:
    """Whether a row of progress is the session's in the serving generation of the memory base."""
    return sa.and_(
        SessionProgress.memory_base_id == base.id,
        SessionProgress.generation == base.serving,
        SessionProgress.session_id == session_id,
    )


def serving_entry(message_id: sa.SQLColumnExpression[UUID] = Message.id, base: Any = MemoryBase) -> Condition:
    """Whether a ledger entry is the message's in the serving generation of the memory base."""
    return sa.and_(
        LedgerEntry.memory_base_id == base.id,
        LedgerEntry.generation == base.serving,
        LedgerEntry.message_id == message_id,
    )
