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
from memorybase.read_models import sessions
from memorybase.read_models.session_queries import SessionFilter
from memorybase.services import Services

OF_EACH = 5


@dataclass(frozen=True, slots=True)
class Named:
    """`name`: of a session its title, else its id. `id`: of a session or a person what the caller chose, else a UUID.
    `flow_id` is None for a person."""

    kind: Literal["flow", "memory", "session", "person"]
    name: str
    id: str
    flow_id: UUID | None


def find_named(services: Services, user_id: UUID, text: str) -> list[Named]:
    """At most five of each kind, flows and memory bases by name, sessions of the latest capture first and before them
    those whose whole id the text is; nothing for an empty text."""
    if not text.strip():
        return []
    with services.database.reading(on_replica=True) as db:
        named = [*_flows(db, user_id, text), *_memory_bases(db, user_id, text)]
        exact, people = _sessions_of_id(db, user_id, text), _people(db, user_id, text)
    wanted = SessionFilter(text=text, order="recent", without_planned=True)
    listed = sessions.list_sessions(services, user_id, wanted, PageRequest(size=OF_EACH)).items
    called = {(each.flow_id, each.session_id): each.title for each in listed}
    keys = list(dict.fromkeys([*exact, *called]))[:OF_EACH]
    return [*named, *(Named("session", called.get(key) or key[1], key[1], key[0]) for key in keys), *people]


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
        Session.flow_id.in_(own), Session.deleted_at.is_(None), Session.session_id == text,
        Session.id.not_in(sa.select(PlannedDeletion.session_uuid)),
    )  # fmt: skip
    return [(flow_id, name) for flow_id, name in db.execute(found.order_by(Session.flow_id).limit(OF_EACH))]


def _people(db: OrmSession, user_id: UUID, text: str) -> list[Named]:
    own = sa.select(Flow.id).where(Flow.user_id == user_id, Flow.deleting_at.is_(None))
    found = sa.select(Session.id).where(
        Session.flow_id.in_(own), Session.deleted_at.is_(None), Session.end_user_id == text
    )
    return [Named("person", text, text, None)] if db.execute(found.limit(1)).first() else []
