"""Lists of sessions, always within one user's flows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow, AnySelect, Found, Keyset, Listing, PageRequest, given, within
from memorybase.core.models import (
    Flow,
    Message,
    PlannedDeletion,
    Session,
)
from memorybase.core.queries.coverage import FEW, RANKED, SearchState, may_be, session_state
from memorybase.core.queries.joins import MESSAGE_OF_SESSION, own_flow
from memorybase.core.queries.text_filter import TextFilter

SessionOrder = Literal["created", "recent"]
OPENING = 50  # messages of a session that are looked through for its first question
CHUNKS = (200, 1_800)  # rows of a list that a page looks through for a filter that no index answers
_ROWS = sa.select(Session.id).join(Flow, Flow.id == Session.flow_id)
_SESSIONS: dict[SessionOrder, Listing] = {
    "created": Listing(_ROWS, Keyset("sessions", (Session.created_at, Session.id))),
    "recent": Listing(_ROWS, Keyset("sessions-recent", (Session.last_captured_at, Session.id), descending=True)),
}


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


def sessions_page(
    db: OrmSession, user_id: UUID, wanted: SessionFilter, text: TextFilter | None, request: PageRequest
) -> Found:
    """The ids of a page of sessions."""
    conditions = [
        own_flow(user_id),
        Session.deleted_at.is_(None),
        *given(wanted.flow_id, Session.flow_id),
        *given(wanted.end_user_id, Session.end_user_id),
        *within(Session.last_captured_at, wanted.since, wanted.until),
        *([Session.id.not_in(sa.select(PlannedDeletion.session_uuid))] if wanted.without_planned else []),
    ]
    keep = [] if text is None else [text.for_sessions(db)]
    if wanted.state is not None:
        conditions += may_be(wanted.state, Session)
        keep.append(session_state() == RANKED.index(wanted.state))
    return _SESSIONS[wanted.order].page(db, request, *conditions, keep=keep, chunks=chunks_for(text, wanted.state))


def chunks_for(text: TextFilter | None, state: SearchState | None) -> Sequence[int]:
    """Sizes of the chunks of rows to look through; none if each row costs next to nothing."""
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


def fetch_session_view(db: OrmSession, flow_id: UUID, session_id: str) -> AnyRow | None:
    mine = (Session.flow_id == flow_id) & (Session.session_id == session_id) & Session.deleted_at.is_(None)
    return db.execute(_sessions().where(mine)).one_or_none()


def flows_with_session(db: OrmSession, user_id: UUID, session_id: str) -> list[UUID]:
    """At most two flows that have this session id: one means that the id is unambiguous."""
    statement = sa.select(Session.flow_id).join(Flow, Flow.id == Session.flow_id)
    statement = statement.where(own_flow(user_id), Session.session_id == session_id).limit(2)
    return list(db.scalars(statement))


def sessions_of_id(db: OrmSession, user_id: UUID, session_id: str, *, limit: int) -> list[tuple[UUID, str]]:
    """(flow, id) of the sessions with this id, without those that are deleted soon."""
    found = sa.select(Session.flow_id, Session.session_id).where(
        Session.flow_id.in_(sa.select(Flow.id).where(own_flow(user_id))),
        Session.deleted_at.is_(None),
        Session.session_id == session_id,
        Session.id.not_in(sa.select(PlannedDeletion.session_uuid)),
    )
    return [(flow_id, name) for flow_id, name in db.execute(found.order_by(Session.flow_id).limit(limit))]


def titles(db: OrmSession, user_id: UUID, keys: Collection[tuple[UUID, str]]) -> Sequence[AnyRow]:
    """Session, question and written_at of each of these (flow, session id) that exists."""
    by_flow: dict[UUID, list[str]] = {}
    for flow_id, session_id in keys:
        by_flow.setdefault(flow_id, []).append(session_id)
    chosen = (sa.and_(Session.flow_id == flow, Session.session_id.in_(ids)) for flow, ids in by_flow.items())
    newest = (
        sa.select(Message.timestamp).where(MESSAGE_OF_SESSION).order_by(Message.seq.desc()).limit(1).correlate(Session)
    )
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


def _sessions() -> AnySelect:
    messages = (
        sa.select(sa.func.count()).select_from(Message).where(MESSAGE_OF_SESSION).correlate(Session).scalar_subquery()
    )
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
        .where(MESSAGE_OF_SESSION, Message.seq <= OPENING, Message.role == "user", Message.text_bytes > 0)
        .order_by(Message.seq)
        .limit(1)
        .correlate(Session)
        .scalar_subquery()
    )
