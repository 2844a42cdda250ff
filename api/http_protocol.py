"""uvicorn's HTTP protocol with bounds on what a client may cost before a route sees its request.

uvicorn itself waits without limit for the rest of a request's headers, of any size, and for a client that does not read
its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar
from uuid import uuid4

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from api import bodies, failures
from api.connections import Connections
from memorybase.core import errors

MAX_HEADER_BYTES = 32_768  # of a request line and its headers
HEADER_SECONDS = 10.0  # to receive them
WRITE_SECONDS = 60.0  # after which a client that does not read its answer is disconnected
HEADER_COST = 32  # bytes that a header counts in addition to its text, as in HTTP/2


class _Refused(Exception):
    """Ends the parsing of a request that has been refused."""


class _Deadline:
    """Calls back unless it is cleared in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_late: Callable[[], None]) -> None:
        self._loop = loop
        self._on_late = on_late
        self._timer: asyncio.TimerHandle | None = None

    def set(self, seconds: float) -> None:
        """Start it, unless it runs already."""
        if self._timer is None:
            self._timer = self._loop.call_later(seconds, self._late)

    def clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        self._on_late()


class BoundedHttp(HttpToolsProtocol):
    """One connection. A subclass holds the connections of one server."""

    all_connections: ClassVar[Connections]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # For the request's headers; after an early answer, for the rest of its body, which is thrown away.
        self._request_deadline = _Deadline(self.loop, self._on_late_request)
        self._write_deadline = _Deadline(self.loop, self.give_way)
        self._refusal: errors.MemorybaseError = errors.CallerError("The request must be valid HTTP/1.1")
        self._header_bytes = 0  # parsed, of this request
        self._unparsed_bytes = 0  # received since the headers began, at most
        self._in_headers = False
        self._in_body = False
        self._unanswered = 0  # requests; more than one only if the client pipelines

    # The connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.all_connections.admit(self, self.client[0] if self.client else ""):
            self._request_deadline.set(HEADER_SECONDS)
        else:
            self._refuse(failures.TooManyConnections())

    def connection_lost(self, exc: Exception | None) -> None:
        self._request_deadline.clear()
        self._write_deadline.clear()
        self.all_connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_headers:
            self._unparsed_bytes += len(data)
            if self._unparsed_bytes > MAX_HEADER_BYTES:
                self._refuse(failures.HeadersTooLarge(limit=MAX_HEADER_BYTES))
                return
        if not self._unanswered:
            self._request_deadline.set(HEADER_SECONDS)
        elif self._in_body:
            # No more than one read is kept until the route asks for the body, which it does once the key is checked.
            self.flow.pause_reading()

    def pause_writing(self) -> None:
        self._write_deadline.set(WRITE_SECONDS)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._write_deadline.clear()
        super().resume_writing()

    def _unsupported_upgrade_warning(self) -> None:
        """No address is a web socket, and the request is answered: nothing to warn of."""

    def give_way(self) -> None:
        """Close the connection now."""
        self.transport.abort()

    # What the parser finds.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers = self._in_body = True
        self._header_bytes = self._unparsed_bytes = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count_header(len(name) + len(value) + HEADER_COST)

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._request_deadline.clear()
        self._unanswered += 1
        self.all_connections.works(self)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_body = False
        self._request_deadline.clear()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unanswered -= 1
        if self.transport.is_closing() or self._unanswered:
            return
        self.all_connections.waits(self)
        if self._in_body:
            self._unset_keepalive_if_required()
            # The headers of the next request may be half here already.
            self._request_deadline.set(HEADER_SECONDS if self._in_headers else bodies.BODY_SECONDS)

    # Refusals.

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's text
        """uvicorn calls this when the parser fails."""
        if self._unanswered and self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(self._refusal)

    def _count_header(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MAX_HEADER_BYTES:
            self._refusal = failures.HeadersTooLarge(limit=MAX_HEADER_BYTES)
            raise _Refused

    def _on_late_request(self) -> None:
        if self._in_headers:
            self._refuse(failures.RequestTimeout("The headers took too long", limit=HEADER_SECONDS))
        else:
            self.give_way()

    def _refuse(self, error: errors.MemorybaseError) -> None:
        """Answer with the error and close the connection."""
        answer = failures.render(error, uuid4().hex)
        headers = [*answer.raw_headers, (b"connection", b"close")]
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(STATUS_LINE[answer.status_code] + lines + b"\r\n" + bytes(answer.body))
        self.transport.close()
