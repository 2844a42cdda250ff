"""SQL of the overview: a window's messages, runs and delays for many flows, each in one statement.

Messages and runs are counted by ranges of an index, a range for each flow and bucket, and never row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow
from memorybase.core.models import (
    Capture,
    DeadLetter,
    Flow,
    Generation,
    LedgerEntry,
    MemoryBase,
    MemoryUse,
    Message,
    Run,
    Session,
    SessionProgress,
    UtcDateTime,
)
from memorybase.core.queries.coverage import is_awaited, run_state
from memorybase.core.queries.joins import SERVES, own_flow, serving_entry
from memorybase.core.queries.pending import walk_behind

Base = MemoryBase
Progress = SessionProgress
COUNT_TO = 10_000  # waiting or failed messages
SAMPLED = 50  # latest messages of each flow whose delay is measured
SAMPLED_FLOWS = 50
_FOUND = (Message.id, Message.flow_id, Message.captured_at, Message.is_output)


class Span(NamedTuple):
    """One bucket of the window."""

    since: datetime
    until: datetime


def flows(db: OrmSession, user_id: UUID, limit: int) -> Sequence[AnyRow]:
    """The flows with the latest captures, latest first; a flow costs one look at an index."""
    captured = sa.select(sa.func.max(Session.last_captured_at, type_=UtcDateTime())).where(
        Session.flow_id == Flow.id, Session.deleted_at.is_(None)
    )
    last = captured.correlate(Flow).scalar_subquery().label("last")
    statement = sa.select(Flow.id, Flow.external_id, Flow.name, Flow.created_at, last).where(own_flow(user_id))
    return db.execute(statement.order_by(last.desc().nulls_last(), Flow.created_at.desc(), Flow.id).limit(limit)).all()


def count_flows(db: OrmSession, user_id: UUID) -> int:
    return db.scalar(sa.select(sa.func.count()).select_from(Flow).where(own_flow(user_id))) or 0


def messages_by_bucket(db: OrmSession, flow_ids: Sequence[UUID], spans: Sequence[Span]) -> Sequence[AnyRow]:
    """(flow, bucket, all, outputs, dialogue), for each flow and bucket with messages."""
    buckets = _buckets(spans)
    statement = (
        sa.select(
            Message.flow_id,
            buckets.c.position,
            sa.func.count(),
            sa.func.sum(sa.case((Message.is_output, 1), else_=0)),
            sa.func.sum(sa.case((Message.is_dialogue, 1), else_=0)),
        )
        .select_from(buckets)
        .join(
            Message,
            sa.and_(
                Message.flow_id.in_(flow_ids),
                Message.captured_at >= buckets.c.since,
                Message.captured_at < buckets.c.until,
            ),
        )
        .group_by(Message.flow_id, buckets.c.position)
    )
    return db.execute(statement).all()


def runs_by_bucket(db: OrmSession, flow_ids: Sequence[UUID], spans: Sequence[Span]) -> Sequence[AnyRow]:
    """(flow, bucket, runs), for each flow and bucket with runs."""
    buckets = _buckets(spans)
    within = sa.and_(Run.flow_id.in_(flow_ids), Run.created_at >= buckets.c.since, Run.created_at < buckets.c.until)
    statement = sa.select(Run.flow_id, buckets.c.position, sa.func.count()).select_from(buckets).join(Run, within)
    return db.execute(statement.group_by(Run.flow_id, buckets.c.position)).all()


def sessions_since(db: OrmSession, flow_ids: Sequence[UUID], since: datetime) -> dict[UUID, int]:
    """Sessions with a capture since then, by flow."""
    within = (Session.flow_id.in_(flow_ids), Session.last_captured_at >= since, Session.deleted_at.is_(None))
    statement = sa.select(Session.flow_id, sa.func.count()).where(*within).group_by(Session.flow_id)
    return {row[0]: row[1] for row in db.execute(statement)}


class Captures(NamedTuple):
    """Which messages memory bases count, by flow; `lost`: those of memory bases that have lost vectors."""

    all: dict[UUID, set[Capture]]
    lost: dict[UUID, set[Capture]]


def captures(db: OrmSession, flow_ids: Sequence[UUID]) -> Captures:
    """A flow without a memory base is left out."""
    found = Captures({}, {})
    statement = sa.select(Base.flow_id, Generation.capture, Base.mismatch).join(Generation, SERVES)
    for flow_id, capture, mismatch in db.execute(statement.where(_of_flows(flow_ids)).distinct()):
        found.all.setdefault(flow_id, set()).add(Capture(capture))
        if mismatch:
            found.lost.setdefault(flow_id, set()).add(Capture(capture))
    return found


def waiting(db: OrmSession, flow_ids: Sequence[UUID], since: datetime) -> Sequence[AnyRow]:
    """(id, flow, captured_at, is_output) of messages that a memory base counts and lacks, up to COUNT_TO."""
    sessions = sa.select(Base.id).join(Generation, SERVES).join(Session, Session.flow_id == Base.flow_id)
    statement, columns = walk_behind(db, sessions).join_messages(
        Generation.capture, *_FOUND, only=[Message.captured_at >= since]
    )
    statement = statement.with_only_columns(*columns).where(_of_flows(flow_ids), Session.last_captured_at >= since)
    return db.execute(statement.distinct().limit(COUNT_TO)).all()


def failed(db: OrmSession, flow_ids: Sequence[UUID], since: datetime) -> Sequence[AnyRow]:
    """(id, flow, captured_at, is_output) of messages that could not be embedded, up to COUNT_TO."""
    statement = (
        sa.select(*_FOUND)
        .select_from(Base)
        .join(
            DeadLetter,
            sa.and_(DeadLetter.memory_base_id == Base.id, DeadLetter.generation == Base.serving),
        )
        .join(Message, Message.id == DeadLetter.message_id)
        .where(_of_flows(flow_ids), DeadLetter.state != "discarded", Message.captured_at >= since)
        .distinct()
    )
    return db.execute(statement.limit(COUNT_TO)).all()


def delays(db: OrmSession, flow_ids: Sequence[UUID], since: datetime) -> Sequence[AnyRow]:
    """(flow, captured_at, ingested_at, created_at of the memory base) of each flow's latest messages."""
    latest = sa.union_all(
        *(
            sa.select(
                sa.select(Message.id, Message.flow_id, Message.captured_at)
                .where(Message.flow_id == flow_id, Message.captured_at >= since)
                .order_by(Message.captured_at.desc(), Message.id.desc())
                .limit(SAMPLED)
                .subquery()
            )
            for flow_id in flow_ids[:SAMPLED_FLOWS]
        )
    ).subquery()
    statement = (
        sa.select(latest.c.flow_id, latest.c.captured_at, LedgerEntry.ingested_at, Base.created_at)
        .select_from(latest)
        .join(Base, sa.and_(Base.flow_id == latest.c.flow_id, Base.deleting_at.is_(None)))
        .join(LedgerEntry, serving_entry(latest.c.id))
    )
    # Not a condition of the statement: SQLite would read all that the memory base ingested, by the index on that time.
    return [row for row in db.execute(statement) if row.ingested_at is not None]


def count_recalls(db: OrmSession, flow_ids: Sequence[UUID], since: datetime) -> int:
    """Views that nodes of runs were given and that were recorded."""
    within = (MemoryUse.flow_id.in_(flow_ids), MemoryUse.recorded_at >= since)
    return db.scalar(sa.select(sa.func.count()).select_from(MemoryUse).where(*within)) or 0


def latest_runs(db: OrmSession, flow_ids: Sequence[UUID], limit: int) -> Sequence[AnyRow]:
    """The latest runs of these flows, each with its flow's name and the rank of its state, latest first."""
    each = (
        sa.select(
            sa.select(Run.id)
            .where(Run.flow_id == flow_id)
            .order_by(Run.created_at.desc(), Run.id.desc())
            .limit(limit)
            .subquery()
        )
        for flow_id in flow_ids
    )
    statement = sa.select(Run, Flow.name.label("flow_name"), run_state().label("state")).join(
        Flow, Flow.id == Run.flow_id
    )
    statement = statement.where(Run.id.in_(sa.union_all(*each)))
    return db.execute(statement.order_by(Run.created_at.desc(), Run.id.desc()).limit(limit)).all()


def last_words(db: OrmSession, run_ids: Sequence[UUID]) -> Sequence[AnyRow]:
    """(run, role, content) of the last message of the user and of the assistant in each run."""
    last = (
        sa.select(Message.run_id, sa.func.max(Message.seq).label("seq"))
        .where(Message.run_id.in_(run_ids), Message.role.in_(["user", "assistant"]))
        .group_by(Message.run_id, Message.role)
        .subquery()
    )
    same = sa.and_(Message.run_id == last.c.run_id, Message.seq == last.c.seq)
    return db.execute(sa.select(Message.run_id, Message.role, Message.content).join(last, same)).all()


def _of_flows(flow_ids: Sequence[UUID]) -> sa.ColumnElement[bool]:
    return sa.and_(Base.flow_id.in_(flow_ids), Base.deleting_at.is_(None), is_awaited())


def _buckets(spans: Sequence[Span]) -> sa.Subquery:
    rows = [
        sa.select(
            sa.literal(position).label("position"),
            sa.literal(span.since, UtcDateTime()).label("since"),
            sa.literal(span.until, UtcDateTime()).label("until"),
        )
        for position, span in enumerate(spans)
    ]
    return sa.union_all(*rows).subquery("buckets")
