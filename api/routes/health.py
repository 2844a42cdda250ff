"""Liveness of this process and readiness of the stack, without an API key."""

from __future__ import annotations

from typing import Literal

import anyio
from fastapi import APIRouter

from api.deps import CheckedRoute, ServicesDep
from api.schemas import ERRORS, Liveness, Readiness
from memorybase import __version__
from memorybase.core import errors
from memorybase.core.operations import health

# Each process has its own model, so it is no part of the stack for metrics and the doctor.
MODEL = "model"

router = APIRouter(tags=["health"], route_class=CheckedRoute, responses={"5XX": ERRORS["5XX"]})
# Separate threads: health checks that hang must not use up the threads of requests.
_limiter = anyio.CapacityLimiter(20)


@router.get("/health/live")
async def health_live() -> Liveness:
    """Check that the process answers; it asks no other part."""
    return Liveness(version=__version__)


@router.get("/health/ready", responses={503: {"description": "A part is unavailable."}})
async def health_ready(services: ServicesDep) -> Readiness:
    """Check all parts: 200 if every part responds, else 503 with the names of those that do not.

    `model` is named while the embedding model is prepared in the background, or if that failed; `reason` says which.
    200 with `degraded` and a reason if every part responds and the queue makes no progress: a restart would not help.
    """
    seen = await anyio.to_thread.run_sync(health.check_parts, services, limiter=_limiter)
    failing = [part.name for part in seen if not part.ok]
    if (unprepared := services.embedders.problem()) is not None:
        failing.append(MODEL)
        raise errors.NotReady(f"Not ready: {', '.join(failing)} ({unprepared})", failing=failing, reason=unprepared)
    if failing:
        raise errors.NotReady(f"Not ready: {', '.join(failing)}", failing=failing)
    parts: dict[str, Literal["ok", "degraded"]] = dict.fromkeys([*(part.name for part in seen), MODEL], "ok")
    reason = await anyio.to_thread.run_sync(health.why_degraded, services, limiter=_limiter)
    if reason is not None:
        return Readiness(status="degraded", parts=parts | {"queue": "degraded"}, reason=reason)
    return Readiness(status="ready", parts=parts | {"queue": "ok"})
