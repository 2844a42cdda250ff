"""Prometheus metrics. They require a read key, since they show how much is captured and when."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response, Security

from api.deps import BEARER, HEADER, CheckedRoute, KeyedRoute, ServicesDep
from api.schemas import ERRORS
from memorybase.core.auth.api_keys import Principal
from memorybase.core.operations import exposition as metrics_text


class _UnlessPublic(KeyedRoute):
    """Requires a key unless the setting `metrics_public` is on."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        keyed, public = super().get_route_handler(), CheckedRoute.get_route_handler(self)

        async def handler(request: Request) -> Response:
            return await (public if request.app.state.settings.metrics_public else keyed)(request)

        return handler


router = APIRouter(
    tags=["metrics"],
    route_class=_UnlessPublic,
    dependencies=[Security(BEARER), Security(HEADER)],
    responses=ERRORS,
)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def get_metrics(services: ServicesDep, request: Request) -> Response:
    """Read metrics in Prometheus text format. Gauges cover the whole installation, counters this process."""
    exposition: metrics_text.Exposition = request.app.state.exposition
    caller: Principal | None = getattr(request.state, "principal", None)
    if caller is not None:
        caller.require("read" if "read" in caller.scopes else "metrics")
    return Response(exposition.text(services), media_type=metrics_text.CONTENT_TYPE)
