"""The registry of knowledge bases."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import MODEL_LENGTH, NAME_LENGTH, Base


class KnowledgeBase(Base):
    """The registry of all knowledge bases. For a memory base, the collection is its serving generation's."""

    __tablename__ = "knowledge_bases"
    noun = "knowledge base"
    __table_args__ = (
        UniqueConstraint("user_id", "name"),
        Index("ix_knowledge_bases_page", "user_id", "created_at", "id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    memory_base_id: Mapped[UUID | None] = mapped_column(ForeignKey("memory_bases.id", ondelete="CASCADE"), unique=True)
    embedding_model: Mapped[str] = mapped_column(String(MODEL_LENGTH))
    embedder: Mapped[str] = mapped_column(String(MODEL_LENGTH))
    chunker: Mapped[str] = mapped_column(String(64))
    collection_name: Mapped[str | None] = mapped_column(String(128))
    collection_id: Mapped[UUID | None]
    created_at: Mapped[datetime]
    deleting_at: Mapped[datetime | None]
