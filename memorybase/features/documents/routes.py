"""Knowledge bases: list all; fill and search the ordinary ones. Those of memory bases are only listed and read here."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import BaseModel, Field

from api.admission import Work
from api.deps import Named, PageDep, Reader, ServicesDep, Writer, keyed_router
from api.extension import Routes
from api.idempotency import keeping
from api.locations import location
from api.operations import operation
from api.schemas import CONFLICT, QUERY_BOUND, Body, ModelName, Name
from api.search_schemas import MinScore
from memorybase.core import caveats
from memorybase.core.caveats import Redacted
from memorybase.core.database.paging import Page
from memorybase.core.models import ID_LENGTH
from memorybase.core.screening import counting
from memorybase.core.vectors.search import MAX_FILTER_KEYS, MAX_TOP_K
from memorybase.features.documents import knowledge
from memorybase.features.documents.documents import MAX_DOCUMENT_CHARS, MAX_DOCUMENTS, DocumentResult, NewDocument
from memorybase.features.documents.knowledge import DocumentAnswer, DocumentQuery, KnowledgeBaseView


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
    warnings: Redacted = ()


router = keyed_router("knowledge bases")
ROUTES = Routes(
    router=router,
    tag="knowledge bases",
    description="Named collections of documents, and those of memory bases.",
)


@router.get("/knowledge-bases")
def list_knowledge_bases(
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    for_retrieval: Annotated[bool, Query(description="Hide knowledge bases of memory bases.")] = False,
) -> Page[KnowledgeBaseView]:
    """List knowledge bases, oldest first."""
    return knowledge.list_knowledge_bases(services, caller.user_id, page, for_retrieval=for_retrieval)


@router.post("/knowledge-bases", status_code=201, responses=CONFLICT)
@operation(once=True)
def create_knowledge_base(
    body: KnowledgeBaseBody, services: ServicesDep, caller: Writer, request: Request, response: Response
) -> KnowledgeBaseView:
    """Create an ordinary knowledge base. A name in use is 409 with `existing_id`."""
    created = knowledge.create(
        services,
        caller.user_id,
        name=body.name,
        embedding_model=body.embedding_model,
        before_commit=keeping(request, 201, lambda _, view: (view, location("knowledge-bases", view.name))),
    )
    response.headers.update(location("knowledge-bases", created.name))
    return created


@router.get("/knowledge-bases/{name}")
def get_knowledge_base(name: Named, services: ServicesDep, caller: Reader) -> KnowledgeBaseView:
    """Read a knowledge base."""
    return knowledge.get_knowledge_base(services, caller.user_id, name)


@router.delete("/knowledge-bases/{name}", status_code=204, responses=CONFLICT)
def delete_knowledge_base(name: Named, services: ServicesDep, caller: Writer) -> Response:
    """Delete an ordinary knowledge base with its documents."""
    knowledge.delete(services, caller.user_id, name)
    return Response(status_code=204)


@router.post("/knowledge-bases/{name}/documents", responses=CONFLICT)
def add_documents(name: Named, body: DocumentsBody, services: ServicesDep, caller: Writer) -> DocumentsAnswer:
    """Add documents and make them searchable. Returns one result per document, in order. A repeat changes nothing."""
    new = [NewDocument(text=each.text, id=each.id, metadata=each.metadata) for each in body.documents]
    with counting() as replaced:
        results = knowledge.add_documents(services, caller.user_id, name, new)
    return DocumentsAnswer(documents=results, warnings=caveats.redacted(replaced))


@router.post("/knowledge-bases/{name}/rebuild", responses=CONFLICT)
@operation(once=True)
def rebuild_knowledge_base(name: Named, services: ServicesDep, caller: Writer) -> KnowledgeBaseView:
    """Rebuild the collection from SQL: it replaces a lost collection and uses the current model."""
    knowledge.rebuild(services, caller.user_id, name)
    return knowledge.get_knowledge_base(services, caller.user_id, name)


@router.post("/knowledge-bases/{name}/search", responses=CONFLICT)
@operation(work=Work.SEARCH)
def search_knowledge_base(
    name: Named, body: DocumentSearchBody, services: ServicesDep, caller: Reader
) -> DocumentAnswer:
    """Search the chunks of a knowledge base, best first."""
    query = DocumentQuery(query=body.query, top_k=body.top_k, min_score=body.min_score, metadata=body.metadata or {})
    return knowledge.search(services, caller.user_id, name, query)
