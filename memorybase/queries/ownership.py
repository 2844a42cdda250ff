"""The row that a user owns; raises NotFound otherwise."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.models import Flow, MemoryBase
from memorybase.queries import memory_bases, sessions


def require_flow(db: OrmSession, user_id: UUID, flow_id: UUID) -> Flow:
    """Raises NotFound."""
    flow = sessions.fetch_flow(db, user_id, flow_id)
    if flow is None:
        raise errors.NotFound("There is no such flow", field="flow_id", value=flow_id)
    return flow


def require_memory_base(db: OrmSession, user_id: UUID, base_id: UUID) -> MemoryBase:
    """Raises NotFound."""
    base = memory_bases.fetch_base(db, user_id, base_id)
    if base is None:
        raise errors.NotFound("There is no such memory base", field="memory_base_id", value=base_id)
    return base
