"""Whether this process lives, and whether all parts of the stack are there. Without a key."""

from __future__ import annotations

from typing import Literal

import anyio
from fastapi import APIRouter

from api.deps import ServicesDep
from api.schemas import ERRORS, Liveness, Readiness
from memorybase import __version__, errors
from memorybase.operations import health

router = APIRouter(tags=["health"], responses={"5XX": ERRORS["5XX"]})
# Whoever waits for a hanging part must not take the threads that requests need.
_limiter = anyio.CapacityLimiter(20)


@router.get("/health/live")
async def health_live() -> Liveness:
    return Liveness(version=__version__)


@router.get("/health/ready")
async def health_ready(services: ServicesDep) -> Readiness:
    """200 when every part answers, else 503 naming those that do not.

    200 with `degraded` and the reason when all of them answer and the queue does not move: a restart mends nothing.
    """
    seen = await anyio.to_thread.run_sync(health.check_parts, services, limiter=_limiter)
    failing = [part.name for part in seen if not part.ok]
    if failing:
        raise errors.NotReady(f"Not ready: {', '.join(failing)}", failing=failing)
    parts: dict[str, Literal["ok", "degraded"]] = {part.name: "ok" for part in seen}
    reason = await anyio.to_thread.run_sync(health.why_degraded, services, limiter=_limiter)
    if reason is not None:
        return Readiness(status="degraded", parts=parts | {"queue": "degraded"}, reason=reason)
    return Readiness(status="ready", parts=parts | {"queue": "ok"})
