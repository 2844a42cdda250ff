"""Signing in with an API key, a one-time link or an OpenID Connect provider, and signing out."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from api.limits import Gate
from api.web import calls, responses, same_origin
from api.web.problems import error_text
from api.web.visits import COOKIE, Visitor, root_of, services_of
from memorybase.core import errors
from memorybase.core.auth import provider_sign_in, web_sessions
from memorybase.core.auth.web_sessions import Ticket
from memorybase.core.services import Services

router = APIRouter(include_in_schema=False)

BEGUN_COOKIE = "memorybase_sign_in"
SIGN_IN_SECONDS = 600  # that a person has at the provider
MAX_NEXT_PATH = 1_000
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
    except (errors.Unauthorized, errors.Forbidden, errors.RateLimited, errors.IssuerUnavailable) as error:
        return _form(request, next_path, error)
    await run_in_threadpool(calls.record_sign_in, request, services, ticket.token)
    return _signed_in(request, ticket, next_path)


@router.get("/sign-in/provider")
async def go_to_provider(request: Request, next_path: Annotated[str, Query(alias="next")] = "") -> Response:
    """Sends the browser to the OpenID Connect provider. What it must show on its return is in a cookie."""
    services, begun = _services_with_provider(request), provider_sign_in.Begun.new()
    try:
        address = await run_in_threadpool(provider_sign_in.address, services, begun)
    except errors.IssuerUnavailable as error:
        return _form(request, next_path, error)
    response = RedirectResponse(address, status_code=303)
    kept = json.dumps([begun.state, begun.nonce, begun.verifier, next_path[:MAX_NEXT_PATH]])
    response.set_cookie(
        BEGUN_COOKIE,
        urlsafe_b64encode(kept.encode()).decode(),
        max_age=SIGN_IN_SECONDS,
        path=f"{root_of(request)}/sign-in",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",  # the provider leads back to this page
    )
    return response


@router.get("/sign-in/callback")
async def return_from_provider(request: Request) -> Response:
    _services_with_provider(request)
    begun, next_path = _begun(request)
    given = {name: request.query_params.get(name) for name in ("state", "code", "iss", "error")}
    returned = provider_sign_in.Returned(**{name: value for name, value in given.items() if value is not None})

    def finish(services: Services, _: str) -> Ticket:
        return provider_sign_in.finish(services, begun, returned)

    response = await _sign_in(request, finish, "", next_path)
    response.delete_cookie(BEGUN_COOKIE, path=f"{root_of(request)}/sign-in")
    return response


def _begun(request: Request) -> tuple[provider_sign_in.Begun, str]:
    """The sign-in that this browser has begun; of another browser one that nothing matches."""
    try:
        state, nonce, verifier, next_path = json.loads(urlsafe_b64decode(request.cookies.get(BEGUN_COOKIE, "")))
        return provider_sign_in.Begun(str(state), str(nonce), str(verifier)), str(next_path)
    except (ValueError, TypeError, RecursionError):
        return provider_sign_in.Begun.new(), ""


def _services_with_provider(request: Request) -> Services:
    """Raises NotFound if people do not sign in with a provider."""
    services = services_of(request)
    if not services.settings.sign_in_client_id:
        raise errors.NotFound("People do not sign in with a provider here: MEMORYBASE_SIGN_IN_CLIENT_ID is not set")
    return services


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
    settings = services_of(request).settings
    provider = urlsplit(settings.oauth_issuer).hostname if settings.sign_in_client_id else None
    shown = {"message": message, "next_path": next_path, "provider": provider}
    return responses.page(request, "sign_in.html", status, title="Sign in", **shown)
