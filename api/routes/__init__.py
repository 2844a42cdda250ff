"""Routes by noun."""

from __future__ import annotations

from api.routes import (
    flows,
    health,
    jobs,
    keys,
    knowledge_bases,
    memories,
    messages,
    metrics,
    portability,
    search,
    sessions,
)

ROUTERS = (
    health.router,
    flows.router,
    memories.router,
    jobs.router,
    messages.router,
    sessions.router,
    search.router,
    knowledge_bases.router,
    keys.router,
    metrics.router,
    portability.router,
)
