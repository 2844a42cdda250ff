"""Whether this process lives, and whether all parts of the stack are there. Without a key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Literal

import anyio
from fastapi import APIRouter

from api.deps import ServicesDep
from api.schemas import ERRORS, Liveness, Readiness
from memorybase import __version__, errors, vitals
from memorybase.queries import clock, heartbeats
from memorybase.services import Services

# A part that takes longer than this to answer is not ready, whatever it says then.
CHECK_SECONDS = 3.0

router = APIRouter(tags=["health"], responses={"5XX": ERRORS["5XX"]})
# Hanging checks must not take the threads that requests need.
_limiter = anyio.CapacityLimiter(20)


@router.get("/health/live")
async def health_live() -> Liveness:
    return Liveness(version=__version__)


@router.get("/health/ready")
async def health_ready(services: ServicesDep) -> Readiness:
    """200 when every part answers, else 503 naming those that do not.

    200 with `degraded` and the reason when all of them answer and the queue does not move: a restart mends nothing.
    """
    checks = {
        "database": services.database.ping,
        "redis": lambda: _redis(services),
        "chroma": services.vectors.ping,
        "worker": lambda: _heartbeat(services, "worker"),
        "sweeper": lambda: _heartbeat(services, "sweeper"),
    }
    answers = await asyncio.gather(*(_holds(check) for check in checks.values()))
    failing = [name for name, answer in zip(checks, answers, strict=True) if not answer]
    if failing:
        raise errors.NotReady(f"Not ready: {', '.join(failing)}", failing=failing)
    parts: dict[str, Literal["ok", "degraded"]] = dict.fromkeys(checks, "ok")
    reason = await anyio.to_thread.run_sync(vitals.why_degraded, services, limiter=_limiter)
    if reason is not None:
        return Readiness(status="degraded", parts=parts | {"queue": "degraded"}, reason=reason)
    return Readiness(status="ready", parts=parts | {"queue": "ok"})


async def _holds(check: Callable[[], object]) -> bool:
    with anyio.move_on_after(CHECK_SECONDS):
        try:
            await anyio.to_thread.run_sync(check, abandon_on_cancel=True, limiter=_limiter)
        except errors.MemorybaseError:
            return False
        return True
    return False


def _redis(services: Services) -> None:
    if services.queue.backlog() is None:
        raise errors.QueueUnavailable


def _heartbeat(services: Services, kind: str) -> None:
    with services.database.reading() as session:
        seen = heartbeats.last_beat(session, kind)
        oldest = clock.now(session) - timedelta(seconds=services.settings.heartbeat_stale_seconds)
    if seen is None or seen < oldest:
        raise errors.NotReady(f"No sign of life of a {kind}")
