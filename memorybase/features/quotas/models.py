"""Usage of quotas."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import ID_LENGTH, Base


class QuotaCounter(Base):
    """What is used of one quota in one window.

    `subject_id`: the user, or the first of the keys that were rotated into each other. Quotas of what is stored have
    1970 in `window_start`.
    """

    __tablename__ = "quota_counters"
    __table_args__ = (Index("ix_quota_counters_recount", "recount_at"),)

    subject_id: Mapped[UUID] = mapped_column(primary_key=True)
    quota: Mapped[str] = mapped_column(String(32), primary_key=True)
    window_start: Mapped[datetime] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    granted: Mapped[int] = mapped_column(BigInteger)  # what is used
    epoch: Mapped[int] = mapped_column(Integer, default=0)  # rises at each recount, so that only one corrects
    recount_at: Mapped[datetime | None]  # null for quotas with a window: nothing of them comes back


class QuotaEndUser(Base):
    """An end user that counts toward the quota of a user or a key. Deleted with the end user's erasure."""

    __tablename__ = "quota_end_users"
    __table_args__ = (Index("ix_quota_end_users_erasure", "user_id", "end_user_id"),)

    subject_id: Mapped[UUID] = mapped_column(primary_key=True)
    end_user_id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    first_seen_at: Mapped[datetime]
