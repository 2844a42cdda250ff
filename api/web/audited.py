"""What the audit log records of the page: every change, every page that shows content, and by whom."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from api.auditing import Recent, actor_of
from api.proxy_user import USER
from api.web.same_origin import SAFE
from memorybase.audit import record
from memorybase.audit.record import Recorder
from memorybase.auth import web_sessions
from memorybase.auth.api_keys import Principal
from memorybase.services import Services
from memorybase.settings import Settings

# Names in addresses and forms that are ids, besides those that end like one.
_IDS = {
    "flow": "flow_id",
    "message": "message_id",
    "run": "run_id",
    "session": "session_id",
    "memory": "memory_id",
    "s": "session_ids",
    "person": "end_user_id",
    "batch": "batch_id",
}
_REFUSAL = b"This page must be opened through the proxy that signs people in."

View = TypeVar("View", bound=Callable[..., Any])


def without_content(view: View) -> View:
    """Declare that a page or part shows no text of a conversation: only counts, states, settings, names of flows and
    memory bases, or a redirect. Every other one leaves an entry."""
    vars(view)["without_content"] = True
    return view


def recorded_as(operation: str) -> Callable[[View], View]:
    """Declare that a form does what an operation of the API does: the log has one name for both, and `via` tells them
    apart."""

    def declared(view: View) -> View:
        vars(view)["recorded_as"] = operation
        return view

    return declared


async def recorder_of(request: Request, services: Services, principal: Principal) -> Recorder | None:
    """For a form: what records its change. For a page with content the entry is written here, before the content is
    read, so that nobody reads without one. Raises DatabaseUnavailable."""
    if services.settings.audit == "off":
        return None
    declared = vars(request.scope["endpoint"])
    actor, operation = actor_of(request, principal, "page"), f"{request.method} /ui{request.scope['route'].path}"
    objects = await _named_in(request)
    if request.method not in SAFE:
        return Recorder(actor, declared.get("recorded_as", operation), objects)
    recent: Recent = request.app.state.host.state.recently_recorded
    reading = actor.key_id, actor.person, actor.address, operation, json.dumps(objects)
    if "without_content" not in declared and reading not in recent:
        await run_in_threadpool(record.write, services, actor, "read", operation, objects)
        recent.add(reading)
    return None


def record_sign_in(request: Request, services: Services, token: str) -> None:
    """The entry of a session that was opened, before the browser gets its cookie. Raises DatabaseUnavailable."""
    if services.settings.audit != "off":
        actor = actor_of(request, web_sessions.principal_of(services, token), "page")
        record.write(services, actor, "change", f"{request.method} /ui{request.scope['route'].path}", {})


async def _named_in(request: Request) -> dict[str, object]:
    form = [] if request.method in SAFE else (await request.form()).multi_items()
    found: dict[str, list[str]] = {}
    for name, value in [*request.path_params.items(), *request.query_params.multi_items(), *form]:
        if isinstance(value, str):
            found.setdefault(_IDS.get(name, name), []).append(value)
    return record.ids_in({name: values[0] if len(values) == 1 else values for name, values in found.items()})


class ThroughProxy:
    """Refuses the pages to whom no trusted proxy names, if the setting proxy_user_header says that one does."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope.get(USER):
            settings: Settings = scope["app"].state.host.state.settings
            if settings.proxy_user_header:
                headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(_REFUSAL))]
                await send({"type": "http.response.start", "status": 403, "headers": headers})
                await send({"type": "http.response.body", "body": _REFUSAL})
                return
        await self.app(scope, receive, send)
