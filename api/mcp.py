"""The MCP server at /mcp.

The server is memorybase_client.mcp. A tool calls the endpoints of this application with the caller's own key or access
token, without a network. So each call passes the checks, the bounds and the admission of its endpoint, and its searches
run in threads.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import httpx
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from memorybase_client import AsyncClient
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from api import protected_resource
from api.admission import Work, admission_of
from api.deps import authenticate, check_query, secret_of
from api.key_limits import with_body
from api.middleware import REQUEST_ID, path_text
from api.proxy_user import USER
from memorybase.core import errors, ids
from memorybase.core.auth.api_keys import Principal
from memorybase.core.auth.limits import KeyLimits

if TYPE_CHECKING:
    from memorybase_client.mcp.scope import Scope

PATH = "/mcp"
END_USER = "end_user_id"
WRITING_TOOLS = frozenset({"remember", "correct_memory", "forget_memory"})  # the others only read
# Headers of the protocol that a page of an allowed origin sends.
HEADERS = ("Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name")
_LOCAL = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")  # of clients on the user's machine


def mount(app: FastAPI) -> None:
    """Serve /mcp for the only flow of a key, and /mcp/flows/{flow_id}."""
    paths = [PATH, f"{PATH}/flows/{{flow_id}}"]
    for path in paths:
        app.router.routes.append(Route(path, _Endpoint(), methods=["POST"], include_in_schema=False))
    if app.state.settings.oauth_issuer:
        protected_resource.mount(app, paths)


@asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[None]:
    """Serve the protocol for the time that the application serves."""
    if not app.state.settings.mcp:
        yield
        return
    app.state.mcp = sessions = _Sessions()
    task = asyncio.create_task(sessions.run())
    try:
        yield
    finally:
        sessions.end()
        await task


class _Sessions:
    """The sessions of the protocol, from the first call on: the library takes a second and memory of every start."""

    def __init__(self) -> None:
        self._is_wanted, self._is_ended = asyncio.Event(), asyncio.Event()
        self._opened: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Wait for the first call, then keep them open until `end`."""
        await self._is_wanted.wait()
        if self._is_ended.is_set():
            return
        try:
            server = await run_in_threadpool(import_module, "memorybase_client.mcp.server")
            async with server.http_sessions() as handle:
                self._opened.set_result(handle)
                await self._is_ended.wait()
        except Exception as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)  # every call fails with it

    def end(self) -> None:
        """Let `run` return."""
        self._is_ended.set()
        self._is_wanted.set()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        self._is_wanted.set()
        handle = await asyncio.shield(self._opened)
        await handle(scope, receive, send)


class _Endpoint:
    """Checks key, origin and address, and hands the request on with its scope."""

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        from memorybase_client.mcp.scope import SCOPE

        request = Request(scope, receive)
        principal = await _caller(request)
        _check_origin(request)
        if principal.token is not None:
            receive = await _within_token(request, principal)
        check_query(request, [END_USER])
        async with _client(request) as client:
            scope[SCOPE] = _scope(request, client, principal.limits)
            await request.app.state.mcp(scope, receive, send)


async def _caller(request: Request) -> Principal:
    """The caller. Raises Unauthorized."""
    try:
        principal = await authenticate(request, admission_of(request).key_check(Work.READ))
        _check_issued_for(request, principal)
    except errors.Unauthorized as error:
        protected_resource.challenge(request, error if secret_of(request) else None, "read", "write")
        raise
    return principal


def _check_issued_for(request: Request, principal: Principal) -> None:
    """Raises Unauthorized for an access token of another flow than the one in the address."""
    issued_for = None if principal.token is None else principal.token.flow_ids
    sent = request.path_params.get("flow_id")
    if issued_for is not None and (sent is None or ids.flow_id(principal.user_id, path_text(sent)) not in issued_for):
        raise errors.Unauthorized("The access token is for another address of this server. Get one for this address")


async def _within_token(request: Request, principal: Principal) -> Receive:
    """The request again, for a token with the scopes that it needs. Raises Forbidden: only an answer with this status
    tells clients to ask the authorization server for more, and what a tool returns is 200."""
    body = await request.body()
    needed = ("read", "write") if _tool_of(body) in WRITING_TOOLS else ("read",)
    try:
        for scope in needed:
            principal.require(scope)
    except errors.Forbidden as error:
        protected_resource.challenge(request, error, *needed)
        raise
    return with_body(request, body).receive


def _tool_of(body: bytes) -> str:
    """The tool that is called; empty for another request."""
    try:
        sent = json.loads(body)
        return str(sent["params"]["name"]) if sent["method"] == "tools/call" else ""
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def _check_origin(request: Request) -> None:
    """The protocol demands this check. A page of any other site has no key, so this is a second lock."""
    origin = request.headers.get("origin")
    allowed = request.app.state.settings.cors_origins
    if origin is not None and not (_LOCAL.fullmatch(origin) or origin in allowed or "*" in allowed):
        raise errors.Forbidden(
            "Pages of this origin may not use MCP. Add it to MEMORYBASE_CORS_ORIGINS", field="Origin", value=origin
        )


def _scope(request: Request, client: AsyncClient, limits: KeyLimits | None) -> Scope:
    from memorybase_client.mcp.scope import Scope

    flow_id = request.path_params.get("flow_id")
    end_user = request.query_params.get(END_USER)
    if end_user == "":
        raise errors.InvalidRequest(f"{END_USER} must not be empty", field=END_USER)
    if end_user is None and limits is not None:
        end_user = limits.end_user_id  # each end user has notes of their own
    return Scope(client, flow=None if flow_id is None else path_text(flow_id), end_user=end_user)


def _client(request: Request) -> AsyncClient:
    """A client of this application with the request's key."""
    from memorybase_client.mcp.scope import TRIES

    return AsyncClient("http://memorybase", secret_of(request), tries=TRIES, transport=_WithinApp(request))


class _WithinApp(httpx.ASGITransport):
    """Calls this application, with the address, the person and the id of the request that needs it."""

    def __init__(self, request: Request) -> None:
        address = (request.client.host, request.client.port) if request.client else ("127.0.0.1", 0)
        person = request.scope.get(USER)  # no header says so again: the call does not come from the proxy

        async def app(scope: AsgiScope, receive: Receive, send: Send) -> None:
            await request.app({**scope, USER: person}, receive, send)

        super().__init__(app, client=address)
        self._request_id = str(request.scope.get("request_id", ""))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers[REQUEST_ID] = self._request_id
        return await super().handle_async_request(request)
