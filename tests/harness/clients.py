"""The Python client in tests: of a test's API without a network, sync and async alike, and with servers that answer
what a test says."""

from __future__ import annotations

import inspect
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from memorybase_client import AsyncClient, AsyncListing, AsyncStream, Client

from harness.api import Api

# Of the body as it was sent; the test client has decoded it.
_OF_THE_ENCODING = {"content-encoding", "content-length", "transfer-encoding"}


class Wire(httpx.BaseTransport):
    """A connection to the API of a test, without a network, which can break. `paths`: of the calls."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.is_broken = False
        self.paths: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.is_broken:
            raise httpx.ConnectError("refused")
        self.paths.append(request.url.path.removeprefix("/v1"))
        answer = self._api.client.request(
            request.method, request.url.raw_path.decode(), headers=request.headers.raw, content=request.read()
        )
        headers = [(name, value) for name, value in answer.headers.multi_items() if name not in _OF_THE_ENCODING]
        return httpx.Response(answer.status_code, headers=headers, content=answer.content)


def client_of(api: Api, wire: Wire | None = None, **options: Any) -> Client:
    """A client of the test's API."""
    client = Client("http://testserver", api.secret, **options)
    base, headers = client._http.base_url, client._http.headers
    client._http.close()
    client._http = httpx.Client(base_url=base, headers=headers, transport=wire or Wire(api))
    return client


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
    """A server that answers each request with these bytes, and closes the connection."""

    answer: Callable[[bytes], bytes]
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
                connection.sendall(self.answer(request))


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
def scripted(answers: Iterable[bytes] | Callable[[bytes], bytes]) -> Iterator[Scripted]:
    """A server that gives these answers, one to each request and then nothing, or what a function returns."""
    script = Scripted(answers if callable(answers) else _in_order(answers))
    server = socket.create_server(("127.0.0.1", 0))
    script.url = f"http://127.0.0.1:{server.getsockname()[1]}"
    thread = threading.Thread(target=script.serve, args=[server])
    thread.start()
    try:
        yield script
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)


def _in_order(answers: Iterable[bytes]) -> Callable[[bytes], bytes]:
    rest = iter(list(answers))
    return lambda _: next(rest, b"")


@contextmanager
def losing_answers(url: str) -> Iterator[str]:
    """The address of a proxy that forwards each request, and loses the first answer to it."""
    seen: set[bytes] = set()

    def answer(request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        target, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        method, path, _ = target.split(" ")
        forwarded = httpx.request(method, url + path, headers=headers, content=body, trust_env=False)
        if request not in seen:
            seen.add(request)
            return b""
        kept = {
            name.replace("-", "_"): forwarded.headers[name]
            for name in ("content-type", "retry-after")
            if name in forwarded.headers
        }
        return http_answer(f"{forwarded.status_code} {forwarded.reason_phrase}", forwarded.content, **kept)

    with scripted(answer) as server:
        yield server.url
