"""The routes, one module per resource."""

from __future__ import annotations

from api.routes import (
    chat_memories,
    context,
    dify,
    flows,
    health,
    history,
    jobs,
    keys,
    knowledge_bases,
    memories,
    messages,
    metrics,
    portability,
    search,
    sessions,
    sign_in,
    summaries,
)

ROUTERS = (
    health.router,
    flows.router,
    memories.router,
    jobs.router,
    messages.router,
    sessions.router,
    history.router,
    chat_memories.router,
    search.router,
    dify.router,
    knowledge_bases.router,
    keys.router,
    sign_in.router,
    metrics.router,
    summaries.router,
    context.router,
    portability.router,
)
