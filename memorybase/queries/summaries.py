"""Summaries of sessions: what is stored, what is owed, and what an edit or a deletion takes back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database import batches
from memorybase.database.upsert import insert, rows_affected
from memorybase.models import SessionSummary
from memorybase.queries.memory_uses import redact_uses

# What a summary is once nothing of it may be told any more.
_EMPTY: dict[str, Any] = {
    "text": None, "to_seq": 0, "last_message_id": None, "stale": False, "rebuilt_seq": 0, "error": None,
}  # fmt: skip


def fetch(db: OrmSession, flow_id: UUID, session_id: str, *, preset: str, summarizer: str) -> SessionSummary | None:
    return db.scalar(
        sa.select(SessionSummary).where(
            _of_session(flow_id, session_id),
            SessionSummary.preset == preset,
            SessionSummary.summarizer == summarizer,
        )
    )


def fetch_by_id(db: OrmSession, summary_id: UUID) -> SessionSummary | None:
    return db.get(SessionSummary, summary_id)


def texts(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, str | None]:
    """What those of the ids say that are summaries."""
    found: dict[UUID, str | None] = {}
    for some in batches.pages(ids):
        rows = db.execute(sa.select(SessionSummary.id, SessionSummary.text).where(SessionSummary.id.in_(some)))
        found.update((row.id, row.text) for row in rows)
    return found


def request(db: OrmSession, values: Mapping[str, Any], *, anew: bool) -> bool:
    """Ask for a summary up to `requested_seq`; False when it is asked for already. `anew`: whatever is there."""
    changes = {name: values[name] for name in ("requested_seq", "requested_message_id", "notify_at")}
    statement = insert(db, SessionSummary).values(**values)
    further = SessionSummary.requested_seq < statement.excluded.requested_seq
    if anew:
        # What is covered already may be more than this; the range only grows.
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
    asked = db.execute(
        statement.on_conflict_do_update(
            index_elements=["flow_id", "session_id", "preset", "summarizer"],
            set_=changes,
            where=None if anew else further,
        ).returning(SessionSummary.id)
    )
    return asked.scalar() is not None


def write(db: OrmSession, summary_id: UUID, *, version: int, session_id: str, values: Mapping[str, Any]) -> bool:
    """The compare-and-set: False when the row has moved on since that version, or its session got another id."""
    update = (
        sa.update(SessionSummary)
        .where(
            SessionSummary.id == summary_id,
            SessionSummary.version == version,
            SessionSummary.session_id == session_id,
        )
        .values(**values)
        .execution_options(synchronize_session=False)
    )
    return rows_affected(db, update) == 1


def due(db: OrmSession, now: datetime, *, limit: int) -> list[SessionSummary]:
    """Rows to ring, locked; no other sweeper waits for them."""
    return list(
        db.scalars(
            sa.select(SessionSummary)
            .where(
                SessionSummary.notify_at <= now,
                sa.or_(SessionSummary.lease_until.is_(None), SessionSummary.lease_until <= now),
            )
            .order_by(SessionSummary.notify_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
    )


def mark_edited(db: OrmSession, flow_id: UUID, session_id: str, seq: int, now: datetime) -> None:
    """A message says something else: summaries that cover it are stale, and those under way are not stored."""
    covered = SessionSummary.to_seq >= seq
    db.execute(
        sa.update(SessionSummary)
        .where(_of_session(flow_id, session_id), SessionSummary.requested_seq >= seq)
        .values(
            stale=sa.case((covered, sa.true()), else_=SessionSummary.stale),
            **_taken_back(now),
        )
        .execution_options(synchronize_session=False)
    )


def mark_deleted(db: OrmSession, flow_id: UUID, session_id: str, seq: int, now: datetime) -> None:
    """A message is gone: so is every summary that covers it, also where a model's use of it is on record."""
    told = db.scalars(
        sa.update(SessionSummary)
        .where(_of_session(flow_id, session_id), SessionSummary.requested_seq >= seq)
        .values(
            **{
                name: sa.case(
                    (SessionSummary.to_seq >= seq, sa.literal(value, getattr(SessionSummary, name).type)),
                    else_=getattr(SessionSummary, name),
                )
                for name, value in _EMPTY.items()
            },
            **_taken_back(now),
        )
        .returning(SessionSummary.id)
        .execution_options(synchronize_session=False)
    ).all()
    if told:
        redact_uses(db, told)


def delete_of_session(
    db: OrmSession, flow_id: UUID, session_id: str, *, preset: str | None = None, summarizer: str | None = None
) -> int:
    """Every summary of a session, or those of a preset or summarizer; how many."""
    where = [_of_session(flow_id, session_id)]
    if preset is not None:
        where.append(SessionSummary.preset == preset)
    if summarizer is not None:
        where.append(SessionSummary.summarizer == summarizer)
    gone: Sequence[UUID] = db.scalars(sa.delete(SessionSummary).where(*where).returning(SessionSummary.id)).all()
    if gone:
        redact_uses(db, gone)
    return len(gone)


def _of_session(flow_id: UUID, session_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(SessionSummary.flow_id == flow_id, SessionSummary.session_id == session_id)


def _taken_back(now: datetime) -> dict[str, Any]:
    return {"version": SessionSummary.version + 1, "lease_until": None, "notify_at": now, "attempts": 0}
