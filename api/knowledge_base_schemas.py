"""The JSON of knowledge bases and their documents."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from api.schemas import QUERY_BOUND, Body, ModelName, Name
from api.search_schemas import MinScore
from memorybase.knowledge_bases.documents import MAX_DOCUMENT_CHARS, MAX_DOCUMENTS, DocumentResult
from memorybase.models import ID_LENGTH
from memorybase.vectors.search import MAX_FILTER_KEYS, MAX_TOP_K


class KnowledgeBaseBody(Body):
    """A new ordinary knowledge base."""

    name: Name = Field(description="The name; unique for the user.")
    embedding_model: ModelName | None = Field(
        default=None, description="An allowed embedding model; by default the one of the settings."
    )


class DocumentBody(Body):
    """A text. Without `metadata`, stored metadata is kept."""

    # The domain checks the bound: with it in the schema, fuzzers would send many megabytes.
    text: str = Field(min_length=1, description=f"The text. At most {MAX_DOCUMENT_CHARS} characters.")
    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=ID_LENGTH,
        description="The caller's id; a document with the same id is replaced. By default its text and "
        "metadata identify a document.",
    )
    metadata: dict[str, Any] | None = Field(
        default=None, description="Any JSON object; searches can filter by it. Without it, stored metadata is kept."
    )


class DocumentsBody(Body):
    """Documents to add."""

    documents: list[DocumentBody] = Field(
        min_length=1, description=f"Documents to add or to replace. At most {MAX_DOCUMENTS}."
    )


class DocumentSearchBody(Body):
    """A search in one knowledge base."""

    query: str = Field(min_length=1, description=f"What to look for. {QUERY_BOUND}")
    top_k: int = Field(default=10, ge=1, description=f"Maximum results. At most {MAX_TOP_K}.")
    min_score: MinScore = None
    metadata: dict[str, Any] | None = Field(
        default=None,
        max_length=MAX_FILTER_KEYS,
        description="Keys that the metadata must have, with exactly these values.",
    )


class DocumentsAnswer(BaseModel):
    """The result of each document, in order."""

    documents: list[DocumentResult] = Field(description="The result of each document, in order.")
