"""What is named like a text: flows and memory bases by a part of their name, sessions and people by their whole id.

What the web page deletes in some seconds is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.models import Flow, MemoryBase, PlannedBaseDeletion, PlannedDeletion, Session
from memorybase.services import Services

OF_EACH = 5


@dataclass(frozen=True, slots=True)
class Named:
    """`id`: of a session or a person what the caller chose, else a UUID. `flow_id` is None for a person."""

    kind: Literal["flow", "memory", "session", "person"]
    name: str
    id: str
    flow_id: UUID | None


def find_named(services: Services, user_id: UUID, text: str) -> list[Named]:
    """At most five of each kind, each kind by name; nothing for an empty text."""
    if not text.strip():
        return []
    with services.database.reading(on_replica=True) as db:
        return [*_flows(db, user_id, text), *_memory_bases(db, user_id, text), *_sessions(db, user_id, text)]


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


def _sessions(db: OrmSession, user_id: UUID, text: str) -> list[Named]:
    """Whole ids only: an index finds them, however many sessions there are."""
    own = sa.select(Flow.id).where(Flow.user_id == user_id, Flow.deleting_at.is_(None))
    found = sa.select(Session.session_id, Session.flow_id).where(Session.flow_id.in_(own), Session.deleted_at.is_(None))
    listed = found.where(Session.id.not_in(sa.select(PlannedDeletion.session_uuid)))
    sessions = db.execute(listed.where(Session.session_id == text).order_by(Session.flow_id).limit(OF_EACH))
    named = [Named("session", name, name, flow_id) for name, flow_id in sessions]
    if db.execute(found.where(Session.end_user_id == text).limit(1)).first():
        named.append(Named("person", text, text, None))
    return named
