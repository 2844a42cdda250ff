"""The routes of the core, one module per resource, and those of features."""

from __future__ import annotations

from api.routes import (
    context,
    dead_letters,
    end_users,
    flows,
    health,
    history,
    jobs,
    keys,
    memories,
    messages,
    metrics,
    overview,
    portability,
    search,
    sessions,
    sign_in,
    summaries,
    workers,
)
from memorybase.features import EXTENSIONS

OF_FEATURES = tuple(found for each in EXTENSIONS if (found := each.routes()) is not None)
ROUTERS = (
    health.router,
    overview.router,
    flows.router,
    memories.router,
    jobs.router,
    dead_letters.router,
    messages.router,
    sessions.router,
    end_users.router,
    history.router,
    search.router,
    keys.router,
    workers.router,
    sign_in.router,
    metrics.router,
    summaries.router,
    context.router,
    portability.router,
    *(each.router for each in OF_FEATURES),
)
