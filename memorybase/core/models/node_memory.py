"""Node memory: the outputs of node executions, and what each node's model was given in a run."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, column_property, mapped_column

from memorybase.core.models.base import ID_LENGTH, Base, Json, partial_index
from memorybase.core.models.sessions import shown_id


class MemoryUse(Base):
    """The view that the model of a run's node was given, as it was sent.

    No foreign keys to the run and the session, which may be captured later or never. `session_id` and `end_user_id` are
    those that the view was asked for, so that a deletion finds it; `session_id` is null for a view of a chat."""

    __tablename__ = "memory_uses"
    noun = "memory use"
    __table_args__ = (
        UniqueConstraint("flow_id", "run_id", "node_id"),
        Index("ix_memory_uses_session", "flow_id", "session_id", "id"),
        Index("ix_memory_uses_recorded", "flow_id", "recorded_at"),
        partial_index("ix_memory_uses_end_user", "end_user_id", "flow_id", where="end_user_id IS NOT NULL"),
        # For the oldest of all flows, which expire first.
        Index("ix_memory_uses_oldest", "recorded_at", "id"),
        # Only uses of the last day.
        partial_index("ix_memory_uses_run_due", "run_due_at", where="run_due_at IS NOT NULL"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"))
    session_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    end_user_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    run_id: Mapped[UUID]
    run_due_at: Mapped[datetime | None]  # deleted then, unless the run is captured; None: it is, or of a chat
    node_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    messages: Mapped[list[Any]] = mapped_column(Json)
    sources: Mapped[list[Any]] = mapped_column(Json)
    report: Mapped[dict[str, Any]] = mapped_column(Json)
    query: Mapped[str | None] = mapped_column(Text)  # what was looked for; None: nothing was
    memory_use_summary: Mapped[dict[str, Any] | None] = mapped_column(Json)
    recorded_at: Mapped[datetime]


class MemoryUseMessage(Base):
    """Which uses hold a message's text, so that a deletion can redact it. No foreign key: the id may be that of a
    captured message, a chat record, a summary or an execution."""

    __tablename__ = "memory_use_messages"
    __table_args__ = (Index("ix_memory_use_messages_use", "use_id"),)

    message_id: Mapped[UUID] = mapped_column(primary_key=True)
    use_id: Mapped[UUID] = mapped_column(ForeignKey("memory_uses.id", ondelete="CASCADE"), primary_key=True)
    flow_id: Mapped[UUID]


class NodeExecution(Base):
    """One execution of a node in a run, with its outputs; a loop executes a node several times in one run.

    No foreign key to the run, which may be captured later."""

    __tablename__ = "node_executions"
    __table_args__ = (
        Index("ix_node_executions_node", "session_uuid", "node_id", "run_id"),
        Index("ix_node_executions_created", "flow_id", "created_at"),
        partial_index(
            "uq_node_executions_external_id", "flow_id", "external_id", where="external_id IS NOT NULL", unique=True
        ),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    external_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"))
    session_uuid: Mapped[UUID] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    session_id: Mapped[str] = column_property(shown_id(session_uuid))
    run_id: Mapped[UUID]
    node_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    index: Mapped[int] = mapped_column(Integer)
    status: Mapped[str] = mapped_column(String(16))
    outputs: Mapped[dict[str, Any]] = mapped_column(Json)
    few_shots: Mapped[list[Any]] = mapped_column(Json, default=list)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
