"""The JSON of knowledge bases and their documents."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from api.schemas import QUERY_BOUND, Body, ModelName, Name
from memorybase.knowledge_bases.documents import MAX_DOCUMENT_CHARS, MAX_DOCUMENTS, DocumentResult
from memorybase.models import ID_LENGTH
from memorybase.vectors.search import MAX_FILTER_KEYS, MAX_TOP_K


class KnowledgeBaseBody(Body):
    """A new ordinary knowledge base."""

    name: Name
    embedding_model: ModelName | None = None


class DocumentBody(Body):
    """A text. Without `metadata`, stored metadata is kept."""

    # The domain checks the bound: with it in the schema, fuzzers would send many megabytes.
    text: str = Field(min_length=1, description=f"At most {MAX_DOCUMENT_CHARS} characters.")
    id: str | None = Field(default=None, min_length=1, max_length=ID_LENGTH)
    metadata: dict[str, Any] | None = None


class DocumentsBody(Body):
    """Documents to add."""

    documents: list[DocumentBody] = Field(min_length=1, description=f"At most {MAX_DOCUMENTS}.")


class DocumentSearchBody(Body):
    """A search in one knowledge base."""

    query: str = Field(min_length=1, description=QUERY_BOUND)
    top_k: int = Field(default=10, ge=1, description=f"At most {MAX_TOP_K}.")
    min_score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    metadata: dict[str, Any] | None = Field(default=None, max_length=MAX_FILTER_KEYS)


class DocumentsAnswer(BaseModel):
    """The result of each document, in order."""

    documents: list[DocumentResult]
