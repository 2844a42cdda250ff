"""Documents of knowledge bases."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from memorybase.core.models.base import ID_LENGTH, Base, Json


class Document(Base):
    """A text document of an ordinary knowledge base: the source from which its chunks can be rebuilt."""

    __tablename__ = "documents"
    __table_args__ = (Index("ix_documents_knowledge_base", "knowledge_base_id", "created_at"),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    knowledge_base_id: Mapped[UUID] = mapped_column(ForeignKey("knowledge_bases.id", ondelete="CASCADE"))
    external_id: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    text: Mapped[str] = mapped_column(Text)
    meta: Mapped[dict[str, Any]] = mapped_column("metadata", Json, default=dict)
    version: Mapped[int] = mapped_column(default=1)
    chunks: Mapped[int]
    created_at: Mapped[datetime]
