"""What surrounds every request: its id, the bound on its body, slashes inside ids. Plain ASGI: streams stream."""

from __future__ import annotations

import re
from urllib.parse import unquote, unquote_to_bytes
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import failures
from memorybase import errors
from memorybase.telemetry import bound, get_logger

# Stands for a slash inside one segment of a path; where an id has it, or the other one, that is written with the other.
_SLASH, _ESCAPE = "\ufdd0", "\ufdd1"
REQUEST_ID = "X-Request-Id"

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")

log = get_logger(__name__)


class RequestContext:
    """Takes or makes the request's id, answers with it, and turns what nobody caught into our error shape."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        scope["request_id"] = request_id
        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        with bound(request_id=request_id):
            try:
                await self.app(scope, receive, send_with_id)
            except Exception:
                # The edge of the process: whatever it is, the caller gets an answer and the log gets the frames.
                log.exception("request_crashed", method=scope["method"])
                if started:
                    raise
                await failures.render(errors.MemorybaseError(), request_id)(scope, receive, send_with_id)


class BodyBound:
    """Reads the body up to the bound, whether its length is announced or it comes in chunks; beyond it 413."""

    def __init__(self, app: ASGIApp, max_body_bytes: int) -> None:
        self.app = app
        self.max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(Headers(scope=scope)):
            await self.app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > self.max_body_bytes:
            await self._refuse(scope, receive, send)
            return
        chunks: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # the caller hung up
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            more = message.get("more_body", False)
            if size > self.max_body_bytes:
                await self._refuse(scope, receive, send)
                return
        await self.app(scope, _replaying(b"".join(chunks), receive), send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = errors.TooLarge(field="body", limit=self.max_body_bytes)
        answer = failures.render(error, str(scope.get("request_id", "")))
        # What is left of the body is not read, so the connection cannot serve another request.
        answer.headers["Connection"] = "close"
        await answer(scope, receive, send)


class EncodedIds:
    """Ids as they were meant: an encoded slash belongs to its id, decoded like the others it would split the path; and
    one that is no UTF-8 is refused, since decoded with replacements it would be another id."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        raw: bytes = scope.get("raw_path") or b""
        for field, encoded in (("path", raw), ("query", scope["query_string"])):
            if not _is_utf8(encoded):
                error = errors.InvalidRequest(f"The {field} is not UTF-8", field=field)
                await failures.render(error, str(scope.get("request_id", "")))(scope, receive, send)
                return
        if b"%2f" in raw.lower() or (raw and not {_SLASH, _ESCAPE}.isdisjoint(scope["path"])):
            segments = raw.split(b"?")[0].decode("ascii", "replace").split("/")
            scope["path"] = "/".join(_hidden(unquote(segment)) for segment in segments)
        await self.app(scope, receive, send)


def _is_utf8(encoded: bytes) -> bool:
    if b"%" not in encoded and encoded.isascii():
        return True
    try:
        unquote_to_bytes(encoded).decode()
    except UnicodeDecodeError:
        return False
    return True


def path_text(segment: str) -> str:
    """A path segment as the caller meant it."""
    return segment.replace(_SLASH, "/").replace(_ESCAPE + "0", _SLASH).replace(_ESCAPE + "1", _ESCAPE)


def _hidden(segment: str) -> str:
    return segment.replace(_ESCAPE, _ESCAPE + "1").replace(_SLASH, _ESCAPE + "0").replace("/", _SLASH)


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _replaying(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
