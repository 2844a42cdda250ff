"""SQL for lists of flows, runs, sessions and messages, always within one user's flows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.paging import AnyRow, AnySelect, Found, Keyset, PageRequest, fetch_page
from memorybase.ids import CallerId
from memorybase.models import Flow, LedgerEntry, MemoryBase, Message, Run, Session

_FLOWS = Keyset("flows", (Flow.created_at, Flow.id))
_RUNS = Keyset("runs", (Run.created_at, Run.id), descending=True)
SessionOrder = Literal["created", "recent"]
_SESSIONS: dict[SessionOrder, Keyset] = {
    "created": Keyset("sessions", (Session.created_at, Session.id)),
    "recent": Keyset("sessions-recent", (Session.last_captured_at, Session.id), descending=True),
}


@dataclass(frozen=True, slots=True)
class MessageQuery:
    """Which messages: those that match every field that is not None. `since` and `until` are inclusive."""

    flow_id: UUID | None = None
    memory_base_id: UUID | None = None
    session_id: str | None = None
    run_id: CallerId | UUID | None = None
    end_user_id: str | None = None
    role: str | None = None
    is_output: bool | None = None
    ingested: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    order: Literal["asc", "desc"] = "asc"


def flows_page(db: OrmSession, user_id: UUID, request: PageRequest) -> Found:
    conditions = _own_flow(user_id)
    return fetch_page(db, sa.select(Flow).where(conditions), sa.select(Flow.id).where(conditions), _FLOWS, request)


def flows_by_id(db: OrmSession, user_id: UUID, ids: Collection[UUID]) -> Sequence[Flow]:
    """The user's flows among these ids; at most a page of ids."""
    return db.scalars(sa.select(Flow).where(_own_flow(user_id), Flow.id.in_(ids))).all()


def runs_page(db: OrmSession, flow_id: UUID, request: PageRequest) -> Found:
    counting = sa.select(Run.id).where(Run.flow_id == flow_id)
    return fetch_page(db, _runs().where(Run.flow_id == flow_id), counting, _RUNS, request)


def fetch_run(db: OrmSession, user_id: UUID, run_id: UUID) -> AnyRow | None:
    statement = _runs().join(Flow, Flow.id == Run.flow_id).where(Run.id == run_id, _own_flow(user_id))
    return db.execute(statement).one_or_none()


def sessions_page(
    db: OrmSession,
    user_id: UUID,
    request: PageRequest,
    *,
    flow_id: UUID | None,
    end_user_id: str | None,
    order: SessionOrder,
) -> Found:
    conditions = [_own_flow(user_id), Session.deleted_at.is_(None)]
    if flow_id is not None:
        conditions.append(Session.flow_id == flow_id)
    if end_user_id is not None:
        conditions.append(Session.end_user_id == end_user_id)
    counting = sa.select(Session.id).join(Flow, Flow.id == Session.flow_id).where(*conditions)
    statement = _sessions().join(Flow, Flow.id == Session.flow_id).where(*conditions)
    return fetch_page(db, statement, counting, _SESSIONS[order], request)


def fetch_session(db: OrmSession, flow_id: UUID, session_id: str) -> AnyRow | None:
    mine = (Session.flow_id == flow_id) & (Session.session_id == session_id) & Session.deleted_at.is_(None)
    return db.execute(_sessions().where(mine)).one_or_none()


def flows_with_session(db: OrmSession, user_id: UUID, session_id: str) -> list[UUID]:
    """At most two flows that have this session id: one means that the id is unambiguous."""
    statement = sa.select(Session.flow_id).join(Flow, Flow.id == Session.flow_id)
    statement = statement.where(_own_flow(user_id), Session.session_id == session_id).limit(2)
    return list(db.scalars(statement))


def messages_page(
    db: OrmSession, user_id: UUID, query: MessageQuery, base: MemoryBase | None, request: PageRequest
) -> Found:
    conditions = _message_conditions(user_id, query, base)
    statement = sa.select(Message, Session.end_user_id, _ingested(base).label("ingested")).join(
        Session, sa.and_(Session.flow_id == Message.flow_id, Session.session_id == Message.session_id)
    )
    counting = sa.select(Message.id).where(*conditions)
    return fetch_page(db, statement.where(*conditions), counting, _message_order(query), request)


def fetch_message(db: OrmSession, user_id: UUID, message_id: UUID) -> AnyRow | None:
    statement = (
        sa.select(Message, Session.end_user_id, sa.null().label("ingested"))
        .join(Session, sa.and_(Session.flow_id == Message.flow_id, Session.session_id == Message.session_id))
        .join(Flow, Flow.id == Message.flow_id)
        .where(Message.id == message_id, _own_flow(user_id))
    )
    return db.execute(statement).one_or_none()


def _own_flow(user_id: UUID) -> sa.ColumnElement[bool]:
    return sa.and_(Flow.user_id == user_id, Flow.deleting_at.is_(None))


def _runs() -> AnySelect:
    messages = sa.select(sa.func.count()).where(Message.run_id == Run.id).correlate(Run).scalar_subquery()
    return sa.select(Run, Session.end_user_id, messages.label("messages")).join(
        Session, sa.and_(Session.flow_id == Run.flow_id, Session.session_id == Run.session_id)
    )


def _sessions() -> AnySelect:
    of_session = sa.and_(Message.flow_id == Session.flow_id, Message.session_id == Session.session_id)
    messages = sa.select(sa.func.count()).select_from(Message).where(of_session).correlate(Session).scalar_subquery()
    return sa.select(Session, messages.label("messages"))


def _message_order(query: MessageQuery) -> Keyset:
    """By seq within one session, by time of capture across sessions."""
    descending = query.order == "desc"
    if query.run_id is not None or (query.flow_id is not None and query.session_id is not None):
        return Keyset("messages-of-session", (Message.seq,), descending)
    return Keyset("messages", (Message.captured_at, Message.seq, Message.id), descending)


def _message_conditions(user_id: UUID, query: MessageQuery, base: MemoryBase | None) -> list[sa.ColumnElement[bool]]:
    if query.flow_id is not None:
        conditions = [Message.flow_id == query.flow_id]
    else:
        conditions = [Message.flow_id.in_(sa.select(Flow.id).where(_own_flow(user_id)))]
    exact = (
        (Message.session_id, query.session_id),
        (Message.run_id, query.run_id),
        (Message.role, query.role),
        (Message.is_output, query.is_output),
    )
    conditions += [column == value for column, value in exact if value is not None]
    if query.since is not None:
        conditions.append(Message.timestamp >= query.since)
    if query.until is not None:
        conditions.append(Message.timestamp <= query.until)
    if query.end_user_id is not None:
        of_user = sa.select(Session.id).where(
            Session.flow_id == Message.flow_id,
            Session.session_id == Message.session_id,
            Session.end_user_id == query.end_user_id,
        )
        conditions.append(of_user.correlate(Message).exists())
    if query.ingested is not None:
        conditions.append(_ingested(base) if query.ingested else sa.not_(_ingested(base)))
    return conditions


def _ingested(base: MemoryBase | None) -> sa.ColumnElement[Any]:
    """Whether the ledger of the serving generation has the message; null without a memory base."""
    if base is None:
        return sa.null()
    held = sa.select(LedgerEntry.message_id).where(
        LedgerEntry.memory_base_id == base.id,
        LedgerEntry.generation == base.serving,
        LedgerEntry.message_id == Message.id,
    )
    return held.correlate(Message).exists()
