"""Statements on ordinary knowledge bases and their documents, and the list of all knowledge bases."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow, Found, Keyset, PageRequest, fetch_page
from memorybase.core.database.upsert import insert, rows_affected
from memorybase.core.models import KnowledgeBase, MemoryBase, SessionProgress
from memorybase.features.documents.models import Document

Progress = SessionProgress

_KNOWLEDGE_BASES = Keyset("knowledge-bases", (KnowledgeBase.created_at, KnowledgeBase.id))


class StoredDocument(NamedTuple):
    """A document's row."""

    id: UUID
    external_id: str | None
    text: str
    metadata: dict[str, Any]
    version: int
    chunks: int


class DocumentState(NamedTuple):
    """Data that decides whether a document's chunk may be a hit."""

    id: UUID
    knowledge_base_id: UUID
    external_id: str | None
    metadata: dict[str, Any]
    version: int
    chunks: int


def fetch_living(db: OrmSession, knowledge_base_id: UUID) -> KnowledgeBase | None:
    """The knowledge base unless it is being deleted."""
    return db.scalar(
        sa.select(KnowledgeBase).where(KnowledgeBase.id == knowledge_base_id, KnowledgeBase.deleting_at.is_(None))
    )


def share_knowledge_base(db: OrmSession, knowledge_base_id: UUID) -> KnowledgeBase | None:
    """The knowledge base unless it is being deleted, share-locked until this transaction ends."""
    return db.scalar(
        sa.select(KnowledgeBase)
        .where(KnowledgeBase.id == knowledge_base_id, KnowledgeBase.deleting_at.is_(None))
        .with_for_update(read=True)
        .execution_options(populate_existing=True)
    )


def lock_knowledge_base(db: OrmSession, knowledge_base_id: UUID) -> KnowledgeBase | None:
    """The knowledge base, even if it is being deleted, locked against every writer."""
    return db.scalar(
        sa.select(KnowledgeBase)
        .where(KnowledgeBase.id == knowledge_base_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )


def delete_knowledge_base(db: OrmSession, knowledge_base_id: UUID) -> None:
    """Deletes its documents too."""
    db.execute(sa.delete(KnowledgeBase).where(KnowledgeBase.id == knowledge_base_id))


def knowledge_bases_page(db: OrmSession, user_id: UUID, request: PageRequest, *, for_retrieval: bool) -> Found:
    conditions = [*_visible(user_id)]
    if for_retrieval:
        conditions.append(KnowledgeBase.memory_base_id.is_(None))
    counting = _with_base(sa.select(KnowledgeBase.id)).where(*conditions)
    return fetch_page(db, _views().where(*conditions), counting, _KNOWLEDGE_BASES, request)


def knowledge_base_view(db: OrmSession, user_id: UUID, name: str) -> AnyRow | None:
    return db.execute(_views().where(*_visible(user_id), KnowledgeBase.name == name)).one_or_none()


def _visible(user_id: UUID) -> list[sa.ColumnElement[bool]]:
    # Once its deletion begins, a memory base and its knowledge base are hidden from the user.
    return [KnowledgeBase.user_id == user_id, MemoryBase.deleting_at.is_(None)]


def _with_base(statement: sa.Select[Any]) -> sa.Select[Any]:
    return statement.select_from(KnowledgeBase).outerjoin(MemoryBase, MemoryBase.id == KnowledgeBase.memory_base_id)


def _views() -> sa.Select[Any]:
    documents = (
        sa.select(sa.func.count())
        .select_from(Document)
        .where(Document.knowledge_base_id == KnowledgeBase.id)
        .correlate(KnowledgeBase)
        .scalar_subquery()
    )
    serving = (Progress.memory_base_id == MemoryBase.id, Progress.generation == MemoryBase.serving)
    ingested = (
        sa.select(sa.func.coalesce(sa.func.sum(Progress.total_processed), 0))
        .where(*serving)
        .correlate(MemoryBase)
        .scalar_subquery()
    )
    pending = sa.exists().where(*serving, Progress.target_seq > Progress.cursor_seq).correlate(MemoryBase)
    return _with_base(
        sa.select(
            KnowledgeBase.id,
            KnowledgeBase.name,
            KnowledgeBase.memory_base_id,
            KnowledgeBase.embedding_model,
            KnowledgeBase.embedder,
            KnowledgeBase.chunker,
            KnowledgeBase.created_at,
            KnowledgeBase.deleting_at,
            KnowledgeBase.collection_id,
            sa.case((KnowledgeBase.memory_base_id.is_(None), documents), else_=ingested).label("documents"),
            MemoryBase.building,
            pending.label("pending"),
        )
    )


def stored_documents(db: OrmSession, knowledge_base_id: UUID, ids: Collection[UUID]) -> dict[UUID, StoredDocument]:
    rows = db.execute(_document_columns().where(Document.knowledge_base_id == knowledge_base_id, Document.id.in_(ids)))
    return {row.id: StoredDocument(*row) for row in rows}


def documents_after(db: OrmSession, knowledge_base_id: UUID, after: UUID | None, *, limit: int) -> list[StoredDocument]:
    """The next page of documents, by id."""
    statement = _document_columns().where(Document.knowledge_base_id == knowledge_base_id)
    if after is not None:
        statement = statement.where(Document.id > after)
    return [StoredDocument(*row) for row in db.execute(statement.order_by(Document.id).limit(limit))]


def document_chunks_after(
    db: OrmSession, knowledge_base_id: UUID, after: UUID | None, *, limit: int
) -> list[tuple[UUID, int, int]]:
    """The next page of (document, version, chunks), by id."""
    statement = sa.select(Document.id, Document.version, Document.chunks).where(
        Document.knowledge_base_id == knowledge_base_id
    )
    if after is not None:
        statement = statement.where(Document.id > after)
    return [(row[0], row[1], row[2]) for row in db.execute(statement.order_by(Document.id).limit(limit))]


def count_chunks(db: OrmSession, knowledge_base_id: UUID) -> int:
    total = db.scalar(sa.select(sa.func.sum(Document.chunks)).where(Document.knowledge_base_id == knowledge_base_id))
    return int(total or 0)


def ordinary_knowledge_bases(db: OrmSession) -> list[KnowledgeBase]:
    """Ordinary knowledge bases of every user, without those being deleted."""
    living = (KnowledgeBase.memory_base_id.is_(None), KnowledgeBase.deleting_at.is_(None))
    return list(db.scalars(sa.select(KnowledgeBase).where(*living).order_by(KnowledgeBase.id)))


def document_states(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, DocumentState]:
    rows = db.execute(
        sa.select(
            Document.id,
            Document.knowledge_base_id,
            Document.external_id,
            Document.meta,
            Document.version,
            Document.chunks,
        ).where(Document.id.in_(ids))
    )
    return {row.id: DocumentState(*row) for row in rows}


def insert_document(db: OrmSession, knowledge_base_id: UUID, document: StoredDocument, now: datetime) -> bool:
    """False if another writer was first."""
    added = db.scalar(
        insert(db, Document)
        .values(
            id=document.id,
            knowledge_base_id=knowledge_base_id,
            external_id=document.external_id,
            text=document.text,
            meta=document.metadata,
            version=document.version,
            chunks=document.chunks,
            created_at=now,
        )
        .on_conflict_do_nothing(index_elements=["id"])
        .returning(Document.id)
    )
    return added is not None


def compare_and_replace(db: OrmSession, document: StoredDocument, old_version: int) -> bool:
    """False if another writer replaced or deleted it since."""
    replace = (
        sa.update(Document)
        .where(Document.id == document.id, Document.version == old_version)
        .values(text=document.text, meta=document.metadata, version=document.version, chunks=document.chunks)
    )
    return rows_affected(db, replace) == 1


def set_chunks(db: OrmSession, counts: Sequence[tuple[UUID, int, int]]) -> None:
    """Record (document, version, chunks): how many chunks that version has."""
    for document_id, version, chunks in counts:
        db.execute(
            sa.update(Document).where(Document.id == document_id, Document.version == version).values(chunks=chunks)
        )


def _document_columns() -> sa.Select[Any]:
    return sa.select(Document.id, Document.external_id, Document.text, Document.meta, Document.version, Document.chunks)
