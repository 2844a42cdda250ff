"""Legal holds."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import ID_LENGTH, NAME_LENGTH, Base


class LegalHold(Base):
    """Nothing of a flow, of one session, or of an end user in all flows is deleted while this row exists."""

    __tablename__ = "legal_holds"
    __table_args__ = (
        Index("ix_legal_holds_page", "user_id", "placed_at", "id"),
        CheckConstraint("(flow_id IS NULL) <> (end_user_id IS NULL)", name="scope"),
        CheckConstraint("session_uuid IS NULL OR flow_id IS NOT NULL", name="session"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    flow_id: Mapped[UUID | None] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"), index=True)
    # sessions.id, which a rename does not change; None: the whole flow.
    session_uuid: Mapped[UUID | None] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), index=True)
    end_user_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    reason: Mapped[str | None] = mapped_column(Text)
    placed_by: Mapped[str | None] = mapped_column(String(NAME_LENGTH))  # the name of the API key
    placed_at: Mapped[datetime]
