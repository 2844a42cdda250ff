"""Statements of the redaction of secrets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.upsert import insert_if_absent
from memorybase.core.models import (
    Chat,
    ChatRecord,
    Flow,
    MemoryUse,
    Message,
    MessageChange,
    NodeExecution,
    RestorableMessage,
    Session,
    SessionSummary,
)
from memorybase.core.queries.joins import own_flow
from memorybase.features.secret_redaction.models import ONLY, RedactionKey


def fetch_key(db: OrmSession) -> bytes | None:
    return db.scalar(sa.select(RedactionKey.key).where(RedactionKey.id == ONLY))


def add_key(db: OrmSession, key: bytes, now: datetime) -> None:
    """Store the key unless another process has stored one."""
    insert_if_absent(db, RedactionKey, {"id": ONLY, "key": key, "created_at": now}, "id")


class Place(NamedTuple):
    """A table with what callers sent. `key`: the columns of its primary key, by which its rows are read in order;
    `columns`: those that may have secrets; `counted`: the field of receipts that counts its rows."""

    table: type[Any]
    key: tuple[InstrumentedAttribute[Any], ...]
    columns: tuple[str, ...]
    counted: str


# By the name that a scan tells. Messages come first: what quotes them follows.
PLACES: dict[str, Place] = {
    "messages": Place(
        Message, (Message.id,), ("content", "tool_calls", "name", "sender_name", "files", "meta"), "messages"
    ),
    "former_versions": Place(MessageChange, (MessageChange.id,), ("former", "reason"), "message_changes"),
    "deleted_messages": Place(
        RestorableMessage,
        (RestorableMessage.flow_id, RestorableMessage.message_id),
        ("message", "reason"),
        "restorable_messages",
    ),
    "node_executions": Place(NodeExecution, (NodeExecution.id,), ("outputs", "few_shots"), "node_executions"),
    "memory_uses": Place(
        MemoryUse, (MemoryUse.id,), ("messages", "query", "report", "memory_use_summary"), "memory_uses"
    ),
    "sessions": Place(Session, (Session.id,), ("meta",), "sessions"),
    "summaries": Place(SessionSummary, (SessionSummary.id,), ("text",), "summaries"),
    "chats": Place(Chat, (Chat.id,), ("summary",), "chats"),
    "chat_messages": Place(
        ChatRecord,
        (ChatRecord.chat_row_id, ChatRecord.seq),
        ("content", "tool_calls", "name", "files", "meta"),
        "chat_messages",
    ),
}


def page(
    db: OrmSession, place: Place, user_id: UUID, flow_id: UUID | None, after: Sequence[Any], limit: int
) -> Sequence[Any]:
    """The next rows of the user's flows, or of one of them, by key."""
    found = sa.select(place.table).join(Flow, Flow.id == place.table.flow_id).where(own_flow(user_id))
    if flow_id is not None:
        found = found.where(Flow.id == flow_id)
    if after:
        found = found.where(sa.tuple_(*place.key) > sa.tuple_(*after, types=[column.type for column in place.key]))
    return db.scalars(found.order_by(*place.key).limit(limit)).all()


def lock(db: OrmSession, place: Place, key: Sequence[Any]) -> Any | None:
    """The row, locked; None if it is gone."""
    same = (column == value for column, value in zip(place.key, key, strict=True))
    found = sa.select(place.table).where(*same).with_for_update()
    return db.scalar(found.execution_options(populate_existing=True))
