"""SQL for end users: the persons in a user's sessions and chats. They have no table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow, Found, Keyset, PageRequest, fetch_page
from memorybase.core.models import (
    Chat,
    ChatMemory,
    Flow,
    MemoryBase,
    MemoryUse,
    Message,
    NodeExecution,
    Run,
    Session,
    SessionProgress,
    SessionSummary,
)
from memorybase.core.queries import memory_uses
from memorybase.core.queries.joins import MESSAGE_OF_SESSION, own_flow, serving_progress

EndUserOrder = Literal["recent", "sessions"]
Progress = SessionProgress


def end_users_page(
    db: OrmSession, user_id: UUID, request: PageRequest, *, flow_id: UUID | None, text: str | None, order: EndUserOrder
) -> Found:
    """Rows of end_user_id, sessions, chats, last_seen. `text`: part of the id."""
    people = _people(user_id, flow_id, text).cte("people")
    columns = people.c
    keyset = Keyset("end-users", (columns.last_seen, columns.end_user_id), descending=True)
    if order == "sessions":
        keyset = Keyset("end-users-sessions", (columns.sessions, columns.end_user_id), descending=True)
    # Counted in the same pass over all sessions: a second one would take as long.
    return fetch_page(db, sa.select(people), sa.select(columns.end_user_id), keyset, request, with_total=True)


def has_session(db: OrmSession, user_id: UUID, end_user_id: str) -> bool:
    """Whether a session of the user belongs to this person."""
    found = sa.select(Session.id).where(
        Session.flow_id.in_(sa.select(Flow.id).where(own_flow(user_id))),
        Session.deleted_at.is_(None),
        Session.end_user_id == end_user_id,
    )
    return db.execute(found.limit(1)).first() is not None


def messages_of(db: OrmSession, user_id: UUID, end_user_ids: Collection[str], flow_id: UUID | None) -> dict[str, int]:
    """Number of messages in the sessions of each of these persons."""
    in_flow = [] if flow_id is None else [Session.flow_id == flow_id]
    statement = (
        sa.select(Session.end_user_id, sa.func.count())
        .select_from(Session)
        .join(Flow, Flow.id == Session.flow_id)
        .join(Message, MESSAGE_OF_SESSION)
        .where(own_flow(user_id), Session.end_user_id.in_(end_user_ids), Session.deleted_at.is_(None), *in_flow)
        .group_by(Session.end_user_id)
    )
    return {str(row[0]): row[1] for row in db.execute(statement)}


def times_of(db: OrmSession, user_id: UUID, end_user_id: str) -> AnyRow:
    """sessions, chats, flows, first_seen, last_seen of a person; zeros and nulls for an unknown one."""
    seen = _seen(user_id, None, Session.end_user_id == end_user_id, Chat.end_user_id == end_user_id).subquery()
    columns = seen.c
    created = sa.union_all(
        _first(user_id, Session, Session.end_user_id == end_user_id, Session.deleted_at.is_(None)),
        _first(user_id, Chat, Chat.end_user_id == end_user_id),
    ).subquery()
    first = sa.select(sa.func.min(created.c.at)).scalar_subquery()
    statement = sa.select(
        sa.func.coalesce(sa.func.sum(columns.sessions), 0).label("sessions"),
        sa.func.coalesce(sa.func.sum(columns.chats), 0).label("chats"),
        sa.func.count(columns.flow_id.distinct()).label("flows"),
        first.label("first_seen"),
        sa.func.max(columns.last_seen).label("last_seen"),
    )
    return db.execute(statement).one()


def counts_of(db: OrmSession, user_id: UUID, end_user_id: str) -> dict[str, int]:
    """Rows of the person's sessions, by kind."""
    mine = (own_flow(user_id), Session.end_user_id == end_user_id, Session.deleted_at.is_(None))
    tables: dict[str, tuple[type[Any], sa.ColumnElement[bool]]] = {
        "runs": (Run, sa.true()),
        "messages": (Message, sa.true()),
        "summaries": (SessionSummary, SessionSummary.text.is_not(None)),
        "node_executions": (NodeExecution, sa.true()),
        "memory_uses": (MemoryUse, sa.true()),
    }

    def count(table: type[Any], condition: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
        of_session = sa.and_(table.flow_id == Session.flow_id, table.session_id == Session.session_id)
        joined = sa.select(sa.func.count()).select_from(Session).join(Flow, Flow.id == Session.flow_id)
        return joined.join(table, of_session).where(condition, *mine).scalar_subquery()

    row = db.execute(sa.select(*(count(*of) for of in tables.values()))).one()
    counts = dict(zip(tables, row, strict=True))
    counts["memory_uses"] += memory_uses.count_outside_sessions(db, user_id, end_user_id)
    return counts


def memories_of(db: OrmSession, user_id: UUID, end_user_id: str) -> list[AnyRow]:
    """id, name, flow_id, messages of the memory bases that hold messages of the person."""
    held = sa.func.sum(Progress.total_processed)
    statement = (
        sa.select(MemoryBase.id, MemoryBase.name, MemoryBase.flow_id, held.label("messages"))
        .select_from(Session)
        .join(MemoryBase, sa.and_(MemoryBase.flow_id == Session.flow_id, MemoryBase.deleting_at.is_(None)))
        .join(Progress, serving_progress())
        .where(MemoryBase.user_id == user_id, Session.end_user_id == end_user_id, Session.deleted_at.is_(None))
        .group_by(MemoryBase.id, MemoryBase.name, MemoryBase.flow_id)
        .having(held > 0)
        .order_by(MemoryBase.name, MemoryBase.id)
    )
    return list(db.execute(statement))


def chats_of(db: OrmSession, user_id: UUID, end_user_id: str) -> list[AnyRow]:
    """flow_id, node_id, name, chats, messages, summaries of the chat memories with chats of the person."""
    statement = (
        sa.select(
            ChatMemory.flow_id,
            ChatMemory.node_id,
            ChatMemory.name,
            sa.func.count().label("chats"),
            sa.func.sum(Chat.messages).label("messages"),
            sa.func.count(Chat.summary).label("summaries"),
        )
        .select_from(Chat)
        .join(ChatMemory, ChatMemory.id == Chat.chat_memory_id)
        .join(Flow, Flow.id == Chat.flow_id)
        .where(own_flow(user_id), Chat.end_user_id == end_user_id)
        .group_by(ChatMemory.id, ChatMemory.flow_id, ChatMemory.node_id, ChatMemory.name)
        .order_by(ChatMemory.name, ChatMemory.id)
    )
    return list(db.execute(statement))


def _people(user_id: UUID, flow_id: UUID | None, text: str | None) -> sa.Select[Any]:
    columns = (Session.end_user_id, Chat.end_user_id)
    if text is None:
        conditions: list[sa.ColumnElement[bool]] = [column.is_not(None) for column in columns]
    else:
        conditions = [column.icontains(text, autoescape=True) for column in columns]
    seen = _seen(user_id, flow_id, *conditions).subquery("seen").c
    return sa.select(
        seen.end_user_id,
        # PostgreSQL adds up to a decimal.
        sa.cast(sa.func.sum(seen.sessions), sa.BigInteger()).label("sessions"),
        sa.cast(sa.func.sum(seen.chats), sa.BigInteger()).label("chats"),
        sa.func.max(seen.last_seen).label("last_seen"),
        sa.func.count().over().label("total"),
    ).group_by(seen.end_user_id)


def _first(user_id: UUID, table: type[Session | Chat], *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    first = sa.func.min(table.created_at).label("at")
    return sa.select(first).join(Flow, Flow.id == table.flow_id).where(own_flow(user_id), *conditions)


def _seen(
    user_id: UUID, flow_id: UUID | None, session_is: sa.ColumnElement[bool], chat_is: sa.ColumnElement[bool]
) -> sa.CompoundSelect[Any]:
    """end_user_id, flow_id, sessions, chats, last_seen of each session and chat. An index has all that it reads of
    sessions."""

    def each(table: type[Session | Chat], last: Any, *conditions: Any) -> sa.Select[Any]:
        mine = [own_flow(user_id), *conditions]
        if flow_id is not None:
            mine.append(table.flow_id == flow_id)
        is_session, is_chat = (sa.literal_column(str(int(table is kind)), sa.Integer()) for kind in (Session, Chat))
        return (
            sa.select(
                table.end_user_id.label("end_user_id"),
                table.flow_id.label("flow_id"),
                is_session.label("sessions"),
                is_chat.label("chats"),
                last.label("last_seen"),
            )
            .select_from(table)
            .join(Flow, Flow.id == table.flow_id)
            .where(*mine)
        )

    return sa.union_all(
        each(Session, Session.last_captured_at, Session.deleted_at.is_(None), session_is),
        each(Chat, Chat.updated_at, chat_is),
    )
