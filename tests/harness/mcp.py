"""The MCP server as the official SDK's client sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
import jsonschema_rs
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer

from harness.api import Json

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
        return self.answer(tool, **arguments)[0]

    def answer(self, tool: str, /, **arguments: Any) -> tuple[Json, str]:
        """What the tool returns, and its text; raises Refused. It must be of the tool's schema with its formats, which
        this client does not check, and others do."""

        async def call(client: Client) -> tuple[Any, Any]:
            return await client.call_tool(tool, arguments), await client.list_tools()

        result, listed = self.run(call)
        if result.is_error:
            raise Refused(result.content[0].text)
        schema = next(each.output_schema for each in listed.tools if each.name == tool)
        jsonschema_rs.validator_for(schema, validate_formats=True).validate(result.structured_content)
        return result.structured_content, result.content[0].text

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
