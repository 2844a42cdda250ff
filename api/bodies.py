"""Bounds on request bodies. A route reads its body after the key was checked: without a key nobody fills memory."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import failures
from api.middleware import is_of_pages
from memorybase.core import errors
from memorybase.core.settings import Settings

# Forms and messages of the pages need no key. They are small, and have a separate limit.
PAGE_BODY_BYTES = 250_000
PAGES_BYTES = 16_000_000

BODY_SECONDS = 60.0  # to receive a body
ROOM_WAIT_SECONDS = 5.0
BODIES_IN_FLIGHT = 4  # of the maximum size: the memory for the bodies of all requests in progress
SMALL_BYTES = 250_000
KEPT_FOR_SMALL = 0.25  # of the room, so that large bodies do not keep captures out


class Room:
    """Memory for bodies, in bytes. A small body may use all of it, a larger one not the last quarter."""

    def __init__(self, total: int) -> None:
        self._free = total
        self._kept_for_small = int(total * KEPT_FOR_SMALL)
        self._waiting: dict[asyncio.Future[None], int] = {}

    async def take(self, size: int) -> None:
        """Reserve this many bytes, waiting until they are free. Raises TimeoutError."""
        if self._fits(size):
            self._free -= size
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[granted] = size
        try:
            await asyncio.wait_for(granted, ROOM_WAIT_SECONDS)
        except BaseException:
            if self._waiting.pop(granted, None) is None:  # granted in the same moment
                self.give_back(size)
            raise

    def give_back(self, size: int) -> None:
        self._free += size
        for granted, wanted in list(self._waiting.items()):
            if not granted.done() and self._fits(wanted):
                del self._waiting[granted]
                self._free -= wanted
                granted.set_result(None)

    def _fits(self, size: int) -> bool:
        return size <= self._free - (0 if size <= SMALL_BYTES else self._kept_for_small)


class BodyBound:
    """Bounds the bytes and the time of each body, and the bytes of all bodies together, with or without a
    Content-Length."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self._seconds = BODY_SECONDS
        self._max_bytes = settings.max_body_bytes
        self._room = Room(BODIES_IN_FLIGHT * settings.max_body_bytes)
        self._pages_room = Room(PAGES_BYTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(Headers(scope=scope)):
            await self.app(scope, receive, send)
            return
        if is_of_pages(scope):
            body = _Body(scope, receive, send, self._pages_room, min(PAGE_BODY_BYTES, self._max_bytes), self._seconds)
        else:
            body = _Body(scope, receive, send, self._room, self._max_bytes, self._seconds)
        try:
            await self.app(scope, body.receive, body.send)
        except ClientDisconnect:
            pass  # the client hung up, or the body was refused and the answer sent
        finally:
            body.close()


class _Body:
    """The body of one request. A refusal answers the request; the application then sees a disconnect."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, room: Room, max_bytes: int, seconds: float) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._room, self._max_bytes, self._seconds = room, max_bytes, seconds
        self._deadline = 0.0  # set when the route begins to read
        self._taken = 0  # bytes of the room
        self._size = 0
        self._complete = False
        self._refused = False

    async def receive(self) -> Message:
        if self._complete:
            return await self._receive()
        if self._refused:
            return {"type": "http.disconnect"}
        try:
            return await self._next()
        except errors.MemorybaseError as error:
            return await self._refuse(error)

    async def send(self, message: Message) -> None:
        if not self._refused:
            await self._send(message)

    def close(self) -> None:
        """Give its room back, once the request has ended."""
        self._room.give_back(self._taken)
        self._taken = 0

    async def _next(self) -> Message:
        if not self._deadline:
            await self._begin()
            self._deadline = asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise failures.RequestTimeout("The body took too long", field="body", limit=self._seconds) from None
        self._size += len(message.get("body", b""))
        if self._size > self._max_bytes:
            raise errors.TooLarge(field="body", limit=self._max_bytes)
        if not message.get("more_body", False):
            self._complete = True
            self._room.give_back(self._taken - self._size)
            self._taken = self._size
        return message

    async def _begin(self) -> None:
        announced = Headers(scope=self._scope).get("content-length", "")
        size = int(announced) if announced.isdecimal() else self._max_bytes
        if size > self._max_bytes:
            raise errors.TooLarge(field="body", limit=self._max_bytes)
        try:
            await self._room.take(size)
        except TimeoutError:
            raise failures.TooManyBodies from None
        self._taken = size

    async def _refuse(self, error: errors.MemorybaseError) -> Message:
        answer = failures.render(error, str(self._scope.get("request_id", "")))
        # The rest of the body is unread, so the connection cannot serve another request.
        answer.headers["Connection"] = "close"
        self._refused = True
        await answer(self._scope, self._receive, self._send)
        return {"type": "http.disconnect"}


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
