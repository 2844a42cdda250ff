"""Flows: of a user, their deletion, and their list."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.core.database import batches, records
from memorybase.core.database.paging import Found, Keyset, Listing, PageRequest, given
from memorybase.core.database.upsert import core
from memorybase.core.models import (
    Chat,
    ChatMemory,
    ChatRecord,
    DeletedMessage,
    Flow,
    MemoryBase,
    MemoryUse,
    Message,
    MessageChange,
    NodeExecution,
    RestorableMessage,
    Run,
    Session,
    SessionSummary,
)
from memorybase.core.queries import keyword_index, sessions
from memorybase.core.queries.joins import own_flow

LINKS_OF_A_USE = 50  # approximate number of rows that go with one of its uses
SESSIONS_PAGE = 200
_FLOWS = Listing(sa.select(Flow), Keyset("flows", (Flow.created_at, Flow.id)))
_COLUMNS = core(Flow).c
_OF_USER = sa.and_(
    _COLUMNS.id == bindparam("flow_id"), _COLUMNS.user_id == bindparam("user_id"), _COLUMNS.deleting_at.is_(None)
)
_FLOW, _FLOW_IS_THERE = sa.select(Flow).where(_OF_USER), sa.select(_COLUMNS.id).where(_OF_USER)


def fetch_flow(db: OrmSession, user_id: UUID, flow_id: UUID) -> Flow | None:
    """The user's flow, unless it is being deleted."""
    return db.scalar(_FLOW, {"flow_id": flow_id, "user_id": user_id})


def has_flow(db: OrmSession, user_id: UUID, flow_id: UUID) -> bool:
    """Whether the user has this flow, and it is not being deleted."""
    return records.execute(db, _FLOW_IS_THERE, {"flow_id": flow_id, "user_id": user_id}).first() is not None


def time_zone(db: OrmSession, flow_id: UUID) -> str | None:
    """The name of the flow's time zone."""
    return db.scalar(sa.select(Flow.time_zone).where(Flow.id == flow_id))


def secrets(db: OrmSession, user_id: UUID, flow_id: UUID) -> str | None:
    """What the user's flow does with secrets; None: what the installation does."""
    return db.scalar(sa.select(Flow.secrets).where(Flow.id == flow_id, Flow.user_id == user_id))


def lock_flow(db: OrmSession, flow_id: UUID) -> Flow | None:
    found = sa.select(Flow).where(Flow.id == flow_id).with_for_update(key_share=True)
    return db.scalar(found.execution_options(populate_existing=True))


def flows_page(
    db: OrmSession,
    user_id: UUID,
    request: PageRequest,
    *,
    only: Collection[UUID] | None = None,
    end_user_id: str | None = None,
) -> Found:
    """`only` these, and with sessions of this end user, if given."""
    return _FLOWS.page(db, request, own_flow(user_id), *given(only, Flow.id.in_), *given(end_user_id, _has_session_of))


def _has_session_of(end_user_id: str) -> sa.ColumnElement[bool]:
    whose = (Session.flow_id == Flow.id, Session.end_user_id == end_user_id, Session.deleted_at.is_(None))
    return sa.exists().where(*whose)


def flows_by_id(db: OrmSession, user_id: UUID, ids: Collection[UUID]) -> Sequence[Flow]:
    """The user's flows among these ids; at most a page of ids."""
    return db.scalars(sa.select(Flow).where(own_flow(user_id), Flow.id.in_(ids))).all()


def flows_called(db: OrmSession, user_id: UUID, text: str, *, limit: int) -> list[tuple[UUID, str]]:
    """(id, name) of the flows whose name contains the text, or whose external id it is."""
    statement = (
        sa.select(Flow.id, Flow.name)
        .where(own_flow(user_id), Flow.name.icontains(text, autoescape=True) | (Flow.external_id == text))
        .order_by(Flow.name, Flow.id)
        .limit(limit)
    )
    return [(id_, name) for id_, name in db.execute(statement)]


def begin_flow_deletion(db: OrmSession, flow_id: UUID, now: datetime) -> None:
    db.execute(sa.update(Flow).where(Flow.id == flow_id).values(deleting_at=now))


def unshared_external_id(db: OrmSession, flow_id: UUID) -> str | None:
    """The flow's external id; None if it has none or a flow of another user has the same."""
    other = aliased(Flow)
    is_shared = sa.exists().where(other.external_id == Flow.external_id, other.id != Flow.id)
    return db.scalar(sa.select(Flow.external_id).where(Flow.id == flow_id, ~is_shared))


def flows_in_deletion(db: OrmSession) -> list[UUID]:
    """Flows in deletion whose memory bases are gone already."""
    has_base = sa.exists().where(MemoryBase.flow_id == Flow.id)
    return list(db.scalars(sa.select(Flow.id).where(Flow.deleting_at.is_not(None), ~has_base)))


def delete_rows_of_flow(db: OrmSession, flow_id: UUID, *, limit: int) -> bool:
    """Delete up to `limit` rows of a flow without memory bases; False once nothing is left."""
    # Each table after those that refer to it: the deletions cascade to nothing but what a use names, and what features
    # keep of a message.
    if batches.delete_some(db, MemoryUse, MemoryUse.flow_id == flow_id, limit=-(-limit // LINKS_OF_A_USE)):
        return True
    tables: tuple[type[Any], ...] = (
        NodeExecution,
        SessionSummary,
        ChatRecord,
        Chat,
        ChatMemory,
        MessageChange,
        RestorableMessage,
        Message,
        Run,
        DeletedMessage,
    )
    if any(batches.delete_some(db, table, table.flow_id == flow_id, limit=limit) for table in tables):
        return True
    return _delete_sessions(db, flow_id, limit=limit)


def _delete_sessions(db: OrmSession, flow_id: UUID, *, limit: int) -> bool:
    """Delete sessions with their postings, up to `limit` rows; False if none is left.

    Postings have no foreign key, so they go under the session's lock: also those of a capture that began before the
    deletion and has ended since.
    """
    # Without waiting for more than one: captures lock in another order.
    page = sessions.lock_some(db, flow_id, limit=SESSIONS_PAGE, wait=False) or sessions.lock_some(
        db, flow_id, limit=1, wait=True
    )
    for session in page:
        removed = keyword_index.remove_rows(db, session, limit=limit)
        if removed >= limit:
            break
        sessions.delete_session(db, session)
        limit -= removed
    return bool(page)


def delete_flow(db: OrmSession, flow_id: UUID) -> bool:
    """Delete the flow; False if a capture that began before the deletion has stored a session since."""
    db.execute(sa.select(Flow.id).where(Flow.id == flow_id).with_for_update())  # waits for such captures
    if db.scalar(sa.select(Session.id).where(Session.flow_id == flow_id).limit(1)) is not None:
        return False
    db.execute(sa.delete(Flow).where(Flow.id == flow_id))
    return True
