"""The server and its transports."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError
from pydantic_core import to_json

from memorybase_client import AsyncClient, __version__, errors
from memorybase_client.mcp.documents import add_resources
from memorybase_client.mcp.instructions import INSTRUCTIONS
from memorybase_client.mcp.prompts import add_prompts
from memorybase_client.mcp.scope import TRIES, Scope
from memorybase_client.mcp.tools import add_tools

# An ASGI application.
Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

START_SECONDS = 3.0  # of a start that an API which hangs may take


class _Server(MCPServer[Any]):
    """Takes an empty string and null for an argument that is left out, as many models mean it, and refuses unknown
    arguments, which the SDK ignores, and wrong ones in plain words."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        schema = next((tool.input_schema for tool in await self.list_tools() if tool.name == name), None)
        if schema is not None:
            known, required = schema.get("properties", {}), schema.get("required", ())
            unknown = sorted(arguments.keys() - known.keys())
            if unknown:
                raise ToolError(f"{name} has no argument {', '.join(unknown)}. It has {', '.join(known) or 'none'}")
            arguments = {key: value for key, value in arguments.items() if value not in ("", None) or key in required}
        try:
            result = await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError) and error.__cause__.title == f"{name}Arguments":
                raise ToolError("; ".join(map(_wrong, error.__cause__.errors()))) from error
            raise
        if isinstance(result, CallToolResult):  # the SDK indents the text, which costs tokens
            result.content = [TextContent(text=to_json(result.structured_content).decode())]
        return result


_RULES = {
    "missing": "is required",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
}


def _wrong(error: Any) -> str:
    """The API's message about an argument."""
    field = ".".join(map(str, error["loc"]))
    rule = _RULES.get(error["type"], error["msg"]).format(**error.get("ctx", {}))
    return f"{field} {rule}" if error["type"] == "missing" else f"{field} {rule} (got {repr(error['input'])[:100]})"


def build_server(scope: Scope | None = None) -> MCPServer[Any]:
    """The server for one scope; without one, each HTTP request brings its own."""

    @asynccontextmanager
    async def lifespan(_: MCPServer[Any]) -> AsyncIterator[Scope | None]:
        yield scope

    server = _Server(
        "memorybase",
        title="memorybase",
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        subscriptions=False,  # nothing is announced, and such a stream would stay open
        log_level="WARNING",
    )
    add_tools(server)
    add_resources(server)
    add_prompts(server)
    return server


def serve_stdio(url: str, key: str, *, flow: str | None, end_user: str | None) -> None:
    """Serve one scope of the API at this address on standard input and output, until the input ends. Raises CallerError
    at the start if the API says that the flow does not exist."""

    async def serve() -> None:
        async with AsyncClient(url, key, tries=TRIES, timeout_seconds=START_SECONDS) as client:
            if problem := await Scope(client, flow=flow).unknown_flow():
                raise errors.CallerError(problem)
        async with AsyncClient(url, key, tries=TRIES) as client:
            await build_server(Scope(client, flow=flow, end_user=end_user)).run_stdio_async()

    anyio.run(serve)


@cache
def _of_requests() -> MCPServer[Any]:
    return build_server()


@asynccontextmanager
async def http_sessions() -> AsyncIterator[App]:
    """The ASGI application of the streamable HTTP transport, stateless. The caller checks key and origin, bounds
    bodies, and puts a Scope into the ASGI scope."""
    server = _of_requests()
    server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        max_request_body_size=sys.maxsize,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    sessions = server.session_manager  # made by that call; a second application makes its own
    running: AbstractAsyncContextManager[None] = sessions.run()
    async with running:
        yield sessions.handle_request
