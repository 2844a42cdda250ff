"""Receipts: how much was deleted, in numbers."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import Base, Json, partial_index


class Receipt(Base):
    """The number of rows that an erasure deleted, or what is old enough by a rule. Open until `finished_at` is set: the
    sweeper continues it.

    `rule`: erase_end_user, delete_session or redact_secrets, an erasure, whose `subject_id` is derived from the id and
    whose `flow_id` is zero for an end user or all flows; or flow, session, memory_base or memory_use. No foreign key to
    the flow or the memory base: the receipt outlives them.
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
