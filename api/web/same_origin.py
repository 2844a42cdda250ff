"""Requests that another site's page makes this browser send: they change nothing.

Without this check another site could sign a visitor in under its own key, or out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from memorybase.core import errors

SAFE = {"GET", "HEAD", "OPTIONS"}
_OWN = {"same-origin", "none"}  # none: typed in, a bookmark, or a link from a program
_TEXT = "This request came from another site. Open the page here, and send the form again."


def is_foreign(headers: Headers) -> bool:
    """Whether a page of another origin caused this request. Clients that are no browsers send neither header."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()


class SameOriginOnly:
    """Refuses foreign requests that may change something."""

    def __init__(self, app: ASGIApp, refuse: Callable[[Request, Exception], Awaitable[Response]]) -> None:
        self.app, self.refuse = app, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE and is_foreign(Headers(scope=scope)):
            answer = await self.refuse(Request(scope, receive), errors.Forbidden(_TEXT))
            await answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)
