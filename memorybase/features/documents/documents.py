"""Documents of an ordinary knowledge base: rows in SQL, chunks in its collection.

A version's high bits count the document's writes, and its low 16 bits are a hash of the text. So two writers with
different texts never share chunk ids, no id is reused, and a writer that repeats a write after a crash overwrites its
own chunks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from pydantic import Field

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.embedding.chunking import Chunker
from memorybase.core.embedding.compatibility import check_searchable, check_writable, reusable_identity
from memorybase.core.ingestion.bisection import faulty
from memorybase.core.messages import check_json
from memorybase.core.models import ID_LENGTH, KnowledgeBase
from memorybase.core.queries import residues
from memorybase.core.queries.ownership import require
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.validation import check_text
from memorybase.core.vectors.chunk_ids import chunk_id, chunk_ids, parse_chunk_id
from memorybase.core.vectors.saved import find_saved
from memorybase.core.vectors.search import MAX_FETCH, SCORE_DIGITS, has_metadata
from memorybase.core.vectors.store import CollectionRef, VectorHit, VectorRecord
from memorybase.core.vectors.verified_writes import write_records
from memorybase.features.documents import queries
from memorybase.features.documents.queries import StoredDocument

DocumentStatus = Literal["created", "replaced", "updated", "unchanged", "failed"]

MAX_DOCUMENTS = 200  # in one request
MAX_DOCUMENT_CHARS = 1_000_000  # embedded while the caller waits
WRITE_BATCH = 16  # documents embedded, upserted and committed together; a retry skips finished batches
WRITE_ATTEMPTS = 5  # while other writers replace the same document
WRITE_COUNT_LIMIT = 2**15  # the version's count of writes then starts over

# Chunks of replaced documents are dropped after the query, so fetch more than top_k.
FIRST_FETCH = 32
FETCH_GROWTH = 4
FETCH_ROUNDS = 3

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A text to store; its id is any string of up to 128 characters. Metadata None keeps the stored metadata."""

    text: str
    id: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """The result for one document. updated: the same text with other metadata; failed: error_code has the reason."""

    id: Annotated[str, Field(description="The caller's id, or the `document_id` without one.")]
    document_id: Annotated[UUID, Field(description="The UUID of the document.")]
    status: Annotated[
        DocumentStatus, Field(description="What was done: `updated` is the same text with other metadata.")
    ]
    chunks: Annotated[int, Field(description="Number of chunks.")]
    error_code: Annotated[str | None, Field(description="Why it failed; null if it did not.")] = None


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A chunk that a search found."""

    id: Annotated[str, Field(description="The caller's id, or the `document_id` without one.")]
    document_id: Annotated[UUID, Field(description="The UUID of the document.")]
    chunk_index: Annotated[int, Field(description="Number of the chunk in the document, from 0.")]
    snippet: Annotated[str, Field(description="The text of the chunk.")]
    score: Annotated[float, Field(description="From 0 to 1, higher is better; null if nothing was searched.")]
    metadata: Annotated[dict[str, Any], Field(description="The metadata of the document.")]


# Bounds.


def check(new: Sequence[NewDocument]) -> None:
    """Raises InvalidRequest with the document's field."""
    limit = MAX_DOCUMENTS
    if not 1 <= len(new) <= limit:
        raise errors.InvalidRequest(
            f"documents must have 1 to {limit} items (got {len(new)})", field="documents", value=len(new), limit=limit
        )
    seen: set[str] = set()
    for index, document in enumerate(new):
        where = f"documents[{index}]"
        _check_length(document.text, f"{where}.text", MAX_DOCUMENT_CHARS)
        check_json(document.metadata, f"{where}.metadata")
        if document.id is None:
            continue
        _check_length(document.id, f"{where}.id", ID_LENGTH)
        if document.id in seen:
            raise errors.InvalidRequest(
                f"{where}.id must be unique (got {document.id!r} twice)", field=f"{where}.id", value=document.id
            )
        seen.add(document.id)


def _check_length(text: str, field: str, limit: int) -> None:
    if not text.strip():
        raise errors.InvalidRequest(f"{field} must not be empty", field=field)
    if len(text) > limit:
        raise errors.InvalidRequest(
            f"{field} must have at most {limit} characters (got {len(text)})", field=field, value=len(text), limit=limit
        )
    check_text(text, field)


# Adding.


@dataclass(slots=True)
class _Plan:
    """A plan for a batch of documents, given what is stored."""

    settled: dict[UUID, DocumentResult]
    updates: list[StoredDocument]  # metadata alone
    writes: list[StoredDocument]


def add(services: Services, entry: KnowledgeBase, new: Sequence[NewDocument]) -> list[DocumentResult]:
    """Store and embed documents; a result for each, in order. Commits in batches, so a retry skips finished ones."""
    by_id = {_document_id(entry.id, document): document for document in new}
    results: dict[UUID, DocumentResult] = {}
    ids = list(by_id)
    for start in range(0, len(ids), WRITE_BATCH):
        group = {id_: by_id[id_] for id_ in ids[start : start + WRITE_BATCH]}
        results |= _add_group(services, entry, group)
    return [results[_document_id(entry.id, document)] for document in new]


def _document_id(kb_id: UUID, document: NewDocument) -> UUID:
    """A hash of the caller's id, else of text and metadata: sending a document again does not add another."""
    if document.id is not None:
        return uuid5(kb_id, f"id:{document.id}")
    content = json.dumps([document.text, document.metadata or {}], sort_keys=True, separators=(",", ":"))
    return uuid5(kb_id, f"text:{hashlib.sha256(content.encode()).hexdigest()}")


def _add_group(services: Services, entry: KnowledgeBase, group: dict[UUID, NewDocument]) -> dict[UUID, DocumentResult]:
    results: dict[UUID, DocumentResult] = {}
    for _ in range(WRITE_ATTEMPTS):
        with services.database.reading() as db:
            stored = queries.stored_documents(db, entry.id, list(group))
        plan = _plan(group, stored)
        results |= plan.settled
        try:
            written, failed = _write(services, entry, plan.writes)
        except errors.CollectionMissing:
            entry = rebuilt(services, entry)
            continue
        results |= failed
        entry, committed = _commit(services, entry, written, plan.updates, stored)
        results |= committed
        _delete_stale_chunks(services, entry, written, stored)
        group = {id_: document for id_, document in group.items() if id_ not in results}
        if not group:
            return results
    raise errors.Conflict("Other writers keep replacing these documents; try again", field="documents")


def rebuilt(services: Services, entry: KnowledgeBase) -> KnowledgeBase:
    """The entry, whose collection is missing, with its new one after a rebuild. Raises NotFound if the knowledge base
    was deleted meanwhile, and CollectionMissing if there was no rebuild."""
    with services.database.reading() as db:
        current = require(queries.fetch_living(db, entry.id), "knowledge base", entry.name)
    if current.collection_id == entry.collection_id:
        raise errors.CollectionMissing
    return current


def _plan(group: Mapping[UUID, NewDocument], stored: Mapping[UUID, StoredDocument]) -> _Plan:
    plan = _Plan({}, [], [])
    for id_, document in group.items():
        old = stored.get(id_)
        if old is None or old.text != document.text:
            version = _next_version(old.version if old else 0, document.text)
            metadata = document.metadata if document.metadata is not None else (old.metadata if old else {})
            plan.writes.append(StoredDocument(id_, document.id, document.text, metadata, version, 0))
        elif document.metadata is None or document.metadata == old.metadata:
            plan.settled[id_] = _result(old, "unchanged")
        else:
            plan.updates.append(old._replace(metadata=document.metadata))
    return plan


def _next_version(version: int, text: str) -> int:
    count = (version >> 16) % (WRITE_COUNT_LIMIT - 1) + 1
    return (count << 16) | int.from_bytes(hashlib.sha256(text.encode()).digest()[:2])


def _result(document: StoredDocument, status: DocumentStatus, error_code: str | None = None) -> DocumentResult:
    return DocumentResult(document.external_id or str(document.id), document.id, status, document.chunks, error_code)


def _write(
    services: Services, entry: KnowledgeBase, documents: Sequence[StoredDocument]
) -> tuple[list[StoredDocument], dict[UUID, DocumentResult]]:
    """Write documents; returns those now in the collection, with their chunk counts, and those rejected."""
    written: list[StoredDocument] = []
    failed: dict[UUID, DocumentResult] = {}

    def upsert(some: Sequence[StoredDocument]) -> None:
        written.extend(_upsert(services, entry, some))

    for document, error in faulty(documents, upsert, _confirm_fault):
        code = error.code if isinstance(error, errors.MessageFailure) else None
        log.warning("document_failed", document_id=str(document.id), error_code=code)
        failed[document.id] = _result(document, "failed", code)
    return written, failed


def _confirm_fault(error: Exception, _document: StoredDocument) -> None:
    """A text that is refused is the document's fault, and nothing else is."""
    if not isinstance(error, errors.MessageFailure):
        raise error


def _upsert(services: Services, entry: KnowledgeBase, documents: Sequence[StoredDocument]) -> list[StoredDocument]:
    embedder = services.embedders.get(entry.embedding_model)
    check_writable(embedder, entry.embedder, remedy="rebuild")
    chunker = Chunker.of(entry.chunker, embedder)
    pieces = [chunker.split(document.text) for document in documents]
    texts = [chunk.text for chunks in pieces for chunk in chunks]
    # A restored backup may have them.
    identity = reusable_identity(embedder, entry.embedder)
    saved = find_saved(services.settings.restored_dir, identity, embedder.dimension, texts)
    missing = [text for text in texts if text not in saved]
    saved |= dict(zip(missing, embedder.embed(missing), strict=True)) if missing else {}
    records = [
        VectorRecord(
            id=chunk_id(entry.id, document.id, document.version, chunk.index),
            vector=saved[chunk.text],
            text=chunk.text,
            metadata={"document_id": str(document.id), "chunk_index": chunk.index},
        )
        for document, chunks in zip(documents, pieces, strict=True)
        for chunk in chunks
    ]
    write_records(services.vectors, _collection(entry), records)
    return [document._replace(chunks=len(chunks)) for document, chunks in zip(documents, pieces, strict=True)]


def _commit(
    services: Services,
    entry: KnowledgeBase,
    written: Sequence[StoredDocument],
    updates: Sequence[StoredDocument],
    stored: Mapping[UUID, StoredDocument],
) -> tuple[KnowledgeBase, dict[UUID, DocumentResult]]:
    """Compare-and-set each row; returns the current entry and the finished documents. The others are retried."""
    results: dict[UUID, DocumentResult] = {}
    if not written and not updates:
        return entry, results
    with services.database.transaction() as db:
        current = require(queries.share_knowledge_base(db, entry.id), "knowledge base", entry.name)
        moved = current.collection_id != entry.collection_id  # a rebuild: these chunks are in the old collection
        for document in [] if moved else written:
            old = stored.get(document.id)
            if old is None and queries.insert_document(db, entry.id, document, clock.now(db)):
                results[document.id] = _result(document, "created")
            elif old is not None and queries.compare_and_replace(db, document, old.version):
                results[document.id] = _result(document, "replaced")
        for document in updates:
            if queries.compare_and_replace(db, document, document.version):
                results[document.id] = _result(document, "updated")
    return current, results


def _delete_stale_chunks(
    services: Services,
    entry: KnowledgeBase,
    written: Sequence[StoredDocument],
    stored: Mapping[UUID, StoredDocument],
) -> None:
    """Delete chunks of versions that were replaced or never committed. Searches ignore them anyway."""
    if not written:
        return
    with services.database.reading() as db:
        current = queries.document_states(db, [document.id for document in written])
    candidates = [*written, *(stored[document.id] for document in written if document.id in stored)]
    stale = [
        chunk
        for document in candidates
        if document.id not in current or current[document.id].version != document.version
        for chunk in chunk_ids(entry.id, document.id, document.version, document.chunks)
    ]
    if not stale:
        return
    try:
        services.vectors.delete(_collection(entry), stale)
        with services.database.transaction(durable=False) as db:
            residues.note_log(db, services.vectors, _collection(entry))
    except errors.EnvironmentFailure as exc:
        # The new version is committed and searchable; leftover chunks only take space.
        log.warning("old_chunks_left", knowledge_base_id=str(entry.id), chunks=len(stale), error_code=exc.code)


def write_all(services: Services, entry: KnowledgeBase) -> int:
    """Write every document from SQL into the entry's collection; returns how many."""
    count, last = 0, None
    while True:
        with services.database.reading() as db:
            page = queries.documents_after(db, entry.id, last, limit=WRITE_BATCH)
        if not page:
            return count
        written, _ = _write(services, entry, page)
        with services.database.transaction() as db:
            queries.set_chunks(db, [(document.id, document.version, document.chunks) for document in written])
        count += len(written)
        last = page[-1].id


# Searching.


def nearest(
    services: Services, entry: KnowledgeBase, query: str, *, top_k: int, min_score: float, metadata: Mapping[str, Any]
) -> list[DocumentHit]:
    """The best chunks of documents with this metadata, in their current version."""
    embedder = services.embedders.get(entry.embedding_model)
    check_searchable(embedder, entry.embedder, remedy="rebuild")
    try:
        vector = embedder.embed_query(query)
    except errors.TextRejected as exc:
        raise errors.InvalidRequest("The embedding model cannot encode this query", field="query") from exc
    first = max(FIRST_FETCH, 2 * top_k)

    def query_collection(entry: KnowledgeBase) -> list[DocumentHit]:
        found: list[DocumentHit] = []
        for round_ in range(FETCH_ROUNDS):  # some hits are stale or filtered out, so each round asks for more
            limit = min(first * FETCH_GROWTH**round_, MAX_FETCH)
            hits = services.vectors.query(_collection(entry), vector, limit)
            found = _verified(services, entry, [hit for hit in hits if hit.score >= min_score], metadata)
            if len(found) >= top_k or len(hits) < limit or hits[-1].score < min_score:
                break
        return found

    try:
        found = query_collection(entry)
    except errors.CollectionMissing:
        found = query_collection(rebuilt(services, entry))
    return sorted(found, key=lambda hit: (-hit.score, hit.id, hit.chunk_index))[:top_k]


def _verified(
    services: Services, entry: KnowledgeBase, hits: Sequence[VectorHit], metadata: Mapping[str, Any]
) -> list[DocumentHit]:
    chunks = [(parsed, hit) for hit in hits if (parsed := parse_chunk_id(hit.id)) is not None]
    if not chunks:
        return []
    with services.database.reading() as db:
        states = queries.document_states(db, {chunk.message_id for chunk, _ in chunks})
    found: list[DocumentHit] = []
    for chunk, hit in chunks:
        state = states.get(chunk.message_id)
        if state is None or (state.knowledge_base_id, state.version) != (entry.id, chunk.version):
            continue
        if chunk.index < state.chunks and has_metadata(state.metadata, metadata):
            id_ = state.external_id or str(state.id)
            found.append(
                DocumentHit(id_, state.id, chunk.index, hit.text, round(hit.score, SCORE_DIGITS), state.metadata)
            )
    return found


def _collection(entry: KnowledgeBase) -> CollectionRef:
    if entry.collection_name is None or entry.collection_id is None:
        raise errors.CollectionMissing
    return CollectionRef(entry.collection_name, entry.collection_id)
