"""The row that a user owns, or NotFound. Every "There is no such ..." error is built by `not_found`."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.models import Flow, MemoryBase, Session
from memorybase.core.queries import flows, memory_bases, sessions
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.sessions import SessionRow

Row = TypeVar("Row")
Living = TypeVar("Living", Session, SessionRow)
_FIELDS = {
    "chat memory": "node_id",
    "knowledge base": "name",
    "node execution": "execution_id",
}  # else <kind>_id


def not_found(kind: str, value: object, *, field: str | None = None) -> errors.NotFound:
    """The error for a row that is missing or belongs to somebody else; `field` where it is not the usual one."""
    field = field or _FIELDS.get(kind) or f"{kind.replace(' ', '_')}_id"
    return errors.NotFound(f"There is no such {kind}", field=field, value=value)


def require(row: Row | None, kind: str, value: object, *, field: str | None = None) -> Row:
    """The row; raises NotFound for None."""
    if row is None:
        raise not_found(kind, value, field=field)
    return row


def check_flow(db: OrmSession, user_id: UUID, flow_id: UUID) -> None:
    """Raises NotFound. Cheaper than `require_flow`: it reads no row."""
    if not flows.has_flow(db, user_id, flow_id):
        raise not_found("flow", flow_id)


def require_flow(db: OrmSession, user_id: UUID, flow_id: UUID) -> Flow:
    """The user's flow, unless it is being deleted; raises NotFound."""
    return require(flows.fetch_flow(db, user_id, flow_id), "flow", flow_id)


def require_locked_flow(db: OrmSession, user_id: UUID, flow_id: UUID) -> Flow:
    """The user's flow, locked, unless it is being deleted; raises NotFound."""
    flow = flows.lock_flow(db, flow_id)
    is_own = flow is not None and flow.user_id == user_id and flow.deleting_at is None
    return require(flow if is_own else None, "flow", flow_id)


def resolve_flow(
    db: OrmSession, user_id: UUID, flow_id: UUID | None, memory_base_id: UUID | None
) -> tuple[UUID | None, MemoryBase | None]:
    """The flow that either id names, and the memory base. Raises NotFound, InvalidRequest if they disagree."""
    if flow_id is not None:
        check_flow(db, user_id, flow_id)
    if memory_base_id is None:
        return flow_id, None
    base = require_memory_base(db, user_id, memory_base_id)
    if flow_id not in {None, base.flow_id}:
        raise errors.InvalidRequest("flow_id must be the flow of the memory base", field="flow_id", value=flow_id)
    return base.flow_id, base


def share_bases(db: OrmSession, user_id: UUID, flow_id: UUID) -> list[BaseRow]:
    """The memory bases of the user's flow, share-locked; raises NotFound."""
    bases = memory_bases.share_bases_of_flow(db, flow_id, user_id)
    if not bases:
        check_flow(db, user_id, flow_id)
    return bases


def require_session(db: OrmSession, flow_id: UUID, session_id: str) -> Session:
    """A session that is not deleted; raises NotFound. The flow must have been checked."""
    return _living(sessions.fetch_session(db, flow_id, session_id), session_id)


def require_locked_session(db: OrmSession, flow_id: UUID, session_id: str) -> SessionRow:
    """A session that is not deleted, locked; raises NotFound. The flow must have been checked."""
    return _living(sessions.lock_session(db, flow_id, session_id), session_id)


def _living(session: Living | None, session_id: str) -> Living:
    if session is None or session.deleted_at is not None:
        raise not_found("session", session_id)
    return session


def require_memory_base(db: OrmSession, user_id: UUID, base_id: UUID, *, lock: bool = False) -> MemoryBase:
    """The user's memory base, unless it is being deleted; raises NotFound."""
    base = memory_bases.fetch_base(db, user_id, base_id)
    if base is not None and lock:
        base = memory_bases.lock_base(db, base_id)
        if base is not None and base.deleting_at is not None:  # its deletion started while this waited for the lock
            base = None
    return require(base, "memory base", base_id)
