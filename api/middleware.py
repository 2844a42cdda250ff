"""Headers of every answer, and encoded ids in paths. Plain ASGI, so that streams are not buffered."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import unquote, unquote_to_bytes
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import failures
from api.schemas import PROBLEM_JSON
from memorybase.core import errors
from memorybase.core.telemetry import bound, get_logger

# _SLASH stands for a slash inside a path segment; _ESCAPE escapes either character where an id contains it.
_SLASH, _ESCAPE = "\ufdd0", "\ufdd1"
REQUEST_ID = "X-Request-Id"
PAGES_PATH = "/ui/"

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_STOPPING = "This API process stops and could not finish in time. Send it again"
# What browsers must not do with an answer that is data. The pages set their own policy, which allows what they need.
_SECURITY = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_SECURITY_OF_HTTPS = {**_SECURITY, "strict-transport-security": "max-age=31536000"}

log = get_logger(__name__)


class RequestContext:
    """Takes or generates the request id and returns it, with the scope's `answer_headers` and the headers for browsers
    that the answer does not set itself. Unexpected exceptions become internal_error, the end of the process
    unavailable, and errors problem details for callers who accept them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope)
        sent = given.get(REQUEST_ID, "")
        wants_problem = PROBLEM_JSON in given.get("accept", "")
        request_id = sent if _REQUEST_ID.fullmatch(sent) else uuid4().hex
        scope["request_id"] = request_id
        scope["answer_headers"] = answer_headers = dict[str, str]()
        security = _SECURITY_OF_HTTPS if scope["scheme"] == "https" else _SECURITY
        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers.update({REQUEST_ID: request_id, **answer_headers})
                if wants_problem and message["status"] >= 400 and headers.get("content-type") == "application/json":
                    headers["content-type"] = PROBLEM_JSON
                for name, value in security.items():
                    headers.setdefault(name, value)
            await send(message)

        with bound(request_id=request_id):
            try:
                await self.app(scope, receive, send_with_id)
            except Exception:
                # The edge of the process: the caller gets an error, and the log gets the traceback.
                log.exception("request_crashed", method=scope["method"])
                if started:
                    raise
                await failures.render(errors.MemorybaseError(), request_id)(scope, receive, send_with_id)
            except asyncio.CancelledError:
                # The server stops, and has waited as long as it does. What it would answer is 500, as for a defect.
                if started:
                    raise
                await failures.render(errors.EnvironmentFailure(_STOPPING), request_id)(scope, receive, send_with_id)


class EncodedIds:
    """Keeps an encoded slash inside its id, since a decoded one would split the path, and refuses paths that are not
    UTF-8, since replacement characters would change the id. A slash at the end of a path means nothing: a redirect
    would lose the key, or leave TLS behind a proxy. Of a DELETE it is refused: an id was left empty, and without it
    the path may be that of all."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        raw: bytes = scope.get("raw_path") or b""
        for field, encoded in (("path", raw), ("query", scope["query_string"])):
            if not _is_utf8(encoded):
                error = errors.InvalidRequest(f"The {field} must be percent-encoded UTF-8", field=field)
                await failures.render(error, str(scope.get("request_id", "")))(scope, receive, send)
                return
        if b"%2f" in raw.lower() or (raw and not {_SLASH, _ESCAPE}.isdisjoint(scope["path"])):
            segments = raw.split(b"?")[0].decode("ascii", "replace").split("/")
            scope["path"] = "/".join(_hidden(unquote(segment)) for segment in segments)
        if scope["path"].endswith("/") and not is_of_pages(scope):
            if scope["method"] == "DELETE":
                empty = errors.InvalidRequest("The path of a DELETE must not end with an empty id", field="path")
                await failures.render(empty, str(scope.get("request_id", "")))(scope, receive, send)
                return
            scope["path"] = scope["path"].removesuffix("/") or "/"
        await self.app(scope, receive, send)


def is_of_pages(scope: Scope) -> bool:
    """Whether the request is one of the web page."""
    return str(scope["path"]).removeprefix(scope.get("root_path", "")).startswith(PAGES_PATH)


def _is_utf8(encoded: bytes) -> bool:
    if b"%" not in encoded and encoded.isascii():
        return True
    try:
        unquote_to_bytes(encoded).decode()
    except UnicodeDecodeError:
        return False
    return True


def path_text(segment: str) -> str:
    """A path segment with its slashes restored."""
    return segment.replace(_SLASH, "/").replace(_ESCAPE + "0", _SLASH).replace(_ESCAPE + "1", _ESCAPE)


def _hidden(segment: str) -> str:
    return segment.replace(_ESCAPE, _ESCAPE + "1").replace(_SLASH, _ESCAPE + "0").replace("/", _SLASH)
