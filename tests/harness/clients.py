"""The Python client in tests: sync and async alike, and servers that answer what a test says."""

from __future__ import annotations

import inspect
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from memorybase_client import AsyncClient, AsyncListing, AsyncStream, Client


class FromThread:
    """An object of the async client as the sync client's would be: calls are awaited, iterations are driven."""

    def __init__(self, target: Any, portal: BlockingPortal) -> None:
        self._target = target
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            async def run() -> Any:
                result = found(*args, **options)
                return await result if inspect.isawaitable(result) else result

            result = self._portal.call(run)
            is_async = isinstance(result, AsyncListing | AsyncStream) or inspect.isasyncgen(result)
            return FromThread(result, self._portal) if is_async else result

        return call

    def __iter__(self) -> Iterator[Any]:
        items = self._target.__aiter__()
        while True:
            try:
                yield self._portal.call(items.__anext__)
            except StopAsyncIteration:
                return

    def close(self) -> None:
        self._portal.call(self._target.aclose)

    def __enter__(self) -> FromThread:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def connected(kind: str, url: str, key: str, **options: Any) -> Iterator[Any]:
    """A client of that kind, `sync` or `async`, called the same way."""
    if kind == "sync":
        with Client(url, key, **options) as client:
            yield client
        return
    with start_blocking_portal() as portal:

        async def open_client() -> AsyncClient:
            return AsyncClient(url, key, **options)

        client = FromThread(portal.call(open_client), portal)
        try:
            yield client
        finally:
            client.close()


@dataclass
class Scripted:
    """A server that answers the next of these bytes to each request, and closes the connection."""

    answers: list[bytes]
    requests: list[bytes] = field(default_factory=list)
    url: str = ""

    def serve(self, server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                request = read_request(connection)
                if not request:
                    continue
                self.requests.append(request)
                connection.sendall(self.answers.pop(0) if self.answers else b"")


def read_request(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65_536)
        if not part:
            return b""
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    while len(body) < sum(lengths):
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


def http_answer(status: str, body: bytes = b"", *, length: int | None = None, **headers: str) -> bytes:
    """`length` beyond the body's: the connection breaks in the middle of the answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextmanager
def scripted(answers: Iterable[bytes]) -> Iterator[Scripted]:
    server = socket.create_server(("127.0.0.1", 0))
    script = Scripted(list(answers), url=f"http://127.0.0.1:{server.getsockname()[1]}")
    thread = threading.Thread(target=script.serve, args=[server])
    thread.start()
    try:
        yield script
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)
