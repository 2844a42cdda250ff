"""Which collections of the vector store SQL knows."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.models import Flow, Generation, GenerationState, KnowledgeBase, MemoryBase, User


def is_needed(db: OrmSession, name: str) -> bool:
    """Whether a generation or a knowledge base uses the collection of this name, or is still to delete it."""
    of_generation = sa.select(sa.literal(1)).where(
        Generation.collection_name == name,
        sa.or_(Generation.state != GenerationState.RETIRED, Generation.retired_at.is_not(None)),
    )
    of_knowledge_base = sa.select(sa.literal(1)).where(KnowledgeBase.collection_name == name)
    return any(db.scalar(found.limit(1)) is not None for found in (of_generation, of_knowledge_base))


def is_known(
    db: OrmSession,
    *,
    base_id: UUID | None,
    knowledge_base_id: UUID | None,
    flow_id: UUID | None,
    user_id: UUID | None,
) -> bool:
    """Whether this database has one of these rows, even one that is being deleted."""
    keys = ((MemoryBase, base_id), (KnowledgeBase, knowledge_base_id), (Flow, flow_id), (User, user_id))
    return any(key is not None and db.get(table, key) is not None for table, key in keys)
