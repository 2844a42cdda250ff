"""Ingestion jobs, the ledger, token vectors, dead letters, heartbeats."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    select,
)
from sqlalchemy.orm import Mapped, column_property, mapped_column

from memorybase.core.models.base import (
    ID_LENGTH,
    MODEL_LENGTH,
    TRACEPARENT_LENGTH,
    Base,
    JobKind,
    JobState,
    partial_index,
)
from memorybase.core.models.memory_bases import SessionProgress


class IngestionJob(Base):
    """One bounded piece of work on one session. The row is the outbox; Celery only notifies a worker."""

    __tablename__ = "ingestion_jobs"
    __table_args__ = (
        partial_index(
            "uq_ingestion_jobs_active",
            "memory_base_id",
            "session_id",
            where="state IN ('queued', 'running')",
            unique=True,
        ),
        Index("ix_ingestion_jobs_page", "memory_base_id", "created_at", "id"),
        Index("ix_ingestion_jobs_progress", "progress_id"),
        Index("ix_ingestion_jobs_started", "started_at"),
        partial_index("ix_ingestion_jobs_queued", "notify_at", where="state = 'queued'"),
        partial_index("ix_ingestion_jobs_order", "virtual_time", where="lower(state) = 'queued'"),
        partial_index("ix_ingestion_jobs_running", "virtual_time", where="state = 'running'"),
        partial_index("ix_ingestion_jobs_last", "memory_base_id", "virtual_time", where="upper(state) = 'QUEUED'"),
        partial_index("ix_ingestion_jobs_failed", "memory_base_id", "progress_id", where="state = 'failed'"),
        partial_index("ix_ingestion_jobs_finished", "finished_at", where="finished_at IS NOT NULL"),
        CheckConstraint("to_seq >= from_seq", name="range"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"))
    progress_id: Mapped[UUID] = mapped_column(ForeignKey("session_progress.id", ondelete="CASCADE"))
    # That of an active job: a rename cancels it. The unique index on active jobs needs it.
    active_in: Mapped[str] = mapped_column("session_id", String(ID_LENGTH))
    session_id: Mapped[str] = column_property(
        # A statement that joins the table must be able to look up the id, too.
        select(SessionProgress.session_id)
        .where(SessionProgress.id == progress_id)
        .correlate_except(SessionProgress)
        .scalar_subquery()
    )
    kind: Mapped[JobKind] = mapped_column(String(16))
    state: Mapped[JobState] = mapped_column(String(16))
    generation: Mapped[int]
    from_seq: Mapped[int] = mapped_column(BigInteger)
    to_seq: Mapped[int] = mapped_column(BigInteger)
    cursor_id: Mapped[UUID | None]
    embedder: Mapped[str] = mapped_column(String(MODEL_LENGTH))
    chunker: Mapped[str] = mapped_column(String(64))
    audit: Mapped[bool] = mapped_column(default=False)  # a repair that also compares the ids in the store
    total: Mapped[int] = mapped_column(default=0)
    processed: Mapped[int] = mapped_column(default=0)
    total_chunks: Mapped[int] = mapped_column(default=0)  # of the messages, once they were read
    stored_chunks: Mapped[int] = mapped_column(default=0)  # verified; written now and then, and when others go first
    epoch: Mapped[int] = mapped_column(BigInteger, default=0)
    attempts: Mapped[int] = mapped_column(default=0)
    outages: Mapped[int] = mapped_column(default=0)  # attempts that the environment ended; they set the backoff only
    lost_workers: Mapped[int] = mapped_column(default=0)  # while they embedded it alone
    embedding_started: Mapped[bool] = mapped_column(default=False)  # and no progress was written since
    batched: Mapped[bool] = mapped_column(default=False)  # this attempt is embedded with other jobs
    run_alone: Mapped[bool] = mapped_column(default=False)  # a worker was lost on its batch
    error: Mapped[str | None] = mapped_column(Text)
    error_code: Mapped[str | None] = mapped_column(String(64))  # of memorybase's errors
    available_at: Mapped[datetime]
    # The order in which waiting jobs run: ingestion/fair_order.py.
    virtual_time: Mapped[int] = mapped_column(BigInteger, server_default="0")
    notified_at: Mapped[datetime | None]
    notify_count: Mapped[int] = mapped_column(default=0)
    notify_at: Mapped[datetime]  # the sweeper notifies again then
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    # When its last attempt embedded and wrote, set once it is done; None: it had nothing to embed.
    embedding_at: Mapped[datetime | None]  # embedding started
    embedded_at: Mapped[datetime | None]
    written_at: Mapped[datetime | None]  # and read back
    finished_at: Mapped[datetime | None]
    traceparent: Mapped[str | None] = mapped_column(String(TRACEPARENT_LENGTH))


class LedgerEntry(Base):
    """A message that a generation holds: its version and its number of chunks.

    No foreign key to the message: the entry must outlive it until the store is repaired. By then another session may
    have a message with that id.
    """

    __tablename__ = "ledger"
    noun = "message"
    __table_args__ = (
        Index("ix_ledger_message", "memory_base_id", "generation", "message_id"),
        Index("ix_ledger_ingested", "memory_base_id", "generation", "ingested_at"),
    )

    progress_id: Mapped[UUID] = mapped_column(ForeignKey("session_progress.id", ondelete="CASCADE"), primary_key=True)
    message_id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"))
    generation: Mapped[int]
    version: Mapped[int]
    chunks: Mapped[int]
    # When the memory base first held the message, in any generation; None: a regenerate added it.
    ingested_at: Mapped[datetime | None]


class TokenVectors(Base):
    """The token vectors of a message's first chunk in a generation, deleted with their ledger entry.

    `position` as in messages: a search reads those of its candidates and of the neighbouring turns.
    """

    __tablename__ = "token_vectors"
    __table_args__ = (
        ForeignKeyConstraint(
            ["progress_id", "message_id"], ["ledger.progress_id", "ledger.message_id"], ondelete="CASCADE"
        ),
        Index("ix_token_vectors_position", "memory_base_id", "generation", "position"),
    )

    progress_id: Mapped[UUID] = mapped_column(primary_key=True)
    message_id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID]
    generation: Mapped[int]
    position: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[int]
    vectors: Mapped[bytes] = mapped_column(LargeBinary)  # encoded by the generation's token_encoding


class DeadLetter(Base):
    """A message that could not be embedded. `state`: dead, retrying (a repair retries it) or discarded."""

    __tablename__ = "dead_letters"
    __table_args__ = (
        UniqueConstraint("progress_id", "message_id"),
        Index("ix_dead_letters_generation", "memory_base_id", "generation"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"))
    generation: Mapped[int]
    progress_id: Mapped[UUID] = mapped_column(ForeignKey("session_progress.id", ondelete="CASCADE"))
    message_id: Mapped[UUID]
    version: Mapped[int]
    state: Mapped[str] = mapped_column(String(16))
    error_code: Mapped[str] = mapped_column(String(64))
    error: Mapped[str] = mapped_column(Text)
    attempts: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class EmbeddingUsage(Base):
    """Requests for an endpoint's model, by all processes since the table was created."""

    __tablename__ = "embedding_usage"

    model: Mapped[str] = mapped_column(String(MODEL_LENGTH), primary_key=True)
    requests: Mapped[int] = mapped_column(BigInteger)
    failed_requests: Mapped[int] = mapped_column(BigInteger)
    texts: Mapped[int] = mapped_column(BigInteger)
    tokens: Mapped[int] = mapped_column(BigInteger)


class Heartbeat(Base):
    """A worker's or sweeper's heartbeat. In SQL, so that it works while Redis is unavailable."""

    __tablename__ = "heartbeats"

    name: Mapped[str] = mapped_column(String(300), primary_key=True)
    # worker, sweeper; turn: a task that one of all sweepers starts now and then; residue:...: queries/residues.py
    kind: Mapped[str] = mapped_column(String(16))
    started_at: Mapped[datetime]
    beat_at: Mapped[datetime]
    drain_requested_at: Mapped[datetime | None]  # somebody asked this worker to stop
    draining_at: Mapped[datetime | None]  # since when it takes no jobs
