"""The rows of an export, in keyset pages: each a short read, in an order that no edit changes."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute, aliased
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches
from memorybase.core.models import (
    Chat,
    ChatRecord,
    Flow,
    MemoryUse,
    Message,
    NodeExecution,
    Run,
    Session,
    SessionSummary,
)
from memorybase.core.queries import memory_uses


class ExportedMessage(NamedTuple):
    """A message, and the external id of its parent."""

    message: Message
    parent_external_id: str | None


def flows_after(db: OrmSession, user_id: UUID, after: UUID | None, *, flow_id: UUID | None, limit: int) -> list[Flow]:
    """The user's flows by id, or only the given one."""
    statement = sa.select(Flow).where(Flow.user_id == user_id, Flow.deleting_at.is_(None))
    if flow_id is not None:
        statement = statement.where(Flow.id == flow_id)
    if after is not None:
        statement = statement.where(Flow.id > after)
    return list(db.scalars(statement.order_by(Flow.id).limit(limit)))


def has_end_user(db: OrmSession, flow_id: UUID, end_user_id: str) -> bool:
    """Whether any session, chat or memory use of the flow belongs to the end user."""
    session = sa.exists().where(*_of_flow(flow_id, end_user_id))
    others = (sa.exists().where(each.flow_id == flow_id, each.end_user_id == end_user_id) for each in (Chat, MemoryUse))
    return db.scalar(sa.select(sa.or_(session, *others))) is True


def sessions_after(
    db: OrmSession, flow_id: UUID, after: UUID | None, *, end_user_id: str | None, limit: int
) -> list[Session]:
    """A flow's sessions by row id, which a rename does not change."""
    statement = sa.select(Session).where(*_of_flow(flow_id, end_user_id))
    if after is not None:
        statement = statement.where(Session.id > after)
    return list(db.scalars(statement.order_by(Session.id).limit(limit)))


def messages_after(db: OrmSession, session_id: UUID, after_seq: int, *, limit: int) -> list[ExportedMessage]:
    """A session's messages by seq."""
    parent = aliased(Message)
    statement = (
        sa.select(Message, parent.external_id)
        .outerjoin(parent, sa.and_(parent.id == Message.parent_message_id, parent.flow_id == Message.flow_id))
        .where(Message.session_uuid == session_id, Message.seq > after_seq)
        .order_by(Message.seq)
        .limit(limit)
    )
    return [ExportedMessage(row[0], row[1]) for row in db.execute(statement)]


def runs_of_ids(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, Run]:
    return {run.id: run for run in db.scalars(sa.select(Run).where(Run.id.in_(ids)))}


def empty_runs_after(db: OrmSession, session_id: UUID, after: UUID | None, *, limit: int) -> list[Run]:
    """A session's runs without messages, by id."""
    statement = sa.select(Run).where(Run.session_uuid == session_id, ~sa.exists().where(Message.run_id == Run.id))
    if after is not None:
        statement = statement.where(Run.id > after)
    return list(db.scalars(statement.order_by(Run.id).limit(limit)))


def summaries_of(db: OrmSession, flow_id: UUID, session_id: str) -> list[SessionSummary]:
    """A session's summaries: one for each preset and summarizer."""
    in_session = (SessionSummary.flow_id == flow_id, SessionSummary.session_id == session_id)
    return list(db.scalars(sa.select(SessionSummary).where(*in_session).order_by(SessionSummary.id)))


def executions_after(db: OrmSession, session_id: UUID, after: UUID | None, *, limit: int) -> list[NodeExecution]:
    """A session's node executions, by id."""
    statement = sa.select(NodeExecution).where(NodeExecution.session_uuid == session_id)
    if after is not None:
        statement = statement.where(NodeExecution.id > after)
    return list(db.scalars(statement.order_by(NodeExecution.id).limit(limit)))


def uses_of_session_after(db: OrmSession, session_id: UUID, after: UUID | None, *, limit: int) -> list[MemoryUse]:
    """Memory uses that were asked for a session, by id."""
    session = db.get(Session, session_id)
    if session is None:
        return []
    mine = (MemoryUse.flow_id == session.flow_id, MemoryUse.session_id == session.session_id)
    return _uses(db, sa.select(MemoryUse).where(*mine), after, limit)


def uses_of_runs_after(db: OrmSession, session_id: UUID, after: UUID | None, *, limit: int) -> list[MemoryUse]:
    """Other memory uses in a session's runs, by id: those of chats."""
    session = db.get(Session, session_id)
    if session is None:
        return []
    others = sa.or_(MemoryUse.session_id.is_(None), MemoryUse.session_id != session.session_id)
    mine = memory_uses.of_runs(session.flow_id, session.session_id)
    return _uses(db, sa.select(MemoryUse).where(*mine, others), after, limit)


def uses_without_session_after(db: OrmSession, flow_id: UUID, after: UUID | None, *, limit: int) -> list[MemoryUse]:
    """A flow's memory uses in chats without a captured run, by id."""
    loose = (MemoryUse.flow_id == flow_id, MemoryUse.session_id.is_(None), ~_captured(flow_id))
    return _uses(db, sa.select(MemoryUse).where(*loose), after, limit)


def uses_of_unknown_sessions_after(
    db: OrmSession, flow_id: UUID, after: tuple[str, UUID] | None, *, limit: int
) -> list[MemoryUse]:
    """A flow's memory uses that were asked for a session that is not stored, by session and id: along the index."""
    place = (MemoryUse.session_id, MemoryUse.id)
    mine = [MemoryUse.flow_id == flow_id, MemoryUse.session_id.is_not(None)]
    if after is not None:
        mine += [MemoryUse.session_id >= after[0], sa.tuple_(*place) > sa.tuple_(*map(sa.literal, after))]
    statement = sa.select(MemoryUse).where(*mine, ~_stored(flow_id), ~_captured(flow_id))
    return list(db.scalars(statement.order_by(*place).limit(limit)))


def other_uses_of_end_user_after(
    db: OrmSession, flow_id: UUID, after: UUID | None, *, end_user_id: str, limit: int
) -> list[MemoryUse]:
    """Memory uses that were asked for an end user, without a stored session and a captured run, by id."""
    mine = (MemoryUse.end_user_id == end_user_id, MemoryUse.flow_id == flow_id)
    return _uses(db, sa.select(MemoryUse).where(*mine, ~_stored(flow_id), ~_captured(flow_id)), after, limit)


def _captured(flow_id: UUID) -> sa.Exists:
    return sa.exists().where(Run.id == MemoryUse.run_id, Run.flow_id == flow_id)


def _stored(flow_id: UUID) -> sa.Exists:
    its = (Session.flow_id == flow_id, Session.session_id == MemoryUse.session_id, Session.deleted_at.is_(None))
    return sa.exists().where(*its)


def _uses(db: OrmSession, statement: sa.Select[MemoryUse], after: UUID | None, limit: int) -> list[MemoryUse]:
    if after is not None:
        statement = statement.where(MemoryUse.id > after)
    return list(db.scalars(statement.order_by(MemoryUse.id).limit(limit)))


def external_ids(
    db: OrmSession, flow_id: UUID, *, runs: Collection[UUID], named: Collection[UUID]
) -> dict[str, dict[str, str]]:
    """External ids of these runs, and of the `named` ids that are messages of any log or node executions."""

    def of(
        table: type[Run | Message | ChatRecord | NodeExecution],
        column: InstrumentedAttribute[UUID],
        ids: Collection[UUID],
    ) -> dict[str, str]:
        has_external_id = (table.flow_id == flow_id, table.external_id.is_not(None))
        return {
            str(row[0]): str(row[1])
            for page in batches.pages(ids)
            for row in db.execute(sa.select(column, table.external_id).where(column.in_(page), *has_external_id))
        }

    return {
        "run": of(Run, Run.id, runs),
        "message": of(Message, Message.id, named) | of(ChatRecord, ChatRecord.message_id, named),
        "node_execution": of(NodeExecution, NodeExecution.id, named),
    }


def _of_flow(flow_id: UUID, end_user_id: str | None) -> list[sa.ColumnElement[bool]]:
    conditions = [Session.flow_id == flow_id, Session.deleted_at.is_(None)]
    return conditions if end_user_id is None else [*conditions, Session.end_user_id == end_user_id]
