"""Chat memories: the configuration of a flow's Chat Memory nodes, and the log of each of their chats.

These logs are separate from captured messages: never counted, listed among messages, or embedded. No transaction locks
a chat and a session together.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import ID_LENGTH, NAME_LENGTH, Base, Json, partial_index
from memorybase.core.models.leased_work import LeasedWork


class ChatMemory(Base):
    """A Chat Memory node of a flow: its name and configuration."""

    __tablename__ = "chat_memories"
    noun = "chat memory"
    __table_args__ = (
        UniqueConstraint("flow_id", "node_id"),
        Index("ix_chat_memories_page", "flow_id", "created_at", "id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"))
    node_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    options: Mapped[dict[str, Any]] = mapped_column(Json)  # the other fields of ChatMemoryConfig
    # Incremented when an option changes that decides where a threshold cuts; cuts of older revisions are ignored.
    revision: Mapped[int] = mapped_column(Integer)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class Chat(LeasedWork, Base):
    """One chat of a memory, and the outbox entry of its next summary. `last_seq` numbers its records; the row's lock
    makes seq order commit order.

    The log is never trimmed. Views leave out the records up to `trimmed_seq` (trim and summarize calls), and those
    after `head_seq` up to `cut_seq` (a threshold)."""

    __tablename__ = "chats"
    noun = "chat"
    __table_args__ = (
        UniqueConstraint("chat_memory_id", "chat_id"),
        Index("ix_chats_page", "chat_memory_id", "created_at", "id"),
        Index("ix_chats_end_user", "flow_id", "end_user_id"),
        Index("ix_chats_notify", "notify_at"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID]
    chat_memory_id: Mapped[UUID] = mapped_column(ForeignKey("chat_memories.id", ondelete="CASCADE"))
    chat_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    end_user_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    last_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    messages: Mapped[int] = mapped_column(BigInteger, default=0)
    tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    counter: Mapped[str] = mapped_column(String(32), server_default="estimate-1")  # of its tokens and its records'
    trimmed_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    head_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    cut_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    cut_revision: Mapped[int] = mapped_column(Integer, default=0)  # chat_memories.revision at the time of the cut
    predefined_left: Mapped[int | None] = mapped_column(Integer)  # predefined messages that this cut kept; null: all
    summary: Mapped[str | None] = mapped_column(Text)
    summary_from_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    summary_to_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    version: Mapped[int] = mapped_column("revision", Integer, default=0)  # a deletion or a trim increments it too
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class ChatRecord(Base):
    """A message of a chat. Never changed, and deleted only by request."""

    __tablename__ = "chat_records"
    __table_args__ = (
        UniqueConstraint("chat_row_id", "message_id"),
        Index("ix_chat_records_request", "chat_row_id", "request_id"),
        Index("ix_chat_records_flow", "flow_id"),
        partial_index("ix_chat_records_key", "key_id", where="key_id IS NOT NULL"),
    )

    chat_row_id: Mapped[UUID] = mapped_column(ForeignKey("chats.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    flow_id: Mapped[UUID]
    message_id: Mapped[UUID]
    external_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    run_id: Mapped[UUID | None]
    request_id: Mapped[UUID]  # the run's id, or a new one for a call without a run
    role: Mapped[str] = mapped_column(String(16))
    content: Mapped[Any] = mapped_column(Json, nullable=True)
    tool_calls: Mapped[list[Any] | None] = mapped_column(Json)
    tool_call_id: Mapped[str | None] = mapped_column(Text)
    name: Mapped[str | None] = mapped_column(Text)
    files: Mapped[list[Any]] = mapped_column(Json, default=list)
    meta: Mapped[dict[str, Any]] = mapped_column("metadata", Json, default=dict)
    status: Mapped[str] = mapped_column(String(16))
    tokens: Mapped[int] = mapped_column(Integer)
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary(32))
    created_at: Mapped[datetime]
    key_id: Mapped[UUID | None]  # as in runs
