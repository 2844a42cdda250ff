"""A conversation with the API that calls every operation, and fails each in its typical ways.

The calls are those below, in order, each followed by its failing variants of harness/failing_calls.py.
tests/integration/api/test_answers.py compares what they send and get with the OpenAPI document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from harness import hooks
from harness.api import Api, Json, open_api
from harness.contract import CONTRACT
from harness.failing_calls import changed, failing
from memorybase.core.operations import heartbeats
from memorybase.core.settings import Settings
from memorybase.features.audit_log import chain

TIME = "2026-01-15T09:30:00Z"
_LOOKUP = re.compile(r"^\$(\w+)\.([\w.]+)$")


@dataclass(frozen=True)
class Call:
    """A call. `$operation.path` is a value in the answer of an earlier one. `work`: a worker then runs what is queued.
    `check`: it stands for its operation, with its failing variants; else it prepares such a call."""

    operation: str
    body: Any = None
    parameters: Json = field(default_factory=dict)
    work: bool = True
    check: bool = True


def said(role: str, content: str, **more: Any) -> Json:
    return {"role": role, "content": content, **more}


def export_of_span(session_id: str, question: str, answer: str) -> Json:
    """A span of a model call in OTLP's JSON."""
    values = {
        "gen_ai.conversation.id": session_id,
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": question}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]),
    }
    attributes = [{"key": name, "value": {"stringValue": value}} for name, value in values.items()]
    span = {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
        "name": "chat",
        "startTimeUnixNano": "1768469400000000000",
        "endTimeUnixNano": "1768469401000000000",
        "attributes": attributes,
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


ANNA: Json = {"flow_id": "support", "session_id": "anna-1"}
BASE: Json = {"memory_base_id": "$create_memory_base.id"}
NODE: Json = {"flow_id": "support", "node_id": "chat-memory-1"}
CHAT: Json = {"chat_id": "anna-chat"}
DEAD_LETTER: Json = {**BASE, "dead_letter_id": "$list_dead_letters.items.0.id"}
WEBHOOK: Json = {"webhook_id": "$create_webhook.id"}
HANDBOOK: Json = {"name": "handbook"}
QUESTION = "Which food must I avoid?"
REPLY = "Avoid peanuts: you are allergic to them."
CONTEXT = [said("user", QUESTION), said("assistant", REPLY)]
HARBOUR_TALK = [
    message
    for berth in range(1, 11)
    for message in (
        said("user", f"Is berth {berth} free for a boat of {6 + berth} meters?"),
        said("assistant", f"Pump {berth} on the pontoon takes cards."),
    )
]


def captured(flow_id: str, session_id: str, *messages: Json, **more: Any) -> Call:
    """What other calls need."""
    body = {"session_id": session_id, "messages": list(messages), **more}
    return Call("capture_run", body, {"flow_id": flow_id}, check=False)


CALLS = [
    Call("health_live"),
    Call("health_ready"),
    Call("create_flow", {"name": "Support bot"}),
    Call("put_flow", {"name": "Support"}, {"flow_id": "support"}),
    Call("list_flows", parameters={"size": 50}),
    Call("get_flow", parameters={"flow_id": "support"}),
    Call("create_memory_base", {"name": "support notes", "flow_id": "support", "threshold": 2, "capture": "all"}),
    Call("put_memory_base", {"capture": "all"}, {"flow_id": "support", "name": "support notes"}),
    Call(
        "capture_run",
        {
            "session_id": "anna-1",
            "run_id": "run-1",
            "end_user_id": "anna",
            "messages": [said("user", QUESTION, id="m-1"), said("assistant", REPLY, id="m-2")],
            "node_executions": [
                {
                    "id": "run-1-llm",
                    "node_id": "llm",
                    "status": "succeeded",
                    "outputs": {"text": REPLY, "context": CONTEXT},
                }
            ],
        },
        {"flow_id": "support"},
    ),
    Call("list_runs", parameters={"flow_id": "support"}),
    Call("get_run_of_flow", parameters={"flow_id": "support", "run_id": "run-1"}),
    Call("get_run", parameters={"run_id": "run-1"}),
    Call("list_messages", parameters={"flow_id": "support", "session_id": "anna-1"}),
    Call("get_message", parameters={"message_id": "m-2"}),
    Call("edit_message", {"metadata": {"topic": "allergies"}}, {"message_id": "m-2"}),
    Call("list_sessions", parameters={"flow_id": "support"}),
    Call("update_session", {**ANNA, "metadata": {"channel": "web"}}),
    Call("list_memory_bases", parameters={"flow_id": "support"}),
    Call("get_memory_base", parameters=BASE),
    Call("update_memory_base", {"idle_after": 300, "paused": False, "priority": "high"}, BASE),
    Call("list_memory_base_sessions", parameters=BASE),
    Call(
        "search_memory_base",
        {"query": "Is Anna allergic to peanuts?", "top_k": 1, "neighbors": 1, "explain": True},
        BASE,
    ),
    Call("search_flow", {"flow_id": "support", "query": "peanuts", "mode": "keyword", "top_k": 1}),
    Call(
        "retrieve_knowledge",
        {"knowledge_id": "support", "query": "peanuts", "retrieval_setting": {"top_k": 1, "score_threshold": 0.0}},
    ),
    Call("get_history", {**ANNA, "max_tokens": 2000}),
    Call("build_context", {**ANNA, "query": "peanuts", "token_budget": 1000, "run_id": "run-2", "node_id": "llm"}),
    captured("support", "anna-1", said("user", "And almonds?"), run_id="run-2"),
    Call(
        "put_run_memory",
        {
            "session_id": "anna-1",
            "query": "almonds",
            "messages": [said("system", "Anna: peanuts")],
            "sources": [{"kind": "recall", "message_ids": ["m-2"], "scores": [0.62]}],
        },
        {"flow_id": "support", "run_id": "run-2", "node_id": "agent"},
    ),
    Call("get_run_memory", parameters={"flow_id": "support", "run_id": "run-2"}),
    Call(
        "put_node_execution",
        {
            **ANNA,
            "run_id": "run-2",
            "node_id": "llm",
            "status": "succeeded",
            "outputs": {"text": "Almonds are fine.", "context": CONTEXT},
        },
        {"execution_id": "run-2-llm"},
    ),
    Call("get_node_execution", parameters={"execution_id": "run-2-llm"}),
    Call("delete_node_execution", parameters={"execution_id": "run-2-llm"}),
    captured("support", "anna-1", *4 * CONTEXT, run_id="run-3"),
    Call("request_summary", ANNA),
    Call("get_summary", parameters=ANNA),
    Call("delete_summary", parameters=ANNA),
    Call("list_jobs", parameters={**BASE, "session_id": "anna-1"}),
    Call("list_all_jobs", parameters={**BASE, "state": "done"}),
    Call("get_job", parameters={"job_id": "$list_jobs.items.0.id"}),
    Call("watch_job", parameters={"job_id": "$list_jobs.items.0.id"}),
    Call("act_on_jobs", {"action": "retry", **BASE, "dry_run": True}),
    Call("list_workers"),
    captured("support", "anna-1", said("user", "Thanks!"), run_id="run-4"),
    Call("flush_memory_base", {"session_id": "anna-1"}, BASE, work=False),
    Call("cancel_job", parameters={"job_id": "$flush_memory_base.jobs.0.id"}),
    Call("sync_memory_base", {"session_id": "anna-1"}, BASE),
    Call("regenerate_memory_base", {"capture": "outputs"}, BASE),
    Call("check_mismatch", parameters=BASE),
    captured("support", "ben-1", said("assistant", "poison"), said("assistant", "Good morning."), end_user_id="ben"),
    Call("list_dead_letters", parameters=BASE),
    Call("list_problems"),
    Call("get_overview", parameters={"window": "24h"}),
    Call("list_all_dead_letters", parameters=BASE),
    Call("group_dead_letters", parameters=BASE),
    Call("act_on_dead_letters", {"action": "retry", **BASE}),
    Call("retry_dead_letter", parameters=DEAD_LETTER),
    Call("discard_dead_letter", parameters=DEAD_LETTER),
    Call("get_activity", parameters={**BASE, "since": TIME, "buckets": 24}),
    Call(
        "set_search_weights",
        {"sets": {"default": {"bias": -2.0, "weights": {"nearby": 1.5}}}, "note": "tuned on our questions"},
        BASE,
    ),
    Call("get_search_weights", parameters=BASE),
    Call("reset_search_weights", parameters=BASE),
    Call("create_knowledge_base", HANDBOOK),
    Call("list_knowledge_bases", parameters={"for_retrieval": True}),
    Call("get_knowledge_base", parameters=HANDBOOK),
    Call(
        "add_documents",
        {
            "documents": [
                {"id": "returns", "text": "Parcels can be returned for 30 days.", "metadata": {"language": "en"}}
            ]
        },
        HANDBOOK,
    ),
    Call("search_knowledge_base", {"query": "return a parcel", "top_k": 1}, HANDBOOK),
    Call("rebuild_knowledge_base", parameters=HANDBOOK),
    Call("delete_knowledge_base", parameters=HANDBOOK),
    Call("put_chat_memory", {"name": "Chat memory", "chat_id": "chat-{{ start.user_id }}"}, NODE),
    Call("list_chat_memories", parameters={"flow_id": "support"}),
    Call("get_chat_memory", parameters=NODE),
    Call("post_chat_messages", {**CHAT, "end_user_id": "anna", "run_id": "run-1", "messages": CONTEXT}, NODE),
    Call("list_chats", parameters={**NODE, "end_user_id": "anna"}),
    Call("list_chat_messages", parameters={**NODE, **CHAT}),
    Call("view_chat", CHAT, NODE),
    Call("export_chats", parameters={**NODE, **CHAT}),
    Call("trim_chat", {**CHAT, "max_messages": 10}, NODE),
    Call("summarize_chat", {**CHAT, "keep_last_n": 1}, NODE),
    Call("delete_chat_messages", parameters={**NODE, **CHAT, "mode": "latest_request", "roles": ["user", "assistant"]}),
    Call("delete_chat_memory", parameters=NODE),
    Call("create_key", {"name": "search only", "scopes": ["read"]}),
    Call("list_keys", parameters={"size": 50}),
    Call("rotate_key", {"overlap_seconds": 3600}, {"key_id": "$create_key.id"}),
    Call("set_key_quotas", {"messages_per_day": 10000, "searches_per_minute": 60}, {"key_id": "$rotate_key.id"}),
    Call("get_usage", parameters={"key_id": "$rotate_key.id"}),
    Call("revoke_key", parameters={"key_id": "$rotate_key.id"}),
    Call("list_audit_entries", parameters={"operation": "create_key"}),
    Call("export_audit_entries", parameters={"after_seq": "$list_audit_entries.items.0.seq"}),
    Call("create_sign_in_link"),
    Call("get_metrics"),
    Call("put_flow", {"name": "Archive"}, {"flow_id": "archive"}, check=False),
    captured("archive", "carl-1", said("user", "Hello", id="m-9"), run_id="run-9"),
    Call("export_lines", parameters={"flow_id": "archive"}),
    Call("import_lines", "$export_lines.text", {"on_conflict": "keep"}),
    Call("delete_message", parameters={"message_id": "m-9"}),
    Call("delete_session", parameters={"flow_id": "archive", "session_id": "carl-1"}),
    Call("erase_end_user", parameters={"end_user_id": "ben"}),
    Call("delete_memory_base", parameters=BASE),
    Call("delete_flow", parameters={"flow_id": "archive"}),
    Call("put_flow", {"name": "Harbour"}, {"flow_id": "harbour"}, check=False),
    Call("receive_traces", export_of_span("anna-1", "Where is my boat?", "At berth 12."), {"flow_id": "harbour"}),
    Call("create_memory_base", {"name": "harbour notes", "flow_id": "harbour", "threshold": 1}, check=False),
    captured(
        "harbour",
        "ben-1",
        said("user", "Where is my boat?"),
        said("assistant", "Your boat is at berth 12.", id="berth-answer"),
        run_id="berth-1",
        end_user_id="ben",
    ),
    Call(
        "build_context",
        {
            "flow_id": "harbour",
            "session_id": "ben-2",
            "end_user_id": "ben",
            "query": "Where is my boat?",
            "token_budget": 600,
            "run_id": "berth-2",
            "node_id": "answer",
        },
        check=False,
    ),
    captured(
        "harbour",
        "ben-2",
        said("user", "Where is my boat?"),
        said("assistant", "Still at berth 12."),
        run_id="berth-2",
        end_user_id="ben",
    ),
    Call("get_run_story", parameters={"flow_id": "harbour", "run_id": "berth-2"}),
    Call("list_message_uses", parameters={"message_id": "berth-answer"}),
    Call("find_runs", parameters={"q": "berth"}),
    Call("list_end_users", parameters={"q": "be"}),
    Call("get_end_user", parameters={"end_user_id": "ben"}),
    Call("get_end_user_profile", parameters={"end_user_id": "ben", "flow_id": "harbour", "limit": 5}),
    Call("get_message_ingestion", parameters={"message_id": "berth-answer"}),
    Call("put_flow", {"name": "Pontoon"}, {"flow_id": "pontoon"}, check=False),
    Call(
        "create_memory_base",
        {"name": "pontoon notes", "flow_id": "pontoon", "threshold": 20, "capture": "all"},
        check=False,
    ),
    captured("pontoon", "anna-2", *HARBOUR_TALK),
    Call("request_memory_map", parameters=BASE),
    Call("get_memory_map", parameters={**BASE, "question": "Which berth has shore power?"}),
    Call("set_distillation", {"enabled": True}, BASE),
    captured(
        "pontoon",
        "carl-1",
        said("user", "The ketch of Carl needs a berth with shore power.", sender_name="Carl"),
        said("assistant", "Will berth 7 do?"),
        end_user_id="carl",
    ),
    Call("flush_memory_base", {"session_id": "carl-1"}, BASE, check=False),
    Call("get_distillation", parameters=BASE),
    Call("list_facts", parameters={**BASE, "end_user_id": "carl"}),
    Call("search_facts", {"query": "Who needs shore power?", "top_k": 1}, BASE),
    Call("get_fact", parameters={**BASE, "fact_id": "$list_facts.items.0.id"}),
    Call("delete_fact", parameters={**BASE, "fact_id": "$list_facts.items.0.id"}),
    Call("delete_facts", parameters=BASE),
    Call(
        "mark_result",
        {
            "flow_id": "support",
            "query": "Is Anna allergic to peanuts?",
            "message_id": "m-2",
            "right": True,
            "settings": {"mode": "hybrid"},
        },
    ),
    Call("list_labels", parameters={"flow_id": "support"}),
    Call("export_labels", parameters={"flow_id": "support"}),
    Call("delete_label", parameters={"label_id": "$mark_result.id"}),
    captured(
        "harbour",
        "ben-3",
        said("user", "Always give depths in meters.", id="m-30"),
        said("assistant", "I will.", id="m-31"),
        run_id="run-30",
        end_user_id="ben",
    ),
    Call("list_standing_statements", parameters={"flow_id": "harbour", "end_user_id": "ben"}),
    Call(
        "edit_standing_statement",
        {"text": "Give depths in meters, with one decimal."},
        {"statement_id": "$list_standing_statements.statements.0.id"},
    ),
    Call("delete_standing_statement", parameters={"statement_id": "$edit_standing_statement.id"}),
    captured(
        "harbour",
        "dora-1",
        said("assistant", "Berth 12 has no shore power.", id="m-20"),
        said("assistant", "Good morning.", id="m-21"),
        run_id="run-20",
    ),
    Call(
        "edit_message",
        {"content": "Berth 12 has 16 A shore power.", "reason": "It was wired in May."},
        {"message_id": "m-20"},
        check=False,
    ),
    Call("get_message_history", parameters={"message_id": "m-20"}),
    Call("act_on_messages", {"action": "delete", "ids": ["m-20", "m-21"], "reason": "Sent by mistake."}),
    Call("list_deleted_messages", parameters={"flow_id": "harbour"}),
    Call("restore_message", {"reason": "It was right."}, {"message_id": "m-20"}),
    Call("purge_message", parameters={"message_id": "m-21"}),
    Call(
        "create_webhook",
        {
            "url": "https://example.com/memorybase",
            "event_types": ["job.completed", "job.failed"],
            "description": "Alerts",
        },
    ),
    Call("list_webhooks", parameters={"size": 50}),
    Call("get_webhook", parameters=WEBHOOK),
    Call("update_webhook", {"event_types": ["job.completed"]}, WEBHOOK),
    captured("harbour", "ben-3", said("assistant", "Good morning."), run_id="run-22"),
    Call("list_deliveries", parameters={**WEBHOOK, "state": "pending"}),
    Call("replay_delivery", parameters={**WEBHOOK, "delivery_id": "$list_deliveries.items.0.id"}),
    Call("replay_dead_deliveries", {"since": TIME}, WEBHOOK),
    Call("send_test_event", parameters={**WEBHOOK, "wait": 0}),
    Call("get_delivery", parameters={**WEBHOOK, "delivery_id": "$send_test_event.id"}),
    Call("discard_delivery", parameters={**WEBHOOK, "delivery_id": "$send_test_event.id"}),
    Call("discard_dead_deliveries", {"until": TIME}, WEBHOOK),
    Call("rotate_webhook_secret", {"overlap_hours": 24}, WEBHOOK),
    Call("delete_webhook", parameters=WEBHOOK),
    Call("update_flow", {"retain_days": 90}, {"flow_id": "harbour"}),
    Call("preview_retention", parameters={"flow_id": "harbour", "retain_days": 30}),
    Call("list_retention_passes", parameters={"flow_id": "harbour"}),
    Call("list_erasures"),
    Call("get_erasure", parameters={"erasure_id": "$list_erasures.items.0.id"}),
    Call("place_hold", {"flow_id": "harbour", "session_id": "ben-2", "reason": "Claim 4711"}),
    Call("list_holds", parameters={"flow_id": "harbour"}),
    Call("lift_hold", parameters={"hold_id": "$place_hold.id"}),
    Call("scan_secrets", {"flow_id": "harbour"}),
]


@dataclass(frozen=True)
class Made:
    """A call that was made: what was sent, its answer, and the answers of its failing variants."""

    parameters: Json
    body: Any
    answer: httpx.Response
    failures: list[httpx.Response]


class Conversation:
    """Makes the calls and keeps their answers."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.answers: dict[str, Any] = {}

    def make(self, calls: Sequence[Call] = tuple(CALLS)) -> dict[str, Made]:
        """The calls that stand for their operations, by operation."""
        made = {}
        for call in calls:
            done = self._make(call)
            if call.check:
                made[call.operation] = done
            if call.work:
                self.api.work()
        return made

    def _make(self, call: Call) -> Made:
        parameters, body = self._resolved(call.parameters), self._resolved(call.body)
        if call.operation == "get_activity":
            parameters["since"] = self.answers["create_memory_base"]["created_at"]
        if call.operation == "list_audit_entries":
            chain.seal(self.api.services)
        if call.operation == "discard_delivery":
            hooks.deliver(self.api, hooks.FAILED)  # a test is dead after one attempt
        if call.operation == "list_workers":
            heartbeats.beat(self.api.services, "host-1:3f2a9c51d7be:4711:1790000000000", "worker")
        responses = OPERATIONS[call.operation][2]["responses"]
        expected = tuple(int(status) for status in responses if status.startswith("2"))
        answer = self._call(call.operation, parameters, body, expected)
        is_json = answer.content and answer.headers["content-type"] == "application/json"
        self.answers[call.operation] = answer.json() if is_json else {"text": answer.text}
        failures = self._failures(call.operation, parameters, body) if call.check else []
        return Made(parameters, body, answer, failures)

    def _call(self, operation: str, parameters: Json, body: Any, expected: int | tuple[int, ...]) -> httpx.Response:
        method, path, _ = OPERATIONS[operation]
        query = {name: value for name, value in parameters.items() if f"{{{name}}}" not in path}
        sent: Json = {"content": body} if isinstance(body, str) else {"json": body} if body is not None else {}
        where = path.format(**parameters).removeprefix("/v1")
        return self.api.call(method, where, expect=expected, params=query, **sent)

    def _failures(self, operation: str, parameters: Json, body: Any) -> list[httpx.Response]:
        found = []
        _, path, described = OPERATIONS[operation]
        has_pages = any(each["name"] == "size" for each in described.get("parameters", ()))
        for each in failing(operation, path, parameters, body, has_pages=has_pages):
            self.api.vectors.away = each.needs_store
            found.append(self._call(operation, *changed(path, parameters, body, each.changes), each.status))
            self.api.vectors.away = False
        return found

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._resolved(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._resolved(each) for each in value]
        if isinstance(value, str) and (found := _LOOKUP.match(value)):
            answer = self.answers[found[1]]
            for step in found[2].split("."):
                answer = answer[int(step) if step.isdigit() else step]
            return answer
        return value


def operations() -> Iterator[tuple[str, tuple[str, str, Json]]]:
    for path, item in CONTRACT["paths"].items():
        for method, operation in item.items():
            yield operation["operationId"], (method.upper(), path, operation)


OPERATIONS = dict(operations())


@contextmanager
def conversation(folder: Path) -> Iterator[Conversation]:
    """A conversation with an API of its own in this folder."""
    settings = Settings(
        data_dir=folder,
        embedding_model="fake",
        api_key="the-key-from-the-settings",
        rate_limit_per_second=0,
        distiller="openai",
    )
    with open_api(settings) as api:
        heartbeats.beat(api.services, "worker@1", "worker")
        heartbeats.beat(api.services, "sweeper@1", "sweeper")
        api.embedders.get().reject("poison")
        yield Conversation(api)
