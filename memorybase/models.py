"""Tables and constraints, no logic. SQLite and PostgreSQL from the same models.

Lock order, everywhere: memory_bases, then sessions (the seq counter), then memory_base_sessions by id, then jobs.
"""

from __future__ import annotations

import enum
import secrets
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    ColumnElement,
    DateTime,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

ID_LENGTH = 128  # external ids, session ids, end-user ids
NAME_LENGTH = 200
MODEL_LENGTH = 512


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC timestamp; SQLite keeps it without a zone, so the zone is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("timestamps carry a zone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Json = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
BigId = BigInteger().with_variant(Integer(), "sqlite")


class Capture(enum.StrEnum):
    """Which messages count toward thresholds and are embedded."""

    OUTPUTS = "outputs"
    ALL = "all"


class JobKind(enum.StrEnum):
    INGEST = "ingest"
    REGENERATE = "regenerate"
    REPAIR = "repair"


class JobState(enum.StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE_STATES = (JobState.QUEUED, JobState.RUNNING)
# In the words of the partial index on active jobs: with parameters in their place SQLite does not recognise it.
# Without a type, or SQLite is sent "= 1" behind it.
IS_ACTIVE: ColumnElement[Any] = literal_column("ingestion_jobs.state IN ('queued', 'running')")


class GenerationState(enum.StrEnum):
    """A collection's life: filled, served, replaced."""

    BUILDING = "building"
    SERVING = "serving"
    RETIRED = "retired"


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: UtcDateTime(), dict[str, Any]: Json, str: Text()}  # noqa: RUF012 - SQLAlchemy's hook


class User(Base):
    __tablename__ = "users"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), unique=True)
    created_at: Mapped[datetime]


class ApiKey(Base):
    """Only the SHA-256 of a key is kept; its prefix names it to people."""

    __tablename__ = "api_keys"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    prefix: Mapped[str] = mapped_column(String(16))
    key_hash: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    scopes: Mapped[list[str]] = mapped_column(Json)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class Flow(Base):
    __tablename__ = "flows"
    __table_args__ = (UniqueConstraint("user_id", "external_id"), Index("ix_flows_page", "user_id", "created_at", "id"))

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    external_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    created_at: Mapped[datetime]
    deleting_at: Mapped[datetime | None]


class Session(Base):
    """A conversation of a flow. `last_seq` is the counter that gives every message its place; its row lock makes
    seq order commit order."""

    __tablename__ = "sessions"
    __table_args__ = (
        UniqueConstraint("flow_id", "session_id"),
        Index("ix_sessions_page", "flow_id", "created_at", "id"),
        Index("ix_sessions_end_user", "flow_id", "end_user_id"),
        Index("ix_sessions_deleted", "deleted_at"),
        Index("ix_sessions_recent", "flow_id", "last_captured_at"),  # a search looks at the latest for what is pending
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"))
    session_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    end_user_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    # The keyword index knows a message by one number, its place: the session's first_place + seq. First places are
    # random and far apart; should two sessions meet all the same, who reads a place compares the session too.
    first_place: Mapped[int] = mapped_column(BigInteger, default=lambda: secrets.randbits(62))
    last_seq: Mapped[int] = mapped_column(BigInteger)
    documents: Mapped[int] = mapped_column(BigInteger, default=0)  # messages in the keyword index
    terms: Mapped[int] = mapped_column(BigInteger, default=0)  # their lengths together
    created_at: Mapped[datetime]
    last_captured_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]  # its messages are gone; the row goes when every store has followed
    # "metadata" is taken on declarative classes.
    meta: Mapped[dict[str, Any]] = mapped_column("metadata", Json, default=dict)


class Run(Base):
    """One invocation of a flow."""

    __tablename__ = "runs"
    __table_args__ = (
        ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        Index("ix_runs_page", "flow_id", "created_at", "id"),
        Index("ix_runs_session", "flow_id", "session_id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID]
    session_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    external_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    # SHA-256 of the first body that came without message ids: an equal body replays, another conflicts.
    fingerprint: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    created_at: Mapped[datetime]


class Message(Base):
    """A captured message. role, is_output and session are fixed; the rest changes with a new version."""

    __tablename__ = "messages"
    __table_args__ = (
        ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        UniqueConstraint("flow_id", "session_id", "seq"),
        # The trigger and the planner count and read along these two, whatever the length of the history.
        Index("ix_messages_outputs", "flow_id", "session_id", "is_output", "seq"),
        Index("ix_messages_dialogue", "flow_id", "session_id", "is_dialogue", "seq"),
        Index("ix_messages_run", "run_id", "seq"),
        Index("ix_messages_page", "flow_id", "captured_at", "id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    flow_id: Mapped[UUID]
    session_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    run_id: Mapped[UUID] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    external_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    seq: Mapped[int] = mapped_column(BigInteger)
    place: Mapped[int] = mapped_column(BigInteger, index=True)  # sessions.first_place + seq
    role: Mapped[str] = mapped_column(String(16))
    is_output: Mapped[bool] = mapped_column(Boolean)
    is_dialogue: Mapped[bool] = mapped_column(Boolean)  # role user or assistant
    content: Mapped[Any] = mapped_column(Json, nullable=True)  # string, list of parts, or null: OpenAI's shape
    tool_calls: Mapped[list[Any] | None] = mapped_column(Json)
    tool_call_id: Mapped[str | None] = mapped_column(Text)
    name: Mapped[str | None] = mapped_column(Text)
    sender_name: Mapped[str | None] = mapped_column(Text)
    parent_message_id: Mapped[UUID | None]
    files: Mapped[list[Any]] = mapped_column(Json, default=list)
    meta: Mapped[dict[str, Any]] = mapped_column("metadata", Json, default=dict)
    status: Mapped[str] = mapped_column(String(16))
    version: Mapped[int] = mapped_column(Integer, default=1)
    text_bytes: Mapped[int] = mapped_column(Integer)  # of the text parts: jobs are cut by it
    terms: Mapped[int] = mapped_column(Integer, default=0)  # length for keyword search; 0: not in its index
    traits: Mapped[int] = mapped_column(SmallInteger, default=0)  # keywords.Traits
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary(32))  # SHA-256 of the content as captured
    timestamp: Mapped[datetime]
    captured_at: Mapped[datetime]
    edited_at: Mapped[datetime | None]


class Posting(Base):
    """How many times a term occurs in the message at a place. The term is a number, of one flow, and no text."""

    __tablename__ = "postings"
    __table_args__ = (Index("ix_postings_place", "place"), {"sqlite_with_rowid": False})

    term: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    place: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    times: Mapped[int] = mapped_column(SmallInteger)


class Speaker(Base):
    """A word by which the sender of some message in a session is named, folded. Goes with the session."""

    __tablename__ = "speakers"
    __table_args__ = (Index("ix_speakers_conversation", "conversation_id"),)

    flow_id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    conversation_id: Mapped[UUID] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)


class DeletedMessage(Base):
    """What is left of a deleted message: its id and its last version. `kept_out`: deleted by itself, and posted again
    with its session it is not stored. No foreign key to the session: the version must outlive it."""

    __tablename__ = "deleted_messages"
    __table_args__ = (
        Index("ix_deleted_messages_conversation", "conversation_id"),
        Index("ix_deleted_messages_expires", "expires_at"),
    )

    flow_id: Mapped[UUID] = mapped_column(ForeignKey("flows.id", ondelete="CASCADE"), primary_key=True)
    message_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[UUID]  # sessions.id, which a rename leaves as it is
    seq: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[int]
    kept_out: Mapped[bool]
    expires_at: Mapped[datetime | None]  # set once the session is gone


class MemoryBase(Base):
    __tablename__ = "memory_bases"
    __table_args__ = (
        UniqueConstraint("user_id", "name"),
        Index("ix_memory_bases_page", "user_id", "created_at", "id"),
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
    serving: Mapped[int]
    building: Mapped[int | None]
    mismatch: Mapped[bool | None]  # None: never compared
    mismatch_checked_at: Mapped[datetime | None]


class Generation(Base):
    """One projection of a memory base: a collection and what filled it."""

    __tablename__ = "generations"

    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"), primary_key=True)
    generation: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[GenerationState] = mapped_column(String(16))
    capture: Mapped[Capture] = mapped_column(String(16))
    embedding_model: Mapped[str] = mapped_column(String(MODEL_LENGTH))
    embedder: Mapped[str] = mapped_column(String(MODEL_LENGTH))  # the embedder's identity: backend, model, revision
    chunker: Mapped[str] = mapped_column(String(64))
    dimension: Mapped[int]
    collection_name: Mapped[str] = mapped_column(String(128))
    collection_id: Mapped[UUID]
    created_at: Mapped[datetime]
    retired_at: Mapped[datetime | None]  # None again once its collection is dropped


class MemoryBaseSession(Base):
    """How far one session is ingested into one generation. `cursor_seq` decides; `cursor_id` is for reading."""

    __tablename__ = "memory_base_sessions"
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
        CheckConstraint("cursor_seq >= start_seq", name="cursor"),
        Index("ix_memory_base_sessions_session", "flow_id", "session_id"),
        # What the sweeper looks for is rare; these stay as small as what is owed.
        Index("ix_memory_base_sessions_owed", "id", postgresql_where=text("target_seq > cursor_seq"),
              sqlite_where=text("target_seq > cursor_seq")),
        Index("ix_memory_base_sessions_dirty", "id", postgresql_where=text("dirty > repaired"),
              sqlite_where=text("dirty > repaired")),
        Index("ix_memory_base_sessions_unbuilt", "memory_base_id", "generation",
              postgresql_where=text("cursor_seq < build_seq"), sqlite_where=text("cursor_seq < build_seq")),
        Index("ix_memory_base_sessions_idle", "idle_due_at"),
        Index("ix_memory_base_sessions_lease", "lease_until"),
        Index("ix_memory_base_sessions_audit", "audit_at"),
    )  # fmt: skip

    id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID]
    generation: Mapped[int]
    flow_id: Mapped[UUID]
    session_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    start_seq: Mapped[int] = mapped_column(BigInteger, default=0)  # start "now" skips what is at or below
    cursor_id: Mapped[UUID | None]
    cursor_seq: Mapped[int] = mapped_column(BigInteger, default=0)
    target_seq: Mapped[int] = mapped_column(BigInteger, default=0)  # how far ingestion is owed
    build_seq: Mapped[int] = mapped_column(BigInteger, default=0)  # a build is complete once every cursor is there
    total_processed: Mapped[int] = mapped_column(BigInteger, default=0)
    total_chunks: Mapped[int] = mapped_column(BigInteger, default=0)
    last_sync_at: Mapped[datetime | None]
    epoch: Mapped[int] = mapped_column(BigInteger, default=0)  # the fencing token
    lease_until: Mapped[datetime | None]
    lease_owner: Mapped[str | None] = mapped_column(Text)
    dirty: Mapped[int] = mapped_column(default=0)  # times marked by edits and deletes
    repaired: Mapped[int] = mapped_column(default=0)  # the mark that the last finished repair had seen
    renamed_from: Mapped[list[str] | None] = mapped_column(Json)  # a late write may still arrive under these
    audit_at: Mapped[datetime | None]  # compare the store's ids with the ledger then
    job_cap: Mapped[int | None]  # counted messages a job after workers were lost; doubles with success
    idle_due_at: Mapped[datetime | None]


class IngestionJob(Base):
    """One bounded piece of work on one session: the truth and the outbox; Celery is the doorbell."""

    __tablename__ = "ingestion_jobs"
    __table_args__ = (
        Index(
            "uq_ingestion_jobs_active",
            "memory_base_id",
            "session_id",
            unique=True,
            postgresql_where=text("state IN ('queued', 'running')"),
            sqlite_where=text("state IN ('queued', 'running')"),
        ),
        Index("ix_ingestion_jobs_page", "memory_base_id", "created_at", "id"),
        Index("ix_ingestion_jobs_row", "row_id"),
        Index("ix_ingestion_jobs_started", "started_at"),
        Index("ix_ingestion_jobs_queued", "ring_at", postgresql_where=text("state = 'queued'"),
              sqlite_where=text("state = 'queued'")),
        CheckConstraint("to_seq >= from_seq", name="range"),
    )  # fmt: skip

    id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"))
    row_id: Mapped[UUID] = mapped_column(ForeignKey("memory_base_sessions.id", ondelete="CASCADE"))
    session_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    kind: Mapped[JobKind] = mapped_column(String(16))
    state: Mapped[JobState] = mapped_column(String(16))
    generation: Mapped[int]
    from_seq: Mapped[int] = mapped_column(BigInteger)
    to_seq: Mapped[int] = mapped_column(BigInteger)
    cursor_id: Mapped[UUID | None]
    embedder: Mapped[str] = mapped_column(String(MODEL_LENGTH))
    chunker: Mapped[str] = mapped_column(String(64))
    audit: Mapped[bool] = mapped_column(default=False)  # a repair that also compares the store's own ids
    total: Mapped[int] = mapped_column(default=0)
    processed: Mapped[int] = mapped_column(default=0)
    epoch: Mapped[int] = mapped_column(BigInteger, default=0)
    attempts: Mapped[int] = mapped_column(default=0)
    outages: Mapped[int] = mapped_column(default=0)  # attempts ended by the environment; they set the backoff only
    deaths: Mapped[int] = mapped_column(default=0)  # workers lost after embedding began
    embedding_began: Mapped[bool] = mapped_column(default=False)
    error: Mapped[str | None] = mapped_column(Text)
    available_at: Mapped[datetime]
    rung_at: Mapped[datetime | None]
    rings: Mapped[int] = mapped_column(default=0)
    ring_at: Mapped[datetime]  # the sweeper rings it then
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class LedgerEntry(Base):
    """What a generation holds of a session's message: this version, in so many chunks. No foreign key to the message,
    since the entry must outlive it until the store has followed; by then the id may be a message of another session."""

    __tablename__ = "ledger"
    __table_args__ = (Index("ix_ledger_message", "memory_base_id", "generation", "message_id"),)

    row_id: Mapped[UUID] = mapped_column(ForeignKey("memory_base_sessions.id", ondelete="CASCADE"), primary_key=True)
    message_id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"))
    generation: Mapped[int]
    version: Mapped[int]
    chunks: Mapped[int]


class DeadLetter(Base):
    """A message that could not be embedded. `state`: dead, retrying (a repair tries it again), discarded."""

    __tablename__ = "dead_letters"
    __table_args__ = (
        UniqueConstraint("row_id", "message_id"),
        Index("ix_dead_letters_generation", "memory_base_id", "generation"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"))
    generation: Mapped[int]
    row_id: Mapped[UUID] = mapped_column(ForeignKey("memory_base_sessions.id", ondelete="CASCADE"))
    message_id: Mapped[UUID]
    version: Mapped[int]
    state: Mapped[str] = mapped_column(String(16))
    error_code: Mapped[str] = mapped_column(String(64))
    error: Mapped[str] = mapped_column(Text)
    attempts: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class KnowledgeBase(Base):
    """The registry of all knowledge bases; a memory base's collection is its serving generation's."""

    __tablename__ = "knowledge_bases"
    __table_args__ = (
        UniqueConstraint("user_id", "name"),
        Index("ix_knowledge_bases_page", "user_id", "created_at", "id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    memory_base_id: Mapped[UUID | None] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"), unique=True)
    embedding_model: Mapped[str] = mapped_column(String(MODEL_LENGTH))
    embedder: Mapped[str] = mapped_column(String(MODEL_LENGTH))
    chunker: Mapped[str] = mapped_column(String(64))
    collection_name: Mapped[str | None] = mapped_column(String(128))
    collection_id: Mapped[UUID | None]
    created_at: Mapped[datetime]
    deleting_at: Mapped[datetime | None]

    @property
    def is_memory_base(self) -> bool:
        return self.memory_base_id is not None


class Document(Base):
    """A text document of an ordinary knowledge base: the truth from which its chunks can be made again."""

    __tablename__ = "documents"
    __table_args__ = (Index("ix_documents_knowledge_base", "knowledge_base_id", "created_at"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    knowledge_base_id: Mapped[UUID] = mapped_column(ForeignKey("knowledge_bases.id", ondelete="CASCADE"))
    external_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    text: Mapped[str] = mapped_column(Text)
    meta: Mapped[dict[str, Any]] = mapped_column("metadata", Json, default=dict)
    version: Mapped[int] = mapped_column(default=1)
    chunks: Mapped[int]
    created_at: Mapped[datetime]


class Heartbeat(Base):
    """A worker's or sweeper's sign of life. In SQL, so that it works while Redis is away."""

    __tablename__ = "heartbeats"

    name: Mapped[str] = mapped_column(String(300), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    started_at: Mapped[datetime]
    beat_at: Mapped[datetime]
