"""httpx's transport to the application in this process: requests reach its event loop from any thread or loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx
from anyio import to_thread

if TYPE_CHECKING:
    from memorybase.in_program.application import Application

UNREAD_PARTS = 16  # of an answer, until whoever sends it waits for its reader

Message = Mapping[str, Any]


class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """One client's. `leave` is called when the client is closed. The async client needs asyncio."""

    def __init__(self, leave: Callable[[Transport], None]) -> None:
        self.application: Application | None = None
        self._leave = leave

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        exchange = self._exchange(request, request.read())
        if isinstance(exchange, httpx.Response):
            return exchange
        return exchange.answer(exchange.get(exchange.begin()))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = self._exchange(request, await request.aread())
        if isinstance(exchange, httpx.Response):
            return exchange
        return exchange.answer(await exchange.aget(exchange.begin()))

    def close(self) -> None:
        self._leave(self)

    async def aclose(self) -> None:
        await to_thread.run_sync(self.close)

    def _exchange(self, request: httpx.Request, body: bytes) -> Exchange | httpx.Response:
        if self.application is None:
            raise httpx.ConnectError("memorybase is closed", request=request)
        if reason := self.application.problem():
            said = {"code": "not_ready", "message": reason, "retryable": False, "request_id": ""}
            return httpx.Response(503, json={"error": said})
        return Exchange(self.application, request, body)


class Exchange(httpx.SyncByteStream, httpx.AsyncByteStream):
    """One request and the parts of its answer: methods with `_` and coroutines run in the application's loop."""

    def __init__(self, application: Application, request: httpx.Request, body: bytes) -> None:
        self._application, self._request, self._body = application, request, body
        self._seconds: float | None = request.extensions.get("timeout", {}).get("read")
        self._unread: asyncio.Queue[Message | None] = asyncio.Queue(UNREAD_PARTS)
        self._is_sent, self._left = False, asyncio.Event()
        self._parts: list[Message | None] = []  # taken out of the queue, and not read yet

    def answer(self, parts: list[Message | None]) -> httpx.Response:
        """The answer, from its first parts."""
        start, *self._parts = parts
        if start is None:
            raise httpx.RemoteProtocolError("the application did not answer", request=self._request)
        return httpx.Response(start["status"], headers=start["headers"], stream=self)

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield from self._bytes_of(self._parts)
            if self._is_sent:
                return
            self._parts = self.get(self._next())

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            for part in self._bytes_of(self._parts):
                yield part
            if self._is_sent:
                return
            self._parts = await self.aget(self._next())

    def close(self) -> None:
        if not self._is_sent:
            self._application.call_soon(self._leave)

    async def aclose(self) -> None:
        self.close()

    def get(self, parts: Any) -> list[Message | None]:
        """Wait for them in a thread."""
        future = self._submitted(parts)
        try:
            return future.result(self._seconds)
        except BaseException as error:
            future.cancel()  # or the loop would wait for them until its end
            self.close()
            if (known := self._known(error)) is None:
                raise
            raise known from error

    async def aget(self, parts: Any) -> list[Message | None]:
        """Wait for them in another event loop."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(self._submitted(parts)), self._seconds)
        except BaseException as error:
            self.close()
            task = asyncio.current_task()
            is_cancelled = task is not None and task.cancelling()
            if is_cancelled or (known := self._known(error)) is None:
                raise
            raise known from error

    async def begin(self) -> list[Message | None]:
        self._application.run(self._call())
        return await self._next()

    def _bytes_of(self, parts: list[Message | None]) -> Iterator[bytes]:
        for part in parts:
            if part is None:
                raise httpx.RemoteProtocolError("the answer broke off", request=self._request)
            self._is_sent = not part.get("more_body", False)
            yield part.get("body", b"")
            if self._is_sent:
                return

    def _submitted(self, parts: Any) -> Future[list[Message | None]]:
        return self._application.submit(parts, self._request)

    def _known(self, error: BaseException) -> httpx.TransportError | None:
        """httpx's error for it, if it is one of this transport."""
        if isinstance(error, TimeoutError):
            return httpx.ReadTimeout(f"no answer within {self._seconds:g} s", request=self._request)
        if isinstance(error, CancelledError | asyncio.CancelledError):
            return httpx.RemoteProtocolError("memorybase was closed meanwhile", request=self._request)
        return None

    async def _call(self) -> None:
        with suppress(Exception):  # the application has logged it
            await self._application.app(self._scope(), self._receive, self._send)
        await self._send(None)

    async def _next(self) -> list[Message | None]:
        found = [await self._unread.get()]
        while not self._unread.empty():
            found.append(self._unread.get_nowait())
        return found

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None  # type: ignore[assignment]
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message | None) -> None:
        if not self._left.is_set():
            await self._unread.put(message)

    def _leave(self) -> None:
        self._left.set()
        while not self._unread.empty():  # whoever waits to send goes on, and sends nothing more
            self._unread.get_nowait()

    def _scope(self) -> dict[str, Any]:
        url = self._request.url
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": self._request.method,
            "headers": [(name.lower(), value) for name, value in self._request.headers.raw],
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.partition(b"?")[0],
            "query_string": url.query,
            "root_path": "",
            "server": (url.host, url.port),
            "client": ("127.0.0.1", 0),
        }
