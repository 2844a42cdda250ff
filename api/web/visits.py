"""Who looks at a page: the cookie, the key behind it, and the one way from a page to the domain."""

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
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorybase.auth import web_sessions
from memorybase.auth.api_keys import Principal
from memorybase.services import Services

COOKIE = "memorybase_session"
# A page that stays open looks this often whether its key still holds.
CHECKED_EVERY_SECONDS = 10.0

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Visit:
    """One open page of one signed-in key; every call of the domain goes through it."""

    def __init__(self, request: Request, services: Services, token: str, principal: Principal) -> None:
        self.request = request
        self.services = services
        self.principal = principal
        self._token = token
        self._checked = time.monotonic()

    @property
    def root(self) -> str:
        """What every link of ours begins with."""
        return str(self.request.scope.get("root_path", ""))

    @property
    def origin(self) -> str:
        """Where the API answers, as this reader reaches it."""
        return str(self.request.base_url).removesuffix("/").removesuffix("/ui")

    def may(self, scope: str) -> bool:
        return scope in self.principal.scopes

    async def ask(
        self, function: Callable[Concatenate[Services, UUID, P], Answer], *args: P.args, **kwargs: P.kwargs
    ) -> Answer:
        """What a function of the domain answers this user; raises its errors, Unauthorized, Forbidden."""
        return await self._call("read", lambda: function(self.services, self.principal.user_id, *args, **kwargs))

    async def act(
        self, function: Callable[Concatenate[Services, UUID, P], Answer], *args: P.args, **kwargs: P.kwargs
    ) -> Answer:
        """The same for what changes something: the key needs the scope for it."""
        return await self._call("write", lambda: function(self.services, self.principal.user_id, *args, **kwargs))

    async def administer(
        self, function: Callable[Concatenate[Services, UUID, P], Answer], *args: P.args, **kwargs: P.kwargs
    ) -> Answer:
        """The same for keys."""
        return await self._call("admin", lambda: function(self.services, self.principal.user_id, *args, **kwargs))

    async def _call(self, scope: str, call: Callable[[], Answer]) -> Answer:
        if time.monotonic() - self._checked > CHECKED_EVERY_SECONDS:
            self.principal = await run_in_threadpool(web_sessions.principal_of, self.services, self._token)
            self._checked = time.monotonic()
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


async def to_the_entrance(request: Request, _error: Exception) -> Response:
    """Whoever is not signed in signs in and then comes to what was asked for."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"{request.scope.get('root_path', '')}/sign-in?next={quote(wanted, safe='')}", 303)


class Headers:
    """Nobody frames these pages, and their addresses, which may hold a link's token, are told to nobody."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if "/_nicegui/" in scope["path"]:  # the version is in the address
                    headers["Cache-Control"] = "public, max-age=31536000, immutable"
                headers["X-Frame-Options"] = "DENY"
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"
            await send(message)

        await self.app(scope, receive, send_with if scope["type"] == "http" else send)
