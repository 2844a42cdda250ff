"""Signing in with an API key or a one-time link, and signing out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from api.limits import Gate
from api.web import calls, responses, same_origin
from api.web.problems import error_text
from api.web.visits import COOKIE, Visitor, root_of, services_of
from memorybase.core import errors
from memorybase.core.auth import web_sessions
from memorybase.core.auth.web_sessions import Ticket
from memorybase.core.services import Services

router = APIRouter(include_in_schema=False)

WRONG_KEY = "No API key of this server is like this one. Check that the key is whole and was not revoked."


@router.get("/sign-in")
def show_form(request: Request, next_path: Annotated[str, Query(alias="next")] = "") -> Response:
    return _form(request, next_path)


@router.post("/sign-in")
async def sign_in_with_key(
    request: Request, key: Annotated[str, Form()] = "", next_path: Annotated[str, Form(alias="next")] = ""
) -> Response:
    return await _sign_in(request, web_sessions.open_session, key.strip(), next_path)


@router.get("/enter")
async def open_link(request: Request, token: str = "") -> Response:
    """Signs in, unless another site led here: that site may have made the link for its own key."""
    if same_origin.is_foreign(request.headers):
        return responses.page(request, "sign_in_confirm.html", title="Sign in", token=token)
    return await _sign_in(request, web_sessions.enter, token, "")


@router.post("/enter")
async def sign_in_with_link(request: Request, token: Annotated[str, Form()] = "") -> Response:
    return await _sign_in(request, web_sessions.enter, token, "")


async def _sign_in(
    request: Request, open_session: Callable[[Services, str], Ticket], secret: str, next_path: str
) -> Response:
    """Attempts count against the same rate limits as keys in API requests."""
    gate: Gate = request.app.state.host.state.gate
    services = services_of(request)
    address = request.client.host if request.client else ""
    try:
        name = await gate.enter(services, secret, address)
        try:
            ticket = await run_in_threadpool(open_session, services, secret)
        except errors.Unauthorized:
            gate.refused(name, address)
            raise
    except (errors.Unauthorized, errors.RateLimited) as error:
        return _form(request, next_path, error)
    await run_in_threadpool(calls.record_sign_in, request, services, ticket.token)
    return _signed_in(request, ticket, next_path)


@router.post("/sign-out")
async def sign_out(request: Request, visit: Visitor) -> Response:
    await visit.sign_out()
    response = RedirectResponse(f"{root_of(request)}/sign-in", status_code=303)
    response.delete_cookie(COOKIE, path=root_of(request) or "/")
    return response


def _signed_in(request: Request, ticket: Ticket, next_path: str) -> Response:
    root = root_of(request)
    # Only paths of the pages: a crafted link must not redirect to another site.
    is_own_path = next_path.startswith(f"{root}/") and "\\" not in next_path and "//" not in next_path
    response = RedirectResponse(next_path if is_own_path else f"{root}/", status_code=303)
    response.set_cookie(
        COOKIE,
        ticket.token,
        expires=ticket.expires_at,
        path=root or "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return response


def _form(request: Request, next_path: str, error: errors.MemorybaseError | None = None) -> Response:
    message = error_text(error) if error else ""
    if isinstance(error, errors.Unauthorized) and error.message == errors.Unauthorized().message:
        message = WRONG_KEY  # the message of the API names headers
    status = error.status_code if error else 200
    return responses.page(request, "sign_in.html", status, title="Sign in", message=message, next_path=next_path)
