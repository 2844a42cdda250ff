"""Summaries of sessions: what stands in a model's context for the beginning of a conversation."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKeyConstraint, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.models.base import ID_LENGTH, NAME_LENGTH, Base


class SessionSummary(Base):
    """The summary of a session's messages 1 to to_seq, and the outbox of the one that is to follow it.

    The id follows from the session, the preset and the summarizer, so that a summary made anew has the old one's.
    Whoever writes raises `version`; what was begun before that is not stored."""

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

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID]
    session_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    preset: Mapped[str] = mapped_column(String(32))
    summarizer: Mapped[str] = mapped_column(String(NAME_LENGTH))
    text: Mapped[str | None] = mapped_column(Text)  # null: none is made yet, or what it covered was deleted
    to_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    last_message_id: Mapped[UUID | None]  # the newest message covered; a thread that does not pass it is another one
    stale: Mapped[bool] = mapped_column(default=False)  # a message that it covers was edited
    rebuilt_seq: Mapped[int] = mapped_column(BigInteger, default=0)  # covered when it was last made from the beginning
    requested_seq: Mapped[int] = mapped_column(BigInteger)  # to be covered
    requested_message_id: Mapped[UUID | None]  # the message that the thread to be covered ends with
    version: Mapped[int] = mapped_column(BigInteger, default=0)
    lease_until: Mapped[datetime | None]
    notify_at: Mapped[datetime | None]  # something is owed, and the sweeper rings then
    attempts: Mapped[int] = mapped_column(default=0)  # since it last succeeded
    error: Mapped[str | None] = mapped_column(Text)  # of the last attempt
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
