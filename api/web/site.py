"""The application of the pages, mounted on the API's."""

from __future__ import annotations

import mimetypes

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.proxy_user import ThroughProxy
from api.web import deadlines, problems, same_origin, sign_in, visits
from api.web.extension import folders
from api.web.rendering import STATIC
from api.web.views import routers
from memorybase.core import errors

# Nothing inline, so that no text that a page shows can become a script or a style.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


class Headers:
    """The Content-Security-Policy, what browsers may keep, and no referrer to other sites: an address may hold a
    sign-in token."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]  # of a file, the address holds the version or the content's hash
        is_file = "/static/" in path and (b"v=" in scope["query_string"] or path.endswith(".woff2"))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = POLICY
                headers["Referrer-Policy"] = "same-origin"
                if is_file and message["status"] == 200:
                    headers["Cache-Control"] = "public, max-age=31536000, immutable"
            await send(message)

        await self.app(scope, receive, send_with_headers)


PATH = "/ui"
# Windows may have others in its registry, with which a browser refuses a script or a style sheet.
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".woff2": "font/woff2"}


def mount(app: FastAPI) -> None:
    """Serve the pages under /ui and redirect / there."""
    site = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    site.state.host = app
    site.state.deadlines = deadlines.USUAL
    packages: list[str | tuple[str, str]] = [
        (f"memorybase.features.{folder.parent.name}", "static") for folder in folders("static")
    ]
    for suffix, kind in KINDS.items():
        mimetypes.add_type(kind, suffix)
    site.mount("/static", StaticFiles(directory=STATIC, packages=packages))
    for router in (sign_in.router, *routers()):
        site.router.routes += router.routes
    site.add_exception_handler(errors.Unauthorized, visits.redirect_to_sign_in)
    site.add_exception_handler(errors.MemorybaseError, problems.error_page)
    site.add_exception_handler(RequestValidationError, problems.invalid_input)
    site.add_exception_handler(404, problems.page_not_found)
    site.add_exception_handler(405, problems.page_not_found)  # the address of a form
    site.add_middleware(problems.Crashes)
    site.add_middleware(GZipMiddleware, minimum_size=1_000)
    site.add_middleware(same_origin.SameOriginOnly, refuse=problems.error_page)
    site.add_middleware(ThroughProxy)
    site.add_middleware(Headers)
    app.add_api_route("/", _redirect_to_pages, include_in_schema=False)
    app.mount(PATH, site)


def _redirect_to_pages(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{PATH}/", status_code=307)
