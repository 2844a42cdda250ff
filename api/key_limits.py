"""Checks what each operation touches, so that a limited key reaches nothing outside its flows and its end user.

A call with a limited key passes here before its route sees it. The rule that the route declares names the flow, the
end user and the objects in the request; objects outside the limits are 404, as another user's. Where the request may
leave a flow or an end user open, the rule fills in the key's own, so that the route's SQL filters by it. An operation
without a rule for a kind of limit refuses keys with that limit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from fastapi import Request
from sqlalchemy.orm import Session as OrmSession
from starlette.types import Message

from api.admission import Bulkhead
from api.middleware import path_text
from memorybase.core import errors, ids
from memorybase.core.auth.api_keys import Principal
from memorybase.core.auth.limits import KeyLimits
from memorybase.core.ids import CallerId, IdKind
from memorybase.core.services import Services

Where = Literal["path", "query", "body"]


@dataclass(slots=True)
class Asked:
    """The ids in one request of a limited key. Checks may fill in what it leaves open."""

    caller: Principal
    limits: KeyLimits
    services: Services
    db: OrmSession
    path: Mapping[str, str]
    query: list[tuple[str, str]]
    sent_body: dict[str, Any] | None
    flow_id: UUID | None = None  # that the request is about, once checked
    changed: set[Where] = field(default_factory=set)

    @property
    def user_id(self) -> UUID:
        return self.caller.user_id

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object of the body. Raises InvalidRequest for any other body, because what it names is unknown."""
        if self.sent_body is None:
            raise errors.InvalidRequest("The body must be a JSON object", field="body")
        return self.sent_body

    def text(self, where: Where, name: str) -> str | None:
        """The value, None if it is absent or null; raises InvalidRequest for another type and for a repeated one."""
        if where == "path":
            return path_text(self.path[name])
        if where == "query":
            found = [value for key, value in self.query if key == name]
            if len(found) > 1:
                raise errors.InvalidRequest("A query parameter must be given once", field=name)
            return found[0] if found else None
        value = self.body.get(name)
        if value is not None and not isinstance(value, str):
            raise errors.InvalidRequest(f"{name} must be a string", field=name)
        return value

    def uuids(self, where: Where, name: str) -> list[UUID]:
        """One or several UUIDs; raises InvalidRequest."""
        value: Any = self.body.get(name) if where == "body" else self.text(where, name)
        values = [] if value is None else value if isinstance(value, list) else [value]
        try:
            return [errors.SentId(UUID(each), each) for each in values]
        except (ValueError, TypeError, AttributeError) as error:
            raise errors.InvalidRequest(f"{name} must be a UUID", field=name) from error

    def fill(self, where: Where, name: str, value: str) -> None:
        if where == "query":
            self.query.append((name, value))
        else:
            self.body[name] = value
        self.changed.add(where)


Check = Callable[[Asked], None]


@dataclass(frozen=True, slots=True)
class Rule:
    """The limits of a call: the checks of every limited key, and those of keys with an end user. None refuses keys with
    such a limit."""

    flows: Sequence[Check] | None
    end_user: Sequence[Check] | None = None


# Checks of every limited key. Without limits to flows they only note the flow, for the checks of sessions.


def flow_in(where: Where, name: str = "flow_id") -> Check:
    """A flow by its id; one that is left open is the key's only flow."""

    def check(asked: Asked) -> None:
        sent, limits = asked.text(where, name), asked.limits
        if sent is not None:
            asked.flow_id = ids.flow_id(asked.user_id, sent)
            limits.check_flow(asked.flow_id, sent)
        elif limits.flow_ids is not None:
            if limits.only_flow is None:
                text = f"{name} must be given with a key that is limited to {len(limits.flow_ids)} flows"
                raise errors.InvalidRequest(text, field=name, limit=sorted(map(str, limits.flow_ids)))
            asked.flow_id = limits.only_flow
            asked.fill(where, name, str(limits.only_flow))

    return check


def memory_base_in(where: Where, name: str = "memory_base_id", *, required: bool = True) -> Check:
    """A memory base, or several, of a flow of the key."""

    def check(asked: Asked) -> None:
        if asked.limits.flow_ids is None:
            return
        given = asked.uuids(where, name)
        if required and not given:
            raise errors.InvalidRequest(f"{name} must be given with a key that is limited to flows", field=name)
        for base_id in given:
            asked.limits.check_memory_base(asked.db, asked.user_id, base_id, name)

    return check


def searched(asked: Asked) -> None:
    """Check where POST /search looks: named memory bases, or a flow; never all."""
    if asked.limits.flow_ids is None:
        return
    if asked.body.get("all"):
        text = "A key that is limited to flows must name flow_id or memory_base_ids instead of all"
        raise errors.InvalidRequest(text, field="all", value=True)
    if asked.body.get("memory_base_ids"):
        memory_base_in("body", "memory_base_ids")(asked)
    if asked.body.get("flow_id") is not None or not asked.body.get("memory_base_ids"):
        flow_in("body")(asked)


def job_in_path(asked: Asked) -> None:
    for job_id in asked.uuids("path", "job_id"):
        asked.limits.check_job(asked.db, asked.user_id, job_id)


# Checks of end users. They follow those of flows, which note the flow.


def end_user_in(where: Where) -> Check:
    """A filter or an owner: the key's end user, also where it is left open."""

    def check(asked: Asked) -> None:
        mine = asked.limits.end_user_id
        if mine is None:
            return
        sent = asked.text(where, "end_user_id")
        if sent is None:
            asked.fill(where, "end_user_id", mine)
        else:
            asked.limits.check_end_user(sent, "end user", sent)

    return check


def session_in(where: Where, *, uses: bool = False) -> Check:
    """Accept a session only if it is new or belongs to the key's end user. With `uses`, also check the memory that
    models were given for that session."""

    def check(asked: Asked) -> None:
        sent = asked.text(where, "session_id")
        if sent is not None and asked.flow_id is not None:
            asked.limits.check_session(asked.db, asked.flow_id, sent, uses=uses)

    return check


def chat_in(where: Where) -> Check:
    """A chat of the key's end user, by its id."""

    def check(asked: Asked) -> None:
        sent = asked.text(where, "chat_id")
        if sent is None or asked.flow_id is None:
            text = "chat_id must be given with a key that is limited to an end user"
            raise errors.InvalidRequest(text, field="chat_id")
        asked.limits.check_chat(asked.db, asked.flow_id, asked.text("path", "node_id") or "", sent)

    return check


def row_in_path(kind: IdKind) -> Check:
    """A message, run or node execution in the path, of a session of the key's end user."""
    name = "execution_id" if kind == "node_execution" else f"{kind}_id"

    def check(asked: Asked) -> None:
        given = CallerId.of(asked.user_id, kind, asked.text("path", name) or "", name=name)
        asked.limits.check_row(asked.db, asked.flow_id, given)

    return check


def known_row(kind: IdKind, name: str, where: Where = "body") -> Check:
    """A row by its id, which need not exist."""

    def check(asked: Asked) -> None:
        sent = asked.text(where, name)
        if sent is not None and asked.flow_id is not None:
            asked.limits.check_row_if_any(asked.db, asked.flow_id, CallerId.of(asked.user_id, kind, sent, name=name))

    return check


def without(name: str) -> Check:
    """A field that keys of an end user may not send."""

    def check(asked: Asked) -> None:
        if asked.body.get(name):
            raise refused(f"{name} must be left out with a key that is limited to an end user", name)

    return check


def own_end_user(asked: Asked) -> None:
    """The end user in the path."""
    sent = asked.text("path", "end_user_id")
    asked.limits.check_end_user(sent, "end user", sent)


def refused(text: str, name: str | None = None) -> errors.OutsideKeyLimits:
    return errors.OutsideKeyLimits(text, field=name)


# Keys without limits only: what all flows share, or what belongs to no flow.
REFUSED = Rule(None)
# Of keys that are limited to flows alone.
FLOW_IN_PATH, FLOW_IN_QUERY = Rule([flow_in("path")]), Rule([flow_in("query")])
BASE_IN_PATH = Rule([memory_base_in("path")])


def checks_of(rule: Rule, limits: KeyLimits) -> list[Check]:
    """The checks of a call with these limits. Raises OutsideKeyLimits."""
    wanted: list[Check] = []
    if limits.flow_ids is not None and rule.flows is None:
        raise refused("A key that is limited to flows may not make this call")
    wanted += rule.flows or ()
    if limits.end_user_id is not None:
        if rule.end_user is None:
            raise refused("A key that is limited to an end user may not make this call")
        wanted += rule.end_user
    return wanted


async def within_limits(request: Request, rule: Rule, bulkhead: Bulkhead) -> Request:
    """The request within the limits of its key. Raises OutsideKeyLimits, NotFound and InvalidRequest."""
    caller: Principal = request.state.principal
    limits = caller.limits
    if limits is None:
        return request
    checks = checks_of(rule, limits)
    services: Services = request.app.state.services
    sent = await request.body()
    body = _json_object(sent)
    query = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)

    def run() -> set[Where]:
        with services.database.reading() as db:
            asked = Asked(caller, limits, services, db, request.path_params, query, body)
            for check in checks:
                check(asked)
            return asked.changed

    changed = await bulkhead.run(run)
    if "query" in changed:
        request.scope["query_string"] = urlencode(query).encode()
    return with_body(request, json.dumps(body).encode() if "body" in changed else sent)


def _json_object(sent: bytes) -> dict[str, Any] | None:
    """The body, empty without one; None if it is no object."""
    try:
        body = json.loads(sent) if sent else {}
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def with_body(request: Request, body: bytes) -> Request:
    """A copy of the request that brings this body."""
    pending = [body]

    async def receive() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await request.receive()

    return Request(request.scope, receive)
