"""A receiver of webhooks on the loopback address: it answers as a test says, and keeps what it was sent."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Received", socket.socket], int | None]


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]  # with names in lower case
    body: str

    @property
    def webhook_id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.body)
        return event


@dataclass
class Receiver:
    """`answer` returns the status of a request; None: it has answered itself over the socket, or never will."""

    url: str
    requests: list[Received] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)  # of every answer
    answer: Answer = lambda _request, _socket: 204


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    tls: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        with suppress(OSError):  # the sender hung up
            if self.tls is None:
                super().finish_request(request, client_address)
                return
            with self.tls.wrap_socket(request, server_side=True) as encrypted:
                super().finish_request(encrypted, client_address)


@contextmanager
def receiving(tls: ssl.SSLContext | None = None, port: int = 0, address: str = "127.0.0.1") -> Iterator[Receiver]:
    """A receiver, until the end of the block; `port` 0: any."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            names = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(length)
            if len(body) < length:  # the sender was killed: this is no request yet
                return
            request = Received(self.path, names, body.decode())
            status = receiver.answer(request, self.connection)
            receiver.requests.append(request)  # after the answer's decision: what is listed was received
            if status is not None:
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.end_headers()

        do_GET = do_POST  # noqa: N815 - a redirect that is followed would become one

        def log_message(self, *_args: object) -> None:
            pass

    with _Server((address, port), Handler) as server:
        server.tls = tls
        receiver = Receiver(f"http://{address}:{server.server_port}/hook")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
