"""Search one memory base, or all memory bases of a flow."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from api.deps import Reader, ServicesDep, keyed_router
from api.schemas import FlowSearchBody, SearchBody, SentUuid
from memorybase import ids, messages
from memorybase.auth.api_keys import Principal
from memorybase.search import search
from memorybase.search.request import SearchRequest
from memorybase.search.search import SearchAnswer

router = keyed_router("search")


@router.post("/memories/{memory_base_id}/search")
def search_memory_base(
    memory_base_id: SentUuid, body: SearchBody, services: ServicesDep, caller: Reader
) -> SearchAnswer:
    """Search the messages of a memory base, best first, including those not ingested yet."""
    return search.search(services, caller.user_id, _request(body, caller, memory_base_id=memory_base_id))


@router.post("/search")
def search_flow(body: FlowSearchBody, services: ServicesDep, caller: Reader) -> SearchAnswer:
    """Search every memory base of a flow, best first."""
    flow_id = ids.flow_id(caller.user_id, body.flow_id)
    return search.search(services, caller.user_id, _request(body, caller, flow_id=flow_id))


def _request(body: SearchBody, caller: Principal, **where: UUID) -> SearchRequest:
    if body.metadata is not None:
        messages.check_json(body.metadata, "metadata")
    fields: dict[str, Any] = body.model_dump(exclude={"flow_id", "exclude_message_ids"})
    name = "exclude_message_ids"
    excluded = [ids.CallerId.of(caller.user_id, "message", each, name=name) for each in body.exclude_message_ids]
    return SearchRequest(**fields | where, exclude_message_ids=excluded)
