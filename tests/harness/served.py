"""The API of harness.api behind the real server, on a port of its own."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import uvicorn

from api.app import create_app
from api.connections import Connections
from api.server import bounded_protocol
from harness.api import Api, open_api
from harness.waiting import wait_until
from memorybase.core.settings import Settings

if TYPE_CHECKING:
    from harness.mcp import McpClient

FILES = 4_096
PATIENCE = 60.0


@dataclass
class Served:
    """A server, its address, and the connections that it counts."""

    api: Api
    port: int
    connections: Connections

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, path: str = "", *, key: str | None = None, era: str = "auto") -> McpClient:
        """A client of /mcp and this path below it."""
        from harness.mcp import McpClient  # the SDK, which most tests do without

        return McpClient(f"{self.url}/mcp{path}", self.api.secret if key is None else key, era)

    def connect(self, sent: bytes = b"", *, receive_buffer: int = 0) -> socket.socket:
        """A connection over which these bytes were sent."""
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(PATIENCE)
        client.connect(("127.0.0.1", self.port))
        client.sendall(sent)
        return client

    def head(self, method: str, path: str, *headers: str, key: str = "") -> bytes:
        """A request up to its body."""
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"X-API-Key: {key or self.api.secret}", *headers]
        return "\r\n".join([*lines, "", ""]).encode()

    def all_answers(self, sent: bytes) -> bytes:
        """What the server answers until it closes the connection."""
        with closing(self.connect(sent)) as client:
            return read_to_end(client)


class Door:
    """The API, or while it is shut the answer of an overloaded one."""

    def __init__(self, app: Any) -> None:
        self._app, self.state = app, SimpleNamespace(settings=app.state.settings)
        self.is_shut = False
        self.refused = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not self.is_shut or scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self.refused += 1
        body = {"error": {"code": "overloaded", "message": "Too much work", "retryable": True, "request_id": "r"}}
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


class WithKey:
    """The API behind a proxy that adds the key to each request."""

    def __init__(self, app: Any, key: str) -> None:
        self._app, self.state = app, app.state
        self._header = (b"authorization", f"Bearer {key}".encode())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)


def read_to_end(client: socket.socket) -> bytes:
    """Everything that the server sends until it closes the connection."""
    received = b""
    try:
        while part := client.recv(65_536):
            received += part
    except ConnectionResetError:
        pass
    return received


@contextmanager
def serve_api(
    settings: Settings, *, mcp: bool = False, adds_key: bool = False, monotonic: Callable[[], float] = time.monotonic
) -> Iterator[Served]:
    """The API with doubles, on a real port; with `mcp`, the MCP server too. `adds_key`: for clients that cannot send
    one. `monotonic`: of its rate limits."""
    with open_api(settings, monotonic=monotonic) as api:
        # Sessions of MCP belong to the server's event loop, so no other test may use their application.
        app: Any = create_app(api.services, monotonic=monotonic) if mcp else api.client.app
        behind = WithKey(app, api.secret) if adds_key else app
        with serve_app(behind, lifespan="on" if mcp else "off") as (port, connections):
            yield Served(api, port, connections)


@contextmanager
def serve_app(app: Any, **options: Any) -> Iterator[tuple[int, Connections]]:
    """Any application with `app.state.settings` behind the server, in a thread."""
    protocol = bounded_protocol(app, FILES)
    quiet: dict[str, Any] = {"port": 0, "lifespan": "off", "log_level": "critical", "timeout_graceful_shutdown": 1}
    config = uvicorn.Config(app, http=protocol, ws="none", proxy_headers=False, **(quiet | options))
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started, PATIENCE, "the server listens")
        yield server.servers[0].sockets[0].getsockname()[1], protocol.all_connections
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
