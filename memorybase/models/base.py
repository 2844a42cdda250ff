"""What all tables share: column types, states, naming of constraints."""

from __future__ import annotations

import enum
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ColumnElement, DateTime, Dialect, Integer, MetaData, Text, literal_column
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase
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
