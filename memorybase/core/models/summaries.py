"""Summaries of sessions, which replace the older messages in a model's context."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import ID_LENGTH, NAME_LENGTH, Base
from memorybase.core.models.leased_work import LeasedWork


class SessionSummary(LeasedWork, Base):
    """The summary of a session's messages 1 to to_seq, and the outbox entry of the next one.

    The id is derived from session, preset and summarizer, so a rebuilt summary keeps it."""

    __tablename__ = "summaries"
    __table_args__ = (
        ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        UniqueConstraint("flow_id", "session_id", "preset", "summarizer"),
        Index("ix_summaries_notify", "notify_at"),
        CheckConstraint("requested_seq >= to_seq", name="range"),
    )
    fixed = ("session_id",)  # a rename

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID]
    session_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    preset: Mapped[str] = mapped_column(String(32))
    summarizer: Mapped[str] = mapped_column(String(NAME_LENGTH))
    text: Mapped[str | None] = mapped_column(Text)  # null: not made yet, or a covered message was deleted
    to_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    last_message_id: Mapped[UUID | None]  # the newest message covered; other threads do not contain it
    stale: Mapped[bool] = mapped_column(default=False)  # a covered message was edited
    rebuilt_seq: Mapped[int] = mapped_column(BigInteger, default=0)  # covered when it was last rebuilt
    requested_seq: Mapped[int] = mapped_column(BigInteger)  # covered by the next summary
    requested_message_id: Mapped[UUID | None]  # the last message of the thread to summarize
    error: Mapped[str | None] = mapped_column(Text)  # of the last attempt
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
