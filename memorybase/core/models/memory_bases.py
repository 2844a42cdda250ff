"""Memory bases, their generations, and how far each session is ingested."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    String,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import (
    ID_LENGTH,
    MODEL_LENGTH,
    NAME_LENGTH,
    TRACEPARENT_LENGTH,
    Base,
    Capture,
    GenerationState,
    Json,
    Priority,
    partial_index,
)


class MemoryBase(Base):
    """A searchable memory of one flow. With `deleting_at` it is 404, and its collection and rows are being deleted."""

    __tablename__ = "memory_bases"
    noun = "memory base"
    __table_args__ = (
        UniqueConstraint("user_id", "name"),
        Index("ix_memory_bases_page", "user_id", "created_at", "id"),
        partial_index("ix_memory_bases_forget", "forget_due_at", where="forget_due_at IS NOT NULL"),
        CheckConstraint("threshold >= 1", name="threshold"),
        CheckConstraint("idle_after >= 0", name="idle_after"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id"), index=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    kb_name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    threshold: Mapped[int]
    auto_capture: Mapped[bool]
    idle_after: Mapped[int]  # seconds; 0 is off
    created_at: Mapped[datetime]
    deleting_at: Mapped[datetime | None]
    paused_at: Mapped[datetime | None]  # since when its jobs are held back
    priority: Mapped[Priority] = mapped_column(String(16), default=Priority.NORMAL, server_default="normal")
    # A language model distils what is ingested.
    distill: Mapped[bool] = mapped_column(default=False, server_default=false())
    serving: Mapped[int]  # the generation that searches and counters read
    building: Mapped[int | None]  # the generation that captures and flushes write to; None: the serving one
    mismatch: Mapped[bool | None]  # None: never compared
    mismatch_checked_at: Mapped[datetime | None]
    compare_at: Mapped[datetime | None]  # when the sweeper compares the store with the ledger again; None: at once
    mismatch_since: Mapped[datetime | None]  # when a comparison first found it; None without a mismatch
    chunks_missing: Mapped[int | None] = mapped_column(BigInteger)  # None: not known, as without a collection
    chunks_stored: Mapped[int | None] = mapped_column(BigInteger)  # that the last comparison found in the store
    retain_days: Mapped[int | None]  # its knowledge base forgets what was captured earlier; None: nothing
    forget_due_at: Mapped[datetime | None]  # when the sweeper looks again; None without retain_days
    forgotten_until: Mapped[datetime | None]  # every session has forgotten what was captured before
    # Deferred: every capture reads the row, but only searches need these.
    search_weights: Mapped[dict[str, Any] | None] = mapped_column(Json, deferred=True)  # None: the default ones
    previous_search_weights: Mapped[dict[str, Any] | None] = mapped_column(Json, deferred=True)


class PlannedBaseDeletion(Base):
    """A memory base whose deletion the sweeper starts at `due_at`. Until then its batch can be kept."""

    __tablename__ = "planned_base_deletions"

    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    batch_id: Mapped[UUID] = mapped_column(index=True)  # what was deleted at once
    due_at: Mapped[datetime] = mapped_column(index=True)


class Generation(Base):
    """One projection of a memory base: a collection, with the model and the capture that filled it."""

    __tablename__ = "generations"
    noun = "memory base"

    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"), primary_key=True)
    generation: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[GenerationState] = mapped_column(String(16))
    capture: Mapped[Capture] = mapped_column(String(16))
    embedding_model: Mapped[str] = mapped_column(String(MODEL_LENGTH))
    embedder: Mapped[str] = mapped_column(String(MODEL_LENGTH))  # the embedder's identity: backend, model, revision
    chunker: Mapped[str] = mapped_column(String(64))
    token_encoding: Mapped[str | None] = mapped_column(String(64))  # of its token vectors; None: without
    dimension: Mapped[int]
    collection_name: Mapped[str] = mapped_column(String(128))
    collection_id: Mapped[UUID]
    # A build serves only once its collection is indexed.
    awaits_index: Mapped[bool] = mapped_column(default=False, server_default=false())
    created_at: Mapped[datetime]
    retired_at: Mapped[datetime | None]  # None again once its collection is deleted


class SessionProgress(Base):
    """Progress of one session's ingestion into one generation. `cursor_seq` decides; `cursor_id` is for reading."""

    __tablename__ = "session_progress"
    noun = "session"
    __table_args__ = (
        ForeignKeyConstraint(
            ["memory_base_id", "generation"],
            ["generations.memory_base_id", "generations.generation"],
            ondelete="CASCADE",
        ),
        ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            onupdate="CASCADE",
        ),
        UniqueConstraint("memory_base_id", "session_id", "generation"),
        UniqueConstraint("memory_base_id", "session_uuid", "generation"),
        CheckConstraint("cursor_seq >= start_seq", name="cursor"),
        Index("ix_session_progress_session", "flow_id", "session_id"),
        # Partial indexes for the sweeper, as small as the pending work.
        partial_index("ix_session_progress_due", "id", where="target_seq > cursor_seq"),
        partial_index("ix_session_progress_dirty", "id", where="dirty > repaired"),
        partial_index("ix_session_progress_unbuilt", "memory_base_id", "generation", where="cursor_seq < build_seq"),
        # With all that the list of memory bases adds up.
        Index(
            "ix_session_progress_totals",
            "memory_base_id",
            "generation",
            "total_processed",
            "total_chunks",
            "last_sync_at",
        ),
        Index("ix_session_progress_idle", "idle_due_at"),
        Index("ix_session_progress_lease", "lease_until"),
        Index("ix_session_progress_audit", "audit_at"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID]
    generation: Mapped[int]
    flow_id: Mapped[UUID]
    session_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    session_uuid: Mapped[UUID]  # sessions.id, by which messages refer to it
    start_seq: Mapped[int] = mapped_column(BigInteger, default=0)  # messages up to here are skipped or forgotten
    cursor_id: Mapped[UUID | None]
    cursor_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    target_seq: Mapped[int] = mapped_column(BigInteger, default=0)  # messages up to here are due
    build_seq: Mapped[int] = mapped_column(BigInteger, default=0)  # a build is complete once every cursor reaches it
    total_processed: Mapped[int] = mapped_column(BigInteger, default=0)
    total_chunks: Mapped[int] = mapped_column(BigInteger, default=0)
    last_sync_at: Mapped[datetime | None]
    epoch: Mapped[int] = mapped_column(BigInteger, default=0)  # the fencing token
    lease_until: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column(Text)
    dirty: Mapped[int] = mapped_column(default=0)  # counts edits and deletes
    repaired: Mapped[int] = mapped_column(default=0)  # the count that the last complete repair had read
    renamed_from: Mapped[list[str] | None] = mapped_column(Json)  # former ids, under which late writes may arrive
    audit_at: Mapped[datetime | None]  # when to compare the store with the ledger
    job_cap: Mapped[int | None]  # counted messages in a job after workers were lost; doubles with each success
    idle_due_at: Mapped[datetime | None]
    # The span of the request that last moved the target, or set idle_due_at; None: traces are off.
    traceparent: Mapped[str | None] = mapped_column(String(TRACEPARENT_LENGTH))


class Preparation(Base):
    """Pending work on each session of a memory base's flow, in their order of creation. Pages are done in short
    transactions; the row is deleted with the last one."""

    __tablename__ = "preparations"
    __table_args__ = (
        ForeignKeyConstraint(
            ["memory_base_id", "generation"],
            ["generations.memory_base_id", "generations.generation"],
            ondelete="CASCADE",
        ),
    )

    memory_base_id: Mapped[UUID] = mapped_column(primary_key=True)
    generation: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)  # a PreparationKind, or a feature's own
    started_at: Mapped[datetime]
    # The last session that is done; None: none is.
    after_created_at: Mapped[datetime | None]
    after_id: Mapped[UUID | None]
