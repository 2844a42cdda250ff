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
from memorybase.memory_bases.manage import MAX_THRESHOLD
from memorybase.models import Priority
from memorybase.queries.retention import MAX_RETAIN_DAYS
from memorybase.read_models import memory_bases
from memorybase.read_models.memory_bases import MemoryBaseView
from memorybase.retention import preview
from memorybase.retention.preview import RetentionPreview
from memorybase.search import weights

router = APIRouter(include_in_schema=False)

PRIORITIES = {Priority.HIGH: "High", Priority.NORMAL: "Normal", Priority.LOW: "Low"}


async def show(visit: Visit, memory: MemoryBaseView) -> Response:
    return await _page(visit, memory, {}, None)


async def _page(
    visit: Visit,
    memory: MemoryBaseView,
    given: dict[str, object],
    error: errors.MemorybaseError | None,
    counted: RetentionPreview | None = None,
) -> Response:
    """`counted`: what the rule that was entered would make the memory forget, to be confirmed."""
    found = await visit.read(weights.get_weights, memory.id)
    return await memory_page(
        visit,
        "memory_settings.html",
        memory,
        "settings",
        weights=found,
        given=given,
        error=error,
        counted=counted,
        most=MAX_THRESHOLD,
        longest=MAX_RETAIN_DAYS,
        priorities=PRIORITIES,
    )


@router.post("/memories/{memory_base_id}/settings")
async def save(
    visit: Visitor,
    memory_base_id: UUID,
    name: Annotated[str, Form()],
    threshold: Annotated[int, Form()],
    idle_minutes: Annotated[int, Form()],
    retain_days: Annotated[int | None, Form()] = None,
    on: Annotated[bool, Form()] = False,
    confirmed_days: Annotated[int | None, Form()] = None,
    priority: Annotated[Priority | None, Form()] = None,
) -> Response:
    """Save, unless the memory would forget more than before: then count it first, and save what is confirmed."""
    visit.principal.require("write")
    changes: dict[str, object] = {
        "name": name.strip(),
        "threshold": threshold,
        "idle_after": idle_minutes * 60,
        "auto_capture": on,
        "retain_days": retain_days,
    }
    if priority is not None:
        changes["priority"] = priority
    memory = await visit.read(memory_bases.get_memory_base, memory_base_id)
    try:
        if retain_days is not None and retain_days != confirmed_days and _is_shorter(retain_days, memory.retain_days):
            found = await visit.read(preview.preview, memory_base_id=memory_base_id, retain_days=retain_days)
            return await _page(visit, memory, changes, None, found.items[0])
        await visit.write(manage.update_memory_base, memory_base_id, changes)
    except (errors.InvalidRequest, errors.NameTaken) as error:
        return await _page(visit, memory, changes, error)
    return visit.done(f"/memories/{memory_base_id}?tab=settings", "Saved.")


def _is_shorter(days: int, before: int | None) -> bool:
    return before is None or days < before


@router.post("/memories/{memory_base_id}/weights/reset")
async def reset_weights(visit: Visitor, memory_base_id: UUID) -> Response:
    await visit.write(weights.set_weights, memory_base_id, None)
    return visit.done(f"/memories/{memory_base_id}?tab=settings", "Searches use the default weights.")
