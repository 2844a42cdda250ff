"""Knowledge bases: the registry of all of them, and the documents of the ordinary ones.

SQL is the truth here too: a document's row holds its text, and its chunks in the store can be made again from it. A
memory base's knowledge base is listed with the others, but written, searched and deleted by the memory base alone.
"""

from __future__ import annotations

from memorybase.knowledge.documents import (
    MAX_DOCUMENT_CHARS,
    MAX_FILTER_KEYS,
    DocumentHit,
    DocumentResult,
    NewDocument,
)
from memorybase.knowledge.registry import (
    METADATA_FILE,
    DocumentAnswer,
    DocumentQuery,
    KnowledgeBaseView,
    add_documents,
    check_name,
    create,
    delete,
    entry_of_memory_base,
    get_knowledge_base,
    id_of_name,
    list_knowledge_bases,
    rebuild,
    register_memory_base,
    remove_metadata,
    search,
    write_metadata,
)

__all__ = [
    "MAX_DOCUMENT_CHARS",
    "MAX_FILTER_KEYS",
    "METADATA_FILE",
    "DocumentAnswer",
    "DocumentHit",
    "DocumentQuery",
    "DocumentResult",
    "KnowledgeBaseView",
    "NewDocument",
    "add_documents",
    "check_name",
    "create",
    "delete",
    "entry_of_memory_base",
    "get_knowledge_base",
    "id_of_name",
    "list_knowledge_bases",
    "rebuild",
    "register_memory_base",
    "remove_metadata",
    "search",
    "write_metadata",
]
