"""Chats of chat memories: locks, and what deletions need. The rest is of the feature that has the nodes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches
from memorybase.core.models import Chat, ChatRecord, Flow
from memorybase.core.queries.joins import own_flow


class DeletedRecord(NamedTuple):
    """A record that was deleted."""

    seq: int
    message_id: UUID
    tokens: int


def lock_chat(db: OrmSession, memory_id: UUID, chat_id: str) -> Chat | None:
    return db.scalar(
        sa.select(Chat)
        .where(Chat.chat_memory_id == memory_id, Chat.chat_id == chat_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )


def share_chat(db: OrmSession, chat_row_id: UUID) -> Chat | None:
    """The chat, locked against deletions until the transaction ends."""
    return db.scalar(sa.select(Chat).where(Chat.id == chat_row_id).with_for_update(read=True))


def delete_chat(db: OrmSession, chat: Chat) -> None:
    db.execute(sa.delete(Chat).where(Chat.id == chat.id), execution_options={"synchronize_session": False})
    db.expunge(chat)


def present(db: OrmSession, chat_row_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Which of these are messages of the chat."""
    found: set[UUID] = set()
    for page in batches.pages(ids):
        mine = (ChatRecord.chat_row_id == chat_row_id, ChatRecord.message_id.in_(page))
        found.update(db.scalars(sa.select(ChatRecord.message_id).where(*mine)))
    return found


def last_posted_before(db: OrmSession, chat: Chat, moment: datetime, *, limit: int) -> int | None:
    """The seq of the last of the `limit` oldest records that were posted until then; None if there are none."""
    mine = (ChatRecord.chat_row_id == chat.id, ChatRecord.created_at <= moment)
    oldest = sa.select(ChatRecord.seq).where(*mine).order_by(ChatRecord.seq).limit(limit).subquery()
    last: int | None = db.scalar(sa.select(sa.func.max(oldest.c.seq)))
    return last


def calls_until(db: OrmSession, chat: Chat, to_seq: int) -> list[list[Any]]:
    """The tool calls of the records up to `to_seq`."""
    mine = (ChatRecord.chat_row_id == chat.id, ChatRecord.seq <= to_seq, ChatRecord.role == "assistant")
    return [calls for calls in db.scalars(sa.select(ChatRecord.tool_calls).where(*mine)) if calls]


def delete_records(
    db: OrmSession,
    chat: Chat,
    *,
    roles: Collection[str] | None = None,
    request_id: UUID | None = None,
    to_seq: int | None = None,
) -> list[DeletedRecord]:
    """Delete records of these roles, of one request, up to this seq; without any of them, all."""
    conditions: list[sa.ColumnElement[bool]] = [] if roles is None else [ChatRecord.role.in_(roles)]
    if request_id is not None:
        conditions.append(ChatRecord.request_id == request_id)
    if to_seq is not None:
        conditions.append(ChatRecord.seq <= to_seq)
    return _delete(db, chat, *conditions)


def delete_results(db: OrmSession, chat: Chat, call_ids: Collection[str], *, after: int) -> list[DeletedRecord]:
    """Delete the tool results of these calls after `after`."""
    conditions = (ChatRecord.role == "tool", ChatRecord.seq > after)
    return [
        record
        for page in batches.pages(call_ids)
        for record in _delete(db, chat, *conditions, ChatRecord.tool_call_id.in_(page))
    ]


def _delete(db: OrmSession, chat: Chat, *conditions: sa.ColumnElement[bool]) -> list[DeletedRecord]:
    rows = db.execute(
        sa.delete(ChatRecord)
        .where(ChatRecord.chat_row_id == chat.id, *conditions)
        .returning(ChatRecord.seq, ChatRecord.message_id, ChatRecord.tokens),
        execution_options={"synchronize_session": False},
    )
    return sorted(DeletedRecord(*row) for row in rows)


def chats_of_end_user(db: OrmSession, user_id: UUID, end_user_id: str, *, limit: int) -> list[tuple[UUID, str]]:
    """(memory id, chat id) of up to `limit` chats of an end user, in all of the user's flows."""
    statement = (
        sa.select(Chat.chat_memory_id, Chat.chat_id)
        .join(Flow, Flow.id == Chat.flow_id)
        .where(Chat.end_user_id == end_user_id, own_flow(user_id))
        .order_by(Chat.id)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in db.execute(statement)]
