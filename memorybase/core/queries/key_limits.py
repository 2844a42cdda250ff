"""SQL that finds the flow and the end user of what a limited key names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.ids import IdKind
from memorybase.core.models import (
    Chat,
    ChatMemory,
    Flow,
    IngestionJob,
    MemoryBase,
    Message,
    NodeExecution,
    Run,
    Session,
)


class EndUser(NamedTuple):
    """End user that a row belongs to."""

    end_user_id: str | None


class FlowAndEndUser(NamedTuple):
    flow_id: UUID
    end_user_id: str | None


_TABLES: Mapping[IdKind, type[Run] | type[Message] | type[NodeExecution]] = {
    "run": Run,
    "message": Message,
    "node_execution": NodeExecution,
}


def flow_of_base(db: OrmSession, user_id: UUID, base_id: UUID) -> UUID | None:
    return db.scalar(sa.select(MemoryBase.flow_id).where(MemoryBase.id == base_id, MemoryBase.user_id == user_id))


def job_of_user(db: OrmSession, user_id: UUID, job_id: UUID) -> FlowAndEndUser | None:
    statement = (
        sa.select(MemoryBase.flow_id, Session.end_user_id)
        .select_from(IngestionJob)
        .join(MemoryBase, MemoryBase.id == IngestionJob.memory_base_id)
        .outerjoin(Session, (Session.flow_id == MemoryBase.flow_id) & (Session.session_id == IngestionJob.session_id))
        .where(IngestionJob.id == job_id, MemoryBase.user_id == user_id)
    )
    row = db.execute(statement).one_or_none()
    return None if row is None else FlowAndEndUser(*row)


def end_user_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> EndUser | None:
    """None for a session that does not exist or is deleted."""
    mine = (Session.flow_id == flow_id, Session.session_id == session_id, Session.deleted_at.is_(None))
    row = db.execute(sa.select(Session.end_user_id).where(*mine)).one_or_none()
    return None if row is None else EndUser(*row)


def end_user_of_chat(db: OrmSession, flow_id: UUID, node_id: str, chat_id: str) -> EndUser | None:
    statement = sa.select(Chat.end_user_id).join(ChatMemory, ChatMemory.id == Chat.chat_memory_id)
    mine = (ChatMemory.flow_id == flow_id, ChatMemory.node_id == node_id, Chat.chat_id == chat_id)
    row = db.execute(statement.where(*mine)).one_or_none()
    return None if row is None else EndUser(*row)


def end_user_of_row(db: OrmSession, kind: IdKind, row_id: UUID) -> EndUser | None:
    """The end user of the session that a message, run or node execution belongs to."""
    table = _TABLES[kind]
    same = (Session.flow_id == table.flow_id) & (Session.session_id == table.session_id)
    row = db.execute(sa.select(Session.end_user_id).join(table, same).where(table.id == row_id)).one_or_none()
    return None if row is None else EndUser(*row)


def known_flows(db: OrmSession, user_id: UUID, flow_ids: Collection[UUID]) -> set[UUID]:
    """The flows of the user among these ids."""
    mine = (Flow.id.in_(flow_ids), Flow.user_id == user_id, Flow.deleting_at.is_(None))
    return set(db.scalars(sa.select(Flow.id).where(*mine)))
