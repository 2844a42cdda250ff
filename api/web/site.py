"""The application of the pages, mounted on the API's."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from api.web import audited, same_origin, sign_in, visits
from api.web.deadlines import Deadlines
from api.web.headers import Headers
from api.web.rendering import STATIC
from api.web.views import VIEWS
from memorybase import errors

PATH = "/ui"


def mount(app: FastAPI, deadlines: Deadlines | None = None) -> None:
    """Serve the pages under /ui and redirect / there. `deadlines`: by default those of the settings."""
    site = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    site.state.host = app
    site.state.deadlines = deadlines or Deadlines().times(app.state.settings.web_deadline_factor)
    site.mount("/static", StaticFiles(directory=STATIC))
    site.include_router(sign_in.router)
    for view in VIEWS:
        site.include_router(view.router)
    site.add_exception_handler(errors.Unauthorized, visits.redirect_to_sign_in)
    site.add_exception_handler(errors.MemorybaseError, sign_in.error_page)
    site.add_exception_handler(RequestValidationError, sign_in.page_not_found)
    site.add_exception_handler(404, sign_in.page_not_found)
    site.add_middleware(GZipMiddleware, minimum_size=1_000)
    site.add_middleware(same_origin.SameOriginOnly)
    site.add_middleware(audited.ThroughProxy)
    site.add_middleware(Headers)
    app.add_api_route("/", _redirect_to_pages, include_in_schema=False)
    app.mount(PATH, site)


def _redirect_to_pages(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{PATH}/", status_code=307)
