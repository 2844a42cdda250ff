"""Signing in with an API key or a one-time link, signing out, and error pages.

Plain HTML, so that it works without NiceGUI's scripts.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from api.limits import Gate
from api.web import same_origin
from api.web.visits import COOKIE, services_of_host
from memorybase import errors
from memorybase.auth import web_sessions
from memorybase.auth.web_sessions import Ticket
from memorybase.services import Services

router = APIRouter(include_in_schema=False)

FORM = """
<form method="post" action="{root}/sign-in">
  <h1>Sign in to memorybase</h1>
  {alert}
  <label for="key">API key</label>
  <input id="key" name="key" type="password" autocomplete="current-password" required autofocus
         aria-describedby="hint">
  <p id="hint" class="muted">If you started with <code>memorybase up</code>, the key is in
  <code>&lt;data-dir&gt;/api_key</code>. <code>memorybase sign-in</code> prints a sign-in link.</p>
  <input type="hidden" name="next" value="{next_path}">
  <button type="submit">Sign in</button>
</form>
"""
CONFIRM = """
<form method="post" action="{root}/enter">
  <h1>Sign in to memorybase</h1>
  <p>Another site led to this sign-in link. Continue only if you asked for the link.</p>
  <input type="hidden" name="token" value="{token}">
  <button type="submit">Sign in</button>
</form>
"""
PROBLEM = """
<h1>{title}</h1>
<p role="alert">{message}</p>
<p><a href="{root}/">All memories</a></p>
"""
TITLES = {403: "Permission denied", 404: "Not found", 503: "Service unavailable"}


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
        body = CONFIRM.format(root=escape(_root(request)), token=escape(token))
        return _page(request, "Sign in - memorybase", body, 200)
    return await _sign_in(request, web_sessions.enter, token, "")


@router.post("/enter")
async def sign_in_with_link(request: Request, token: Annotated[str, Form()] = "") -> Response:
    return await _sign_in(request, web_sessions.enter, token, "")


async def _sign_in(
    request: Request, open_session: Callable[[Services, str], Ticket], secret: str, next_path: str
) -> Response:
    """Attempts count against the same rate limits as keys in API requests."""
    gate: Gate = request.app.state.host.state.gate
    address = request.client.host if request.client else ""
    try:
        name = await gate.enter(services_of_host(), secret, address)
        try:
            ticket = await run_in_threadpool(open_session, services_of_host(), secret)
        except errors.Unauthorized:
            gate.refused(name, address)
            raise
    except (errors.Unauthorized, errors.RateLimited) as error:
        return _form(request, next_path, error)
    return _signed_in(request, ticket, next_path)


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    await run_in_threadpool(web_sessions.close, services_of_host(), request.cookies.get(COOKIE, ""))
    response = RedirectResponse(f"{_root(request)}/sign-in", status_code=303)
    response.delete_cookie(COOKIE, path=_root(request) or "/")
    return response


async def error_page(request: Request, error: Exception) -> Response:
    """The page for a MemorybaseError."""
    if not isinstance(error, errors.MemorybaseError):
        raise error
    body = PROBLEM.format(
        title=escape(TITLES.get(error.status_code, "Request failed")), message=escape(error.message),
        root=escape(_root(request)),
    )  # fmt: skip
    return _page(request, "memorybase", body, error.status_code)


async def page_not_found(request: Request, _error: Exception) -> Response:
    """The page for an unknown address or a malformed id."""
    return await error_page(request, errors.NotFound("No page exists at this address."))


def _signed_in(request: Request, ticket: Ticket, next_path: str) -> Response:
    root = _root(request)
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
    alert = f'<p role="alert">{escape(error.message)}</p>' if error else ""
    body = FORM.format(root=escape(_root(request)), alert=alert, next_path=escape(next_path))
    return _page(request, "Sign in - memorybase", body, error.status_code if error else 200)


def _page(request: Request, title: str, body: str, status: int) -> Response:
    root = escape(_root(request))
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="{root}/static/icon.svg"><link rel="stylesheet" href="{root}/static/plain.css"></head>
<body><main>{body}</main></body></html>"""
    return HTMLResponse(page, status_code=status, headers={"Cache-Control": "no-store"})


def _root(request: Request) -> str:
    return str(request.scope.get("root_path", ""))
