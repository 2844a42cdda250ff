"""What calls leave in the audit log, and with which ids of theirs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Coroutine, Hashable, Mapping
from enum import StrEnum
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from api.middleware import path_text
from api.proxy_user import USER
from memorybase import errors
from memorybase.audit import record
from memorybase.audit.record import Actor, Recorder, Via, id_text, ids_in
from memorybase.auth.api_keys import Principal
from memorybase.services import Services
from memorybase.telemetry import get_logger

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Audit(StrEnum):
    """What a call leaves in the audit log."""

    NOTHING = "nothing"  # it only reads; what it stores is no change of a caller's
    CHANGE = "change"
    CAPTURE = "capture"  # runtimes make it all the time: its body is not parsed twice, the domain states the ids
    EXPORT = "export"  # a GET that hands out everything at once


MAX_PARSED_BYTES = 64_000  # of a body that is looked through for ids
RECENT_SECONDS = 60.0
_MOST_RECENT = 10_000

log = get_logger(__name__)


def recorded(operation: str, audit: Audit, ignored: frozenset[str], handler: Handler) -> Handler:
    """The handler of an operation, which leaves an entry if it changes or exports something. `ignored`: fields of the
    body that name objects without effect."""
    if audit is Audit.NOTHING:
        return handler
    if audit is Audit.EXPORT:
        return _with_read(operation, handler)
    return _with_change(operation, audit is Audit.CAPTURE, ignored, handler)


def _with_change(operation: str, is_capture: bool, ignored: frozenset[str], handler: Handler) -> Handler:
    async def changed(request: Request) -> Response:
        services: Services = request.app.state.services
        audit = services.settings.audit
        if audit == "off" or (is_capture and audit == "changes"):
            return await handler(request)
        objects = named_in(request, b"" if is_capture else await request.body(), ignored=ignored)
        with services.database.before_commit(Recorder(_actor(request), operation, objects)):
            return await handler(request)

    return changed


def _with_read(operation: str, handler: Handler) -> Handler:
    async def read(request: Request) -> Response:
        services: Services = request.app.state.services
        answer = await handler(request)  # nothing of it is sent before it is returned
        if services.settings.audit != "off":
            objects = named_in(request, b"")
            await run_in_threadpool(record.write, services, _actor(request), "read", operation, objects)
        return answer

    return read


class Recent:
    """Reads and refusals that this process recorded within the last minute, and does not record again: a browser asks
    for the same part of a page every few seconds, and may repeat a refused call for ever."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[Hashable, float] = {}

    def __contains__(self, what: Hashable) -> bool:
        return self._clock() < self._until.get(what, 0.0)

    def add(self, what: Hashable) -> None:
        if len(self._until) >= _MOST_RECENT:
            self._until.clear()
        self._until[what] = self._clock() + RECENT_SECONDS


async def note_denial(request: Request, operation: str, error: errors.MemorybaseError) -> None:
    """Record that a limited key was refused. The caller gets its own error, also if the entry cannot be written."""
    services: Services = request.app.state.services
    recent: Recent = request.app.state.recently_recorded
    actor = _actor(request)
    if services.settings.audit == "off" or (actor.key_id, operation) in recent:
        return
    objects = {**named_in(request, b""), "error": error.code}
    try:
        await run_in_threadpool(record.write, services, actor, "denied", operation, objects)
    except errors.EnvironmentFailure as failure:
        log.warning("denial_not_recorded", operation=operation, error_code=failure.code)
    else:
        recent.add((actor.key_id, operation))


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
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
