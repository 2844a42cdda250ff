"""Facts that a model derives from messages: turn it on, see what it costs, list, search and delete."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Query, Response
from pydantic import BaseModel, Field

from api.admission import Work
from api.deps import MemoryBaseId, PageDep, Reader, ServicesDep, Writer, keyed_router
from api.extension import Routes
from api.key_limits import BASE_IN_PATH, Rule, end_user_in, memory_base_in
from api.operations import operation
from api.schemas import QUERY_BOUND, Body, Identifier, Moment, SentUuid, Stored, Until
from api.search_schemas import FactHit
from memorybase.core import caveats
from memorybase.core.caveats import Caveat
from memorybase.core.database.paging import Page
from memorybase.features.facts import manage
from memorybase.features.facts.manage import DistillationView, FactView
from memorybase.features.facts.queries.facts import FactState
from memorybase.features.facts.recall import FactQuery

router = keyed_router("facts")
ROUTES = Routes(
    router=router,
    tag="facts",
    description="What a language model derives from messages: turn it on, list, search, delete.",
)

FactId = Annotated[SentUuid, Path(description="The UUID of the fact.")]
MAX_FACTS_FOUND = 50


class DistillationBody(Body):
    """Turn distillation on or off. `start`: from which message on; `beginning` distils the whole history."""

    enabled: bool = Field(description="Whether facts are derived from what is ingested.")
    start: Literal["now", "beginning"] = Field(
        default="now", description="`now`: from what is ingested from now on; `beginning`: from the whole history."
    )


class FactSearchBody(Body):
    """A question to find facts for."""

    query: Stored = Field(min_length=1, description=f"The question. {QUERY_BOUND}")
    top_k: int = Field(default=10, ge=1, le=MAX_FACTS_FOUND, description="Maximum facts.")
    session_id: Identifier | None = Field(default=None, description="Only facts of this session.")
    end_user_id: Identifier | None = Field(default=None, description="Only facts from this person's sessions.")
    since: Moment | None = Field(default=None, description="Only facts whose newest source was said from this time on.")
    until: Until | None = Field(default=None, description="Only facts whose newest source was said up to this time.")


class FactsFound(BaseModel):
    """Facts about a question, best first. A model derived them from messages, which each of them names. `warnings`: if
    only a part of the question was looked for."""

    facts: list[FactHit] = Field(description="The facts.")
    warnings: list[Caveat] = Field(default_factory=list, description="If only the end of the query was searched for.")


class FactsDeleted(BaseModel):
    """Number of deleted facts."""

    deleted: int = Field(description="Number of deleted facts.")


@router.get("/memories/{memory_base_id}/distillation")
@operation(limits=BASE_IN_PATH)
def get_distillation(memory_base_id: MemoryBaseId, services: ServicesDep, caller: Reader) -> DistillationView:
    """Read whether facts are distilled for a memory base, what waits and why, and what it used."""
    return manage.get_distillation(services, caller.user_id, memory_base_id)


@router.put("/memories/{memory_base_id}/distillation")
@operation(limits=BASE_IN_PATH)
def set_distillation(
    memory_base_id: MemoryBaseId, body: DistillationBody, services: ServicesDep, caller: Writer
) -> DistillationView:
    """Turn distillation on or off. On: a language model, which the operator chose, reads what is ingested and derives
    facts. Off: nothing more is read; facts stay until they are deleted."""
    return manage.set_distillation(services, caller.user_id, memory_base_id, enabled=body.enabled, start=body.start)


@router.get("/memories/{memory_base_id}/facts")
@operation(limits=Rule([memory_base_in("path")], [end_user_in("query")]))
def list_facts(
    memory_base_id: MemoryBaseId,
    services: ServicesDep,
    caller: Reader,
    page: PageDep,
    state: Annotated[
        FactState,
        Query(description="`current`: facts that hold; `superseded`: facts that a later one corrects; `all`."),
    ] = "current",
    session_id: Annotated[Identifier | None, Query(description="Only facts of this session.")] = None,
    end_user_id: Annotated[Identifier | None, Query(description="Only facts from this person's sessions.")] = None,
) -> Page[FactView]:
    """List facts, newest first: those that hold, those that later ones correct, or all."""
    return manage.list_facts(
        services, caller.user_id, memory_base_id, page, state=state, session_id=session_id, end_user_id=end_user_id
    )


@router.post("/memories/{memory_base_id}/facts/search")
@operation(limits=Rule([memory_base_in("path")], [end_user_in("body")]), work=Work.SEARCH)
def search_facts(
    memory_base_id: MemoryBaseId, body: FactSearchBody, services: ServicesDep, caller: Reader
) -> FactsFound:
    """Find the facts that are about a question, best first, without those that later ones correct."""
    query = FactQuery(base_ids=[memory_base_id], **body.model_dump())
    found = manage.search_facts(services, caller.user_id, query)
    return FactsFound(facts=[FactHit.model_validate(hit) for hit in found], warnings=caveats.query_cut(body.query))


@router.get("/memories/{memory_base_id}/facts/{fact_id}")
@operation(limits=BASE_IN_PATH)
def get_fact(memory_base_id: MemoryBaseId, fact_id: FactId, services: ServicesDep, caller: Reader) -> FactView:
    """Read a fact. After a source was edited or deleted it is 404."""
    return manage.get_fact(services, caller.user_id, memory_base_id, fact_id)


@router.delete("/memories/{memory_base_id}/facts/{fact_id}", status_code=204)
@operation(limits=BASE_IN_PATH)
def delete_fact(memory_base_id: MemoryBaseId, fact_id: FactId, services: ServicesDep, caller: Writer) -> Response:
    """Delete a fact and those that say the same. The messages stay."""
    manage.delete_fact(services, caller.user_id, memory_base_id, fact_id)
    return Response(status_code=204)


@router.delete("/memories/{memory_base_id}/facts")
@operation(limits=BASE_IN_PATH)
def delete_facts(memory_base_id: MemoryBaseId, services: ServicesDep, caller: Writer) -> FactsDeleted:
    """Delete every fact of a memory base. The messages stay."""
    return FactsDeleted(deleted=manage.delete_facts(services, caller.user_id, memory_base_id))
