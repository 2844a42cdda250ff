"""Summaries of sessions: requested, read, and invalidated by edits and deletions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches
from memorybase.core.database.upsert import insert
from memorybase.core.models import Message, SessionSummary
from memorybase.core.queries.memory_uses import redact_uses

# A summary after a covered message was deleted.
_EMPTY: dict[str, Any] = {
    "text": None,
    "to_seq": 0,
    "last_message_id": None,
    "stale": False,
    "rebuilt_seq": 0,
    "error": None,
}


def fetch(db: OrmSession, flow_id: UUID, session_id: str, *, preset: str, summarizer: str) -> SessionSummary | None:
    return db.scalar(
        sa.select(SessionSummary).where(
            _of_session(flow_id, session_id),
            SessionSummary.preset == preset,
            SessionSummary.summarizer == summarizer,
        )
    )


def texts(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, str | None]:
    """The texts of those ids that are summaries."""
    found: dict[UUID, str | None] = {}
    for some in batches.pages(ids):
        rows = db.execute(sa.select(SessionSummary.id, SessionSummary.text).where(SessionSummary.id.in_(some)))
        found.update((row.id, row.text) for row in rows)
    return found


def request(db: OrmSession, values: Mapping[str, Any], *, rebuild: bool) -> bool:
    """Request a summary up to `requested_seq`; False if it is requested already, unless `rebuild`."""
    changes = {name: values[name] for name in ("requested_seq", "requested_message_id", "notify_at")}
    statement = insert(db, SessionSummary).values(**values)
    further = SessionSummary.requested_seq < statement.excluded.requested_seq
    if rebuild:
        # The range never shrinks.
        is_more = SessionSummary.requested_seq > statement.excluded.requested_seq
        changes = {
            "requested_seq": sa.case((is_more, SessionSummary.requested_seq), else_=statement.excluded.requested_seq),
            "requested_message_id": sa.case(
                (is_more, SessionSummary.requested_message_id), else_=statement.excluded.requested_message_id
            ),
            "notify_at": values["notify_at"],
            "rebuilt_seq": 0,
            "version": SessionSummary.version + 1,
            "lease_until": None,
        }
    requested = db.execute(
        statement.on_conflict_do_update(
            index_elements=["flow_id", "session_id", "preset", "summarizer"],
            set_=changes,
            where=None if rebuild else further,
        ).returning(SessionSummary.id)
    )
    return requested.scalar() is not None


def if_more_requested(row: SessionSummary, now: datetime) -> sa.ColumnElement[datetime | None]:
    """Now, if further messages were requested since the row was read; else null."""
    is_more = SessionSummary.requested_seq > row.requested_seq
    return sa.case((is_more, sa.literal(now, SessionSummary.notify_at.type)), else_=sa.null())


def mark_edited(db: OrmSession, flow_id: UUID, session_id: str, seq: int, now: datetime) -> None:
    """After an edit: summaries that cover the message become stale, and running jobs are not stored."""
    covered = SessionSummary.to_seq >= seq
    db.execute(
        sa.update(SessionSummary)
        .where(_of_session(flow_id, session_id), SessionSummary.requested_seq >= seq)
        .values(
            stale=sa.case((covered, sa.true()), else_=SessionSummary.stale),
            **_invalidated(now),
        )
        .execution_options(synchronize_session=False)
    )


def mark_deleted(db: OrmSession, message: Message, follows_id: UUID | None, now: datetime) -> None:
    """Before a deletion: empty the summaries that cover the message, and redact them in memory uses. A summary that was
    requested up to it is requested up to what is followed in its place."""
    seq = message.seq
    last = SessionSummary.requested_message_id
    ids = db.scalars(
        sa.update(SessionSummary)
        .where(_of_session(message.flow_id, message.session_id), SessionSummary.requested_seq >= seq)
        .values(
            **{
                name: sa.case(
                    (SessionSummary.to_seq >= seq, sa.literal(value, getattr(SessionSummary, name).type)),
                    else_=getattr(SessionSummary, name),
                )
                for name, value in _EMPTY.items()
            },
            requested_message_id=sa.case((last == message.id, sa.literal(follows_id, last.type)), else_=last),
            **_invalidated(now),
        )
        .returning(SessionSummary.id)
        .execution_options(synchronize_session=False)
    ).all()
    if ids:
        redact_uses(db, message.flow_id, ids)


def delete_of_session(
    db: OrmSession, flow_id: UUID, session_id: str, *, preset: str | None = None, summarizer: str | None = None
) -> int:
    """Delete the summaries of a session, or those of a preset or summarizer; returns how many."""
    where = [_of_session(flow_id, session_id)]
    if preset is not None:
        where.append(SessionSummary.preset == preset)
    if summarizer is not None:
        where.append(SessionSummary.summarizer == summarizer)
    ids: Sequence[UUID] = db.scalars(sa.delete(SessionSummary).where(*where).returning(SessionSummary.id)).all()
    if ids:
        redact_uses(db, flow_id, ids)
    return len(ids)


def count_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> int:
    return db.scalar(sa.select(sa.func.count()).where(_of_session(flow_id, session_id))) or 0


def _of_session(flow_id: UUID, session_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(SessionSummary.flow_id == flow_id, SessionSummary.session_id == session_id)


def _invalidated(now: datetime) -> dict[str, Any]:
    later = SessionSummary.notify_at > now  # after an attempt that changes had made useless
    notify_at = sa.case((later, SessionSummary.notify_at), else_=sa.literal(now, SessionSummary.notify_at.type))
    return {"version": SessionSummary.version + 1, "lease_until": None, "notify_at": notify_at, "attempts": 0}
