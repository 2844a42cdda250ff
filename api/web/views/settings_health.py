"""Health: each part of the stack, since when it is away, what stops without it, and the command that helps."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from api.web.calls import without_content
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.operations import health, stack_parts
from memorybase.core.operations.problems import Problem, ProblemKind, problems
from memorybase.core.operations.stack_parts import PartView
from memorybase.core.services import Services

OF_THE_WORKER = {ProblemKind.OVERDUE, ProblemKind.LONG}
LAG = 60.0  # seconds of lag that the page does not mention

router = APIRouter(include_in_schema=False)


@router.get("/settings")
@without_content
async def settings(visit: Visitor) -> Response:
    return RedirectResponse(f"{visit.root}/settings/health", status_code=307)


@router.get("/settings/health")
@without_content
async def page(visit: Visitor) -> Response:
    values = await _values(visit)
    return visit.settings("settings_health.html", "health", "Health", version="", **values)


@router.get("/settings/health/parts")
@without_content
async def live(visit: Visitor) -> Response:
    return visit.live("settings_parts.html", **await _values(visit))


async def _values(visit: Visit) -> dict[str, Any]:
    found = await visit.read(_look, visit.deadlines.health)
    lag: float | None = None
    waits: Problem | None = None
    if all(part.ok for part in found if part.name == "database"):
        try:
            lag = await visit.within(visit.deadlines.lag, health.oldest_pending_seconds)
            seen = await visit.within(visit.deadlines.lag, problems, visit.deadlines.part)
            waits = next((each for each in seen.problems if each.kind in OF_THE_WORKER), None)
        except (TimeoutError, errors.EnvironmentFailure):
            lag = None
    return {
        "parts": found,
        "away": [part for part in found if not part.ok],
        "lag": None if lag is None or lag <= LAG else lag,
        "waits": waits,
    }


def _look(services: Services, _user_id: UUID, seconds: float) -> list[PartView]:
    return stack_parts.part_views(services, seconds=seconds)
