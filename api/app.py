"""The application: `uvicorn api.app:app`, or `create_app(services)` for a test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from api import failures, waiting
from api.limits import Gate
from api.middleware import REQUEST_ID, BodyBound, EncodedIds, RequestContext
from api.routes import ROUTERS
from memorybase import __version__, telemetry
from memorybase.operations import exposition
from memorybase.services import Services
from memorybase.settings import Settings

PREFIX = "/v1"
DESCRIPTION = "The memory of LLM flows: capture every run, lose nothing, find it again."


class Api(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """FastAPI's document; each schema's title is its name, since a generic type gives all its schemas one title."""
        document = super().openapi()
        for name, schema in document["components"]["schemas"].items():
            schema["title"] = name.rstrip("_").replace("_", " of ")
        return document


def create_app(services: Services | None = None) -> FastAPI:
    """The API over these services, or over those of the settings, built when it starts."""
    settings = services.settings if services else Settings()
    app = Api(
        title="memorybase",
        version=__version__,
        description=DESCRIPTION,
        lifespan=_lifespan,
        generate_unique_id_function=_operation_id,
        # The pages behind these load from a CDN.
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{PREFIX}/openapi.json",
        strict_content_type=False,
    )
    app.state.settings = settings
    app.state.services = services
    app.state.ending = False
    app.state.gate = Gate(settings)
    app.state.exposition = exposition.Exposition()
    failures.install(app)
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX)
        app.include_router(router, include_in_schema=False)
    _surround(app, settings)
    return app


@cache
def application() -> FastAPI:
    """The process's own application, pages included, for `uvicorn --factory api.app:application`."""
    app = create_app()
    if app.state.settings.web:
        # Here, so that tools which import the API for its OpenAPI load no pages.
        from api import web

        web.mount(app)
    return app


def __getattr__(name: str) -> ASGIApp:
    # `app` is made when a server asks for it, so that importing this module reads no settings.
    if name == "app":
        return application()
    raise AttributeError(name)


def _surround(app: FastAPI, settings: Settings) -> None:
    # The last one added is the first that a request meets.
    app.add_middleware(EncodedIds)
    app.add_middleware(BodyBound, max_body_bytes=settings.max_body_bytes)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key", REQUEST_ID],
            expose_headers=[REQUEST_ID, "Retry-After"],
        )
    app.add_middleware(RequestContext)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    given = app.state.services is not None
    if not given:
        # Here, so that importing the API, as tools do for its OpenAPI, brings no client library along.
        from memorybase import wiring

        telemetry.configure(app.state.settings)
        app.state.services = wiring.build(app.state.settings, role="api")
        _prepare(app)
        wiring.keep_loaded()
    with waiting.ended_by_signals(app):
        yield
    if not given:
        app.state.services.database.dispose()


def _prepare(app: FastAPI) -> None:
    """FastAPI prepares a route when it first looks at it: all of them together would hold up the first caller, and
    everybody beside it, for half a second."""
    nowhere = {"type": "http", "method": "GET", "path": "/\0", "root_path": "", "headers": []}
    for route in app.routes:
        route.matches(nowhere)


def _operation_id(route: APIRoute) -> str:
    return route.name
