"""Puts the pages on the API's application."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from nicegui import app as nicegui_app
from nicegui import ui
from starlette.middleware.base import BaseHTTPMiddleware

from api.web import entrance, pages, visits
from memorybase import errors

PATH = "/ui"
STATIC = Path(__file__).parent / "static"


def mount(app: FastAPI) -> None:
    """Serve the pages under /ui, and lead / there. One application a process: NiceGUI's own is one."""
    pages.register()
    nicegui_app.state.host = app
    nicegui_app.add_static_files("/static", STATIC)
    nicegui_app.include_router(entrance.router)
    nicegui_app.add_exception_handler(errors.Unauthorized, visits.to_the_entrance)
    nicegui_app.add_exception_handler(errors.MemorybaseError, entrance.in_words)
    nicegui_app.add_exception_handler(RequestValidationError, entrance.no_such_page)
    nicegui_app.add_exception_handler(404, entrance.no_such_page)  # NiceGUI's own logs the address, query and all
    nicegui_app.add_middleware(visits.Headers)
    app.add_api_route("/", _to_the_pages, include_in_schema=False)
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
    nicegui_app.config.quasar_config["loadingBar"] = {"skipHijack": True}  # nothing loads behind the socket
    # These two fail a request whose reader has gone away meanwhile; the first is for proxies that set a prefix, which
    # `root_path` does, the second for pages at the root.
    nicegui_app.user_middleware[:] = [
        each
        for each in nicegui_app.user_middleware
        if not (isinstance(each.cls, type) and issubclass(each.cls, BaseHTTPMiddleware))
    ]


def _to_the_pages(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{PATH}/", status_code=307)
