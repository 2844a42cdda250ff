"""Changes that people made to single messages, and deleted messages that can still be restored."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import NAME_LENGTH, Base, Json, partial_index


class MessageChange(Base):
    """One change of a message: by whom, why, and what an edit replaced. Deleted with its message and its session."""

    __tablename__ = "message_changes"
    __table_args__ = (
        Index("ix_message_changes_message", "message_id", "number"),
        Index("ix_message_changes_session", "session_uuid"),
        Index("ix_message_changes_flow", "flow_id"),
        partial_index("ix_message_changes_batch", "batch_id", "id", where="batch_id IS NOT NULL"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"))
    session_uuid: Mapped[UUID] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    message_id: Mapped[UUID]  # of a message, or of one that can be restored
    number: Mapped[int] = mapped_column(BigInteger)  # of the changes of this message, from 1
    action: Mapped[str] = mapped_column(String(16))
    at: Mapped[datetime]
    by: Mapped[str | None] = mapped_column(String(NAME_LENGTH))  # the name of the API key
    reason: Mapped[str | None] = mapped_column(Text)
    version: Mapped[int]  # of the message, after the change
    former: Mapped[dict[str, Any] | None] = mapped_column(Json)  # the fields that an edit replaced
    batch_id: Mapped[UUID | None]  # changes that were made together


class RestorableMessage(Base):
    """A deleted message as it was, while it can be restored. `links`: what relinking changed in its session's threads.

    `message` has every column of its row. Erasure, the deletion of its session or flow, and the sweeper delete it.
    """

    __tablename__ = "restorable_messages"
    __table_args__ = (
        Index("ix_restorable_messages_session", "session_uuid"),
        Index("ix_restorable_messages_page", "flow_id", "deleted_at", "message_id"),
        Index("ix_restorable_messages_deleted_at", "deleted_at"),
    )

    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"), primary_key=True)
    message_id: Mapped[UUID] = mapped_column(primary_key=True)
    session_uuid: Mapped[UUID] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    message: Mapped[dict[str, Any]]
    follows_id: Mapped[UUID | None]  # the message before it on its thread, also one that it did not name
    links: Mapped[list[Any]] = mapped_column(Json)
    removed: Mapped[list[Any]] = mapped_column(Json)  # from which memory bases, and how many chunks
    deleted_at: Mapped[datetime]
    by: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    reason: Mapped[str | None] = mapped_column(Text)
