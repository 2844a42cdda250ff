"""A memory's map: its messages in two dimensions, what lies where, and where a question falls."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from api.web.calls import without_content
from api.web.extension import MemoryTab, Pages
from api.web.rendering import address
from api.web.views.memory_frame import memory_page
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.read_models import memory_bases, titles
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.core.search import search
from memorybase.core.search.request import SearchRequest
from memorybase.features.memory_map import page_data, read
from memorybase.features.memory_map.read import MapState

router = APIRouter(include_in_schema=False, prefix="/memories/{memory_id}/map")

FOUND = 10  # results of a search that are marked on the map


async def show(visit: Visit, memory: MemoryBaseView) -> Response:
    """The tab of the memory's page."""
    query = visit.request.query_params
    color = query.get("color", "cluster")
    found = await visit.read(read.get_map, memory.id, with_points=False)
    return await memory_page(
        visit,
        "memory_map.html",
        memory,
        "map",
        memory_id=memory.id,
        map=found,
        color=color if color in page_data.COLORINGS else "cluster",
        question=query.get("question", "").strip(),
    )


PAGES = Pages(router=router, memory_tab=MemoryTab("map", "Map", show))


@router.post("")
async def compute(visit: Visitor, memory_id: UUID) -> Response:
    found = await visit.write(read.request_map, memory_id)
    notice = "A worker computes the map." if found.state is MapState.COMPUTING else ""
    return visit.done(address(f"/memories/{memory_id}", tab="map"), notice)


@router.get("/state")
@without_content
async def state(visit: Visitor, memory_id: UUID) -> Response:
    """The progress; once it ends, the page loads again with the new map."""
    found = await visit.read(read.get_map, memory_id, with_points=False)
    if found.state is not MapState.COMPUTING:
        return Response(headers={"HX-Refresh": "true"})
    return visit.live("memory_map_progress.html", memory_id=memory_id, map=found)


@router.get("/points")
async def points(visit: Visitor, memory_id: UUID) -> Response:
    return JSONResponse(page_data.drawn(await visit.read(read.get_map, memory_id)))


@router.get("/question")
async def question_on_map(visit: Visitor, memory_id: UUID, question: Annotated[str, Query(min_length=1)]) -> Response:
    """Where the question falls, and what a search finds; or a sentence that says why that is unknown.

    Two dimensions show a part of the differences, so what lies beside the question need not be what it finds.
    """
    try:
        found = await visit.within(visit.deadlines.map, read.get_map, memory_id, question=question, with_points=False)
    except (TimeoutError, errors.EnvironmentFailure, errors.InvalidRequest) as error:
        return JSONResponse({"problem": _sentence(error, "The embedding model does not answer. Try again.")})
    if found.question is None:
        return JSONResponse({"problem": "There is no map yet."})
    answer = {"x": found.question.x, "y": found.question.y, "found": [], "problem": ""}
    wanted = SearchRequest(query=question, memory_base_id=memory_id, top_k=FOUND, include_pending=False, passages=False)
    try:
        hits = await visit.within(visit.deadlines.map, search.search, wanted)
    except (TimeoutError, errors.EnvironmentFailure, errors.InvalidRequest) as error:
        reason = _sentence(error, "The vector store does not answer.")
        return JSONResponse(answer | {"problem": f"The cross is where the question falls. A search fails: {reason}"})
    return JSONResponse(answer | {"found": [page_data.short_id(each.message_id) for each in hits.results]})


def _sentence(error: Exception, otherwise: str) -> str:
    return f"{error.message.rstrip('.')}." if isinstance(error, errors.MemorybaseError) else otherwise


@router.get("/messages")
async def messages(visit: Visitor, memory_id: UUID, ids: str = "", total: int = 0, brief: bool = False) -> Response:
    """The list beside the map, or one message under the pointer."""
    chosen = page_data.ids_of(ids)
    found = await visit.read(read.messages_on_map, memory_id, chosen)
    memory = await visit.read(memory_bases.get_memory_base, memory_id)
    template = "memory_map_message.html" if brief else "memory_map_messages.html"
    named = await visit.read(titles.session_titles, {(memory.flow_id, each.session_id) for each in found})
    return visit.fragment(
        template,
        titles=named,
        memory_id=memory_id,
        memory=memory,
        messages=found,
        total=max(total, len(found)),
        asked=len(chosen),
    )
