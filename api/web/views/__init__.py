"""The views of the core, one module each with a `router`, and those of features."""

from __future__ import annotations

from fastapi import APIRouter

from api.web.extension import pages_of_features
from api.web.views import (
    components,
    conversations,
    first_minute,
    former,
    home,
    jobs,
    memories,
    memory,
    memory_messages,
    memory_overview,
    memory_settings,
    message,
    message_actions,
    palette,
    person,
    playground,
    run,
    session,
    settings_health,
    settings_keys,
)

_OWN = (
    components,
    conversations,
    former,
    first_minute,
    home,
    jobs,
    memories,
    memory,
    memory_messages,
    memory_overview,
    memory_settings,
    message,
    message_actions,
    palette,
    person,
    playground,
    run,
    session,
    settings_health,
    settings_keys,
)


def routers() -> list[APIRouter]:
    """Of the core's views and of the features'. A call, since features import views."""
    return [*(view.router for view in _OWN), *(pages.router for pages in pages_of_features().values())]
