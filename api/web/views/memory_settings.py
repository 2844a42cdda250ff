"""A memory's settings: name, threshold, idle time, auto-capture; its model and weights; rebuild and delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Form
from fastapi.responses import Response

from api.web.extension import memory_checks
from api.web.views.memory_frame import memory_page
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.memory_bases import manage
from memorybase.core.memory_bases.manage import MAX_THRESHOLD
from memorybase.core.models import Priority
from memorybase.core.queries.expiry import MAX_RETAIN_DAYS
from memorybase.core.read_models import memory_bases
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.core.search import weights

router = APIRouter(include_in_schema=False)

PRIORITIES = {Priority.HIGH: "High", Priority.NORMAL: "Normal", Priority.LOW: "Low"}


async def show(visit: Visit, memory: MemoryBaseView) -> Response:
    return await _page(visit, memory, {}, None)


async def _page(
    visit: Visit,
    memory: MemoryBaseView,
    given: dict[str, object],
    error: errors.MemorybaseError | None,
    counted: tuple[str, Any] | None = None,
) -> Response:
    """`counted`: a template, and what it shows of what the settings that were entered would delete, to be confirmed."""
    found = await visit.read(weights.get_weights, memory.id)
    return await memory_page(
        visit,
        "memory_settings.html",
        memory,
        "settings",
        weights=found,
        given=given,
        error=error,
        check=counted and counted[0],
        counted=counted and counted[1],
        most=MAX_THRESHOLD,
        longest=MAX_RETAIN_DAYS,
        priorities=PRIORITIES,
    )


async def _changes(
    name: Annotated[str, Form()],
    threshold: Annotated[int, Form()],
    idle_minutes: Annotated[int, Form()],
    retain_days: Annotated[int | None, Form()] = None,
    on: Annotated[bool, Form()] = False,
    priority: Annotated[Priority | None, Form()] = None,
) -> dict[str, object]:
    changes: dict[str, object] = {
        "name": name.strip(),
        "threshold": threshold,
        "idle_after": idle_minutes * 60,
        "auto_capture": on,
        "retain_days": retain_days,
    }
    return changes if priority is None else {**changes, "priority": priority}


@router.post("/memories/{memory_base_id}/settings")
async def save(
    visit: Visitor,
    memory_base_id: UUID,
    changes: Annotated[dict[str, object], Depends(_changes)],
    confirmed_days: Annotated[int | None, Form()] = None,
) -> Response:
    """Save, unless a feature would delete something then: it is counted first, and saved once it is confirmed."""
    visit.principal.require("write")
    memory = await visit.read(memory_bases.get_memory_base, memory_base_id)
    try:
        if changes["retain_days"] != confirmed_days and (counted := await _counted(visit, memory, changes)) is not None:
            return await _page(visit, memory, changes, None, counted)
        await visit.write(manage.update_memory_base, memory_base_id, changes)
    except (errors.InvalidRequest, errors.NameTaken) as error:
        return await _page(visit, memory, changes, error)
    return visit.done(f"/memories/{memory_base_id}?tab=settings", "Saved.")


async def _counted(visit: Visit, memory: MemoryBaseView, changes: Mapping[str, Any]) -> tuple[str, Any] | None:
    for check in memory_checks():
        if (found := await check.count(visit, memory, changes)) is not None:
            return check.template, found
    return None


@router.post("/memories/{memory_base_id}/weights/reset")
async def reset_weights(visit: Visitor, memory_base_id: UUID) -> Response:
    await visit.write(weights.set_weights, memory_base_id, None)
    return visit.done(f"/memories/{memory_base_id}?tab=settings", "Searches use the default weights.")
