"""Counts and times each request, and begins its span. Outermost, so that refusals of the middleware count too."""

from __future__ import annotations

import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.locations import PREFIX
from memorybase.core import metrics, tracing

# By route, not by path: a path has ids, and one label for each would grow without bound.
UNMATCHED = "unmatched"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
ABANDONED = 499  # the caller left before the answer began; the status that nginx logs
# Probes and scrapes are no traces. Nor are traces themselves: this process may send its own traces here.
UNTRACED = ("/health", "/metrics", "/traces")


class RequestMetrics:
    """One count, one time and, while traces are on, one span for each request."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        answered: float | None = None
        status = ABANDONED

        async def send_observed(message: Message) -> None:
            nonlocal answered, status
            if message["type"] == "http.response.start":
                answered, status = time.perf_counter(), message["status"]
            await send(message)

        method = scope["method"] if scope["method"] in METHODS else "other"
        opened = _begin_span(scope)
        try:
            with tracing.within([opened]):
                await self.app(scope, receive, send_observed)
        finally:
            route = route_of(scope)
            metrics.REQUESTS.labels(method, route, str(status)).inc()
            metrics.REQUEST_SECONDS.labels(method, route).observe((answered or time.perf_counter()) - began)
            tracing.describe_request(opened, method=method, route=route, status=status)
            tracing.end(
                opened, error=str(status) if status >= 500 else None, request_id=str(scope.get("request_id", ""))
            )


def _begin_span(scope: Scope) -> tracing.Span | None:
    path = scope["path"].removeprefix(PREFIX)
    if path.startswith(UNTRACED[:2]) or path.endswith(UNTRACED[2]):
        return None
    return tracing.begin(scope["method"], "server", Headers(scope=scope).get("traceparent"))


def route_of(scope: Scope) -> str:
    """The template of the route that answered, the same for both spellings of a path."""
    root: str = scope.get("root_path", "")
    mounted = root.removeprefix(scope.get("app_root_path", root))  # such as /ui
    path: str = getattr(scope.get("route"), "path", "")
    return (mounted + path).removeprefix(PREFIX) or UNMATCHED
