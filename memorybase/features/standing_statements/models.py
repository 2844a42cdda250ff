"""Standing statements: instructions and preferences of end users that hold beyond the message that states them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import ID_LENGTH, NAME_LENGTH, Base


class StandingStatement(Base):
    """A statement that was found in a user's message. It goes with its message."""

    __tablename__ = "standing_statements"
    __table_args__ = (
        UniqueConstraint("message_id", "found_key"),
        # The newest of an end user, or of the sessions of a flow without one.
        Index("ix_standing_statements_owner", "flow_id", "end_user_id", "said_at", "id"),
        Index("ix_standing_statements_session", "session_uuid", "said_at"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"))
    session_uuid: Mapped[UUID] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    message_id: Mapped[UUID] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"))
    # The session's, which is fixed once it has messages.
    end_user_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    kind: Mapped[str] = mapped_column(String(16))  # instruction or preference
    found: Mapped[str] = mapped_column(Text)  # verbatim
    found_key: Mapped[bytes] = mapped_column(LargeBinary(32))  # SHA-256 of it, without letter case
    ordinal: Mapped[int]  # in its message
    said_at: Mapped[datetime]  # the message's timestamp
    edited: Mapped[str | None] = mapped_column(Text)  # what a person wrote in its place
    changed_by: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    changed_at: Mapped[datetime | None]
    # A deleted one stays as a row, so that it is not found again, and so that it still replaces what it repeats.
    deleted_at: Mapped[datetime | None]
