"""The statements of a search on pending messages: those beyond a session's cursor, and edits that wait for a repair."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.engine import connection
from memorybase.core.models import Capture, LedgerEntry, Message, Session
from memorybase.core.models import SessionProgress as Progress
from memorybase.core.queries.pending import SESSION_IS_EDITED, is_pending
from memorybase.core.queries.pending import is_counted as counted
from memorybase.core.queries.search import (
    AT_MOST,
    BASE,
    END_USER,
    FLOW,
    GENERATION,
    SESSION,
    Features,
    Target,
    select_features,
    session_scope,
)


class PendingMessage(NamedTuple):
    """A counted message that the serving generation lacks, or holds in an older version."""

    features: Features
    content: Any


class PendingScope(NamedTuple):
    """Which pending messages to read, and from how many sessions at most."""

    session_id: str | None
    end_user_id: str | None
    metadata: bool  # whether the features need it
    limit: int
    session_limit: int


def pending_messages(db: OrmSession, target: Target, scope: PendingScope) -> list[PendingMessage]:
    """The newest counted messages beyond their session's cursor.

    Reads at most `limit` messages of each of the `session_limit` sessions captured last, along indexes. The cost
    depends on these limits and not on the flow's history or backlog.
    """
    session_id, end_user_id, metadata, limit, session_limit = scope
    statement = _pending(
        db.get_bind().dialect.name,
        target.capture,
        of_session=session_id is not None,
        of_user=end_user_id is not None,
        metadata=metadata,
    )
    parameters = {"session": session_id, "end_user": end_user_id, "at_most": limit, "sessions": session_limit}
    rows = connection(db).execute(statement, target.parameters | parameters).all()
    return [PendingMessage(Features(*row[:-1]), row[-1]) for row in rows]


@lru_cache
def _pending(dialect: str, capture: Capture, *, of_session: bool, of_user: bool, metadata: bool) -> sa.Select[Any]:
    scope = session_scope(SESSION if of_session else None, END_USER if of_user else None)
    beyond = _beyond(dialect, capture, _sessions_behind(capture, scope))
    order = (beyond.c.captured_at.desc(), beyond.c.seq.desc(), beyond.c.id)
    newest = sa.select(beyond).order_by(*order).limit(AT_MOST).subquery("newest")
    return (
        select_features(metadata=metadata)
        .add_columns(Message.content)
        .join(newest, newest.c.id == Message.id)
        .order_by(newest.c.captured_at.desc(), newest.c.seq.desc(), newest.c.id)
    )


def _beyond(dialect: str, capture: Capture, behind: sa.Subquery) -> sa.Subquery:
    """The newest counted messages of each session that is behind."""
    # One bound instead of two, so that the index scan starts at the right entry.
    edge = sa.case((behind.c.newest > behind.c.cursor, behind.c.newest), else_=behind.c.cursor)
    messages = sa.select(Message.id, Message.captured_at, Message.seq).where(
        Message.session_uuid == behind.c.id,
        is_pending(capture, edge),
        Message.muted == sa.false(),
    )
    if dialect == "sqlite":
        return messages.subquery("beyond")
    # Expecting many, PostgreSQL would read the flow by time until it had found enough, and so all of it. This way it
    # can only read session by session.
    of_each = messages.correlate(behind).order_by(Message.seq.desc()).limit(AT_MOST).lateral("of_each")
    return sa.select(of_each).select_from(behind).join(of_each, sa.true()).subquery("beyond")


def _sessions_behind(capture: Capture, scope: Sequence[sa.ColumnElement[bool]]) -> sa.Subquery:
    """Sessions with counted messages beyond the cursor, and the seq below their newest `at_most` counted messages."""
    recent = (
        sa.select(Session.id, Session.last_seq, Session.last_captured_at)
        .where(Session.flow_id == FLOW, Session.deleted_at.is_(None), *scope)
        .order_by(Session.last_captured_at.desc())
        .limit(sa.bindparam("sessions", type_=sa.Integer()))
        .subquery("recent")
    )
    newest_first = (
        sa.select(Message.seq)
        .where(Message.session_uuid == recent.c.id, counted(capture))
        .order_by(Message.seq.desc())
        .correlate(recent)
        .limit(1)
    )
    # Joined, PostgreSQL would read the progress of all sessions of the memory base.
    cursor_seq = sa.select(Progress.cursor_seq).where(
        Progress.memory_base_id == BASE, Progress.session_uuid == recent.c.id, Progress.generation == GENERATION
    )
    cursor = sa.func.coalesce(cursor_seq.correlate(recent).scalar_subquery(), 0)
    return (
        sa.select(
            recent.c.id,
            cursor.label("cursor"),
            sa.func.coalesce(newest_first.offset(AT_MOST).scalar_subquery(), 0).label("newest"),
        )
        .where(recent.c.last_seq > cursor, newest_first.scalar_subquery() > cursor)
        .order_by(recent.c.last_captured_at.desc())
        .limit(AT_MOST)
        .subquery("behind")
    )


def edited_messages(db: OrmSession, target: Target, scope: PendingScope) -> list[PendingMessage]:
    """Ingested messages with an edit that the serving generation does not hold yet, newest edits first.

    Reads only sessions with a pending repair: few at any time, and at most `session_limit` over all memory bases.
    """
    dirty = _dirty_sessions(db, target, scope.session_limit)
    if not dirty:
        return []
    statement = (
        select_features(metadata=scope.metadata)
        .add_columns(Message.content)
        .join(Progress, Progress.session_uuid == Message.session_uuid)
        .where(
            Progress.id.in_(dirty),
            counted(target.capture),
            Message.seq > Progress.start_seq,
            Message.seq <= Progress.cursor_seq,
            # A message without an entry is a dead letter, which an edit may have fixed.
            sa.or_(_held() != Message.version, sa.and_(_held().is_(None), Message.version > 1)),
            *session_scope(scope.session_id, scope.end_user_id),
        )
        .order_by(Message.edited_at.desc().nulls_last(), Message.seq.desc(), Message.id)
        .limit(scope.limit)
    )
    rows = connection(db).execute(statement, target.parameters).all()
    return [PendingMessage(Features(*row[:-1]), row[-1]) for row in rows]


def _held() -> sa.ScalarSelect[int]:
    """The latest version that the generation holds: a reused id may still have an entry of an earlier one."""
    return (
        sa.select(sa.func.max(LedgerEntry.version))
        .where(
            LedgerEntry.memory_base_id == BASE,
            LedgerEntry.generation == GENERATION,
            LedgerEntry.message_id == Message.id,
        )
        .correlate(Message)
        .scalar_subquery()
    )


_DIRTY = sa.select(Progress.id, Progress.memory_base_id, Progress.generation).where(SESSION_IS_EDITED).limit(AT_MOST)


def _dirty_sessions(db: OrmSession, target: Target, limit: int) -> list[UUID]:
    # With the memory base in the condition, SQLite reads all its rows instead of the small index of dirty ones.
    rows = connection(db).execute(_DIRTY, {"at_most": limit}).all()
    target_key = (target.memory_base_id, target.generation)
    return [progress_id for progress_id, base_id, generation in rows if (base_id, generation) == target_key]
