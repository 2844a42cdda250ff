"""Statements on the registry of knowledge bases."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.models import KnowledgeBase


def fetch_knowledge_base(db: OrmSession, user_id: UUID, name: str) -> KnowledgeBase | None:
    """The user's knowledge base of this name, even if it is being deleted: its name is not free yet."""
    return db.scalar(sa.select(KnowledgeBase).where(KnowledgeBase.user_id == user_id, KnowledgeBase.name == name))


def knowledge_base_of_memory_base(db: OrmSession, memory_base_id: UUID) -> KnowledgeBase | None:
    return db.scalar(
        sa.select(KnowledgeBase)
        .where(KnowledgeBase.memory_base_id == memory_base_id)
        .execution_options(populate_existing=True)
    )


def living_ids(db: OrmSession, ids: Collection[UUID]) -> set[UUID]:
    """The ids of knowledge bases that exist and are not being deleted, among these."""
    return set(
        db.scalars(sa.select(KnowledgeBase.id).where(KnowledgeBase.id.in_(ids), KnowledgeBase.deleting_at.is_(None)))
    )


def add_knowledge_base(db: OrmSession, knowledge_base: KnowledgeBase) -> bool:
    """False if the user has one of this name; the transaction continues either way."""
    try:
        with db.begin_nested():
            db.add(knowledge_base)
            db.flush()
    except sa.exc.IntegrityError:
        if fetch_knowledge_base(db, knowledge_base.user_id, knowledge_base.name) is None:
            raise  # another constraint
        return False
    return True
