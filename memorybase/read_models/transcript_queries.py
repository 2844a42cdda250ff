"""SQL for a session as it is read: its messages along one thread, and which memory bases hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.paging import AnyRow
from memorybase.models import (
    Capture,
    DeadLetter,
    Generation,
    LedgerEntry,
    MemoryBase,
    Message,
    Session,
    SessionProgress,
)

Base = MemoryBase
Progress = SessionProgress
Range = tuple[int, int]  # of seqs, both inclusive

MOST_RANGES = 200  # in one condition; a page has no more messages than that
_READ_AT_ONCE = 500


def messages_in(
    db: OrmSession,
    flow_id: UUID,
    session_id: str,
    ranges: Sequence[Range],
    *,
    role: str | None,
    newest: bool,
    limit: int,
) -> list[AnyRow]:
    """The oldest or the newest messages within these ranges, in order of seq."""
    some = sorted(ranges, reverse=newest)[:MOST_RANGES]
    if not some:
        return []
    statement = (
        sa.select(Message, Session.end_user_id, sa.null().label("ingested"))
        .join(Session, sa.and_(Session.flow_id == Message.flow_id, Session.session_id == Message.session_id))
        .where(*_of_session(flow_id, session_id, role), sa.or_(*(Message.seq.between(*each) for each in some)))
        .order_by(Message.seq.desc() if newest else Message.seq)
        .limit(limit)
    )
    rows = list(db.execute(statement))
    return rows[::-1] if newest else rows


def newest_seq(db: OrmSession, flow_id: UUID, session_id: str) -> int:
    return db.scalar(sa.select(sa.func.max(Message.seq)).where(*_of_session(flow_id, session_id, None))) or 0


def first_seq_since(db: OrmSession, flow_id: UUID, session_id: str, since: datetime) -> int | None:
    """The seq of the first message that was written at this time or later."""
    later = sa.select(sa.func.min(Message.seq)).where(
        *_of_session(flow_id, session_id, None), Message.timestamp >= since
    )
    return db.scalar(later)


def contents(db: OrmSession, flow_id: UUID, session_id: str, *, limit: int) -> Iterator[tuple[int, Any]]:
    """(seq, content) of the newest messages of a session with text, newest first, read piece by piece."""
    before: int | None = None
    left = limit
    while left > 0:
        statement = sa.select(Message.seq, Message.content).where(
            *_of_session(flow_id, session_id, None), Message.text_bytes > 0
        )
        if before is not None:
            statement = statement.where(Message.seq < before)
        rows = db.execute(statement.order_by(Message.seq.desc()).limit(min(left, _READ_AT_ONCE))).all()
        yield from ((seq, content) for seq, content in rows)
        if len(rows) < min(left, _READ_AT_ONCE):
            return
        left -= len(rows)
        before = rows[-1].seq


def holdings(db: OrmSession, flow_id: UUID, session_id: str, seqs: Range) -> list[AnyRow]:
    """For each message between these seqs that a memory base counts: how many count it, hold its version, failed on it
    and lost vectors. Messages that none counts are left out."""
    counts = sa.or_(
        sa.and_(Generation.capture == Capture.OUTPUTS, Message.is_output == sa.true()),
        sa.and_(Generation.capture == Capture.ALL, Message.is_dialogue == sa.true()),
    )
    of_session = sa.and_(
        Progress.memory_base_id == Base.id,
        Progress.generation == Base.serving,
        Progress.session_id == Message.session_id,
    )
    held = sa.and_(
        LedgerEntry.progress_id == Progress.id,
        LedgerEntry.message_id == Message.id,
        LedgerEntry.version == Message.version,
    )
    failed = sa.and_(
        DeadLetter.progress_id == Progress.id, DeadLetter.message_id == Message.id, DeadLetter.state != "discarded"
    )
    is_lost = sa.and_(LedgerEntry.message_id.is_not(None), Base.mismatch == sa.true())
    statement = (
        sa.select(
            Message.id,
            sa.func.count(Base.id).label("counted"),
            sa.func.count(LedgerEntry.message_id).label("held"),
            sa.func.count(DeadLetter.id).label("failed"),
            sa.func.coalesce(sa.func.sum(sa.case((is_lost, 1), else_=0)), 0).label("lost"),
        )
        .select_from(Base)
        .join(Generation, sa.and_(Generation.memory_base_id == Base.id, Generation.generation == Base.serving))
        .join(Message, sa.and_(Message.flow_id == Base.flow_id, Message.session_id == session_id, counts))
        .outerjoin(Progress, of_session)
        .outerjoin(LedgerEntry, held)
        .outerjoin(DeadLetter, failed)
        .where(Base.flow_id == flow_id, Base.deleting_at.is_(None), Message.seq.between(*seqs))
        .group_by(Message.id)
    )
    return list(db.execute(statement))


def _of_session(flow_id: UUID, session_id: str, role: str | None) -> list[sa.ColumnElement[bool]]:
    mine = [Message.flow_id == flow_id, Message.session_id == session_id]
    return mine if role is None else [*mine, Message.role == role]
