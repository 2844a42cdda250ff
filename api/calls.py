"""What features that keep a record of calls are told of those of the API: who makes one, and with which ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from api.middleware import path_text
from api.proxy_user import USER
from memorybase.core import calls, errors
from memorybase.core.auth.api_keys import Principal
from memorybase.core.calls import Actor, Call, Effect, Via, id_text, ids_in
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


MAX_PARSED_BYTES = 64_000  # of a body that is looked through for ids
log = get_logger(__name__)


def recorded(operation: str, effect: Effect, ignored: frozenset[str], handler: Handler) -> Handler:
    """The handler of an operation, which leaves an entry if it changes or exports something. `ignored`: fields of the
    body that name objects without effect."""
    if effect is Effect.NOTHING:
        return handler
    return (_with_read if effect is Effect.READ else _with_change)(operation, effect, ignored, handler)


def _with_change(operation: str, effect: Effect, ignored: frozenset[str], handler: Handler) -> Handler:
    async def changed(request: Request) -> Response:
        services: Services = request.app.state.services
        if not calls.is_kept(services, effect):
            return await handler(request)
        body = b"" if effect is Effect.CAPTURE else await request.body()
        call = Call(_actor(request), effect, operation, named_in(request, body, ignored=ignored))
        with services.database.before_commit(calls.recorder(services, call)):
            return await handler(request)

    return changed


def _with_read(operation: str, effect: Effect, _ignored: frozenset[str], handler: Handler) -> Handler:
    async def read(request: Request) -> Response:
        services: Services = request.app.state.services
        answer = await handler(request)  # nothing of it is sent before it is returned
        if calls.is_kept(services, effect):
            call = Call(_actor(request), effect, operation, named_in(request, b""))
            await run_in_threadpool(calls.write, services, call)
        return answer

    return read


async def note_denial(request: Request, operation: str, error: errors.MemorybaseError) -> None:
    """Record that a limited key was refused. The caller gets its own error, also if the entry cannot be written."""
    services: Services = request.app.state.services
    if not calls.is_kept(services, Effect.DENIED):
        return
    objects = {**named_in(request, b""), "error": error.code}
    try:
        await run_in_threadpool(calls.write, services, Call(_actor(request), Effect.DENIED, operation, objects))
    except errors.EnvironmentFailure as failure:
        log.warning("denial_not_recorded", operation=operation, error_code=failure.code)


def actor_of(request: Request, principal: Principal, via: Via) -> Actor:
    """Who calls, and from where: the address is the proxy's claim only if the proxy is trusted."""
    return Actor(
        via=via,
        user_id=principal.user_id,
        key_id=principal.key_id,
        person=request.scope.get(USER),
        address=request.client.host if request.client else None,
        request_id=request.scope.get("request_id"),
    )


def _actor(request: Request) -> Actor:
    return actor_of(request, request.state.principal, "api")


def named_in(request: Request, body: bytes, *, ignored: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The ids in the request: everything in the path, and what is named like an id in the query and the body."""
    in_query = {name: request.query_params.getlist(name) for name in request.query_params}
    single = {name: values[0] if len(values) == 1 else values for name, values in in_query.items()}
    in_path = {name: id_text(path_text(str(value))) for name, value in request.path_params.items()}
    in_body = {name: value for name, value in _object(body).items() if name not in ignored}
    return {**ids_in(in_body), **ids_in(single), **in_path}


def _object(body: bytes) -> Mapping[str, Any]:
    if not body or len(body) > MAX_PARSED_BYTES:
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
