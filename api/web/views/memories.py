"""The list of memories: state, what waits, auto-capture; find, filter, order; create one; act on several."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, Form
from fastapi.responses import Response

from api.web.calls import without_content
from api.web.memory_state import filter_of, state_labels, state_of
from api.web.rendering import UNDO_SECONDS
from api.web.views.memory import act as act_on
from api.web.views.memory import delete_memories
from api.web.visits import Visit, Visitor
from memorybase.core import errors, ids
from memorybase.core.database.paging import Page, PageRequest
from memorybase.core.memory_bases import manage
from memorybase.core.memory_bases.manage import NewMemoryBase
from memorybase.core.models import Capture
from memorybase.core.queries.memory_base_lists import MemoryBaseOrder, MemoryBaseQuery
from memorybase.core.read_models import memory_bases, sessions
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.core.sessions import planned_deletion
from memorybase.core.vector_stores import VectorStoreName

router = APIRouter(include_in_schema=False)

PAGE = 50
THRESHOLD = 20  # of a new memory, unless another is entered
MAX_CHOSEN = 50
FLOWS_OFFERED = 200
ORDERS = {"name": "By name", "recent": "Newest first", "created": "Oldest first", "priority": "By priority"}


@router.get("/memories")
@without_content
async def memories(visit: Visitor) -> Response:
    return await _page(visit)


@router.get("/memories/list")
@without_content
async def memories_list(visit: Visitor) -> Response:
    """The list alone, live."""
    return visit.live("memories_list.html", **await _list(visit))


async def _given(
    name: Annotated[str, Form()],
    flow: Annotated[str, Form()],
    threshold: Annotated[int, Form()] = THRESHOLD,
    capture: Annotated[Capture, Form()] = Capture.ALL,
    on: Annotated[bool, Form()] = False,
    start: Annotated[Literal["all", "now"], Form()] = "all",
    vector_store: Annotated[VectorStoreName | None, Form()] = None,
) -> dict[str, Any]:
    """What the form of a new memory was filled in with."""
    return {
        "name": name,
        "flow": flow,
        "threshold": threshold,
        "capture": capture,
        "on": on,
        "start": start,
        "vector_store": vector_store,
    }


@router.post("/memories")
async def create(visit: Visitor, given: Annotated[dict[str, Any], Depends(_given)]) -> Response:
    name = given["name"].strip()
    try:
        new = NewMemoryBase(
            name=name,
            flow_id=ids.flow_id(visit.principal.user_id, given["flow"]),
            threshold=given["threshold"],
            capture=given["capture"],
            auto_capture=given["on"],
            start=given["start"],
            vector_store=given["vector_store"],
        )
        base_id = await visit.write(manage.create_memory_base, new)
    except errors.Forbidden:  # such a key is shown no form that could say so
        raise
    except errors.NameTaken as error:
        existing = error.details.get("existing_id")
        if existing and await visit.read(planned_deletion.is_base_planned, UUID(str(existing))):
            error = errors.NameTaken(
                f"A memory of this name is being deleted. Try again in {UNDO_SECONDS} s, or undo it"
            )
        return await _page(visit, given=given, error=error)
    except (errors.CallerError, errors.EnvironmentFailure) as error:
        return await _page(visit, given=given, error=error)
    return visit.done(f"/memories/{base_id}", f"{name} was created.")


@router.post("/memories/actions")
async def act(
    visit: Visitor, action: Annotated[str, Form()], memory: Annotated[list[UUID] | None, Form()] = None
) -> Response:
    """Sync, rebuild or delete the chosen memories, with a result for each."""
    chosen = (memory or [])[:MAX_CHOSEN]
    found = [(base_id, (await visit.read(memory_bases.get_memory_base, base_id)).name) for base_id in chosen]
    results: list[tuple[str, str]] = []
    if action == "delete-now" and chosen:
        return await delete_memories(visit, chosen)
    if action in {"sync", "rebuild"}:
        results = [(name, await act_on(visit, action, base_id)) for base_id, name in found]
    values: dict[str, Any] = {"action": action, "chosen": found, "results": results}
    if visit.is_fragment:
        return visit.fragment("memories_results.html", **values)
    return visit.page("memories_page.html", place="memories", title="Memories", **values)


async def _page(
    visit: Visit, given: dict[str, Any] | None = None, error: errors.MemorybaseError | None = None
) -> Response:
    flows = (await visit.read(sessions.list_flows, PageRequest(size=FLOWS_OFFERED))).items
    asked = given or {"flow": visit.request.query_params.get("flow", ""), "threshold": THRESHOLD}
    return visit.page(
        "memories.html",
        place="memories",
        title="Memories",
        flows=flows,
        given=asked,
        error=error,
        version="",
        stores=visit.services.settings.known_vector_stores,
        orders=ORDERS,
        opens="new-memory" if error or "new" in visit.request.query_params else "",
        **await _list(visit),
    )


async def _list(visit: Visit) -> dict[str, Any]:
    asked = visit.request.query_params
    orders: dict[str, MemoryBaseOrder] = {each: each for each in get_args(MemoryBaseOrder)}
    query = MemoryBaseQuery(
        text=asked.get("q", "").strip() or None,
        auto_capture={"on": True, "off": False}.get(asked.get("auto", "")),
        order=orders.get(asked.get("sort", ""), "name"),
        without_planned=True,
        **filter_of(state := asked.get("state", "")),
    )
    request = PageRequest(size=PAGE, cursor=asked.get("cursor") or None)
    page: Page[MemoryBaseView] = await visit.read(memory_bases.list_memory_bases, request, query)
    flows = await visit.read(sessions.get_flows, {memory.flow_id for memory in page.items})
    kept = [(name, value) for name, value in asked.items() if name not in {"seen", "cursor", "new", "flow"} and value]
    return {
        "query": query,
        "state": state,
        "state_labels": state_labels(),
        "memories": page,
        "states": {each.id: state_of(each) for each in page.items},
        "flow_names": {flow_id: flow.name for flow_id, flow in flows.items()},
        "kept": urlencode(kept),
        "cursor": request.cursor or "",
    }
