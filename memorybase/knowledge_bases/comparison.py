"""Does the collection of an ordinary knowledge base hold the chunks of its documents?"""

from __future__ import annotations

from memorybase import errors
from memorybase.models import KnowledgeBase
from memorybase.queries import knowledge_bases
from memorybase.services import Services
from memorybase.vectors.chunk_ids import chunk_ids
from memorybase.vectors.store import CollectionRef

DOCUMENTS_READ = 500  # in one statement


def count_missing_chunks(services: Services, entry: KnowledgeBase) -> int | None:
    """How many chunks of its documents are missing; None: the collection is. Raises VectorStoreUnavailable.

    Chunks of no document do not count: no search returns them.
    """
    if entry.collection_name is None or entry.collection_id is None:
        return 0  # the first document creates the collection
    ref = CollectionRef(entry.collection_name, entry.collection_id)
    try:
        stored = {chunk for page in services.vectors.iter_ids(ref) for chunk in page}
    except errors.CollectionMissing:
        return None
    missing, last = 0, None
    while True:
        with services.database.reading() as db:
            page = knowledge_bases.document_chunks_after(db, entry.id, last, limit=DOCUMENTS_READ)
        if not page:
            return missing
        for document_id, version, chunks in page:
            missing += len(set(chunk_ids(entry.id, document_id, version, chunks)) - stored)
        last = page[-1][0]
