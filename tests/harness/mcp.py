"""The MCP server as the official SDK's client sees it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
from fastapi import FastAPI
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from starlette.types import Receive, Scope, Send

from api.app import create_app
from harness.api import Api, Json, open_api
from harness.served import serve_app
from memorybase.settings import Settings

Result = TypeVar("Result")

ERAS = ("auto", "legacy")  # what a client may speak: the version of 2026-07-28, and the older handshake
SECONDS = 60.0


class Refused(Exception):
    """A tool's error, as the model reads it."""


@dataclass(frozen=True)
class McpClient:
    """Calls one server, with a new connection for each call. `target`: an address, a command or a server."""

    target: str | StdioServerParameters | MCPServer[Any]
    key: str = ""
    era: str = ERAS[0]

    def call(self, tool: str, /, **arguments: Any) -> Json:
        """What the tool returns; raises Refused."""
        result = self.run(lambda client: client.call_tool(tool, arguments))
        if result.is_error:
            raise Refused(result.content[0].text)
        content: Json = result.structured_content
        return content

    def refused(self, tool: str, /, **arguments: Any) -> str:
        """The error of a call that must fail."""
        try:
            found = self.call(tool, **arguments)
        except Refused as error:
            return str(error)
        raise AssertionError(f"{tool} must fail, and returned {found}")

    def run(self, use: Callable[[Client], Coroutine[Any, Any, Result]]) -> Result:
        async def run() -> Result:
            async with self.connected() as client:
                return await use(client)

        try:
            return asyncio.run(asyncio.wait_for(run(), SECONDS))
        except BaseExceptionGroup as group:
            raise _innermost(group) from group

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        if not isinstance(self.target, str):
            async with Client(self.target, mode=self.era) as client:
                yield client
            return
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=SECONDS, trust_env=False) as http,
            Client(streamable_http_client(self.target, http_client=http), mode=self.era) as client,
        ):
            yield client


def _innermost(error: BaseException) -> BaseException:
    return _innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


@dataclass(frozen=True)
class Served:
    """The API with MCP on a real port, and its REST side."""

    api: Api
    url: str

    def client(self, path: str = "", *, key: str | None = None, era: str = ERAS[0]) -> McpClient:
        """A client of /mcp and this path below it."""
        return McpClient(f"{self.url}/mcp{path}", self.api.secret if key is None else key, era)


@contextmanager
def serve_mcp(
    settings: Settings, *, adds_key: bool = False, monotonic: Callable[[], float] = time.monotonic
) -> Iterator[Served]:
    """The API with doubles on a real port; `adds_key`: for clients that cannot send one. `monotonic`: of the rates."""
    with open_api(settings) as api:
        # Of its own: the sessions of the protocol belong to the server's event loop.
        app = create_app(api.services, monotonic=monotonic)
        with serve_app(_WithKey(app, api.secret) if adds_key else app, lifespan="on") as (port, _):
            yield Served(api, f"http://127.0.0.1:{port}")


class _WithKey:
    """The application behind a proxy that adds the key to each request."""

    def __init__(self, app: FastAPI, key: str) -> None:
        self.state = app.state
        self._app = app
        self._header = (b"authorization", f"Bearer {key}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)
