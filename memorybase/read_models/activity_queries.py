"""Captured and ingested messages of a memory base by time. Queries read no further than the window."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.models import Capture, LedgerEntry, MemoryBase, Message, UtcDateTime
from memorybase.queries.sessions import counted

Instant = sa.ColumnElement[datetime]


class Window(NamedTuple):
    """Buckets of whole seconds, starting at a whole second; `until` is the end of the last one."""

    since: datetime
    until: datetime
    seconds: int


class Ingested(NamedTuple):
    """Messages ingested in one bucket, and their delays."""

    messages: int
    delay_mean_seconds: float
    delay_max_seconds: float


def captured(db: OrmSession, base: MemoryBase, capture: Capture, window: Window) -> dict[int, int]:
    """Number of counted messages captured, by bucket index; empty buckets are left out."""
    bucket = _bucket(db, Message.captured_at, window)
    found = sa.select(bucket.label("bucket")).where(
        Message.flow_id == base.flow_id,
        Message.captured_at >= window.since,
        Message.captured_at < window.until,
        counted(capture),
    )
    rows = found.subquery()
    statement = sa.select(rows.c.bucket, sa.func.count()).group_by(rows.c.bucket)
    return {row[0]: row[1] for row in db.execute(statement)}


def ingested(db: OrmSession, base: MemoryBase, window: Window) -> dict[int, Ingested]:
    """Messages that the serving generation holds, by bucket index of the time when the memory base first held them."""
    at = LedgerEntry.ingested_at
    # A delay starts no earlier than the memory base. A message that was deleted and captured again may have been
    # ingested before that capture: its delay is 0.
    start = sa.case(
        (Message.captured_at < base.created_at, sa.literal(base.created_at, UtcDateTime())),
        (Message.captured_at > at, at),
        else_=Message.captured_at,
    )
    found = (
        sa.select(_bucket(db, at, window).label("bucket"), _seconds(db, start, at).label("delay"))
        .join(Message, sa.and_(Message.id == LedgerEntry.message_id, Message.flow_id == base.flow_id))
        .where(
            LedgerEntry.memory_base_id == base.id,
            LedgerEntry.generation == base.serving,
            at >= window.since,
            at < window.until,
        )
    )
    rows = found.subquery()
    statement = sa.select(rows.c.bucket, sa.func.count(), sa.func.avg(rows.c.delay), sa.func.max(rows.c.delay))
    return {position: Ingested(*values) for position, *values in db.execute(statement.group_by(rows.c.bucket))}


def _bucket(db: OrmSession, at: sa.SQLColumnExpression[datetime | None], window: Window) -> sa.ColumnElement[int]:
    """Computed from whole seconds, so that both databases choose the same bucket."""
    epoch: sa.ColumnElement[int]
    if db.get_bind().dialect.name == "sqlite":
        # strftime rounds to milliseconds, so the fraction is cut first.
        whole_seconds = sa.func.substr(sa.type_coerce(at, sa.Text()), 1, 19)
        epoch = sa.cast(sa.func.strftime("%s", whole_seconds), sa.Integer())
    else:
        epoch = sa.cast(sa.func.floor(sa.extract("epoch", at)), sa.BigInteger())
    return (epoch - int(window.since.timestamp())) // window.seconds


def _seconds(db: OrmSession, start: Instant, end: sa.SQLColumnExpression[datetime | None]) -> sa.ColumnElement[float]:
    if db.get_bind().dialect.name == "sqlite":
        return (sa.func.julianday(end) - sa.func.julianday(start)) * 86_400.0
    return sa.cast(sa.extract("epoch", end) - sa.extract("epoch", start), sa.Float())
