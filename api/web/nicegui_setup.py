"""Mounts the pages on the API's application."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from nicegui import app as nicegui_app
from nicegui import ui
from nicegui.client import templates
from starlette.middleware.base import BaseHTTPMiddleware

from api.web import content_policy, pages, same_origin, sign_in, visits
from memorybase import errors

PATH = "/ui"
STATIC = Path(__file__).parent / "static"


def mount(app: FastAPI) -> None:
    """Serve the pages under /ui and redirect / there. Only one application in a process: NiceGUI's is a global."""
    pages.register()
    nicegui_app.state.host = app
    nicegui_app.add_static_files("/static", STATIC)
    nicegui_app.include_router(sign_in.router)
    nicegui_app.add_exception_handler(errors.Unauthorized, visits.redirect_to_sign_in)
    nicegui_app.add_exception_handler(errors.MemorybaseError, sign_in.error_page)
    nicegui_app.add_exception_handler(RequestValidationError, sign_in.page_not_found)
    nicegui_app.add_exception_handler(404, sign_in.page_not_found)  # NiceGUI's handler logs the address and its query
    nicegui_app.add_middleware(visits.VisitorsOnly)
    nicegui_app.add_middleware(same_origin.SameOriginOnly)
    nicegui_app.add_middleware(visits.Headers)
    content_policy.add_nonces(templates.env)
    app.add_api_route("/", _redirect_to_pages, include_in_schema=False)
    ui.run_with(
        app,
        mount_path=PATH,
        title="memorybase",
        favicon=STATIC / "icon.svg",
        language="en-US",
        dark=None,
        tailwind=False,
        reconnect_timeout=10.0,
        binding_refresh_interval=None,
        show_welcome_message=False,
    )
    nicegui_app.config.quasar_config["loadingBar"] = {"skipHijack": True}  # updates come over the web socket
    # NiceGUI's two BaseHTTPMiddlewares fail a request when its browser disconnects, and neither is needed: one reads a
    # proxy's prefix, which `root_path` does here, the other serves pages at the root.
    nicegui_app.user_middleware[:] = [
        middleware
        for middleware in nicegui_app.user_middleware
        if not (isinstance(middleware.cls, type) and issubclass(middleware.cls, BaseHTTPMiddleware))
    ]


def _redirect_to_pages(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{PATH}/", status_code=307)
