"""Timestamps that lie further ahead than any process sets them, after the clock was stepped back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.upsert import rows_affected
from memorybase.core.models import MemoryBase, SessionProgress, WebTicket

NOW = timedelta(0)
# Clocks of one installation differ by less. Settings that differ between processes may differ by as much.
SLACK = timedelta(minutes=1)
IS_LINK, IS_WEB_SESSION = WebTicket.kind == "link", WebTicket.kind == "session"


@dataclass(frozen=True, slots=True)
class Limit:
    """How far ahead of now a timestamp may lie, for the rows that `only` selects, and the time that it is moved back
    to."""

    column: sa.orm.InstrumentedAttribute[Any]
    ahead: timedelta = NOW
    only: sa.ColumnElement[bool] | None = None
    becomes: timedelta | None = None  # None: `ahead`


def is_exceeded(db: OrmSession, limit: Limit, now: datetime) -> bool:
    """Whether a row's timestamp is later than the limit."""
    return db.scalar(sa.select(sa.literal(1)).where(*_exceeds(limit, now)).limit(1)) is not None


def move_back(db: OrmSession, limit: Limit, now: datetime) -> int:
    """Set the timestamps that are later than the limit, and return the number of rows."""
    becomes = now + (limit.ahead if limit.becomes is None else limit.becomes)
    update = sa.update(limit.column.class_).where(*_exceeds(limit, now)).values({limit.column.key: becomes})
    return rows_affected(db, update.execution_options(synchronize_session=False))


def idle_times(db: OrmSession) -> list[int]:
    """The different idle_after of memory bases, in seconds."""
    return list(db.scalars(sa.select(MemoryBase.idle_after).distinct()))


def is_of_idle_time(seconds: int) -> sa.ColumnElement[bool]:
    """Whether a row of progress is of a memory base with this idle_after."""
    return SessionProgress.memory_base_id.in_(sa.select(MemoryBase.id).where(MemoryBase.idle_after == seconds))


def _exceeds(limit: Limit, now: datetime) -> list[sa.ColumnElement[bool]]:
    later: sa.ColumnElement[bool] = limit.column > now + limit.ahead + SLACK
    return [later] if limit.only is None else [later, limit.only]
