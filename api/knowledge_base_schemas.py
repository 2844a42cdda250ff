"""The JSON of knowledge bases and their documents."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from api.schemas import QUERY_BOUND, Body, ModelName, Name, up_to
from memorybase.knowledge_bases.documents import MAX_DOCUMENT_CHARS, DocumentResult
from memorybase.models import ID_LENGTH
from memorybase.vectors.search import MAX_FILTER_KEYS


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

    documents: list[DocumentBody] = Field(min_length=1, description=up_to("max_documents_per_request"))


class DocumentSearchBody(Body):
    """A search in one knowledge base."""

    query: str = Field(min_length=1, description=QUERY_BOUND)
    top_k: int = Field(default=10, ge=1, description=up_to("max_top_k"))
    min_score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    metadata: dict[str, Any] | None = Field(default=None, max_length=MAX_FILTER_KEYS)


class DocumentsAnswer(BaseModel):
    """The result of each document, in order."""

    documents: list[DocumentResult]
