"""Compare the collections of ordinary knowledge bases with SQL, and rebuild what a restore has lost."""

from __future__ import annotations

from collections.abc import Iterator

from memorybase.core import errors
from memorybase.core.memory_bases import deep_check
from memorybase.core.memory_bases.consistency import OnProgress
from memorybase.core.memory_bases.deep_check import DeepResult
from memorybase.core.models import KnowledgeBase
from memorybase.core.services import Services
from memorybase.core.vectors.chunk_ids import chunk_ids
from memorybase.core.vectors.index_damage import Damage
from memorybase.core.vectors.store import CollectionRef
from memorybase.features.documents import knowledge, queries

IDS_READ = 500  # documents in one statement
TEXTS_READ = 200  # the same with their texts


def check(services: Services, entry: KnowledgeBase, on_progress: OnProgress) -> DeepResult:
    """Check an ordinary knowledge base."""
    if entry.collection_name is None or entry.collection_id is None:
        return DeepResult("ok", Damage())  # the first document creates the collection
    with services.database.reading() as db:
        total = queries.count_chunks(db, entry.id)

    def pages() -> Iterator[dict[str, str | None]]:
        last = None
        while True:
            with services.database.reading() as db:
                page = queries.documents_after(db, entry.id, last, limit=TEXTS_READ)
            if not page:
                return
            last = page[-1].id
            yield {
                id_: document.text
                for document in page
                for id_ in chunk_ids(entry.id, document.id, document.version, document.chunks)
            }

    return deep_check.check(
        services, CollectionRef(entry.collection_name, entry.collection_id), pages(), total, on_progress
    )


def count_missing_chunks(services: Services, entry: KnowledgeBase) -> int | None:
    """Number of missing chunks of its documents; None: the collection is missing. Raises VectorStoreUnavailable.

    Chunks of no document do not count: no search returns them.
    """
    if entry.collection_name is None or entry.collection_id is None:
        return 0  # the first document creates the collection
    ref = CollectionRef(entry.collection_name, entry.collection_id)
    if not services.vectors.collection_exists(ref):
        return None
    missing, last = 0, None
    while True:
        with services.database.reading() as db:
            page = queries.document_chunks_after(db, entry.id, last, limit=IDS_READ)
        if not page:
            return missing
        expected = [chunk for document_id, *numbers in page for chunk in chunk_ids(entry.id, document_id, *numbers)]
        try:
            missing += len(expected) - len(services.vectors.stored_ids(ref, expected, vectors=False))
        except errors.CollectionMissing:  # since
            return None
        last = page[-1][0]


def restore(services: Services, entry: KnowledgeBase, apply: bool) -> int | None:
    """Number of missing chunks of an ordinary knowledge base, None for all; with `apply`, rebuild it then.

    Raises VectorStoreUnavailable, ModelUnavailable.
    """
    missing = count_missing_chunks(services, entry)
    if apply and missing != 0:
        knowledge.rebuild(services, entry.user_id, entry.name)
    return missing
