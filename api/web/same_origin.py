"""Requests that another site's page makes this browser send: they change nothing.

Without this check another site could sign a visitor in under its own key, or out.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

SAFE = {"GET", "HEAD", "OPTIONS"}
_OWN = {"same-origin", "none"}  # none: typed in, a bookmark, or a link from a program
_TEXT = b"This request came from another site."


def is_foreign(headers: Headers) -> bool:
    """Whether a page of another origin caused this request. Clients that are no browsers send neither header."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()


class SameOriginOnly:
    """Refuses foreign requests that may change something."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE and is_foreign(Headers(scope=scope)):
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(_TEXT))]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": _TEXT})
        else:
            await self.app(scope, receive, send)
