"""SQL for lists of memory bases and jobs. Each page is a fixed number of queries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Literal, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow, AnySelect, Condition, Found, Keyset, PageRequest, fetch_page, given
from memorybase.core.models import (
    Capture,
    DeadLetter,
    Flow,
    Generation,
    IngestionJob,
    JobState,
    LedgerEntry,
    MemoryBase,
    Message,
    PlannedBaseDeletion,
    Priority,
    Session,
    SessionProgress,
    UtcDateTime,
)
from memorybase.core.queries.joins import DEAD_LETTER_IS_SHOWN, SERVES, own_base
from memorybase.core.queries.pending import by_capture, is_counted, walk_behind
from memorybase.core.queries.planner_hints import IS_ACTIVE_BY_INDEX
from memorybase.core.queries.preparations import is_in_preparation
from memorybase.core.queries.store_health import is_in
from memorybase.core.vector_stores import VectorStoreName

Base = MemoryBase
Progress = SessionProgress
Job = IngestionJob

MemoryBaseOrder = Literal["created", "recent", "name", "priority"]
_RANK = sa.case({Priority.HIGH.value: 0, Priority.NORMAL.value: 1}, value=Base.priority, else_=2)
_BASES: dict[MemoryBaseOrder, Keyset] = {
    "created": Keyset("memories", (Base.created_at, Base.id)),
    "recent": Keyset("memories-recent", (Base.created_at, Base.id), descending=True),
    "name": Keyset("memories-name", (Base.name, Base.id)),
    "priority": Keyset("memories-priority", (_RANK, Base.created_at, Base.id)),
}


class MemoryBaseStatus(StrEnum):
    """Status of a memory base: the last of these that is true."""

    READY = "ready"
    PENDING = "pending"
    PAUSED = "paused"
    INGESTING = "ingesting"
    PREPARING = "preparing"
    REGENERATING = "regenerating"
    UNAVAILABLE = "unavailable"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True)
class MemoryBaseQuery:
    """Which memory bases, and their order. `text` is part of the name of the memory base or of its flow. `mismatch`,
    `dead_letters`: those that have lost vectors, or dead letters; False: the others."""

    flow_id: UUID | None = None
    text: str | None = None
    auto_capture: bool | None = None
    status: MemoryBaseStatus | None = None
    mismatch: bool | None = None
    dead_letters: bool | None = None
    order: MemoryBaseOrder = "created"
    without_planned: bool = False  # leave out those that are deleted soon


Instant = sa.ColumnElement[datetime]


def bases_page(
    db: OrmSession,
    user_id: UUID,
    query: MemoryBaseQuery,
    request: PageRequest,
    *,
    count_to: int,
    failing: Collection[VectorStoreName],
) -> Found:
    conditions = [
        own_base(user_id),
        *given(query.flow_id, Base.flow_id),
        *given(query.auto_capture, Base.auto_capture),
        *([Base.id.not_in(sa.select(PlannedBaseDeletion.memory_base_id))] if query.without_planned else []),
        *given(query.text, partial(_is_called, user_id)),
        *given(query.mismatch, sa.func.coalesce(Base.mismatch, sa.false()).is_),
        *given(query.dead_letters, _has_dead_letters),
    ]
    keys = sa.select(Base.id)
    if query.status is not None:
        keys = keys.join(Generation, SERVES)
        conditions.append(_status(failing, pending=_pending(db, 1)) == query.status)
    keys = keys.where(*conditions)
    found = fetch_page(db, keys, keys, _BASES[query.order], request)
    # The numbers of the page alone: otherwise a database computes those of every row that an offset skips.
    ids = [row.id for row in found.rows]
    numbers = {row.MemoryBase.id: row for row in db.execute(_bases(db, count_to, failing).where(Base.id.in_(ids)))}
    return replace(found, rows=[numbers[each] for each in ids if each in numbers])


def _is_called(user_id: UUID, text: str) -> Condition:
    """The text is a part of the name of the memory base or of its flow."""
    of_flow = sa.select(Flow.id).where(Flow.user_id == user_id, Flow.name.icontains(text, autoescape=True))
    return sa.or_(Base.name.icontains(text, autoescape=True), Base.flow_id.in_(of_flow))


def _has_dead_letters(wanted: bool) -> Condition:
    dead = sa.select(DeadLetter.id).where(DeadLetter.memory_base_id == Base.id, DEAD_LETTER_IS_SHOWN)
    has_any = dead.correlate(Base).exists()
    return has_any if wanted else ~has_any


def fetch_base_view(
    db: OrmSession, user_id: UUID, base_id: UUID, *, count_to: int, failing: Collection[VectorStoreName]
) -> AnyRow | None:
    return db.execute(_bases(db, count_to, failing).where(Base.id == base_id, own_base(user_id))).one_or_none()


def bases_called(db: OrmSession, user_id: UUID, text: str, *, limit: int) -> list[tuple[UUID, str, UUID]]:
    """(id, name, flow) of the memory bases whose name contains the text, without those that are deleted soon."""
    statement = (
        sa.select(Base.id, Base.name, Base.flow_id)
        .where(own_base(user_id), Base.name.icontains(text, autoescape=True))
        .where(Base.id.not_in(sa.select(PlannedBaseDeletion.memory_base_id)))
        .order_by(Base.name, Base.id)
        .limit(limit)
    )
    return [(id_, name, flow_id) for id_, name, flow_id in db.execute(statement)]


def base_views_of_flows(
    db: OrmSession,
    user_id: UUID,
    flow_ids: Sequence[UUID],
    *,
    count_to: int,
    failing: Collection[VectorStoreName],
    limit: int,
) -> Sequence[AnyRow]:
    statement = _bases(db, count_to, failing).where(own_base(user_id), Base.flow_id.in_(flow_ids))
    return db.execute(statement.order_by(Base.created_at, Base.id).limit(limit)).all()


def flows_of_bases(db: OrmSession, user_id: UUID, base_ids: Collection[UUID], *, limit: int) -> Sequence[AnyRow]:
    """(id, external_id) of the flows that these memory bases, or all of the user's, belong to."""
    statement = sa.select(Flow.id, Flow.external_id).join(Base, Base.flow_id == Flow.id).where(own_base(user_id))
    if base_ids:
        statement = statement.where(Base.id.in_(base_ids))
    return db.execute(statement.distinct().limit(limit)).all()


def _bases(db: OrmSession, count_to: int, failing: Collection[VectorStoreName]) -> AnySelect:
    return sa.select(
        Base,
        Generation.capture,
        Generation.embedding_model,
        Generation.collection_name,
        _pending(db, count_to).label("pending_messages"),
        _of_rows(sa.func.coalesce(sa.func.sum(Progress.total_processed), 0)).label("total_processed"),
        _of_rows(sa.func.max(Progress.last_sync_at)).label("last_sync_at"),
        _sessions_of_flow().label("sessions"),
        _dead_letters().label("dead_letters"),
        _status(failing).label("status"),
    ).join(Generation, SERVES)


def status_of(row: AnyRow) -> MemoryBaseStatus:
    """The status of a row of a list. Its SQL does not ask a second time whether messages are pending."""
    status = MemoryBaseStatus(row.status)
    return MemoryBaseStatus.PENDING if status is MemoryBaseStatus.READY and row.pending_messages else status


def _status(
    failing: Collection[VectorStoreName], *, pending: sa.ColumnElement[int] | None = None
) -> sa.ColumnElement[str]:
    """Without `pending` ready may be pending."""
    steps = [
        (Base.deleting_at.is_not(None), MemoryBaseStatus.DELETING),
        (sa.or_(_has_postponed_job(), *map(is_in, failing)), MemoryBaseStatus.UNAVAILABLE),
        (Base.building.is_not(None), MemoryBaseStatus.REGENERATING),
        (is_in_preparation(Base.id), MemoryBaseStatus.PREPARING),
        (_has_job(), MemoryBaseStatus.INGESTING),
        (Base.paused_at.is_not(None), MemoryBaseStatus.PAUSED),
    ]
    if pending is not None:
        steps.append((pending > 0, MemoryBaseStatus.PENDING))
    return sa.case(*((holds, status.value) for holds, status in steps), else_=MemoryBaseStatus.READY.value)


def _pending(db: OrmSession, count_to: int) -> sa.ColumnElement[int]:
    """Counted messages beyond the cursors, up to `count_to`."""
    return by_capture(lambda capture: _pending_of(db, capture, count_to))


def _pending_of(db: OrmSession, capture: Capture, count_to: int) -> sa.ColumnElement[int]:
    walk = walk_behind(db, sa.select(sa.literal(1).label("one")).select_from(Session))
    limited = walk.join_messages(capture).statement.limit(count_to).correlate(Base).subquery()
    return sa.select(sa.func.count()).select_from(limited).scalar_subquery()


def _of_rows(aggregate: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    serving = sa.and_(Progress.memory_base_id == Base.id, Progress.generation == Base.serving)
    return sa.select(aggregate).select_from(Progress).where(serving).correlate(Base).scalar_subquery()


def _sessions_of_flow() -> sa.ColumnElement[int]:
    statement = sa.select(sa.func.count()).select_from(Session)
    statement = statement.where(Session.flow_id == Base.flow_id, Session.deleted_at.is_(None))
    return statement.correlate(Base).scalar_subquery()


def _dead_letters() -> sa.ColumnElement[int]:
    statement = sa.select(sa.func.count()).select_from(DeadLetter)
    statement = statement.where(DeadLetter.memory_base_id == Base.id, DEAD_LETTER_IS_SHOWN)
    return statement.correlate(Base).scalar_subquery()


def _has_postponed_job() -> sa.ColumnElement[bool]:
    """A queued job that was postponed by an outage."""
    return _has_job(Job.state == JobState.QUEUED, Job.outages > 0, Job.error.is_not(None))


def _has_job(*conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    active = sa.select(Job.id).where(Job.memory_base_id == Base.id, IS_ACTIVE_BY_INDEX, *conditions)
    return active.correlate(Base).exists()


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
        is_counted(capture),
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
