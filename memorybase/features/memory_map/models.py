"""Maps: where each message of a memory base is, in two dimensions."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, ForeignKeyConstraint, Index, LargeBinary, SmallInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import Base
from memorybase.core.models.leased_work import LeasedWork


class MemoryMap(LeasedWork, Base):
    """The projection of a memory base's map, and the outbox entry of its next computation."""

    __tablename__ = "memory_maps"
    __table_args__ = (Index("ix_memory_maps_notify", "notify_at"),)

    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"), primary_key=True)
    # The stored map; None until one was computed.
    generation: Mapped[int | None]
    projection: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)  # float32: mean, two components
    explained: Mapped[float | None]  # the share of the variance that two dimensions show
    messages: Mapped[int] = mapped_column(BigInteger, default=0)  # what the generation held then
    as_of: Mapped[datetime | None]  # messages that were ingested later are not on the map
    computed_at: Mapped[datetime | None]
    # The next one.
    progress: Mapped[int] = mapped_column(default=0)  # percent
    error_code: Mapped[str | None] = mapped_column(String(64))  # of the last attempt
    failing_since: Mapped[datetime | None]  # the first of the attempts that failed in a row


class MapPoint(Base):
    """Position of a message on the map, deleted with its ledger entry. `position` is the point's number: by cluster,
    and within a cluster from its middle outwards."""

    __tablename__ = "map_points"
    __table_args__ = (
        ForeignKeyConstraint(
            ["progress_id", "message_id"], ["ledger.progress_id", "ledger.message_id"], ondelete="CASCADE"
        ),
        Index("ix_map_points_ledger", "progress_id", "message_id"),
    )

    memory_base_id: Mapped[UUID] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    generation: Mapped[int]
    progress_id: Mapped[UUID]
    message_id: Mapped[UUID]
    x: Mapped[float]
    y: Mapped[float]
    cluster: Mapped[int] = mapped_column(SmallInteger)
