"""Search one memory base, all of a flow, several, or all."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from api.admission import Work
from api.deps import MemoryBaseId, Reader, ServicesDep, keyed_router
from api.key_limits import Rule, end_user_in, memory_base_in, searched
from api.operations import operation
from api.search_schemas import FlowSearchBody, SearchAnswer, SearchBody
from memorybase.core import caveats, errors, ids, messages
from memorybase.core.auth.api_keys import Principal
from memorybase.core.caveats import Caveat
from memorybase.core.search import search
from memorybase.core.search.part_weights import PartWeights
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search_several, why_nothing
from memorybase.core.services import Services

router = keyed_router("search")


@router.post("/memories/{memory_base_id}/search")
@operation(limits=Rule([memory_base_in("path")], [end_user_in("body")]), work=Work.SEARCH)
def search_memory_base(
    memory_base_id: MemoryBaseId, body: SearchBody, services: ServicesDep, caller: Reader
) -> SearchAnswer:
    """Search the messages of a memory base, best first, including those not ingested yet."""
    return _search(services, caller, body, _request(body, caller, memory_base_id=memory_base_id))


@router.post("/search")
@operation(limits=Rule([searched], [end_user_in("body")]), work=Work.SEARCH)
def search_flow(body: FlowSearchBody, services: ServicesDep, caller: Reader) -> SearchAnswer:
    """Search every memory base of a flow, several memory bases, or all, best first."""
    if (body.flow_id is not None) + bool(body.memory_base_ids) + body.all != 1:
        raise errors.InvalidRequest("Exactly one of flow_id, memory_base_ids and all must be given", field="flow_id")
    if body.flow_id is not None:
        flow_id = ids.flow_id(caller.user_id, body.flow_id)
        return _search(services, caller, body, _request(body, caller, flow_id=flow_id))
    request, wanted = _request(body, caller), None if body.all else body.memory_base_ids
    found = search_several(services, caller.user_id, request, wanted)
    return _answer(request, found, _lists(services, caller, body, request, wanted), [])


def _search(services: Services, caller: Principal, body: SearchBody, request: SearchRequest) -> SearchAnswer:
    found = search.search(services, caller.user_id, request)
    lists = _lists(services, caller, body, request)
    warnings = [] if found.results else why_nothing(services, request)
    return _answer(request, found, lists, warnings)


def _lists(
    services: Services, caller: Principal, body: SearchBody, request: SearchRequest, wanted: list[UUID] | None = None
) -> dict[str, Any]:
    """What features add to the answer, each if the request has its option."""
    lists = {name: find for hooks in services.hooks for name, find in hooks.search_lists.items()}
    return {
        name: find(services, caller.user_id, request, wanted) for name, find in lists.items() if getattr(body, name)
    }


def _answer(
    request: SearchRequest, found: search.SearchResults, lists: dict[str, Any], warnings: list[Caveat]
) -> SearchAnswer:
    warnings = [*warnings, *caveats.query_cut(request.query)]
    return SearchAnswer(results=found.results, took_ms=found.took_ms, warnings=warnings, **lists)


def _request(body: SearchBody, caller: Principal, **where: UUID) -> SearchRequest:
    if body.metadata is not None:
        messages.check_json(body.metadata, "metadata")
    left_out = {"flow_id", "memory_base_ids", "all", "exclude_message_ids", "weights", "facts"}
    fields: dict[str, Any] = body.model_dump(exclude=left_out)
    name = "exclude_message_ids"
    excluded = [ids.CallerId.of(caller.user_id, "message", each, name=name) for each in body.exclude_message_ids]
    factors = None if body.weights is None else PartWeights(**body.weights.model_dump())
    return SearchRequest(**fields | where, exclude_message_ids=excluded, weights=factors)
