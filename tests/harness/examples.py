"""The example of every operation: a conversation with the API, recorded for the OpenAPI document.

    python -m harness.examples > examples.json && mv examples.json api/contract/

The calls are those below, in order; the answers are those of a live API, with ids, times and secrets replaced by fixed
ones, so that recording again gives the same file. tests/integration/api/test_examples.py compares them.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from harness.api import Api, Json, open_api
from harness.contract import CONTRACT
from memorybase.operations import heartbeats
from memorybase.settings import Settings

FILE = Path(__file__).parents[2] / "api" / "contract" / "examples.json"
MAX_ITEMS = 2  # of a recorded list
METRIC = "memorybase_runs_captured_total"  # the one that is shown
SCORE_DIGITS = 3
TIME, MINUTE = "2026-01-15T09:30:00Z", "2026-01-15 09:30 UTC"
# Values that differ at every call, by name.
FIXED: Json = {
    "took_ms": 3.2, "secret": "mb_EXAMPLE-secret-that-is-shown-once", "prefix": "mb_EXAMP", "request_id": "4f1c8e2a",
    "memorybase": "1.0.0", "url_path": "/ui/enter?token=EXAMPLE",
}  # fmt: skip
BUCKET: Json = {"captured": 2, "ingested": 2, "delay_mean_seconds": 0.8, "delay_max_seconds": 1.4}

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
_LOOKUP = re.compile(r"^\$(\w+)\.([\w.]+)$")


@dataclass(frozen=True)
class Call:
    """A call. `$operation.path` is a value in the answer of an earlier one. `work`: a worker then runs what is queued.
    `record`: it is the operation's example; else it prepares one."""

    operation: str
    body: Any = None
    parameters: Json = field(default_factory=dict)
    work: bool = True
    record: bool = True


def said(role: str, content: str, **more: Any) -> Json:
    return {"role": role, "content": content, **more}


ANNA: Json = {"flow_id": "support", "session_id": "anna-1"}
BASE: Json = {"memory_base_id": "$create_memory_base.id"}
NODE: Json = {"flow_id": "support", "node_id": "chat-memory-1"}
CHAT: Json = {"chat_id": "anna-chat"}
DEAD_LETTER: Json = {**BASE, "dead_letter_id": "$list_dead_letters.items.0.id"}
HANDBOOK: Json = {"name": "handbook"}
QUESTION = "Which food must I avoid?"
REPLY = "Avoid peanuts: you are allergic to them."
CONTEXT = [said("user", QUESTION), said("assistant", REPLY)]

CALLS = [
    Call("health_live"),
    Call("health_ready"),
    Call("create_flow", {"name": "Support bot"}),
    Call("put_flow", {"name": "Support"}, {"flow_id": "support"}),
    Call("list_flows", parameters={"size": 50}),
    Call("get_flow", parameters={"flow_id": "support"}),
    Call("create_memory_base", {"name": "support notes", "flow_id": "support", "threshold": 2, "capture": "all"}),
    Call("capture_run", {
        "session_id": "anna-1", "run_id": "run-1", "end_user_id": "anna",
        "messages": [said("user", QUESTION, id="m-1"), said("assistant", REPLY, id="m-2")],
        "node_executions": [{"id": "run-1-llm", "node_id": "llm", "status": "succeeded",
                             "outputs": {"text": REPLY, "context": CONTEXT}}],
    }, {"flow_id": "support"}),
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
    Call("update_memory_base", {"idle_after": 300}, BASE),
    Call("list_memory_base_sessions", parameters=BASE),
    Call("search_memory_base", {"query": "Is Anna allergic to peanuts?", "top_k": 1, "neighbors": 1, "explain": True},
         BASE),
    Call("search_flow", {"flow_id": "support", "query": "peanuts", "mode": "keyword", "top_k": 1}),
    Call("retrieve_knowledge", {"knowledge_id": "support", "query": "peanuts",
                                "retrieval_setting": {"top_k": 1, "score_threshold": 0.0}}),
    Call("get_history", {**ANNA, "max_tokens": 2000}),
    Call("build_context", {**ANNA, "query": "peanuts", "token_budget": 1000, "run_id": "run-2", "node_id": "llm"}),
    Call("capture_run", {"session_id": "anna-1", "run_id": "run-2", "messages": [said("user", "And almonds?")]},
         {"flow_id": "support"}, record=False),
    Call("get_run_memory", parameters={"flow_id": "support", "run_id": "run-2"}),
    Call("put_node_execution", {**ANNA, "run_id": "run-2", "node_id": "llm", "status": "succeeded",
                                "outputs": {"text": "Almonds are fine.", "context": CONTEXT}},
         {"execution_id": "run-2-llm"}),
    Call("get_node_execution", parameters={"execution_id": "run-2-llm"}),
    Call("delete_node_execution", parameters={"execution_id": "run-2-llm"}),
    Call("capture_run", {"session_id": "anna-1", "run_id": "run-3", "messages": 4 * CONTEXT}, {"flow_id": "support"},
         record=False),
    Call("request_summary", ANNA),
    Call("get_summary", parameters=ANNA),
    Call("delete_summary", parameters=ANNA),
    Call("list_jobs", parameters={**BASE, "session_id": "anna-1"}),
    Call("list_all_jobs", parameters={"state": "done"}),
    Call("get_job", parameters={"job_id": "$list_jobs.items.0.id"}),
    Call("watch_job", parameters={"job_id": "$list_jobs.items.0.id"}),
    Call("capture_run", {"session_id": "anna-1", "run_id": "run-4", "messages": [said("user", "Thanks!")]},
         {"flow_id": "support"}, record=False),
    Call("flush_memory_base", {"session_id": "anna-1"}, BASE, work=False),
    Call("cancel_job", parameters={"job_id": "$flush_memory_base.jobs.0.id"}),
    Call("sync_memory_base", {"session_id": "anna-1"}, BASE),
    Call("regenerate_memory_base", {"capture": "outputs"}, BASE),
    Call("check_mismatch", parameters=BASE),
    Call("capture_run", {"session_id": "ben-1", "end_user_id": "ben", "messages": [
        said("assistant", "poison"), said("assistant", "Good morning.")]}, {"flow_id": "support"}, record=False),
    Call("list_dead_letters", parameters=BASE),
    Call("retry_dead_letter", parameters=DEAD_LETTER),
    Call("discard_dead_letter", parameters=DEAD_LETTER),
    Call("get_activity", parameters={**BASE, "since": TIME, "buckets": 24}),
    Call("set_search_weights", {"sets": {"with_token_vectors": {"bias": -2.0, "weights": {"keywords": 1.5}}},
                                "note": "tuned on our questions"}, BASE),
    Call("get_search_weights", parameters=BASE),
    Call("reset_search_weights", parameters=BASE),
    Call("create_knowledge_base", HANDBOOK),
    Call("list_knowledge_bases", parameters={"for_retrieval": True}),
    Call("get_knowledge_base", parameters=HANDBOOK),
    Call("add_documents", {"documents": [{"id": "returns", "text": "Parcels can be returned for 30 days.",
                                          "metadata": {"language": "en"}}]}, HANDBOOK),
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
    Call("revoke_key", parameters={"key_id": "$create_key.id"}),
    Call("create_sign_in_link"),
    Call("get_metrics"),
    Call("put_flow", {"name": "Archive"}, {"flow_id": "archive"}, record=False),
    Call("capture_run", {"session_id": "carl-1", "run_id": "run-9", "messages": [said("user", "Hello", id="m-9")]},
         {"flow_id": "archive"}, record=False),
    Call("export_lines", parameters={"flow_id": "archive"}),
    Call("import_lines", "$export_lines.text", {"on_conflict": "keep"}),
    Call("delete_message", parameters={"message_id": "m-9"}),
    Call("delete_session", parameters={"flow_id": "archive", "session_id": "carl-1"}),
    Call("erase_end_user", parameters={"end_user_id": "ben"}),
    Call("delete_memory_base", parameters=BASE),
    Call("delete_flow", parameters={"flow_id": "archive"}),
]  # fmt: skip


class Fixed:
    """Replaces what differs at every recording: ids by their order, times and secrets by fixed ones."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def value(self, value: Any, name: str = "") -> Any:
        if name in FIXED and value is not None:
            return FIXED[name]
        if isinstance(value, dict):
            return {key: self.value(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if name == "version" and isinstance(value, str):
            return FIXED["memorybase"]
        if isinstance(value, float):
            return round(value, SCORE_DIGITS) + 0.0  # no negative zero
        return self.text(value) if isinstance(value, str) else value

    def text(self, value: str) -> str:
        return _MINUTE.sub(MINUTE, _TIME.sub(TIME, _UUID.sub(self._id, value)))

    def _id(self, found: re.Match[str]) -> str:
        return self._ids.setdefault(found[0], str(uuid5(NAMESPACE_URL, f"example-{len(self._ids) + 1}")))


class Recorder:
    """Makes the calls and keeps their answers."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.fixed = Fixed()
        self.answers: dict[str, Any] = {}
        self.examples: Json = {}

    def record(self, calls: Sequence[Call] = tuple(CALLS)) -> Json:
        for call in calls:
            self._make(call)
            if call.work:
                self.api.work()
        return self.examples

    def _make(self, call: Call) -> None:
        method, path, operation = OPERATIONS[call.operation]
        parameters, body = self._resolved(call.parameters), self._resolved(call.body)
        if call.operation == "get_activity":
            parameters["since"] = self.answers["create_memory_base"]["created_at"]
        query = {name: value for name, value in parameters.items() if f"{{{name}}}" not in path}
        sent: Json = {"content": body} if isinstance(body, str) else {"json": body} if body is not None else {}
        where = path.format(**parameters).removeprefix("/v1")
        expected = tuple(int(status) for status in operation["responses"] if status.isdigit())
        answer = self.api.call(method, where, expect=expected, params=query, **sent)
        content = self._content(answer)
        if call.operation == "get_activity":  # how many buckets there are depends on the clock
            content |= {"bucket_seconds": 60, "buckets": [each | BUCKET for each in content["buckets"]]}
        if call.record:
            self.answers[call.operation] = content
            self.examples[call.operation] = self._example(parameters, body, answer, content)

    def _example(self, parameters: Json, body: Any, answer: httpx.Response, content: Any) -> Json:
        example: Json = {"status": str(answer.status_code)}
        if parameters:
            example["parameters"] = self.fixed.value(parameters)
        if body is not None:
            example["body"] = self._shown(body)
        if content is not None:
            example["answer"] = self._shown(content["text"] if "text" in content and len(content) == 1 else content)
        return example

    def _shown(self, content: Any) -> Any:
        """With fixed values; lists in it are short."""
        if not isinstance(content, str):
            return short(self.fixed.value(content))
        lines = content.splitlines()
        if not content.startswith(("{", "event:")):
            shown = [line for line in lines if METRIC in line]
            return "\n".join([*shown[:-1], f"{METRIC} 5.0"]) + "\n"
        return "".join(self._line(line) + "\n" for line in lines)

    def _line(self, line: str) -> str:
        prefix, data = ("data: ", line.removeprefix("data: ")) if line.startswith("data: ") else ("", line)
        if not data.startswith("{"):
            return line
        return prefix + json.dumps(self.fixed.value(json.loads(data)), ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    def _content(answer: httpx.Response) -> Any:
        if not answer.content:
            return None
        return answer.json() if answer.headers["content-type"] == "application/json" else {"text": answer.text}

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


def short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: short(each) for name, each in value.items()}
    return [short(each) for each in value[:MAX_ITEMS]] if isinstance(value, list) else value


def operations() -> Iterator[tuple[str, tuple[str, str, Json]]]:
    for path, item in CONTRACT["paths"].items():
        for method, operation in item.items():
            yield operation["operationId"], (method.upper(), path, operation)


OPERATIONS = dict(operations())


@contextmanager
def recorder(folder: Path) -> Iterator[Recorder]:
    """A recorder with an API of its own in this folder."""
    settings = Settings(
        data_dir=folder, embedding_model="fake", api_key="the-key-from-the-settings", drain_seconds=0,
        rate_limit_per_second=0,
    )  # fmt: skip
    with open_api(settings) as api:
        heartbeats.beat(api.services, "worker@1", "worker")
        heartbeats.beat(api.services, "sweeper@1", "sweeper")
        api.embedders.get().reject("poison")
        yield Recorder(api)


def as_text(examples: Json) -> str:
    return json.dumps(examples, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch, recorder(Path(scratch)) as opened:
        sys.stdout.write(as_text(opened.record()))
