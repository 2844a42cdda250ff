"""The operations that require a key, each by its route: the policy is on it."""

from __future__ import annotations

from fastapi.routing import APIRoute

from api.deps import KeyedRoute
from api.routes import ROUTERS

ALL = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
KEYED = {route.name: route for route in ALL if isinstance(route, KeyedRoute)}
