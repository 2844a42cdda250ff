"""A memory's settings: name, threshold, idle time, auto-capture; its model and weights; rebuild and delete."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form
from fastapi.responses import Response

from api.web.views.memory_frame import memory_page
from api.web.visits import Visit, Visitor
from memorybase import errors
from memorybase.memory_bases import manage
from memorybase.read_models import memory_bases
from memorybase.read_models.memory_bases import MemoryBaseView
from memorybase.search import weights

router = APIRouter(include_in_schema=False)


async def show(visit: Visit, memory: MemoryBaseView) -> Response:
    return await _page(visit, memory, {}, None)


async def _page(
    visit: Visit, memory: MemoryBaseView, given: dict[str, object], error: errors.MemorybaseError | None
) -> Response:
    found = await visit.read(weights.get_weights, memory.id)
    return await memory_page(
        visit, "memory_settings.html", memory, "settings", weights=found, given=given, error=error,
        most=visit.services.settings.max_threshold,
    )  # fmt: skip


@router.post("/memories/{memory_base_id}/settings")
async def save(
    visit: Visitor,
    memory_base_id: UUID,
    name: Annotated[str, Form()],
    threshold: Annotated[int, Form()],
    idle_minutes: Annotated[int, Form()],
    on: Annotated[bool, Form()] = False,
) -> Response:
    changes = {"name": name.strip(), "threshold": threshold, "idle_after": idle_minutes * 60, "auto_capture": on}
    try:
        await visit.write(manage.update_memory_base, memory_base_id, changes)
    except (errors.InvalidRequest, errors.NameTaken) as error:
        memory = await visit.read(memory_bases.get_memory_base, memory_base_id)
        return await _page(visit, memory, changes, error)
    return visit.done(f"/memories/{memory_base_id}?tab=settings", "Saved.")


@router.post("/memories/{memory_base_id}/weights/reset")
async def reset_weights(visit: Visitor, memory_base_id: UUID) -> Response:
    await visit.write(weights.set_weights, memory_base_id, None)
    return visit.done(f"/memories/{memory_base_id}?tab=settings", "Searches use the default weights.")
