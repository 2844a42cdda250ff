"""What is named like a text: flows and memory bases by a part of their name, people by their whole id, sessions by the
text filter of their list.

What the web page deletes in some seconds is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.paging import PageRequest
from memorybase.models import Flow, MemoryBase, PlannedBaseDeletion, PlannedDeletion, Session
from memorybase.queries.session_lists import SessionFilter
from memorybase.read_models import sessions
from memorybase.read_models.titles import session_titles, title_of
from memorybase.services import Services

OF_EACH = 5
LEAST = 3  # characters: a shorter text is in most of the sessions, and each keystroke asks


@dataclass(frozen=True, slots=True)
class Named:
    """`name`: of a session its title, else its id. `id`: of a session or a person what the caller chose, else a UUID.
    `flow_id` is None for a person."""

    kind: Literal["flow", "memory", "session", "person"]
    name: str
    id: str
    flow_id: UUID | None


def find_named(services: Services, user_id: UUID, text: str) -> list[Named]:
    """At most five of each kind; nothing for an empty text. Flows and memory bases by name; sessions whose whole id the
    text is, then those that the filter of their list finds, if the text has LEAST characters, latest capture first."""
    if not text.strip():
        return []
    with services.database.reading(on_replica=True) as db:
        named = [*_flows(db, user_id, text), *_memory_bases(db, user_id, text)]
        exact, people = _sessions_of_id(db, user_id, text), _people(db, user_id, text)
    listed: list[tuple[UUID, str]] = []
    if len(text.strip()) >= LEAST:
        wanted = SessionFilter(text=text, order="recent", without_planned=True)
        page = sessions.list_sessions(services, user_id, wanted, PageRequest(size=OF_EACH))
        listed = [(each.flow_id, each.session_id) for each in page.items]
    keys = list(dict.fromkeys([*exact, *listed]))[:OF_EACH]
    called = session_titles(services, user_id, keys)
    return [*named, *(Named("session", title_of(called, *key), key[1], key[0]) for key in keys), *people]


def _flows(db: OrmSession, user_id: UUID, text: str) -> list[Named]:
    statement = (
        sa.select(Flow.id, Flow.name)
        .where(Flow.user_id == user_id, Flow.deleting_at.is_(None))
        .where(Flow.name.icontains(text, autoescape=True) | (Flow.external_id == text))
        .order_by(Flow.name, Flow.id)
        .limit(OF_EACH)
    )
    return [Named("flow", name, str(id_), id_) for id_, name in db.execute(statement)]


def _memory_bases(db: OrmSession, user_id: UUID, text: str) -> list[Named]:
    statement = (
        sa.select(MemoryBase.id, MemoryBase.name, MemoryBase.flow_id)
        .where(MemoryBase.user_id == user_id, MemoryBase.deleting_at.is_(None))
        .where(MemoryBase.name.icontains(text, autoescape=True))
        .where(MemoryBase.id.not_in(sa.select(PlannedBaseDeletion.memory_base_id)))
        .order_by(MemoryBase.name, MemoryBase.id)
        .limit(OF_EACH)
    )
    return [Named("memory", name, str(id_), flow_id) for id_, name, flow_id in db.execute(statement)]


def _sessions_of_id(db: OrmSession, user_id: UUID, text: str) -> list[tuple[UUID, str]]:
    """(flow, id). An index finds them, however many sessions there are."""
    own = sa.select(Flow.id).where(Flow.user_id == user_id, Flow.deleting_at.is_(None))
    found = sa.select(Session.flow_id, Session.session_id).where(
        Session.flow_id.in_(own),
        Session.deleted_at.is_(None),
        Session.session_id == text,
        Session.id.not_in(sa.select(PlannedDeletion.session_uuid)),
    )
    return [(flow_id, name) for flow_id, name in db.execute(found.order_by(Session.flow_id).limit(OF_EACH))]


def _people(db: OrmSession, user_id: UUID, text: str) -> list[Named]:
    own = sa.select(Flow.id).where(Flow.user_id == user_id, Flow.deleting_at.is_(None))
    found = sa.select(Session.id).where(
        Session.flow_id.in_(own), Session.deleted_at.is_(None), Session.end_user_id == text
    )
    return [Named("person", text, text, None)] if db.execute(found.limit(1)).first() else []
