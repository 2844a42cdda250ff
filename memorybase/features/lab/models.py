"""Labels: which found messages are right for a question, and which are wrong."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import ID_LENGTH, Base, Json


class SearchLabel(Base):
    """A message that somebody marked as right or wrong for a question. It goes with its message."""

    __tablename__ = "search_labels"
    __table_args__ = (
        UniqueConstraint("user_id", "question_key", "message_id"),
        Index("ix_search_labels_page", "user_id", "marked_at", "id"),
        Index("ix_search_labels_flow", "flow_id", "question_key", "id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"))
    message_id: Mapped[UUID] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), index=True)
    message_version: Mapped[int]  # that was judged
    question_key: Mapped[bytes] = mapped_column(LargeBinary(32))  # SHA-256 of flow, question, session and end user
    question: Mapped[str] = mapped_column(Text)
    session_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))  # the question was asked of this session only
    end_user_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))  # or of this person's
    settings: Mapped[dict[str, Any]] = mapped_column(Json)  # of the search that found it
    right: Mapped[bool]
    marked_by: Mapped[UUID | None] = mapped_column(ForeignKey("api_keys.id", ondelete="SET NULL"))
    marked_at: Mapped[datetime]
