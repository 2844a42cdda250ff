"""Facts that a language model distilled from messages, where each came from, and what that cost."""

from __future__ import annotations

import enum
from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, ForeignKeyConstraint, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, column_property, mapped_column

from memorybase.core.models.base import ID_LENGTH, MODEL_LENGTH, NAME_LENGTH, Base, Json
from memorybase.core.models.leased_work import LeasedWork
from memorybase.core.models.sessions import shown_id


class DistillKind(enum.StrEnum):
    """Kinds of preparations: facts are distilled from the first message on, or from the next one, or no longer."""

    ALL = "distill_all"
    NEW = "distill_new"
    OFF = "distill_off"


class Distillation(LeasedWork, Base):
    """Progress of a session's distillation for a memory base, and the outbox entry of the next page. The attempts are
    those at the next page; outages are not counted."""

    fixed = ("session_id",)

    __tablename__ = "distillations"
    __table_args__ = (
        ForeignKeyConstraint(
            ["flow_id", "session_id"],
            ["sessions.flow_id", "sessions.session_id"],
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        UniqueConstraint("memory_base_id", "flow_id", "session_id"),
        Index("ix_distillations_session", "flow_id", "session_id"),
        Index("ix_distillations_notify", "notify_at"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"))
    flow_id: Mapped[UUID]
    session_id: Mapped[str] = mapped_column(String(ID_LENGTH))
    cursor_seq: Mapped[int] = mapped_column(BigInteger, default=0)  # messages up to here are distilled
    target_seq: Mapped[int] = mapped_column(BigInteger, default=0)  # messages up to here are ingested verbatim
    redo: Mapped[list[int] | None] = mapped_column(Json)  # seqs of messages that were edited after they were distilled
    skipped: Mapped[int] = mapped_column(default=0)  # messages of pages that were given up
    error_code: Mapped[str | None] = mapped_column(String(64))  # of the last attempt
    updated_at: Mapped[datetime]


class Fact(Base):
    """A statement that a model derived from messages of one session.

    It holds as long as each of its sources exists in the version that was read. `duplicate_of_id` says the same and was
    there before; `superseded_by_id` is a later fact that corrects this one. Deletions of the other hand
    the links on: see queries.fact_deletion.
    """

    __tablename__ = "facts"
    noun = "fact"
    __table_args__ = (
        Index("ix_facts_page", "memory_base_id", "created_at", "id"),
        Index("ix_facts_session", "session_uuid"),
        Index("ix_facts_duplicate_of", "duplicate_of_id"),
        Index("ix_facts_superseded_by", "superseded_by_id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"))
    flow_id: Mapped[UUID]
    session_uuid: Mapped[UUID] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    session_id: Mapped[str] = column_property(shown_id(session_uuid))
    who: Mapped[str] = mapped_column(String(NAME_LENGTH))
    what: Mapped[str] = mapped_column(Text)
    when_text: Mapped[str | None] = mapped_column("when_text", String(NAME_LENGTH))  # as the conversation says it
    key: Mapped[bytes] = mapped_column(LargeBinary(32))  # SHA-256 of the normalized text
    source_count: Mapped[int]
    last_seq: Mapped[int] = mapped_column(BigInteger)  # of its newest source
    said_at: Mapped[datetime]  # the time of its newest source
    model: Mapped[str] = mapped_column(String(NAME_LENGTH))  # that distilled it
    duplicate_of_id: Mapped[UUID | None] = mapped_column(ForeignKey("facts.id", ondelete="SET NULL"))
    superseded_by_id: Mapped[UUID | None] = mapped_column(ForeignKey("facts.id", ondelete="SET NULL"))
    # Deferred: lists show the words alone. None: the embedding model was unavailable.
    vector: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)  # float32
    embedder: Mapped[str | None] = mapped_column(String(MODEL_LENGTH))
    created_at: Mapped[datetime]


class FactSource(Base):
    """A message that supports a fact, in the version that the model read."""

    __tablename__ = "fact_sources"
    __table_args__ = (Index("ix_fact_sources_message", "message_id"),)

    fact_id: Mapped[UUID] = mapped_column(ForeignKey("facts.id", ondelete="CASCADE"), primary_key=True)
    message_id: Mapped[UUID] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int]


class DistillationUsage(Base):
    """Usage and results of a memory base's distillation, in all and today."""

    __tablename__ = "distillation_usage"

    memory_base_id: Mapped[UUID] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"), primary_key=True)
    day: Mapped[date]  # in UTC, of `day_tokens`
    day_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    requests: Mapped[int] = mapped_column(BigInteger, default=0)
    prompt_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    facts: Mapped[int] = mapped_column(BigInteger, default=0)
    refused: Mapped[dict[str, Any]] = mapped_column(Json, default=dict)  # by reason: what did not pass the checks


class DistillationDay(Base):
    """Tokens of the whole installation on a day in UTC: deleting a memory base gives none back."""

    __tablename__ = "distillation_days"

    day: Mapped[date] = mapped_column(primary_key=True)
    requests: Mapped[int] = mapped_column(BigInteger, default=0)
    prompt_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    completion_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    facts: Mapped[int] = mapped_column(BigInteger, default=0)
    refused: Mapped[int] = mapped_column(BigInteger, default=0)
