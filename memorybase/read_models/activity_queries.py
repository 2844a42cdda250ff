"""How much was captured for a memory base and how much of it ingested, by time; read no further than the window."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.models import Capture, LedgerEntry, MemoryBase, Message, UtcDateTime
from memorybase.queries.sessions import counted

Instant = sa.ColumnElement[datetime]


class Window(NamedTuple):
    """Buckets of whole seconds that begin at a whole second; `until` is where the last one ends."""

    since: datetime
    until: datetime
    seconds: int


class Ingested(NamedTuple):
    """Messages ingested in one bucket, and how long they had waited."""

    messages: int
    delay_mean_seconds: float
    delay_max_seconds: float


def captured(db: OrmSession, base: MemoryBase, capture: Capture, window: Window) -> dict[int, int]:
    """How many counted messages of the flow were captured, by the bucket's place; buckets without any are left out."""
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
    """The same of messages that the serving generation holds, by when the memory base first held them."""
    at = LedgerEntry.ingested_at
    # Nobody waited before there was a memory base. What was deleted and captured again may look ingested before that.
    begin = sa.case(
        (Message.captured_at < base.created_at, sa.literal(base.created_at, UtcDateTime())),
        (Message.captured_at > at, at),
        else_=Message.captured_at,
    )
    found = (
        sa.select(_bucket(db, at, window).label("bucket"), _seconds(db, begin, at).label("delay"))
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
    """Whole seconds decide, so that both databases draw the same line."""
    epoch: sa.ColumnElement[int]
    if db.get_bind().dialect.name == "sqlite":
        # strftime rounds to milliseconds: the fraction goes before.
        whole = sa.func.substr(sa.type_coerce(at, sa.Text()), 1, 19)
        epoch = sa.cast(sa.func.strftime("%s", whole), sa.Integer())
    else:
        epoch = sa.cast(sa.func.floor(sa.extract("epoch", at)), sa.BigInteger())
    return (epoch - int(window.since.timestamp())) // window.seconds


def _seconds(db: OrmSession, begin: Instant, end: sa.SQLColumnExpression[datetime | None]) -> sa.ColumnElement[float]:
    if db.get_bind().dialect.name == "sqlite":
        return (sa.func.julianday(end) - sa.func.julianday(begin)) * 86_400.0
    return sa.cast(sa.extract("epoch", end) - sa.extract("epoch", begin), sa.Float())
