"""SQL for lists of flows, sessions and messages, always within one user's flows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.paging import AnyRow, AnySelect, Found, Keyset, PageRequest, fetch_page, scan_page
from memorybase.ids import CallerId
from memorybase.models import (
    IS_MUTED,
    IS_PINNED,
    DeadLetter,
    Flow,
    LedgerEntry,
    MemoryBase,
    Message,
    PlannedDeletion,
    Posting,
    Session,
)
from memorybase.queries import deleted_sessions
from memorybase.queries.search_states import FEW, RANKED, SearchState, may_be, session_state
from memorybase.read_models.text_filter import TextFilter

_FLOWS = Keyset("flows", (Flow.created_at, Flow.id))
SessionOrder = Literal["created", "recent"]
OPENING = 50  # messages of a session that are looked through for its first question
CHUNKS = (200, 1_800)  # rows of a list that a page looks through for a filter that no index answers
_SESSIONS: dict[SessionOrder, Keyset] = {
    "created": Keyset("sessions", (Session.created_at, Session.id)),
    "recent": Keyset("sessions-recent", (Session.last_captured_at, Session.id), descending=True),
}


MessageState = Literal["muted", "pinned", "failed"]
_OF_SESSION = sa.and_(Message.flow_id == Session.flow_id, Message.session_id == Session.session_id)


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions: those that match every field that is not None. `since` and `until`, of the last capture, are
    inclusive. `text`: see TextFilter."""

    flow_id: UUID | None = None
    end_user_id: str | None = None
    text: str | None = None
    state: SearchState | None = None
    since: datetime | None = None
    until: datetime | None = None
    order: SessionOrder = "created"
    without_planned: bool = False  # leave out those that are deleted soon


@dataclass(frozen=True, slots=True)
class MessageQuery:
    """Which messages: those that match every field that is not None. `since` and `until` are inclusive. `failed`: no
    job could embed it in this version (a dead letter of the memory base)."""

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
    state: MessageState | None = None
    find: str | None = None  # words, by the keyword index
    find_keys: tuple[tuple[int, ...], ...] | None = None  # of each of its terms in the flow's index
    order: Literal["asc", "desc"] = "asc"


def flows_page(db: OrmSession, user_id: UUID, request: PageRequest, *, only: Collection[UUID] | None = None) -> Found:
    conditions = own_flow(user_id) if only is None else own_flow(user_id) & Flow.id.in_(only)
    return fetch_page(db, sa.select(Flow).where(conditions), sa.select(Flow.id).where(conditions), _FLOWS, request)


def flows_by_id(db: OrmSession, user_id: UUID, ids: Collection[UUID]) -> Sequence[Flow]:
    """The user's flows among these ids; at most a page of ids."""
    return db.scalars(sa.select(Flow).where(own_flow(user_id), Flow.id.in_(ids))).all()


def sessions_page(
    db: OrmSession, user_id: UUID, wanted: SessionFilter, text: TextFilter | None, request: PageRequest
) -> Found:
    """The ids of a page of sessions."""
    conditions = [own_flow(user_id), Session.deleted_at.is_(None)]
    if wanted.flow_id is not None:
        conditions.append(Session.flow_id == wanted.flow_id)
    if wanted.end_user_id is not None:
        conditions.append(Session.end_user_id == wanted.end_user_id)
    if wanted.since is not None:
        conditions.append(Session.last_captured_at >= wanted.since)
    if wanted.until is not None:
        conditions.append(Session.last_captured_at <= wanted.until)
    if wanted.without_planned:
        conditions.append(Session.id.not_in(sa.select(PlannedDeletion.session_uuid)))
    statement = sa.select(Session.id).join(Flow, Flow.id == Session.flow_id).where(*conditions)
    keep = [] if text is None else [text.for_sessions(db)]
    if wanted.state is not None:
        statement = statement.where(*may_be(wanted.state, Session))
        keep.append(session_state() == RANKED.index(wanted.state))
    keyset = _SESSIONS[wanted.order]
    if not keep:
        return fetch_page(db, statement, statement, keyset, request)
    return scan_page(db, statement, keyset, request, sa.and_(*keep), chunks=chunks_for(text, wanted.state))


def chunks_for(text: TextFilter | None, state: SearchState | None) -> Sequence[int]:
    """How many rows to look through; no chunks where each row costs next to nothing."""
    is_bounded = (text is None or text.is_bounded) and (state is None or state in FEW)
    return () if is_bounded else CHUNKS


def states_of(db: OrmSession, user_id: UUID, flow_id: UUID, session_ids: Collection[str]) -> dict[str, int]:
    """The rank of the state of each of these sessions of a flow, without those that do not exist."""
    statement = (
        sa.select(Session.session_id, session_state())
        .join(Flow, Flow.id == Session.flow_id)
        .where(
            own_flow(user_id),
            Session.flow_id == flow_id,
            Session.session_id.in_(session_ids),
            Session.deleted_at.is_(None),
        )
    )
    return {row[0]: row[1] for row in db.execute(statement)}


def sessions_of_ids(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, AnyRow]:
    """One page of sessions: Session, messages, question, state."""
    return {row.Session.id: row for row in db.execute(_sessions().where(Session.id.in_(ids)))}


def fetch_session(db: OrmSession, flow_id: UUID, session_id: str) -> AnyRow | None:
    mine = (Session.flow_id == flow_id) & (Session.session_id == session_id) & Session.deleted_at.is_(None)
    return db.execute(_sessions().where(mine)).one_or_none()


def flows_with_session(db: OrmSession, user_id: UUID, session_id: str) -> list[UUID]:
    """At most two flows that have this session id: one means that the id is unambiguous."""
    statement = sa.select(Session.flow_id).join(Flow, Flow.id == Session.flow_id)
    statement = statement.where(own_flow(user_id), Session.session_id == session_id).limit(2)
    return list(db.scalars(statement))


def messages_page(
    db: OrmSession, user_id: UUID, query: MessageQuery, base: MemoryBase | None, request: PageRequest
) -> Found:
    conditions = _message_conditions(user_id, query, base)
    if erasing := deleted_sessions.sessions_in_erasure(db):
        conditions.append(sa.tuple_(Message.flow_id, Message.session_id).not_in(erasing))
    # Each message has a session; with an inner join and statistics SQLite may sort the messages of every session.
    statement = sa.select(Message, Session.end_user_id, _ingested(base).label("ingested")).outerjoin(
        Session, sa.and_(Session.flow_id == Message.flow_id, Session.session_id == Message.session_id)
    )
    counting = sa.select(Message.id).where(*conditions)
    return fetch_page(db, statement.where(*conditions), counting, _message_order(query), request)


def fetch_message(db: OrmSession, user_id: UUID, message_id: UUID) -> AnyRow | None:
    statement = (
        sa.select(Message, Session.end_user_id, sa.null().label("ingested"))
        .join(Session, sa.and_(Session.flow_id == Message.flow_id, Session.session_id == Message.session_id))
        .join(Flow, Flow.id == Message.flow_id)
        .where(Message.id == message_id, own_flow(user_id), Session.deleted_at.is_(None))
    )
    return db.execute(statement).one_or_none()


def own_flow(user_id: UUID) -> sa.ColumnElement[bool]:
    return sa.and_(Flow.user_id == user_id, Flow.deleting_at.is_(None))


def titles(db: OrmSession, user_id: UUID, keys: Collection[tuple[UUID, str]]) -> Sequence[AnyRow]:
    """Session, question and written_at of each of these (flow, session id) that exists."""
    by_flow: dict[UUID, list[str]] = {}
    for flow_id, session_id in keys:
        by_flow.setdefault(flow_id, []).append(session_id)
    chosen = (sa.and_(Session.flow_id == flow, Session.session_id.in_(ids)) for flow, ids in by_flow.items())
    newest = sa.select(Message.timestamp).where(_OF_SESSION).order_by(Message.seq.desc()).limit(1).correlate(Session)
    statement = (
        sa.select(
            Session,
            _first_question().label("question"),
            newest.scalar_subquery().label("written_at"),
        )
        .join(Flow, Flow.id == Session.flow_id)
        .where(own_flow(user_id), Session.deleted_at.is_(None), sa.or_(*chosen))
    )
    return db.execute(statement).all()


def runs_written_at(db: OrmSession, user_id: UUID, run_ids: Collection[UUID]) -> dict[UUID, datetime]:
    statement = (
        sa.select(Message.run_id, sa.func.max(Message.timestamp))
        .join(Flow, Flow.id == Message.flow_id)
        .where(own_flow(user_id), Message.run_id.in_(run_ids))
        .group_by(Message.run_id)
    )
    return {row[0]: row[1] for row in db.execute(statement)}


def _sessions() -> AnySelect:
    messages = sa.select(sa.func.count()).select_from(Message).where(_OF_SESSION).correlate(Session).scalar_subquery()
    return sa.select(
        Session,
        messages.label("messages"),
        _first_question().label("question"),
        session_state().label("state"),
    )


def _first_question() -> sa.ScalarSelect[Any]:
    """The content of a session's first question, which is behind at most a greeting and instructions."""
    return (
        sa.select(Message.content)
        .where(_OF_SESSION, Message.seq <= OPENING, Message.role == "user", Message.text_bytes > 0)
        .order_by(Message.seq)
        .limit(1)
        .correlate(Session)
        .scalar_subquery()
    )


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
        conditions = [Message.flow_id.in_(sa.select(Flow.id).where(own_flow(user_id)))]
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
    if query.state is not None:
        conditions.append(_in_state(query.state, base))
    if query.find_keys is not None:
        # Without a term, only stop words were sent: nothing is indexed by them.
        conditions += [_has_term(keys) for keys in query.find_keys] or [sa.false()]
    if query.ingested is not None:
        conditions.append(_ingested(base) if query.ingested else sa.not_(_ingested(base)))
    return conditions


def _has_term(keys: tuple[int, ...]) -> sa.ColumnElement[bool]:
    return Message.position.in_(sa.select(Posting.position).where(Posting.term.in_(keys)))


def _in_state(state: MessageState, base: MemoryBase | None) -> sa.ColumnElement[Any]:
    if state != "failed":
        return IS_MUTED if state == "muted" else IS_PINNED
    if base is None:
        return sa.false()
    dead = sa.select(DeadLetter.message_id).where(
        DeadLetter.memory_base_id == base.id,
        DeadLetter.generation == base.serving,
        DeadLetter.state == "dead",
        DeadLetter.message_id == Message.id,
        DeadLetter.version == Message.version,
    )
    return dead.correlate(Message).exists()


def failed_among(db: OrmSession, base: MemoryBase, ids: Collection[UUID]) -> set[UUID]:
    """At most a page of ids."""
    return set(db.scalars(sa.select(Message.id).where(Message.id.in_(ids), _in_state("failed", base))))


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
