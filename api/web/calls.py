"""What features that keep a record of calls are told of the page: every change, every page that shows content, and by
whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session as OrmSession

from api.calls import actor_of
from api.web.same_origin import SAFE
from memorybase.core import calls
from memorybase.core.auth import web_sessions
from memorybase.core.auth.api_keys import Principal
from memorybase.core.calls import Call, Effect
from memorybase.core.services import Services

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

View = TypeVar("View", bound=Callable[..., Any])
Recorder = Callable[[OrmSession], None]


def without_content(view: View) -> View:
    """Declare that a page or part shows no text of a conversation: only counts, states, settings, names of flows and
    memory bases, or a redirect. Every other one leaves an entry."""
    vars(view)["without_content"] = True
    return view


def recorded_as(operation: str) -> Callable[[View], View]:
    """Declare that a form does what an operation of the API does: a record has one name for both, and `via` tells them
    apart."""

    def declared(view: View) -> View:
        vars(view)["recorded_as"] = operation
        return view

    return declared


async def recorder_of(request: Request, services: Services, principal: Principal) -> Recorder | None:
    """For a form: what records its change. A page with content is recorded here, before the content is read, so that
    nobody reads without an entry. Raises DatabaseUnavailable."""
    is_form = request.method not in SAFE
    effect = Effect.CHANGE if is_form else Effect.READ
    declared = vars(request.scope["endpoint"])
    if not calls.is_kept(services, effect) or ("without_content" in declared and not is_form):
        return None
    operation = declared.get("recorded_as", _path_of(request)) if is_form else _path_of(request)
    call = Call(actor_of(request, principal, "page"), effect, operation, await _named_in(request))
    if is_form:
        return calls.recorder(services, call)
    await run_in_threadpool(calls.write, services, call)
    return None


def record_sign_in(request: Request, services: Services, token: str) -> None:
    """The entry of a session that was opened, before the browser gets its cookie. Raises DatabaseUnavailable."""
    if calls.is_kept(services, Effect.CHANGE):
        actor = actor_of(request, web_sessions.principal_of(services, token), "page")
        calls.write(services, Call(actor, Effect.CHANGE, _path_of(request), {}))


def _path_of(request: Request) -> str:
    return f"{request.method} /ui{request.scope['route'].path}"


async def _named_in(request: Request) -> dict[str, object]:
    form = [] if request.method in SAFE else (await request.form()).multi_items()
    found: dict[str, list[str]] = {}
    for name, value in [*request.path_params.items(), *request.query_params.multi_items(), *form]:
        if isinstance(value, str):
            found.setdefault(_IDS.get(name, name), []).append(value)
    return calls.ids_in({name: values[0] if len(values) == 1 else values for name, values in found.items()})
