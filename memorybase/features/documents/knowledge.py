"""Ordinary knowledge bases, which hold documents: list, create, search, rebuild, delete. The list has all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import caveats, errors
from memorybase.core.callers import charge_search
from memorybase.core.database import clock
from memorybase.core.database.paging import AnyRow, Page, PageRequest
from memorybase.core.described import CreatedAt, Id
from memorybase.core.embedding.chunking import chunker_for
from memorybase.core.knowledge_bases import registry
from memorybase.core.models import KnowledgeBase
from memorybase.core.queries import knowledge_bases
from memorybase.core.queries.ownership import not_found, require
from memorybase.core.read_models.views import view_of
from memorybase.core.screening import screen
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors import collection_names
from memorybase.core.vectors.search import check_query, cut_query
from memorybase.core.vectors.store import CollectionRef
from memorybase.features.documents import documents, queries
from memorybase.features.documents.documents import DocumentHit, DocumentResult, NewDocument

Status = Literal["ready", "pending", "regenerating", "deleting"]

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class KnowledgeBaseView:
    """A knowledge base in the list. `documents`: for a memory base, the messages in its serving ledger.

    status: pending while a memory base has messages to ingest, or an ordinary one has no collection yet.
    """

    id: Id
    name: Annotated[str, Field(description="The name, for people.")]
    is_memory_base: Annotated[bool, Field(description="Whether it belongs to a memory base, which alone writes to it.")]
    memory_base_id: Annotated[UUID | None, Field(description="Its memory base; null for an ordinary knowledge base.")]
    embedding_model: Annotated[str, Field(description="The embedding model, by name.")]
    documents: Annotated[
        int, Field(description="Number of documents; for a memory base, of messages in the serving ledger.")
    ]
    status: Annotated[Status, Field(description="Whether it is ready, being built or being deleted.")]
    created_at: CreatedAt


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuery:
    """A search. metadata: each key must have exactly this value in the document's metadata."""

    query: str
    top_k: int = 10
    min_score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DocumentAnswer:
    """Chunks, best first; ties by document and index."""

    results: Annotated[list[DocumentHit], Field(description="What was found, best first.")]
    took_ms: Annotated[float, Field(description="Duration of the search in milliseconds.")]
    warnings: Annotated[list[caveats.Caveat], Field(description="If only the end of the query was searched for.")] = (
        field(default_factory=list)
    )


def list_knowledge_bases(
    services: Services, user_id: UUID, page: PageRequest, *, for_retrieval: bool = False
) -> Page[KnowledgeBaseView]:
    """The user's knowledge bases, oldest first; for_retrieval excludes those of memory bases. Repairs their files."""
    with services.database.reading() as db:
        found = queries.knowledge_bases_page(db, user_id, page, for_retrieval=for_retrieval)
    registry.refresh_metadata(services, found.rows)
    return Page([_view(row) for row in found.rows], found.total, page.page, page.size, found.next_cursor)


def get_knowledge_base(services: Services, user_id: UUID, name: str) -> KnowledgeBaseView:
    """One knowledge base; raises NotFound."""
    with services.database.reading() as db:
        return _view_of(db, user_id, name)


def _view_of(db: OrmSession, user_id: UUID, name: str) -> KnowledgeBaseView:
    return _view(require(queries.knowledge_base_view(db, user_id, name), "knowledge base", name))


def create(
    services: Services,
    user_id: UUID,
    *,
    name: str,
    embedding_model: str | None = None,
    before_commit: Callable[[OrmSession, KnowledgeBaseView], object] | None = None,
) -> KnowledgeBaseView:
    """Create an ordinary one with its collection. `before_commit` is called in the transaction that creates it.

    Raises NameTaken with existing_id, ModelUnavailable, VectorStoreUnavailable.
    """
    registry.check_name(name, "name")
    embedder = services.embedders.get(services.settings.allowed_model(embedding_model))
    with services.database.reading() as db:
        registry.check_free(db, user_id, name, "name")
    kb_id = uuid4()
    entry = KnowledgeBase(
        id=kb_id,
        user_id=user_id,
        name=name,
        embedding_model=embedder.model,
        embedder=embedder.identity,
        chunker=chunker_for(services.settings, embedder).identity,
    )
    collection = _new_collection(services, entry)
    entry.collection_name, entry.collection_id = collection.name, collection.id
    try:
        with services.database.transaction() as db:
            entry.created_at = clock.now(db)
            registry.add(db, entry, "name")
            view = _view_of(db, user_id, name)
            if before_commit is not None:
                before_commit(db, view)
    except errors.CallerError:  # after an environment failure the entry may have been committed
        _drop_unused(services, kb_id, collection.name)
        raise
    registry.write_metadata(services, entry)
    return view


def delete(services: Services, user_id: UUID, name: str) -> None:
    """Delete the collection, then the rows. Changes nothing if it raises VectorStoreUnavailable: try again."""
    with services.database.transaction() as db:
        found = _ordinary(db, user_id, name, deleting=True)
        entry = require(queries.lock_knowledge_base(db, found.id), "knowledge base", name)
        entry.deleting_at = clock.now(db)  # from here on no document can be added
    try:
        if entry.collection_name is not None:
            services.vectors.delete_collection(entry.collection_name)
    except errors.EnvironmentFailure:
        with services.database.transaction() as db:
            current = queries.lock_knowledge_base(db, entry.id)
            if current is not None:
                current.deleting_at = None
        raise
    with services.database.transaction() as db:
        queries.delete_knowledge_base(db, entry.id)
    registry.remove_metadata(services, entry.id)
    log.info("knowledge_base_deleted", knowledge_base_id=str(entry.id))


def add_documents(services: Services, user_id: UUID, name: str, new: Sequence[NewDocument]) -> list[DocumentResult]:
    """Store documents and make them searchable; a result for each, in order.

    A document without an id is identified by text and metadata. The same id and text again changes only the metadata,
    if given; another text replaces the old one. A text that cannot be embedded fails alone. After an environment error
    some documents may be stored: send all again.
    Raises InvalidRequest, NotFound, MemoryBaseOnly, VectorStoreUnavailable, CollectionMissing, ModelUnavailable.
    """
    documents.check(new)
    return documents.add(services, _ready(services, user_id, name), _screened(services, user_id, new))


def _screened(services: Services, user_id: UUID, new: Sequence[NewDocument]) -> list[NewDocument]:
    """The documents as they may be stored. A knowledge base has no flow: the installation's setting holds."""
    given = [{"text": each.text, "metadata": each.metadata} for each in new]
    screened = screen(services, user_id, None, given, "documents")
    return [replace(document, **stored) for document, stored in zip(new, screened, strict=True)]


def search(services: Services, user_id: UUID, name: str, query: DocumentQuery) -> DocumentAnswer:
    """The nearest chunks of the current documents.

    Raises InvalidRequest, NotFound, MemoryBaseOnly, QuotaExceeded, VectorStoreUnavailable, CollectionMissing,
    ModelUnavailable.
    """
    started = time.perf_counter()
    asked, query = query.query, replace(query, query=cut_query(query.query))
    check_query(query.query, top_k=query.top_k, min_score=query.min_score, metadata=query.metadata)
    entry = _ready(services, user_id, name)
    charge_search(services, user_id)
    results = documents.nearest(
        services, entry, query.query, top_k=query.top_k, min_score=query.min_score or 0.0, metadata=query.metadata
    )
    warnings = caveats.query_cut(asked)
    took_ms = round((time.perf_counter() - started) * 1_000, 3)
    return DocumentAnswer(results=results, took_ms=took_ms, warnings=warnings)


def rebuild(services: Services, user_id: UUID, name: str) -> int:
    """Rebuild a lost or damaged collection from the documents in SQL; returns how many documents.

    Searches use the new collection at once, while it fills. Safe to repeat.
    """
    with services.database.reading() as db:
        old = _ordinary(db, user_id, name)
    embedder = services.embedders.get(old.embedding_model)
    collection = _new_collection(services, old)
    with services.database.transaction() as db:
        entry = queries.lock_knowledge_base(db, old.id)
        if entry is None or entry.deleting_at is not None:
            raise not_found("knowledge base", name)
        old_collection = entry.collection_name
        entry.collection_name, entry.collection_id, entry.embedder = collection.name, collection.id, embedder.identity
        entry.chunker = chunker_for(services.settings, embedder).identity
    try:
        count = documents.write_all(services, entry)
    except errors.CollectionMissing:
        documents.rebuilt(services, entry)  # it was deleted meanwhile
        raise
    registry.write_metadata(services, entry)
    if old_collection is not None:
        _drop_unused(services, entry.id, old_collection)
    return count


def _ready(services: Services, user_id: UUID, name: str) -> KnowledgeBase:
    """An ordinary knowledge base; creates its collection if missing."""
    with services.database.reading() as db:
        entry = _ordinary(db, user_id, name)
    return entry if entry.collection_id else _with_collection(services, entry)


def _with_collection(services: Services, entry: KnowledgeBase) -> KnowledgeBase:
    collection = _new_collection(services, entry)
    with services.database.transaction() as db:
        current = queries.lock_knowledge_base(db, entry.id)
        gone = current is None or current.deleting_at is not None
        if current is not None and not gone and current.collection_id is None:
            current.collection_name, current.collection_id = collection.name, collection.id
    if current is None or gone or current.collection_id != collection.id:  # deleted, or a concurrent caller was first
        _drop_unused(services, entry.id, collection.name)
    if current is None or gone:
        raise not_found("knowledge base", entry.name)
    return current


def _new_collection(services: Services, entry: KnowledgeBase) -> CollectionRef:
    with services.database.reading() as db:
        now = clock.now(db)
    return services.vectors.create_collection(
        collection_names.of_knowledge_base(entry.id, services.settings.vector_store),
        {
            "user_id": str(entry.user_id),
            "knowledge_base_id": str(entry.id),
            # On the database's clock: an old collection without an entry was left by a request that died.
            "created_at": int(now.timestamp()),
        },
    )


def _drop_unused(services: Services, kb_id: UUID, name: str) -> None:
    try:
        services.vectors.delete_collection(name)
    except errors.EnvironmentFailure as exc:
        # No search reads it; it only takes space.
        log.warning("old_collection_left", knowledge_base_id=str(kb_id), error_code=exc.code)


def _ordinary(db: OrmSession, user_id: UUID, name: str, *, deleting: bool = False) -> KnowledgeBase:
    found = knowledge_bases.fetch_knowledge_base(db, user_id, name)
    if found is None or (found.deleting_at is not None and not deleting):
        raise not_found("knowledge base", name)
    if found.memory_base_id is not None:
        raise errors.MemoryBaseOnly(field="name", value=name, memory_base_id=str(found.memory_base_id))
    return found


def _view(row: AnyRow) -> KnowledgeBaseView:
    is_memory_base = row.memory_base_id is not None
    status: Status = "ready"
    if row.deleting_at is not None:
        status = "deleting"
    elif row.building is not None:
        status = "regenerating"
    elif row.pending if is_memory_base else row.collection_id is None:
        status = "pending"
    documents = int(row.documents)  # PostgreSQL sums to a decimal
    return view_of(KnowledgeBaseView, row, is_memory_base=is_memory_base, documents=documents, status=status)
