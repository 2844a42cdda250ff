"""Maps of memory bases: request one, and read it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from api.admission import Work
from api.deps import MemoryBaseId, Reader, ServicesDep, Writer, keyed_router
from api.extension import Routes
from api.key_limits import BASE_IN_PATH
from api.operations import operation
from api.schemas import Stored
from memorybase.features.memory_map import read
from memorybase.features.memory_map.read import MapView

router = keyed_router("memories")
ROUTES = Routes(router=router)


@router.post("/memories/{memory_base_id}/map", status_code=202)
@operation(limits=BASE_IN_PATH)
def request_memory_map(memory_base_id: MemoryBaseId, services: ServicesDep, caller: Writer) -> MapView:
    """Request a map of the memory base's messages in two dimensions. A worker computes it; the last one stays until
    then. With less than 20 messages nothing is computed."""
    return read.request_map(services, caller.user_id, memory_base_id)


@router.get("/memories/{memory_base_id}/map")
@operation(limits=BASE_IN_PATH, work=Work.SEARCH)
def get_memory_map(
    memory_base_id: MemoryBaseId,
    services: ServicesDep,
    caller: Reader,
    question: Annotated[Stored | None, Query(min_length=1, description="A question to project onto the map.")] = None,
) -> MapView:
    """Read the map: up to 5,000 points, each with its message's id, session, speaker and time, but not its text.
    Deleted messages never show. A `question` is projected onto the map."""
    return read.get_map(services, caller.user_id, memory_base_id, question=question)
