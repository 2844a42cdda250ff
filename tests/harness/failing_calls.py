"""How the calls of harness/calls.py fail in typical ways: each is made again with a change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

UNKNOWN, UNKNOWN_ID = "none-such", "00000000-0000-4000-8000-000000000000"
TOO_LONG = 129 * "x"
TOO_MANY = {"top_k": 1_000}
NUL = {"name": "%00"}

# Their 404 is that of another id than the last one of the path; None: there is none.
UNKNOWN_OTHER: dict[str, str | None] = {
    "put_flow": None,
    "put_chat_memory": "flow_id",
    "get_run_memory": "flow_id",
    "put_node_execution": "flow_id",
    "get_run_story": "flow_id",
    "put_memory_base": "flow_id",
    "put_run_memory": "flow_id",
    "list_all_jobs": "memory_base_id",
    "list_all_dead_letters": "memory_base_id",
    "group_dead_letters": "memory_base_id",
    "act_on_dead_letters": "memory_base_id",
    "act_on_jobs": "memory_base_id",
}
# What is not valid: of calls with a body, a field of it. Others get a page that is too large, or an invalid id.
INVALID: dict[str, Json] = {
    "create_flow": {"name": ""},
    "put_flow": {"name": ""},
    "update_flow": {"retain_days": 0},
    "preview_retention": {"retain_days": 0},
    "place_hold": {"end_user_id": "ben"},
    "scan_secrets": {"cursor": "nothing"},
    "create_memory_base": {"threshold": 0},
    "put_memory_base": {"threshold": 0},
    "capture_run": {"messages": [{"role": "bot", "content": "Hello"}]},
    "receive_traces": {"resourceSpans": "none"},
    "edit_message": {"role": "user"},
    "act_on_messages": {"action": "hide"},
    "restore_message": {"reason": 501 * "x"},
    "update_session": {"new_session_id": ""},
    "update_memory_base": {"flow_id": "other"},
    "set_distillation": {"start": "yesterday"},
    "list_facts": {"state": "old"},
    "search_facts": TOO_MANY,
    "search_memory_base": TOO_MANY,
    "search_flow": TOO_MANY,
    "retrieve_knowledge": {"retrieval_setting": TOO_MANY},
    "get_history": {"mode": "other"},
    "build_context": {"token_budget": 0},
    "put_node_execution": {"status": "done"},
    "put_run_memory": {"sources": []},
    "request_summary": {"preset": "other"},
    "get_summary": {"preset": "other"},
    "delete_summary": {"preset": "other"},
    "delete_session": {"session_id": ""},
    "flush_memory_base": {"session": "anna-1"},
    "sync_memory_base": {"session": "anna-1"},
    "regenerate_memory_base": {"capture": "some"},
    "get_activity": {"buckets": 0},
    "get_overview": {"window": "1y"},
    "set_search_weights": {"sets": {"other": {"bias": 0.0, "weights": {}}}},
    "act_on_dead_letters": {"action": "bury"},
    "act_on_jobs": {"action": "bury"},
    "group_dead_letters": {"memory_base_id": "not-a-uuid"},
    "create_knowledge_base": {"name": ""},
    "get_knowledge_base": NUL,
    "rebuild_knowledge_base": NUL,
    "delete_knowledge_base": NUL,
    "add_documents": {"documents": []},
    "search_knowledge_base": TOO_MANY,
    "put_chat_memory": {"limit_type": "words"},
    "post_chat_messages": {"messages": []},
    "view_chat": {"variables": {}},
    "trim_chat": {"max_messages": -1},
    "summarize_chat": {"keep_last_n": -1},
    "delete_chat_messages": {"mode": "newest"},
    "list_chat_messages": {"limit": 500},
    "create_key": {"scopes": ["all"]},
    "create_webhook": {"url": "http://10.0.0.1/hook"},
    "update_webhook": {"event_types": ["job.started"]},
    "rotate_webhook_secret": {"overlap_hours": -1},
    "replay_dead_deliveries": {"since": "yesterday"},
    "discard_dead_deliveries": {"until": "yesterday"},
    "rotate_key": {"overlap_seconds": -1},
    "set_key_quotas": {"messages_per_day": -1},
    "get_usage": {"key_id": "not-a-uuid"},
    "list_audit_entries": {"kind": "other"},
    "export_audit_entries": {"after_seq": -1},
    "import_lines": {"on_conflict": "other"},
    "mark_result": {"right": "perhaps"},
    "list_standing_statements": {"flow_id": TOO_LONG},
    "get_end_user_profile": {"limit": 0},
    "edit_standing_statement": {"text": ""},
    "export_labels": {"flow_id": TOO_LONG},
    "export_lines": {"memory_base_id": "not-a-uuid"},
    "get_run": {"flow_id": TOO_LONG},
}
# What conflicts with the state just after the call; {}: the same call again.
CONFLICTING: dict[str, Json] = {
    "create_memory_base": {},
    "put_memory_base": {"capture": "outputs"},
    "capture_run": {"messages": [{"role": "user", "content": "Another question", "id": "m-1"}]},
    "build_context": {"end_user_id": "ben"},
    "put_run_memory": {"end_user_id": "ben"},
    "flush_memory_base": {},
    "sync_memory_base": {},
    "regenerate_memory_base": {},
    "cancel_job": {},
    "create_knowledge_base": {},
    "add_documents": {"name": "support notes"},
    "search_knowledge_base": {"name": "support notes"},
    "rebuild_knowledge_base": {"name": "support notes"},
    "delete_knowledge_base": {"name": "support notes"},
    "post_chat_messages": {"end_user_id": "ben"},
    "rotate_key": {},
}
# Their 503 is that of the vector store, so they are made again while it is away. Others need the database only.
NEED_THE_STORE: dict[str, Json] = {
    "health_ready": {},
    "create_memory_base": {"name": "more notes"},
    "put_memory_base": {"name": "more notes"},
    "search_memory_base": {},
    "search_flow": {"mode": "dense"},
    "retrieve_knowledge": {},
    "create_knowledge_base": {"name": "manual"},
    "search_knowledge_base": {},
    "rebuild_knowledge_base": {},
}


@dataclass(frozen=True)
class Failing:
    """A call with changed parameters or a changed body, and the status of its answer."""

    status: int
    changes: Json
    needs_store: bool = False


def failing(operation: str, path: str, parameters: Json, body: Any, *, has_pages: bool) -> Iterator[Failing]:
    """How this call fails, beside what fails for every call: no key, too many calls, no database."""
    if not operation.startswith("health_"):
        unknown = _unknown(operation, path, {**parameters, **(body if isinstance(body, dict) else {})})
        if unknown:
            yield Failing(404, unknown)
        if operation in CONFLICTING:
            yield Failing(409, CONFLICTING[operation])
        yield Failing(422, INVALID.get(operation) or _invalid(path, parameters, has_pages=has_pages))
    if operation in NEED_THE_STORE:
        yield Failing(503, NEED_THE_STORE[operation], needs_store=True)


def changed(path: str, parameters: Json, body: Any, changes: Json) -> tuple[Json, Any]:
    """Parameters and body with the changes: in the body, if there is one and the path does not name it."""
    in_body = {name: value for name, value in changes.items() if isinstance(body, dict) and f"{{{name}}}" not in path}
    others = {name: value for name, value in changes.items() if name not in in_body}
    return parameters | others, body | in_body if in_body else body


def _unknown(operation: str, path: str, given: Json) -> Json:
    in_path = re.findall(r"{(\w+)}", path)
    name = in_path[-1] if in_path else next((each for each in ("flow_id", "knowledge_id") if each in given), None)
    name = UNKNOWN_OTHER.get(operation, name)
    return {} if name is None else {name: UNKNOWN_ID if _is_uuid(given[name]) else UNKNOWN}


def _invalid(path: str, parameters: Json, *, has_pages: bool) -> Json:
    in_path = re.findall(r"{(\w+)}", path)
    if has_pages:
        return {"size": 500}
    if not in_path:
        return {"limit": 1}
    return {in_path[-1]: "not-a-uuid" if _is_uuid(parameters[in_path[-1]]) else TOO_LONG}


def _is_uuid(value: Any) -> bool:
    return bool(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(value)))
