"""The FastAPI application, which api.server serves; `create_app(services)` builds one for a test."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from api import contract, docs_page, failures, mcp, protected_resource
from api.admission import Admission, admission_of
from api.bodies import BodyBound
from api.file_limit import raise_file_limit
from api.idempotency import HEADER, REPLAYED
from api.limits import Gate
from api.locations import PREFIX
from api.middleware import REQUEST_ID, EncodedIds, RequestContext
from api.operations import policies
from api.proxy_user import ProxyUser
from api.request_metrics import RequestMetrics
from api.routes import OF_FEATURES, ROUTERS
from memorybase import __version__
from memorybase.core import collector, errors, telemetry, tracing
from memorybase.core.foreground import Foreground
from memorybase.core.operations import embedding_usage, exposition
from memorybase.core.services import Services
from memorybase.core.settings import Settings

log = telemetry.get_logger(__name__)

OTHER_THREADS = 20  # of the web page and of shared polls
SWITCH_SECONDS = 0.0005
DESCRIPTION = "Memory for LLM flows: capture runs, search their messages, build the context of the next turn."


class Api(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = contract.completed(super().openapi(), policies(ROUTERS))
        return self.openapi_schema


def create_app(services: Services | None = None, *, monotonic: Callable[[], float] = time.monotonic) -> FastAPI:
    """The API on these services, or on services built from the settings at start-up. `monotonic`: of rate limits."""
    settings = services.settings if services else Settings()
    app = Api(
        title="memorybase",
        version=__version__,
        description=DESCRIPTION,
        servers=contract.SERVERS,
        openapi_tags=[
            *contract.TAGS,
            *({"name": each.tag, "description": each.description} for each in OF_FEATURES if each.tag),
        ],
        lifespan=_lifespan,
        # FastAPI's pages load scripts from a CDN.
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{PREFIX}/openapi.json",
    )
    app.state.settings = settings
    app.state.services = services
    app.state.ending = False
    app.state.is_guest = False  # in a program, whose process is not ours to tune
    app.state.connections_bounded = False
    app.state.gate = Gate(settings, clock=monotonic)
    app.state.admission = Admission(services.state.of(Foreground) if services and settings.one_process else None)
    app.state.watched = {}  # api.waiting.polls_of
    app.state.exposition = exposition.Exposition()
    failures.install(app)
    for router in ROUTERS:  # not include_router, which builds each route once more and matches each request twice
        app.router.routes += router.routes
    if settings.mcp:
        mcp.mount(app)
    app.router.routes += docs_page.router.routes
    _surround(app, settings)
    return app


@cache
def application() -> FastAPI:
    """The application of this process, with the web page, for `uvicorn --factory api.app:application`."""
    return with_page(create_app())


def with_page(app: FastAPI) -> FastAPI:
    """The application with the web page, unless that is off."""
    if app.state.settings.web:
        # Imported here, so that api.openapi does not load the pages.
        from api.web import site

        site.mount(app)
    return app


def __getattr__(name: str) -> ASGIApp:
    # Built on first access, so that importing this module reads no settings.
    if name == "app":
        return application()
    raise AttributeError(name)


def _surround(app: FastAPI, settings: Settings) -> None:
    # A request passes the last one first.
    app.add_middleware(EncodedIds)
    app.add_middleware(BodyBound, settings=settings)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=[
                "Authorization",
                "Content-Type",
                HEADER,
                "X-API-Key",
                REQUEST_ID,
                "traceparent",
                *mcp.HEADERS,
            ],
            expose_headers=[
                REQUEST_ID,
                REPLAYED,
                "Location",
                "RateLimit",
                "RateLimit-Policy",
                "Retry-After",
                protected_resource.CHALLENGE,
            ],
        )
    app.add_middleware(RequestContext)
    app.add_middleware(RequestMetrics)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.trusted_proxies)
    if settings.proxy_user_header:
        app.add_middleware(ProxyUser, settings=settings)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    is_built_here = app.state.services is None
    if is_built_here:
        # Imported here, so that api.openapi loads no client library.
        from memorybase import wiring

        telemetry.configure(app.state.settings)
        raise_file_limit()
        if not app.state.connections_bounded:
            log.warning("connections_unbounded", reason="not started with python -m api")
        app.state.services = wiring.build(app.state.settings, role="api")
        collector.spare_loaded()
    app.state.services.embedders.prepare()
    _share_the_interpreter(app)
    async with mcp.running(app):
        yield
    if is_built_here:
        tracing.flush()
        with suppress(errors.EnvironmentFailure):
            embedding_usage.store(app.state.services)
        app.state.services.database.dispose()


def _share_the_interpreter(app: FastAPI) -> None:
    """One thread per admitted request, and a shorter switch interval: a capture needs the GIL about fifty times, and
    would wait behind a search each time."""
    threads = to_thread.current_default_thread_limiter()
    threads.total_tokens = max(threads.total_tokens, admission_of(app).threads + OTHER_THREADS)
    if not app.state.is_guest:
        sys.setswitchinterval(SWITCH_SECONDS)
