"""Facts that a model derives from messages: turn it on, see what it costs, list, search and delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response

from api.admission import Work
from api.deps import MemoryBaseId, PageDep, Reader, ServicesDep, Writer, keyed_router
from api.fact_schemas import DistillationBody, FactsDeleted, FactSearchBody, FactsFound
from api.key_limits import BASE_IN_PATH, Rule, end_user_in, memory_base_in
from api.operations import operation
from api.schemas import Identifier, SentUuid
from memorybase import caveats
from memorybase.database.paging import Page
from memorybase.facts import manage
from memorybase.facts.manage import DistillationView, FactView
from memorybase.facts.recall import FactQuery
from memorybase.memory_bases import manage as memory_bases
from memorybase.queries.facts import FactState

router = keyed_router("facts")

FactId = Annotated[SentUuid, Path(description="The UUID of the fact.")]


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
    return memory_bases.set_distillation(
        services, caller.user_id, memory_base_id, enabled=body.enabled, start=body.start
    )


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
    facts = manage.search_facts(services, caller.user_id, query)
    return FactsFound(facts=facts, warnings=caveats.query_cut(body.query))


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
