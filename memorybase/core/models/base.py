"""Shared by all tables: column types, states, names of constraints."""

from __future__ import annotations

import enum
from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    DateTime,
    Dialect,
    Index,
    Integer,
    MetaData,
    Text,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

ID_LENGTH = 128  # external ids, session ids, end-user ids
NAME_LENGTH = 200
MODEL_LENGTH = 512
TRACEPARENT_LENGTH = 64  # of W3C's traceparent, 55 in its first version


class UtcDateTime(TypeDecorator[datetime]):
    """A UTC timestamp with a time zone. SQLite stores it without one, so reading adds it."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a timestamp must have a time zone")
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


class Priority(enum.StrEnum):
    """Share of the workers that a memory base gets."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class JobKind(enum.StrEnum):
    """Kind of a job."""

    INGEST = "ingest"
    REGENERATE = "regenerate"
    REPAIR = "repair"


class JobState(enum.StrEnum):
    """State of a job; `done`, `failed` and `cancelled` are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE_STATES = (JobState.QUEUED, JobState.RUNNING)
# Exactly the condition of the partial index on active jobs: with parameters SQLite would not use the index. Without a
# type, or SQLAlchemy adds "= 1" on SQLite.
IS_ACTIVE: ColumnElement[Any] = literal_column("ingestion_jobs.state IN ('queued', 'running')")
# The same of the two indexes on the order of queued jobs. PostgreSQL does not know how long the queue is, and with a
# plain condition it may read and sort all of it; each of these can be served by one index only.
IS_IN_ORDER: ColumnElement[Any] = literal_column("lower(ingestion_jobs.state) = 'queued'")
IS_LAST_IN_BASE: ColumnElement[Any] = literal_column("upper(ingestion_jobs.state) = 'QUEUED'")
IS_RUNNING: ColumnElement[Any] = literal_column("ingestion_jobs.state = 'running'")
IS_FAILED: ColumnElement[Any] = literal_column("ingestion_jobs.state = 'failed'")  # the same of that on failed jobs


class GenerationState(enum.StrEnum):
    """The life of a collection: being filled, searched, replaced."""

    BUILDING = "building"
    SERVING = "serving"
    RETIRED = "retired"


class PreparationKind(enum.StrEnum):
    """The work of a preparation on each session of a flow.

    history: lists look for pending messages of a new memory base. all: its history is due. skip: its history is not
    ingested. build: a regenerate covers what is covered. abandon: the pending work of an abandoned build is moved to
    the generation that goes on. idle: the time of the idle rule is computed again. Features have kinds of their own.
    """

    HISTORY = "history"
    ALL = "all"
    SKIP = "skip"
    BUILD = "build"
    ABANDON = "abandon"
    IDLE = "idle"


class Base(DeclarativeBase):
    noun: ClassVar[str]  # what callers call a row, of a table that others refer to
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


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """An index of the rows with this condition, on both databases."""
    return Index(name, *columns, unique=unique, postgresql_where=text(where), sqlite_where=text(where))
