"""Statements of chat memories: their configurations, their chats, and the pages of a log. What the core does with chats
(erasures, recorded uses) is in memorybase/core/queries/chats.py."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches
from memorybase.core.database.paging import Found, Keyset, Listing, PageRequest, given
from memorybase.core.database.upsert import insert, rows_affected
from memorybase.core.models import Chat, ChatMemory, ChatRecord, Flow
from memorybase.core.queries.chats import lock_chat
from memorybase.core.queries.joins import own_flow

_MEMORIES = Listing(sa.select(ChatMemory), Keyset("chat-memories", (ChatMemory.created_at, ChatMemory.id)))
_CHATS = Listing(sa.select(Chat), Keyset("chats", (Chat.created_at, Chat.id)))


class StoredRecord(NamedTuple):
    """A stored record, to compare with a repeated post of its id."""

    message_id: UUID
    seq: int
    fingerprint: bytes


def fetch_memory(db: OrmSession, user_id: UUID, flow_id: UUID, node_id: str) -> ChatMemory | None:
    """The memory of a node, in a user's flow that is not being deleted."""
    return db.scalar(
        sa.select(ChatMemory)
        .join(Flow, Flow.id == ChatMemory.flow_id)
        .where(ChatMemory.flow_id == flow_id, ChatMemory.node_id == node_id, own_flow(user_id))
    )


def share_memory(db: OrmSession, memory_id: UUID) -> bool:
    """Lock the memory against deletion until the transaction ends; False if it does not exist."""
    statement = sa.select(ChatMemory.id).where(ChatMemory.id == memory_id).with_for_update(read=True, key_share=True)
    return db.scalar(statement) is not None


def lock_memory(db: OrmSession, flow_id: UUID, node_id: str) -> ChatMemory | None:
    return db.scalar(
        sa.select(ChatMemory)
        .where(ChatMemory.flow_id == flow_id, ChatMemory.node_id == node_id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    )


def insert_memory(db: OrmSession, values: dict[str, Any]) -> bool:
    """False if the node has a memory already."""
    statement = insert(db, ChatMemory).values(**values)
    created = statement.on_conflict_do_nothing(index_elements=["flow_id", "node_id"]).returning(ChatMemory.id)
    return db.scalar(created) is not None


def memories_page(db: OrmSession, flow_id: UUID, request: PageRequest) -> Found:
    return _MEMORIES.page(db, request, ChatMemory.flow_id == flow_id)


def delete_rows_of_memory(db: OrmSession, memory_id: UUID, *, limit: int) -> bool:
    """Delete up to `limit` rows of its chats; False once nothing is left."""
    chats = Chat.chat_memory_id == memory_id
    records = ChatRecord.chat_row_id.in_(sa.select(Chat.id).where(chats))
    return batches.delete_some(db, ChatRecord, records, limit=limit) or batches.delete_some(
        db, Chat, chats, limit=limit
    )


def delete_memory(db: OrmSession, memory_id: UUID) -> None:
    db.execute(sa.delete(ChatMemory).where(ChatMemory.id == memory_id))


def chats_page(db: OrmSession, memory_id: UUID, request: PageRequest, *, end_user_id: str | None) -> Found:
    return _CHATS.page(db, request, Chat.chat_memory_id == memory_id, *given(end_user_id, Chat.end_user_id))


def fetch_chat(db: OrmSession, memory_id: UUID, chat_id: str) -> Chat | None:
    return db.scalar(sa.select(Chat).where(Chat.chat_memory_id == memory_id, Chat.chat_id == chat_id))


def open_chat(db: OrmSession, memory: ChatMemory, chat_id: str, now: datetime, *, counter: str) -> Chat:
    """The chat, created with that counter if it is new, locked: until the commit only this transaction assigns seqs."""
    opened: Chat | None = None
    while opened is None:  # another transaction may delete the chat between the two statements
        db.execute(
            insert(db, Chat)
            .values(
                id=uuid4(),
                flow_id=memory.flow_id,
                chat_memory_id=memory.id,
                chat_id=chat_id,
                counter=counter,
                created_at=now,
                updated_at=now,
            )
            .on_conflict_do_nothing(index_elements=["chat_memory_id", "chat_id"])
        )
        opened = lock_chat(db, memory.id, chat_id)
    return opened


def chats_after(
    db: OrmSession,
    memory_id: UUID,
    after: UUID | None,
    *,
    chat_id: str | None,
    limit: int,
    end_user_id: str | None = None,
) -> list[Chat]:
    """A memory's chats by their row's id."""
    statement = sa.select(Chat).where(Chat.chat_memory_id == memory_id)
    if chat_id is not None:
        statement = statement.where(Chat.chat_id == chat_id)
    if end_user_id is not None:
        statement = statement.where(Chat.end_user_id == end_user_id)
    if after is not None:
        statement = statement.where(Chat.id > after)
    return list(db.scalars(statement.order_by(Chat.id).limit(limit)))


def fetch_with_memory(db: OrmSession, chat_row_id: UUID) -> tuple[Chat, ChatMemory] | None:
    """A chat by its row, in a flow that is not being deleted."""
    row = db.execute(
        sa.select(Chat, ChatMemory)
        .join(ChatMemory, ChatMemory.id == Chat.chat_memory_id)
        .join(Flow, Flow.id == ChatMemory.flow_id)
        .where(Chat.id == chat_row_id, Flow.deleting_at.is_(None))
    ).one_or_none()
    return None if row is None else (row[0], row[1])


def request_summary(db: OrmSession, chat_row_id: UUID, notify_at: datetime) -> bool:
    """False if a summary is requested already."""
    statement = sa.update(Chat).where(Chat.id == chat_row_id, Chat.notify_at.is_(None)).values(notify_at=notify_at)
    return rows_affected(db, statement.execution_options(synchronize_session=False)) == 1


def stored_records(db: OrmSession, chat: Chat, ids: Collection[UUID]) -> dict[UUID, StoredRecord]:
    """The chat's records with these ids."""
    found: dict[UUID, StoredRecord] = {}
    for page in batches.pages(ids):
        rows = db.execute(
            sa.select(ChatRecord.message_id, ChatRecord.seq, ChatRecord.fingerprint).where(
                ChatRecord.chat_row_id == chat.id, ChatRecord.message_id.in_(page)
            )
        )
        found.update({row.message_id: StoredRecord(*row) for row in rows})
    return found


def insert_records(db: OrmSession, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        db.execute(sa.insert(ChatRecord), rows)


def newest(db: OrmSession, chat: Chat, *, limit: int, after: int = 0, before: int | None = None) -> list[ChatRecord]:
    """The last records after `after` and before `before`, newest first."""
    statement = sa.select(ChatRecord).where(ChatRecord.chat_row_id == chat.id, ChatRecord.seq > after)
    if before is not None:
        statement = statement.where(ChatRecord.seq < before)
    return list(db.scalars(statement.order_by(ChatRecord.seq.desc()).limit(limit)))


def oldest(
    db: OrmSession, chat: Chat, *, limit: int, after: int = 0, to: int | None = None, offset: int = 0
) -> list[ChatRecord]:
    """The first records after `after` up to `to`, in seq order."""
    statement = sa.select(ChatRecord).where(ChatRecord.chat_row_id == chat.id, ChatRecord.seq > after)
    if to is not None:
        statement = statement.where(ChatRecord.seq <= to)
    return list(db.scalars(statement.order_by(ChatRecord.seq).limit(limit).offset(offset)))


def count_after(db: OrmSession, chat: Chat, after: int, to: int | None = None) -> int:
    """Number of records after `after`, up to `to`."""
    statement = sa.select(sa.func.count()).where(ChatRecord.chat_row_id == chat.id, ChatRecord.seq > after)
    if to is not None:
        statement = statement.where(ChatRecord.seq <= to)
    return db.scalar(statement) or 0


def newest_request(db: OrmSession, chat: Chat) -> UUID | None:
    """The request that wrote the newest record."""
    statement = sa.select(ChatRecord.request_id).where(ChatRecord.chat_row_id == chat.id)
    return db.scalar(statement.order_by(ChatRecord.seq.desc()).limit(1))


def calls_of(db: OrmSession, chat: Chat, request_id: UUID) -> list[tuple[int, list[Any]]]:
    """Seq and tool calls of a request's messages that have tool calls."""
    rows = db.execute(
        sa.select(ChatRecord.seq, ChatRecord.tool_calls)
        .where(ChatRecord.chat_row_id == chat.id, ChatRecord.request_id == request_id, ChatRecord.role == "assistant")
        .order_by(ChatRecord.seq)
    )
    return [(row.seq, row.tool_calls) for row in rows if row.tool_calls]


def memories_after(db: OrmSession, flow_id: UUID, after: UUID | None, *, limit: int) -> list[ChatMemory]:
    """A flow's memories by id."""
    statement = sa.select(ChatMemory).where(ChatMemory.flow_id == flow_id)
    if after is not None:
        statement = statement.where(ChatMemory.id > after)
    return list(db.scalars(statement.order_by(ChatMemory.id).limit(limit)))
