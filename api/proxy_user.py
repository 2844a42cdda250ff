"""The person whom a reverse proxy has signed in, from a header that only trusted proxies may send."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from memorybase.core.settings import Settings

USER = "proxy_user"  # in the scope
MAX_LENGTH = 200
REFUSAL = b"This page must be opened through the proxy that signs people in."


class ProxyUser:
    """Notes the person in the scope. It must see the proxy's own address, so it comes before what replaces that."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self._header = settings.proxy_user_header
        self._proxies = ProxyHeadersMiddleware(app, settings.trusted_proxies).trusted_hosts  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and USER not in scope:  # a call within the application has its caller's person
            scope[USER] = self._person(scope)
        await self.app(scope, receive, send)

    def _person(self, scope: Scope) -> str | None:
        client = scope.get("client")
        sent = Headers(scope=scope).getlist(self._header)
        # Sent twice, one of the two may be the browser's own: a proxy must replace the header, not add to it.
        if client is None or client[0] not in self._proxies or len(sent) != 1:
            return None
        person = sent[0].encode("latin-1").decode(errors="replace").strip()
        return person if person and len(person) <= MAX_LENGTH else None


class ThroughProxy:
    """Refuses the pages to whom no trusted proxy names, if the setting proxy_user_header says that one does."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope.get(USER):
            settings: Settings = scope["app"].state.host.state.settings
            if settings.proxy_user_header:
                headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(REFUSAL))]
                await send({"type": "http.response.start", "status": 403, "headers": headers})
                await send({"type": "http.response.body", "body": REFUSAL})
                return
        await self.app(scope, receive, send)
