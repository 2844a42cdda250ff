"""Error pages: with the navigation for whom is signed in, and always with a way on."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.web import rendering, responses, visits
from api.web.same_origin import SAFE
from memorybase.core import errors
from memorybase.core.telemetry import get_logger

TITLES = {
    403: "Permission denied",
    404: "Not found",
    422: "Invalid request",
    500: "Request failed",
    503: "Service unavailable",
}
INCOMPLETE = "Nothing was changed: the form is incomplete. Select or enter what is missing, and send it again."

log = get_logger(__name__)


async def error_page(request: Request, error: Exception) -> Response:
    """The answer for a MemorybaseError: a page, or for htmx a sentence, which the script shows."""
    if not isinstance(error, errors.MemorybaseError):
        raise error
    text = error_text(error)
    if "hx-request" in request.headers:
        return Response(text, error.status_code, media_type="text/plain")
    values: dict[str, Any] = {
        "title": TITLES.get(error.status_code, "Request failed"),
        "message": text,
        "back": _page_before(request),
    }
    visit = await visits.signed_in(request)
    if visit is None:
        return responses.page(request, "problem_outside.html", error.status_code, **values)
    return visit.page("problem.html", place=_place(request), status=error.status_code, **values)


async def page_not_found(request: Request, _error: Exception) -> Response:
    """The page for an unknown address or a malformed id."""
    return await error_page(request, errors.NotFound("No page exists at this address."))


async def invalid_input(request: Request, error: Exception) -> Response:
    """The page for a form with missing or malformed fields; in an address, they make it that of no page."""
    if not isinstance(error, RequestValidationError):
        raise error
    if request.method in SAFE or any(each["loc"][0] == "path" for each in error.errors()):
        return await page_not_found(request, error)
    return await error_page(request, errors.InvalidRequest(INCOMPLETE))


def error_text(error: errors.MemorybaseError) -> str:
    """An error's message, with the value and the bound if it has them."""
    text = error.message
    if error.field and error.limit is not None:
        text = f"{text} ({error.field}: {error.value!r}, limit {error.limit!r})"
    return text if text.endswith((".", "!", "?", ")")) else f"{text}."


def _page_before(request: Request) -> str:
    """The address of the page that led here, if it is one of ours and not this one."""
    before = urlsplit(request.headers.get("referer", ""))
    is_own = before.netloc == request.headers.get("host") and before.path.startswith(f"{visits.root_of(request)}/")
    if not is_own or before.path == request.url.path:
        return ""
    return f"{before.path}?{before.query}" if before.query else before.path


def _place(request: Request) -> str:
    """The entry of the navigation that the address is below."""
    first = request.url.path.removeprefix(visits.root_of(request)).split("/")[1]
    return next((name for name, *_ in rendering.PLACES if name == first), "")


class Crashes:
    """Answers a defect with a page. The log has the traceback under the id that the page names."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except Exception:
            if scope["type"] != "http" or started:
                raise
            # The edge of the pages: the visitor gets one, and the log gets the traceback.
            log.exception("request_crashed", method=scope["method"])
            request_id = scope.get("request_id", "")
            text = f"memorybase could not answer. Try again; the log of the API has the reason under {request_id}."
            answer = await error_page(Request(scope, receive), errors.MemorybaseError(text))
            await answer(scope, receive, send)
