"""Signing in with an API key or a one-time link, signing out; and errors of whole pages, in words.

Plain HTML forms: they work before anything else does.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from api.limits import Gate
from api.web.visits import COOKIE, services_of_host
from memorybase import errors
from memorybase.auth import web_sessions
from memorybase.auth.web_sessions import Ticket
from memorybase.services import Services

router = APIRouter(include_in_schema=False)

FORM = """
<form method="post" action="{root}/sign-in">
  <h1>Sign in</h1>
  {said}
  <label for="key">API key</label>
  <input id="key" name="key" type="password" autocomplete="current-password" required autofocus
         aria-describedby="hint">
  <p id="hint" class="quiet">The key that your programs use. Of a stack that <code>memorybase up</code> started it
  stands in <code>api_key</code> in the data directory; <code>memorybase sign-in</code> prints a link instead.</p>
  <input type="hidden" name="next" value="{wanted}">
  <button type="submit">Sign in</button>
</form>
"""
PROBLEM = """
<h1>{title}</h1>
<p role="alert">{message}</p>
<p><a href="{root}/">All memories</a></p>
"""
TITLES = {403: "Not with this key", 404: "Not here", 503: "Not now"}


@router.get("/sign-in")
def show_form(request: Request, wanted: Annotated[str, Query(alias="next")] = "") -> Response:
    return _form(request, wanted)


@router.post("/sign-in")
async def enter_with_key(
    request: Request, key: Annotated[str, Form()] = "", wanted: Annotated[str, Form(alias="next")] = ""
) -> Response:
    return await _enter(request, web_sessions.open_session, key.strip(), wanted)


@router.get("/enter")
async def enter_with_link(request: Request, token: str = "") -> Response:
    return await _enter(request, web_sessions.enter, token, "")


async def _enter(request: Request, take: Callable[[Services, str], Ticket], secret: str, wanted: str) -> Response:
    """What is typed here counts against the same limits as a key in a request."""
    gate: Gate = request.app.state.host.state.gate
    address = request.client.host if request.client else ""
    try:
        name = gate.admit(secret, address)
        try:
            ticket = await run_in_threadpool(take, services_of_host(), secret)
        except errors.Unauthorized:
            gate.refused(name, address)
            raise
    except (errors.Unauthorized, errors.RateLimited) as error:
        return _form(request, wanted, error)
    return _signed_in(request, ticket, wanted)


@router.post("/sign-out")
async def leave(request: Request) -> Response:
    await run_in_threadpool(web_sessions.close, services_of_host(), request.cookies.get(COOKIE, ""))
    answer = RedirectResponse(f"{_root(request)}/sign-in", status_code=303)
    answer.delete_cookie(COOKIE, path=_root(request) or "/")
    return answer


async def in_words(request: Request, error: Exception) -> Response:
    """An error of ours that a whole page fails with."""
    if not isinstance(error, errors.MemorybaseError):
        raise error
    body = PROBLEM.format(
        title=escape(TITLES.get(error.status_code, "That did not work")), message=escape(error.message),
        root=escape(_root(request)),
    )  # fmt: skip
    return _page(request, "memorybase", body, error.status_code)


async def no_such_page(request: Request, _error: Exception) -> Response:
    """An address that holds an id which is none."""
    return await in_words(request, errors.NotFound("There is no page at this address."))


def _signed_in(request: Request, ticket: Ticket, wanted: str) -> Response:
    root = _root(request)
    # To a page of ours or to none: an address from outside must not be a way to another site.
    target = wanted if wanted.startswith(f"{root}/") and "\\" not in wanted and "//" not in wanted else f"{root}/"
    answer = RedirectResponse(target, status_code=303)
    answer.set_cookie(
        COOKIE,
        ticket.token,
        expires=ticket.expires_at,
        path=root or "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return answer


def _form(request: Request, wanted: str, error: errors.MemorybaseError | None = None) -> Response:
    said = f'<p role="alert">{escape(error.message)}</p>' if error else ""
    body = FORM.format(root=escape(_root(request)), said=said, wanted=escape(wanted))
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
