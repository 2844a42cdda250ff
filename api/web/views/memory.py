"""A memory: its tabs, the comparison with its store, the progress of a rebuild, and what changes it as a whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.calls import recorded_as, without_content
from api.web.extension import memory_tabs
from api.web.rendering import UNDO_SECONDS, address, plural
from api.web.views import memory_messages, memory_overview, memory_settings
from api.web.views.memory_frame import sentence, status_values
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.embedding import loads_at_once
from memorybase.core.ingestion import flush
from memorybase.core.memory_bases import consistency, manage, regenerate
from memorybase.core.memory_bases.consistency import Mismatch
from memorybase.core.read_models import memory_bases, rebuild_costs
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.core.services import Services
from memorybase.core.sessions import planned_deletion
from memorybase.core.vector_stores import VECTOR_STORES, VectorStoreName

router = APIRouter(include_in_schema=False)

BEING_PREPARED = (
    "Not started yet: the model is being prepared, once, which may take minutes. Rebuild again when the list of models "
    "no longer says “is prepared first”."
)


Tab = Callable[[Visit, MemoryBaseView], Awaitable[Response]]
TABS: dict[str, Tab] = {
    "overview": memory_overview.show,
    "messages": memory_messages.show,
    "settings": memory_settings.show,
}
"""What answers each tab of the core. It reads the rest of the address from `visit.request.query_params`."""


@router.get("/memories/{memory_base_id}")
async def memory(visit: Visitor, memory_base_id: UUID, tab: str = "overview") -> Response:
    found = await visit.read(memory_bases.get_memory_base, memory_base_id)
    tabs = TABS | {each.name: each.show for each in memory_tabs()}
    return await tabs.get(tab, memory_overview.show)(visit, found)


@router.get("/memories/{memory_base_id}/status")
@without_content
async def status(visit: Visitor, memory_base_id: UUID) -> Response:
    """The state and the numbers, live; with the progress of a rebuild."""
    found = await visit.read(memory_bases.get_memory_base, memory_base_id)
    return visit.live("memory_status.html", **await status_values(visit, found))


@router.get("/memories/{memory_base_id}/store")
@without_content
async def store(visit: Visitor, memory_base_id: UUID) -> Response:
    """Whether the vector store holds what it should. It may hang, so it loads after the page and with a deadline."""
    found = await visit.read(memory_bases.get_memory_base, memory_base_id)
    compared: Mismatch | None
    try:
        compared = await visit.within(visit.deadlines.store, consistency.check_mismatch, memory_base_id)
    except (TimeoutError, errors.EnvironmentFailure):
        compared = None
    label = VECTOR_STORES[found.vector_store].label
    return visit.fragment("memory_store.html", memory=found, store=label, compared=compared)


@router.post("/memories/{memory_base_id}/sync")
async def sync(visit: Visitor, memory_base_id: UUID) -> Response:
    try:
        result = await visit.write(flush.flush, memory_base_id)
    except errors.IngestionActive:
        return visit.done(f"/memories/{memory_base_id}", "Every waiting session is being ingested already.")
    except errors.MemoryBasePaused:
        return visit.done(f"/memories/{memory_base_id}", "It is paused. Resume it first.")
    sessions = len(result.jobs) + result.deferred
    text = f"{sessions:,} {'session is' if sessions == 1 else 'sessions are'} being ingested."
    return visit.done(f"/memories/{memory_base_id}", text if sessions else "Nothing waits.")


@router.get("/memories/{memory_base_id}/rebuild")
async def rebuild_options(visit: Visitor, memory_base_id: UUID) -> Response:
    """What the dialog of a rebuild asks and says, once it is opened."""
    memory = await visit.read(memory_bases.get_memory_base, memory_base_id)
    cost = await visit.read(rebuild_costs.rebuild_cost, memory_base_id)
    models = await visit.read(_models, memory.embedding_model)
    return visit.fragment("memory_rebuild.html", memory=memory, cost=cost, models=models)


@router.post("/memories/{memory_base_id}/rebuild")
async def rebuild(
    visit: Visitor,
    memory_base_id: UUID,
    vector_store: Annotated[VectorStoreName | None, Form()] = None,
    embedding_model: Annotated[str, Form()] = "",
) -> Response:
    here, model = f"/memories/{memory_base_id}", embedding_model or None
    try:
        await visit.write(regenerate.regenerate, memory_base_id, embedding_model=model, vector_store=vector_store)
    except errors.BuildActive:
        return visit.done(here, "A rebuild is running already.")
    except errors.ModelPreparing:
        return visit.done(here, BEING_PREPARED)
    except (errors.InvalidRequest, errors.ModelUnavailable) as error:
        return visit.done(here, f"Not started: {sentence(error)}")
    return visit.done(here, "The rebuild has started. Searches go on with the vectors of today until it is done.")


def _models(services: Services, _user_id: UUID, current: str) -> list[tuple[str, bool]]:
    """The models that may be chosen, that of today first, and whether each is prepared."""
    settings = services.settings
    names = dict.fromkeys([current, settings.embedding_model, *settings.allowed_embedding_models])
    return [(name, name == current or loads_at_once(settings, name)) for name in names]


@router.post("/memories/{memory_base_id}/rebuild/stop")
async def stop_rebuild(visit: Visitor, memory_base_id: UUID) -> Response:
    await visit.write(_stop, memory_base_id)
    return visit.done(f"/memories/{memory_base_id}", "The rebuild was stopped. The vectors from before serve on.")


def _stop(services: Services, user_id: UUID, base_id: UUID) -> None:
    memory_bases.get_memory_base(services, user_id, base_id)  # NotFound for the memory of another user
    regenerate.abandon_build(services, base_id)


@router.post("/memories/{memory_base_id}/auto-capture")
async def auto_capture(
    visit: Visitor, memory_base_id: UUID, on: Annotated[bool, Form()], back: Annotated[str, Form()] = ""
) -> Response:
    await visit.write(manage.update_memory_base, memory_base_id, {"auto_capture": on})
    if back == "list" and visit.is_fragment:  # the list keeps its filter, and shows the change with its next look
        return Response(status_code=204, headers={"HX-Trigger": "tick"})
    return visit.done(f"/memories/{memory_base_id}", f"Auto-capture is {'on' if on else 'off'}.")


@router.post("/memories/{memory_base_id}/paused")
async def pause(visit: Visitor, memory_base_id: UUID, paused: Annotated[bool, Form()]) -> Response:
    await visit.write(manage.update_memory_base, memory_base_id, {"paused": paused})
    said = "Ingestion is paused. Captures go on." if paused else "It is resumed. What waits is ingested within seconds."
    return visit.done(f"/memories/{memory_base_id}", said)


@router.post("/memories/{memory_base_id}/delete")
@recorded_as("delete_memory_base")
async def delete(visit: Visitor, memory_base_id: UUID) -> Response:
    return await delete_memories(visit, [memory_base_id])


async def delete_memories(visit: Visit, base_ids: list[UUID]) -> Response:
    """Plan the deletion; the list of memories offers the undo."""
    planned = await visit.write(planned_deletion.plan_bases, base_ids)
    what = planned.names[0] if len(planned.names) == 1 else plural(len(planned.names), "memory", "memories")
    undo = address("/memories/undo", batch=planned.batch_id)
    return visit.done("/memories", f"{what} will be deleted in {UNDO_SECONDS} s.", undo=undo)


@router.post("/memories/undo")
async def undo(visit: Visitor, batch: UUID) -> Response:
    try:
        kept = await visit.write(planned_deletion.undo, batch)
    except errors.NotFound:
        return visit.done("/memories", "It is too late to undo: the memories are deleted.")
    return visit.done("/memories", f"{plural(kept, 'memory', 'memories')} kept.")


async def act(visit: Visit, action: str, base_id: UUID) -> str:
    """One action of a selection of memories; what came of it, as a sentence."""
    try:
        if action == "sync":
            result = await visit.write(flush.flush, base_id)
            sessions = len(result.jobs) + result.deferred
            return f"{plural(sessions, 'session')} being ingested." if sessions else "Nothing waits."
        await visit.write(regenerate.regenerate, base_id)
    except errors.ModelPreparing:
        return BEING_PREPARED
    except errors.MemorybaseError as error:
        return sentence(error)
    return "The rebuild has started."
