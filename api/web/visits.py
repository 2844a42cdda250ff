"""The visit behind an open page: its cookie, its API key, and how the page calls the domain."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote
from uuid import UUID

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response
from nicegui import app as nicegui_app
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.web import content_policy
from api.web.same_origin import SOCKET_PATH
from memorybase import errors
from memorybase.auth import web_sessions
from memorybase.auth.api_keys import Principal
from memorybase.services import Services

COOKIE = "memorybase_session"
# How often an open page checks that its key is still valid.
CHECK_KEY_SECONDS = 10.0

P = ParamSpec("P")
Result = TypeVar("Result")


class Visit:
    """One open page of a signed-in key. All its calls of the domain go through here."""

    def __init__(self, request: Request, services: Services, token: str, principal: Principal) -> None:
        self.request = request
        self.services = services
        self.principal = principal
        self._token = token
        self._checked_at = time.monotonic()

    @property
    def root(self) -> str:
        """The prefix of every link between pages."""
        return str(self.request.scope.get("root_path", ""))

    @property
    def origin(self) -> str:
        """The API's address as this browser reaches it."""
        return str(self.request.base_url).removesuffix("/").removesuffix("/ui")

    def may(self, scope: str) -> bool:
        return scope in self.principal.scopes

    async def read(
        self, function: Callable[Concatenate[Services, UUID, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """Call a function of the domain for this user. Raises its errors, Unauthorized and Forbidden."""
        return await self._call("read", lambda: function(self.services, self.principal.user_id, *args, **kwargs))

    async def write(
        self, function: Callable[Concatenate[Services, UUID, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """The same, with the scope write."""
        return await self._call("write", lambda: function(self.services, self.principal.user_id, *args, **kwargs))

    async def admin(
        self, function: Callable[Concatenate[Services, UUID, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """The same, with the scope admin."""
        return await self._call("admin", lambda: function(self.services, self.principal.user_id, *args, **kwargs))

    async def _call(self, scope: str, call: Callable[[], Result]) -> Result:
        if time.monotonic() - self._checked_at > CHECK_KEY_SECONDS:
            self.principal = await run_in_threadpool(web_sessions.principal_of, self.services, self._token)
            self._checked_at = time.monotonic()
        self.principal.require(scope)
        return await run_in_threadpool(call)


def services_of_host() -> Services:
    """The services of the application that the pages are mounted on."""
    services: Services = nicegui_app.state.host.state.services
    return services


async def _visit(request: Request) -> Visit:
    services = services_of_host()
    token = request.cookies.get(COOKIE, "")
    principal = await run_in_threadpool(web_sessions.principal_of, services, token)
    principal.require("read")
    return Visit(request, services, token, principal)


Visitor = Annotated[Visit, Depends(_visit)]


async def redirect_to_sign_in(request: Request, _error: Exception) -> Response:
    """To the sign-in form, which then returns to the requested page."""
    next_path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"{request.scope.get('root_path', '')}/sign-in?next={quote(next_path, safe='')}", 303)


class VisitorsOnly:
    """Refuses the pages' web socket to browsers that are not signed in, and so have no page open."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or SOCKET_PATH not in scope["path"] or await _is_signed_in(scope):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": ""})  # before accept: 403
        else:
            await Response("Sign in first.", 403)(scope, receive, send)


async def _is_signed_in(scope: Scope) -> bool:
    if scope["type"] == "http" and b"sid=" in scope["query_string"]:
        return True  # polling on; checked when the connection was made
    token = HTTPConnection(scope).cookies.get(COOKIE, "")
    try:
        await run_in_threadpool(web_sessions.principal_of, services_of_host(), token)
    except errors.Unauthorized:
        return False
    except errors.EnvironmentFailure:
        return True  # an open page goes on while the database is away, and says so
    return True


class Headers:
    """The pages' Content-Security-Policy, what browsers may cache, and no referrer to other sites: an address may hold
    a sign-in token."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        content_policy.choose_nonce(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if "/_nicegui/" in scope["path"]:  # the path holds the version
                    headers["Cache-Control"] = "public, max-age=31536000, immutable"
                headers["Content-Security-Policy"] = content_policy.policy_for(scope)
                headers["Referrer-Policy"] = "same-origin"
            await send(message)

        await self.app(scope, receive, send_with_headers)
