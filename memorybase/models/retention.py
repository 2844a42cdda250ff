"""Legal holds, and the receipts of what retention deleted."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.models.base import ID_LENGTH, NAME_LENGTH, Base, Json, partial_index


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


class RetentionPass(Base):
    """A receipt: the number of rows that one rule deleted of a flow. Open until `finished_at` is set: the sweeper
    continues it.

    `rule`: flow, session, memory_base or memory_use; or erase_end_user or delete_session, a receipt of an erasure: its
    `subject_id` is derived from the id, and its `flow_id` is zero for an end user. No foreign key to the flow or the
    memory base: the receipt outlives them.
    """

    __tablename__ = "retention_passes"
    __table_args__ = (
        Index("ix_retention_passes_page", "user_id", "started_at", "id"),
        Index("ix_retention_passes_finished", "finished_at"),
        # At most one open pass of each rule; `subject_id` is the memory base's id or else the flow's.
        partial_index("uq_retention_passes_open", "rule", "subject_id", where="finished_at IS NULL", unique=True),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    rule: Mapped[str] = mapped_column(String(16))
    flow_id: Mapped[UUID]
    memory_base_id: Mapped[UUID | None]
    subject_id: Mapped[UUID]
    retain_days: Mapped[int | None] = mapped_column(Integer)
    expired_before: Mapped[datetime]  # the latest such moment of the pass
    counts: Mapped[dict[str, int]] = mapped_column(Json)
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
