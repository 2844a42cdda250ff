"""Rules that are due, what has expired by them, and what they would delete."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches
from memorybase.core.database.upsert import rows_affected
from memorybase.core.models import (
    Chat,
    ChatRecord,
    Flow,
    LedgerEntry,
    MemoryBase,
    MemoryUse,
    Message,
    NodeExecution,
    RestorableMessage,
    Run,
    Session,
    SessionProgress,
)
from memorybase.core.queries import restorable_messages
from memorybase.core.queries.joins import MESSAGE_OF_SESSION
from memorybase.core.queries.sessions import SessionRow
from memorybase.features.retention.queries import holds

# A session's rows, and when they were stored.
_STORED_AT: tuple[tuple[type[Any], Any], ...] = (
    (Message, Message.captured_at),
    (NodeExecution, NodeExecution.created_at),
    (MemoryUse, MemoryUse.recorded_at),
)
ROWS = 500  # of which one look finds the sessions


def share_flow(db: OrmSession, flow_id: UUID) -> Flow | None:
    """The flow, unless it is being deleted; its rule does not change before the transaction ends."""
    statement = sa.select(Flow).where(Flow.id == flow_id, Flow.deleting_at.is_(None)).with_for_update(read=True)
    return db.scalar(statement.execution_options(populate_existing=True))


class DueSession(NamedTuple):
    """A session whose own expiry has passed."""

    flow_id: UUID
    session_id: str


# Rules that are due.


def due_flows(db: OrmSession, now: datetime, *, limit: int) -> Sequence[UUID]:
    """Flows whose rule is due, the longest waiting first."""
    due = (Flow.retention_due_at <= now, Flow.retention_due_at.is_not(None), Flow.deleting_at.is_(None))
    return db.scalars(sa.select(Flow.id).where(*due).order_by(Flow.retention_due_at, Flow.id).limit(limit)).all()


def take_flow(db: OrmSession, flow_id: UUID, now: datetime, until: datetime) -> bool:
    """Whether the flow is still due; then no other sweeper takes it until that time."""
    mine = (Flow.id == flow_id, Flow.retention_due_at <= now, Flow.deleting_at.is_(None))
    return rows_affected(db, sa.update(Flow).where(*mine).values(retention_due_at=until)) == 1


def release_flow(db: OrmSession, flow_id: UUID, due_at: datetime) -> None:
    """When to look at the flow again, if it still has a rule."""
    mine = (Flow.id == flow_id, Flow.retain_days.is_not(None))
    db.execute(sa.update(Flow).where(*mine).values(retention_due_at=due_at))


def due_bases(db: OrmSession, now: datetime, *, limit: int) -> Sequence[UUID]:
    """Memory bases whose rule is due, the longest waiting first."""
    due = (MemoryBase.forget_due_at <= now, MemoryBase.forget_due_at.is_not(None), MemoryBase.deleting_at.is_(None))
    rows = sa.select(MemoryBase.id).where(*due).order_by(MemoryBase.forget_due_at, MemoryBase.id)
    return db.scalars(rows.limit(limit)).all()


def take_base(db: OrmSession, base_id: UUID, now: datetime, until: datetime) -> bool:
    """Whether the memory base is still due; then no other sweeper takes it until that time."""
    mine = (MemoryBase.id == base_id, MemoryBase.forget_due_at <= now, MemoryBase.deleting_at.is_(None))
    return rows_affected(db, sa.update(MemoryBase).where(*mine).values(forget_due_at=until)) == 1


def release_base(db: OrmSession, base_id: UUID, days: int, due_at: datetime, forgotten_until: datetime) -> None:
    """Every session has forgotten what was captured before that time, unless the rule was changed meanwhile. When to
    look again."""
    mine = (MemoryBase.id == base_id, MemoryBase.retain_days == days)
    db.execute(sa.update(MemoryBase).where(*mine).values(forget_due_at=due_at, forgotten_until=forgotten_until))


def due_sessions(db: OrmSession, now: datetime, *, limit: int) -> list[DueSession]:
    """Sessions whose own expiry has passed and that no hold keeps, the longest waiting first."""
    due = (Session.expires_at <= now, Session.expires_at.is_not(None), Session.deleted_at.is_(None))
    statement = (
        sa.select(Session.flow_id, Session.session_id)
        .join(Flow, Flow.id == Session.flow_id)
        .where(*due, Flow.deleting_at.is_(None), ~holds.session_held(Flow.user_id))
        .order_by(Session.expires_at, Session.id)
        .limit(limit)
    )
    return [DueSession(*row) for row in db.execute(statement)]


# Expired rows of a flow.


def expired_sessions(db: OrmSession, flow: Flow, before: datetime, *, limit: int) -> tuple[list[str], bool]:
    """Up to `limit` sessions with anything that was stored until then, without held ones; first those that have nothing
    newer. Also returns whether these are all."""
    of_flow = [Session.flow_id == flow.id, Session.deleted_at.is_(None)]
    if holds.has_any(db, flow.user_id):
        of_flow.append(~holds.session_held(flow.user_id))
    whole = sa.select(Session.session_id).where(*of_flow, *_without_later(before))
    statements: list[sa.Select[Any]] = [whole.order_by(Session.last_captured_at, Session.id)]
    statements += [parts.where(*of_flow) for parts in _expired_parts(db, flow.id, before)]
    found: dict[str, None] = {}
    for statement in statements:
        rows = db.scalars(statement.limit(ROWS)).all()
        found |= dict.fromkeys(rows)
        if len(found) > limit or len(rows) == ROWS:  # these may be the first of many
            return list(found)[:limit], False
    return list(found), True


def _expired_parts(db: OrmSession, flow_id: UUID, before: datetime) -> list[sa.Select[Any]]:
    """Statements over the session of each thing that expires, by an index on its time."""
    statements = [
        sa.select(Session.session_id)
        .join(table, _of_session(table))
        .where(table.flow_id == flow_id, column <= before)
        .order_by(column)
        for table, column in _STORED_AT
    ]
    copies = sa.select(Session.session_id).join(RestorableMessage, RestorableMessage.session_uuid == Session.id)
    captured = restorable_messages.captured_before(db, before)
    return [*statements, copies.where(RestorableMessage.flow_id == flow_id, captured)]


def _without_later(before: Any) -> list[sa.ColumnElement[bool]]:
    """Conditions on a session without anything that was stored after that time. A message may be later than the
    session's own column says, if the clock was ahead."""
    later = [~sa.exists().where(_of_session(table), column > before) for table, column in _STORED_AT]
    return [Session.last_captured_at <= before, *later]


def has_later(db: OrmSession, session: SessionRow, before: datetime) -> bool:
    """Whether anything of the session was stored after that time."""
    return db.scalar(sa.select(Session.id).where(Session.id == session.id, *_without_later(before))) is None


def expired_messages(db: OrmSession, session: SessionRow, before: datetime, *, limit: int) -> list[Message]:
    """The session's oldest messages that were captured until then."""
    oldest = (
        sa.select(Message)
        .where(Message.session_uuid == session.id, Message.captured_at <= before)
        .order_by(Message.seq)
        .limit(limit)
    )
    return list(db.scalars(oldest))


def expired_executions(db: OrmSession, session: SessionRow, before: datetime, *, limit: int) -> Sequence[UUID]:
    expired = (NodeExecution.session_uuid == session.id, NodeExecution.created_at <= before)
    return db.scalars(sa.select(NodeExecution.id).where(*expired).limit(limit)).all()


def delete_executions(db: OrmSession, ids: Sequence[UUID]) -> None:
    for some in batches.pages(ids):
        db.execute(sa.delete(NodeExecution).where(NodeExecution.id.in_(some)))


def delete_uses(db: OrmSession, flow_id: UUID, session_id: str | None, before: datetime, *, limit: int) -> int:
    """Delete up to `limit` uses of the session, or of no session, that were recorded until then. Returns the number
    deleted."""
    mine = (MemoryUse.flow_id == flow_id, MemoryUse.session_id == session_id, MemoryUse.recorded_at <= before)
    page = sa.select(MemoryUse.id).where(*mine).order_by(MemoryUse.recorded_at).limit(limit)
    return rows_affected(db, sa.delete(MemoryUse).where(MemoryUse.id.in_(page)))


def delete_empty_runs(db: OrmSession, session: SessionRow, before: datetime) -> int:
    """Delete the session's runs that are empty now, and return their number."""
    mine = (Run.session_uuid == session.id, Run.created_at <= before)
    messages = sa.exists().where(Message.run_id == Run.id)
    executions = sa.exists().where(NodeExecution.session_uuid == Run.session_uuid, NodeExecution.run_id == Run.id)
    return rows_affected(db, sa.delete(Run).where(*mine, ~messages, ~executions))


def expired_chats(db: OrmSession, flow: Flow, before: datetime, *, limit: int) -> list[tuple[UUID, str]]:
    """(memory id, chat id) of chats with a message that was posted until then, without held ones."""
    oldest = sa.select(ChatRecord.created_at).where(ChatRecord.chat_row_id == Chat.id).order_by(ChatRecord.seq).limit(1)
    statement = (
        sa.select(Chat.chat_memory_id, Chat.chat_id)
        .where(Chat.flow_id == flow.id, Chat.created_at <= before, oldest.scalar_subquery() <= before)
        .where(~holds.chat_held(flow.user_id))
        .order_by(Chat.created_at, Chat.id)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in db.execute(statement)]


# Rows that a memory base forgets.


def captured_between(
    db: OrmSession, flow_id: UUID, after: datetime | None, before: datetime, *, limit: int
) -> list[tuple[str, datetime]]:
    """(session id, time) of the messages that were captured from one time to the other, oldest first."""
    statement = sa.select(Message.session_id, Message.captured_at).where(
        Message.flow_id == flow_id, Message.captured_at <= before
    )
    if after is not None:
        statement = statement.where(Message.captured_at >= after)
    return [(row[0], row[1]) for row in db.execute(statement.order_by(Message.captured_at, Message.id).limit(limit))]


def last_expired_seq(db: OrmSession, session: SessionRow, before: datetime) -> int:
    """Every message up to this seq was captured until then."""
    mine = (Message.session_uuid == session.id, Message.captured_at > before)
    later = db.scalar(sa.select(sa.func.min(Message.seq)).where(*mine))
    return session.last_seq if later is None else later - 1


def held_up_to(db: OrmSession, progress_id: UUID, seq: int) -> tuple[int, int]:
    """Number of messages up to this seq that the ledger holds, and of their chunks."""
    row = db.execute(
        sa.select(sa.func.count(), sa.func.sum(LedgerEntry.chunks))
        .join(Message, Message.id == LedgerEntry.message_id)
        .join(SessionProgress, SessionProgress.id == LedgerEntry.progress_id)
        .where(
            LedgerEntry.progress_id == progress_id,
            Message.session_uuid == SessionProgress.session_uuid,
            Message.seq <= seq,
        )
    ).one()
    return int(row[0]), int(row[1] or 0)


# Dry runs.


class ExpiredCounts(NamedTuple):
    """Numbers of expired rows."""

    sessions: int = 0
    messages: int = 0
    chunks: int = 0
    node_executions: int = 0
    chat_messages: int = 0
    memory_uses: int = 0
    held_sessions: int = 0


def flows_with_rule(db: OrmSession, user_id: UUID, flow_id: UUID | None) -> list[tuple[Flow, int]]:
    """The user's flows with a rule, or this one if it has one, and how many days each keeps."""
    mine = [Flow.user_id == user_id, Flow.retain_days.is_not(None), Flow.deleting_at.is_(None)]
    if flow_id is not None:
        mine.append(Flow.id == flow_id)
    return [(flow, flow.retain_days or 0) for flow in db.scalars(sa.select(Flow).where(*mine).order_by(Flow.id))]


def bases_with_rule(db: OrmSession, user_id: UUID, flow_id: UUID | None) -> Sequence[MemoryBase]:
    mine = [MemoryBase.user_id == user_id, MemoryBase.retain_days.is_not(None), MemoryBase.deleting_at.is_(None)]
    if flow_id is not None:
        mine.append(MemoryBase.flow_id == flow_id)
    return db.scalars(sa.select(MemoryBase).where(*mine).order_by(MemoryBase.id)).all()


def count_in_flow(db: OrmSession, flow: Flow, before: datetime) -> ExpiredCounts:
    """Rows that were stored in the flow until then."""
    of_flow = (Session.flow_id == flow.id, Session.deleted_at.is_(None))
    free = (*of_flow, ~holds.session_held(flow.user_id))
    expired = (MESSAGE_OF_SESSION, Message.captured_at <= before)
    executions = sa.select(sa.func.count()).select_from(NodeExecution)
    executions = executions.join(Session, _of_session(NodeExecution)).where(*free, NodeExecution.created_at <= before)
    records = sa.select(sa.func.count()).select_from(ChatRecord).join(Chat, Chat.id == ChatRecord.chat_row_id)
    chat_messages = records.where(
        Chat.flow_id == flow.id, ChatRecord.created_at <= before, ~holds.chat_held(flow.user_id)
    )
    return ExpiredCounts(
        sessions=_count(db, sa.select(sa.func.count(Session.id)).where(*free, *_without_later(before))),
        messages=_count(db, sa.select(sa.func.count(Message.id)).join(Session, sa.true()).where(*free, *expired)),
        chunks=_count(db, _chunks().where(*free, *expired)),
        node_executions=_count(db, executions),
        chat_messages=_count(db, chat_messages),
        memory_uses=_count(db, _uses().where(*free, MemoryUse.recorded_at <= before)) + _loose_uses(db, flow, before),
        held_sessions=_count(db, _held_sessions(flow.user_id).where(*of_flow, sa.exists().where(*expired))),
    )


def count_in_expired_sessions(
    db: OrmSession, user_id: UUID, flow_id: UUID | None, now: datetime
) -> list[tuple[Flow, ExpiredCounts]]:
    """Rows of sessions whose own expiry has passed, by flow."""
    due = [Session.expires_at <= now, Session.deleted_at.is_(None), Flow.user_id == user_id, Flow.deleting_at.is_(None)]
    if flow_id is not None:
        due.append(Flow.id == flow_id)
    flows = sa.select(Flow).join(Session, Session.flow_id == Flow.id).where(*due).distinct().order_by(Flow.id)
    return [(flow, _count_in_expired(db, flow, now)) for flow in db.scalars(flows).all()]


def _count_in_expired(db: OrmSession, flow: Flow, now: datetime) -> ExpiredCounts:
    of_flow = (Session.flow_id == flow.id, Session.deleted_at.is_(None), Session.expires_at <= now)
    free = (*of_flow, ~holds.session_held(flow.user_id))
    expired = (MESSAGE_OF_SESSION, Message.captured_at <= Session.expires_at)
    executions = sa.select(sa.func.count()).select_from(NodeExecution).join(Session, _of_session(NodeExecution))
    whole = (*free, *_without_later(Session.expires_at))
    return ExpiredCounts(
        sessions=_count(db, sa.select(sa.func.count(Session.id)).where(*whole)),
        messages=_count(db, sa.select(sa.func.count(Message.id)).join(Session, sa.true()).where(*free, *expired)),
        chunks=_count(db, _chunks().where(*free, *expired)),
        node_executions=_count(db, executions.where(*free, NodeExecution.created_at <= Session.expires_at)),
        memory_uses=_count(db, _uses().where(*free, MemoryUse.recorded_at <= Session.expires_at)),
        held_sessions=_count(db, _held_sessions(flow.user_id).where(*of_flow)),
    )


def count_in_base(db: OrmSession, base: MemoryBase, before: datetime) -> ExpiredCounts:
    """Messages captured until then that the serving generation of a memory base holds."""
    expired = (
        LedgerEntry.memory_base_id == base.id,
        LedgerEntry.generation == base.serving,
        Message.flow_id == base.flow_id,
        Message.captured_at <= before,
    )
    rows = sa.select(sa.func.count(), sa.func.sum(LedgerEntry.chunks)).select_from(LedgerEntry)
    row = db.execute(rows.join(Message, Message.id == LedgerEntry.message_id).where(*expired)).one()
    return ExpiredCounts(messages=int(row[0]), chunks=int(row[1] or 0))


def _uses() -> sa.Select[Any]:
    """Number of uses of the sessions that the caller names."""
    return sa.select(sa.func.count()).select_from(MemoryUse).join(Session, _of_session(MemoryUse))


def _loose_uses(db: OrmSession, flow: Flow, before: datetime) -> int:
    """Number of uses of no session that were recorded until then; none while a hold keeps anything of the flow."""
    if holds.has_any(db, flow.user_id, holds.keeps_anything_of(flow.id)):
        return 0
    mine = (MemoryUse.flow_id == flow.id, MemoryUse.session_id.is_(None), MemoryUse.recorded_at <= before)
    return _count(db, sa.select(sa.func.count()).select_from(MemoryUse).where(*mine))


def _of_session(table: type[Any]) -> sa.ColumnElement[bool]:
    """Whether a row belongs to the session: by its key, or as one that may never be stored by its name."""
    if table is MemoryUse:
        return sa.and_(MemoryUse.flow_id == Session.flow_id, MemoryUse.session_id == Session.session_id)
    of_session: sa.ColumnElement[bool] = table.session_uuid == Session.id
    return of_session


def _chunks() -> sa.Select[Any]:
    """Number of chunks of messages in all generations; the caller joins the session by its condition."""
    return (
        sa.select(sa.func.sum(LedgerEntry.chunks))
        .select_from(LedgerEntry)
        .join(Message, Message.id == LedgerEntry.message_id)
        .join(
            SessionProgress,
            sa.and_(
                SessionProgress.id == LedgerEntry.progress_id, SessionProgress.session_uuid == Message.session_uuid
            ),
        )
        .join(Session, sa.true())
    )


def _held_sessions(user_id: UUID) -> sa.Select[Any]:
    return sa.select(sa.func.count(Session.id)).where(holds.session_held(user_id))


def _count(db: OrmSession, statement: sa.Select[Any]) -> int:
    return int(db.scalar(statement) or 0)
