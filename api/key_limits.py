"""Checks what each operation touches, so that a limited key reaches nothing outside its flows and its end user.

A call with a limited key passes here before its route sees it. The operation's rule names the flow, the end user and
the objects in the request; objects outside the limits are 404, as another user's. Where the request may leave a flow or
an end user open, the rule fills in the key's own, so that the route's SQL filters by it. An operation without a rule
for a kind of limit refuses keys with that limit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlencode
from uuid import UUID

from fastapi import Request
from sqlalchemy.orm import Session as OrmSession
from starlette.types import Message

from api.admission import Bulkhead
from api.middleware import path_text
from memorybase import errors, ids
from memorybase.auth.api_keys import Principal
from memorybase.auth.limits import KeyLimits
from memorybase.ids import CallerId, IdKind
from memorybase.queries.ownership import not_found
from memorybase.search.request import find_knowledge
from memorybase.services import Services

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


def flow(where: Where, name: str = "flow_id") -> Check:
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


def memory_base(where: Where, name: str = "memory_base_id", *, required: bool = True) -> Check:
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
        memory_base("body", "memory_base_ids")(asked)
    if asked.body.get("flow_id") is not None or not asked.body.get("memory_base_ids"):
        flow("body")(asked)


def job(asked: Asked) -> None:
    for job_id in asked.uuids("path", "job_id"):
        asked.limits.check_job(asked.db, asked.user_id, job_id)


def label(asked: Asked) -> None:
    from memorybase.features.lab.routes import label_in_path

    label_in_path(asked)


def standing_statement(asked: Asked) -> None:
    """A statement of the key's flows and end user."""
    for statement_id in asked.uuids("path", "statement_id"):
        asked.limits.check_standing_statement(asked.db, asked.user_id, statement_id)


def knowledge(asked: Asked) -> None:
    """Check what a call of Dify names. If it names no end user, add the key's."""
    sent = asked.text("body", "knowledge_id")
    if sent is None:
        return  # the route says what is missing
    found = find_knowledge(asked.services, asked.user_id, sent)
    if asked.limits.flow_ids is not None and found.flow_id not in asked.limits.flow_ids:
        raise not_found("knowledge", sent)
    if found.end_user_id is not None:
        asked.limits.check_end_user(found.end_user_id, "knowledge", sent)
    elif asked.limits.end_user_id is not None:
        asked.fill("body", "knowledge_id", f"{sent}/{quote(asked.limits.end_user_id, safe='')}")


def named_flows(asked: Asked) -> None:
    """The list of flows, of which the route shows those of the key."""
    if asked.limits.flow_ids is None:
        raise refused("An API key that is limited to an end user cannot list all flows")


# Checks of end users. They follow those of flows, which note the flow.


def end_user(where: Where) -> Check:
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


def session(where: Where, *, uses: bool = False) -> Check:
    """Accept a session only if it is new or belongs to the key's end user. With `uses`, also check the memory that
    models were given for that session."""

    def check(asked: Asked) -> None:
        sent = asked.text(where, "session_id")
        if sent is not None and asked.flow_id is not None:
            asked.limits.check_session(asked.db, asked.flow_id, sent, uses=uses)

    return check


def chat(where: Where) -> Check:
    """A chat of the key's end user, by its id."""

    def check(asked: Asked) -> None:
        sent = asked.text(where, "chat_id")
        if sent is None or asked.flow_id is None:
            text = "chat_id must be given with a key that is limited to an end user"
            raise errors.InvalidRequest(text, field="chat_id")
        asked.limits.check_chat(asked.db, asked.flow_id, asked.text("path", "node_id") or "", sent)

    return check


def row(kind: IdKind) -> Check:
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


_OF_PATH, _OF_QUERY, _OF_BODY = flow("path"), flow("query"), flow("body")
_BASE = memory_base("path")
_BASE_FILTER = memory_base("query", required=False)
_FLOW_ONLY, _BASE_ONLY = Rule([_OF_PATH]), Rule([_BASE])
_QUERY_ONLY = Rule([_OF_QUERY])
_MESSAGE = Rule([_OF_QUERY], [row("message")])
_SESSION_IN_QUERY = Rule([_OF_QUERY], [session("query")])
_SESSION_IN_BODY = Rule([_OF_BODY], [session("body")])
_CHAT_IN_QUERY, _CHAT_IN_BODY = Rule([_OF_PATH], [chat("query")]), Rule([_OF_PATH], [chat("body")])
_JOB = Rule([job], [])
# Keys without limits only: they concern all flows, or what belongs to no flow.
REFUSED = Rule(None)

RULES: dict[str, Rule] = {
    "list_problems": REFUSED,
    "get_overview": REFUSED,
    "get_metrics": REFUSED,
    "create_flow": REFUSED,
    "list_flows": Rule([named_flows], []),
    "put_flow": _FLOW_ONLY,
    "get_flow": Rule([_OF_PATH], []),
    "update_flow": _FLOW_ONLY,
    "delete_flow": _FLOW_ONLY,
    "capture_run": Rule([_OF_PATH], [end_user("body"), session("body"), without("node_executions")]),
    "receive_traces": _FLOW_ONLY,
    "list_runs": _FLOW_ONLY,
    "get_run_of_flow": Rule([_OF_PATH], [row("run")]),
    "find_runs": Rule([_OF_QUERY], [end_user("query")]),
    "get_run": Rule([_OF_QUERY], [row("run")]),
    "get_run_memory": _FLOW_ONLY,
    "put_run_memory": Rule([_OF_PATH], [end_user("body"), session("body"), known_row("run", "run_id", "path")]),
    "get_run_story": _FLOW_ONLY,
    "create_memory_base": Rule([_OF_BODY]),
    "put_memory_base": _FLOW_ONLY,
    "list_memory_bases": _QUERY_ONLY,
    "get_memory_base": _BASE_ONLY,
    "update_memory_base": _BASE_ONLY,
    "delete_memory_base": _BASE_ONLY,
    "list_memory_base_sessions": Rule([_BASE], [end_user("query")]),
    "flush_memory_base": _BASE_ONLY,
    "sync_memory_base": _BASE_ONLY,
    "regenerate_memory_base": _BASE_ONLY,
    "check_mismatch": _BASE_ONLY,
    "get_search_weights": _BASE_ONLY,
    "set_search_weights": _BASE_ONLY,
    "reset_search_weights": _BASE_ONLY,
    "get_activity": _BASE_ONLY,
    "list_jobs": _BASE_ONLY,
    "list_dead_letters": _BASE_ONLY,
    "retry_dead_letter": _BASE_ONLY,
    "discard_dead_letter": _BASE_ONLY,
    "request_memory_map": _BASE_ONLY,
    "get_memory_map": _BASE_ONLY,
    "get_distillation": _BASE_ONLY,
    "set_distillation": _BASE_ONLY,
    "list_facts": Rule([_BASE], [end_user("query")]),
    "search_facts": Rule([_BASE], [end_user("body")]),
    "get_fact": _BASE_ONLY,
    "delete_fact": _BASE_ONLY,
    "delete_facts": _BASE_ONLY,
    "list_all_jobs": Rule([memory_base("query")]),
    "get_job": _JOB,
    "watch_job": _JOB,
    "cancel_job": Rule([job]),
    "list_all_dead_letters": Rule([memory_base("query")]),
    "group_dead_letters": Rule([memory_base("query")]),
    "act_on_dead_letters": REFUSED,
    "act_on_jobs": REFUSED,
    "list_messages": Rule([_OF_QUERY, _BASE_FILTER], [end_user("query")]),
    "get_message": _MESSAGE,
    "edit_message": _MESSAGE,
    "delete_message": _MESSAGE,
    "get_message_ingestion": _MESSAGE,
    "get_message_history": _MESSAGE,
    "list_message_uses": _QUERY_ONLY,
    "act_on_messages": Rule([_OF_BODY]),
    "list_deleted_messages": Rule([_OF_QUERY, _BASE_FILTER]),
    "restore_message": _QUERY_ONLY,
    "purge_message": _QUERY_ONLY,
    "list_sessions": Rule([_OF_QUERY], [end_user("query")]),
    "update_session": _SESSION_IN_BODY,
    "delete_session": Rule([_OF_QUERY], [session("query", uses=True)]),
    "list_end_users": _QUERY_ONLY,
    "get_end_user": Rule(None, [own_end_user]),
    "get_end_user_profile": Rule([_OF_QUERY], [own_end_user]),
    "erase_end_user": REFUSED,
    "list_standing_statements": Rule([_OF_QUERY], [end_user("query"), session("query")]),
    "edit_standing_statement": Rule([standing_statement], []),
    "delete_standing_statement": Rule([standing_statement], []),
    "get_history": Rule(
        [_OF_BODY],
        [
            session("body"),
            known_row("message", "leaf_id"),
            known_row("run", "run_id"),
            known_row("node_execution", "execution_id"),
        ],
    ),
    "put_node_execution": Rule([_OF_BODY]),
    "get_node_execution": Rule([_OF_QUERY], [row("node_execution")]),
    "delete_node_execution": _QUERY_ONLY,
    "list_chat_memories": _FLOW_ONLY,
    "put_chat_memory": _FLOW_ONLY,
    "get_chat_memory": _FLOW_ONLY,
    "delete_chat_memory": _FLOW_ONLY,
    "list_chats": Rule([_OF_PATH], [end_user("query")]),
    "post_chat_messages": Rule([_OF_PATH], [end_user("body"), chat("body"), known_row("run", "run_id")]),
    "list_chat_messages": _CHAT_IN_QUERY,
    "delete_chat_messages": _CHAT_IN_QUERY,
    "view_chat": Rule([_OF_PATH], [chat("body"), known_row("run", "run_id")]),
    "trim_chat": _CHAT_IN_BODY,
    "summarize_chat": _CHAT_IN_BODY,
    "export_chats": _CHAT_IN_QUERY,
    "search_memory_base": Rule([_BASE], [end_user("body")]),
    "search_flow": Rule([searched], [end_user("body")]),
    "retrieve_knowledge": Rule([knowledge], []),
    "mark_result": Rule([_OF_BODY]),
    "list_labels": _QUERY_ONLY,
    "export_labels": Rule([_OF_QUERY, _BASE_FILTER]),
    "delete_label": Rule([label]),
    "list_knowledge_bases": REFUSED,
    "create_knowledge_base": REFUSED,
    "get_knowledge_base": REFUSED,
    "delete_knowledge_base": REFUSED,
    "add_documents": REFUSED,
    "rebuild_knowledge_base": REFUSED,
    "search_knowledge_base": REFUSED,
    "create_key": REFUSED,
    "list_keys": REFUSED,
    "rotate_key": REFUSED,
    "revoke_key": REFUSED,
    "set_key_quotas": REFUSED,
    "get_usage": Rule([], []),
    "preview_retention": REFUSED,
    "list_retention_passes": REFUSED,
    "list_erasures": REFUSED,
    "get_erasure": REFUSED,
    "place_hold": REFUSED,
    "list_holds": REFUSED,
    "lift_hold": REFUSED,
    "create_webhook": REFUSED,
    "list_webhooks": REFUSED,
    "get_webhook": REFUSED,
    "update_webhook": REFUSED,
    "delete_webhook": REFUSED,
    "rotate_webhook_secret": REFUSED,
    "send_test_event": REFUSED,
    "list_deliveries": REFUSED,
    "get_delivery": REFUSED,
    "replay_delivery": REFUSED,
    "replay_dead_deliveries": REFUSED,
    "discard_delivery": REFUSED,
    "discard_dead_deliveries": REFUSED,
    "list_workers": REFUSED,
    "list_audit_entries": REFUSED,
    "export_audit_entries": REFUSED,
    "create_sign_in_link": REFUSED,
    "get_summary": _SESSION_IN_QUERY,
    "request_summary": _SESSION_IN_BODY,
    "delete_summary": _SESSION_IN_QUERY,
    "build_context": Rule(
        [_OF_BODY],
        [end_user("body"), session("body"), known_row("message", "leaf_id"), known_row("run", "run_id")],
    ),
    "export_lines": Rule([_OF_QUERY, _BASE_FILTER], [end_user("query")]),
    "import_lines": REFUSED,
}


def checks_of(operation: str, limits: KeyLimits) -> list[Check]:
    """The checks of a call with these limits. Raises OutsideKeyLimits."""
    rule = RULES.get(operation, REFUSED)
    wanted: list[Check] = []
    if limits.flow_ids is not None and rule.flows is None:
        raise refused("A key that is limited to flows may not make this call")
    wanted += rule.flows or ()
    if limits.end_user_id is not None:
        if rule.end_user is None:
            raise refused("A key that is limited to an end user may not make this call")
        wanted += rule.end_user
    return wanted


async def within_limits(request: Request, operation: str, bulkhead: Bulkhead) -> Request:
    """The request within the limits of its key. Raises OutsideKeyLimits, NotFound and InvalidRequest."""
    caller: Principal = request.state.principal
    limits = caller.limits
    if limits is None:
        return request
    checks = checks_of(operation, limits)
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
    return _with_body(request, json.dumps(body).encode() if "body" in changed else sent)


def _json_object(sent: bytes) -> dict[str, Any] | None:
    """The body, empty without one; None if it is no object."""
    try:
        body = json.loads(sent) if sent else {}
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _with_body(request: Request, body: bytes) -> Request:
    """A copy of the request that brings this body."""
    pending = [body]

    async def receive() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await request.receive()

    return Request(request.scope, receive)
