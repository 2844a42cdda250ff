"""No secret is left anywhere: each way in is sent some, a job fails, a webhook is sent, and everything is searched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest
from harness import running
from harness.receiver import receiving
from harness.stack import KEY, EmbeddedStack
from harness.waiting import wait_until
from harness.worker import BROKEN_MODEL, NOT_A_NUMBER, sabotage
from made import keys

pytestmark = pytest.mark.slow  # a stack

PATIENCE = 120.0
RULES = ("redact", "refuse", "keep")
WHEN = "2026-01-01T00:00:00Z"


class Way(NamedTuple):
    """A request with secrets. `warns`: its answer tells in `warnings` what was replaced."""

    method: str
    path: str
    body: Any
    warns: bool = True


class Secrets:
    """Texts with secrets that stand nowhere else, and what was sent of them, by name."""

    def __init__(self, seed: int) -> None:
        made = keys.secrets_of(seed, half=keys.TESTING, each=4)
        # In one line, and as it is in JSON: what is searched for is the secret itself.
        self._left = [each for each in made if len(each.secret) > 15 and json.dumps(each.secret) == f'"{each.secret}"']
        self.sent: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        made = self._left.pop(len(self._left) * 7 // 11)
        assert self.sent.setdefault(name, made.secret) is made.secret
        return made.text

    def found_in(self, text: str) -> set[str]:
        return {name for name, secret in self.sent.items() if secret in text}


class Sender:
    """Sends secrets in each way to a flow with this rule."""

    def __init__(self, http: httpx.Client, rule: str) -> None:
        self.http, self.rule, self.flow, self.say = http, rule, f"flow-{rule}", Secrets(RULES.index(rule))
        self.where = {"flow_id": self.flow, "session_id": "s"}
        self.call("PUT", f"/flows/{self.flow}", {"name": self.flow})
        self.call("PATCH", f"/flows/{self.flow}", {"secrets": rule})
        body = {"name": self.flow, "flow_id": self.flow, "threshold": 1, "capture": "all"}
        self.base = self.call("POST", "/memories", body)["id"]
        self.call("PUT", f"/flows/{self.flow}/chat-memories/n", {"name": "n", "chat_id": "c"})
        said = ("Please always answer in French.", "The boat lies at berth 12.", "It is green.")
        messages = [{"id": f"m{at}", "role": "user", "content": text} for at, text in enumerate(said)]
        run = {"session_id": "s", "run_id": "clean", "end_user_id": rule, "messages": messages}
        self.call("POST", f"/flows/{self.flow}/runs", run)

    def call(self, method: str, path: str, body: Any = None, *, status: int | None = None) -> Any:
        content = {"content": json.dumps(body)} if path == "/import" else {"json": body}
        answer = self.http.request(method, path, **content)
        is_expected = answer.is_success if status is None else answer.status_code == status
        assert is_expected, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def send_all(self) -> None:
        for way in chain(self.messages(), self.imported(), self.used(), self.reasons(), [self.traced()]):
            if self.rule == "refuse" and way.path.partition("/traces")[1] == "":
                error = self.call(*way[:3], status=422)["error"]
                assert error["code"] == "secret_refused"
                assert not self.say.found_in(json.dumps(error))
                continue
            answer = self.call(*way[:3])
            warnings = answer["report"]["warnings"] if way.path == "/context" else answer.get("warnings", ())
            codes = {each["code"] for each in warnings}
            assert ("secrets_redacted" in codes) == (way.warns and self.rule == "redact"), way
        for path in ("/search", f"/memories/{self.base}/search"):
            query = {"query": self.say(f"query of {path.rpartition('/')[0]}")}
            self.call("POST", path, query | ({"flow_id": self.flow} if path == "/search" else {}))

    def messages(self) -> Iterator[Way]:
        say, flow = self.say, f"/flows/{self.flow}"
        call = {"name": "sh", "arguments": json.dumps({"x": say("call")})}
        part = {"type": "text", "text": say("part")}
        messages = [
            {
                "role": "user",
                "content": f"{NOT_A_NUMBER} {say('text')}",
                "metadata": {"k": say("metadata"), say("key"): {"k": 1}},
            },
            {"role": "user", "content": [part], "sender_name": say("sender")},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]},
            {"role": "tool", "content": say("result"), "tool_call_id": "1", "files": [{"url": say("file")}]},
        ]
        yield Way("POST", f"{flow}/runs", {"session_id": "s", "run_id": "r", "messages": messages})
        edit = {"content": say("edit"), "metadata": {"k": say("edited metadata")}, "reason": say("reason")}
        yield Way("PATCH", f"/messages/m1?flow_id={self.flow}", edit)
        yield Way("PATCH", "/sessions", self.where | {"metadata": {"k": say("session"), say("session's key"): 1}})
        chat = {"chat_id": "c", "messages": [{"role": "user", "content": say("chat")}]}
        yield Way("POST", f"{flow}/chat-memories/n/messages", chat)

    def imported(self) -> Iterator[Way]:
        """Each line alone: one that is refused ends an import."""
        say, run = self.say, self.where | {"run_id": "clean", "node_id": "imported"}
        execution = {"id": f"{self.flow}-i", "index": 0, "status": "succeeded", "few_shots": [], "created_at": WHEN}
        given = {"messages": [{"role": "user", "content": say("imported use")}]}
        use = given | {"sources": [{"kind": "history", "message_ids": []}], "report": {}, "recorded_at": WHEN}
        lines: tuple[dict[str, Any], ...] = (
            {"type": "session", **self.where, "session_id": "new", "metadata": {"k": say("imported session")}},
            {"type": "message", **run, "id": "i", "role": "user", "content": say("imported")},
            {"type": "node_execution", **run, **execution, "outputs": {"text": say("imported outputs")}},
            {"type": "memory_use", **run, **use, "query": say("imported query")},
        )
        yield from (Way("POST", "/import", line) for line in lines)

    def used(self) -> Iterator[Way]:
        say, run = self.say, {**self.where, "run_id": "clean", "node_id": "n"}
        outputs = {
            "text": say("outputs"),
            say("key of outputs"): 1,
            "context": [{"role": "user", "content": say("context of outputs")}],
        }
        yield Way("PUT", f"/node-executions/{self.flow}-e", run | {"status": "succeeded", "outputs": outputs})
        given = {"messages": [{"role": "user", "content": say("given")}], "query": say("given query")}
        given |= {"session_id": "s", "sources": [{"kind": "history", "message_ids": []}]}
        yield Way("PUT", f"/flows/{self.flow}/runs/clean/memory/a", given)
        label = {"flow_id": self.flow, "message_id": "m1", "right": True, "query": say("label")}
        yield Way("POST", "/labels", label | {"settings": {"k": say("label's settings"), say("key of settings"): 1}})
        found = self.call("GET", f"/standing-statements?flow_id={self.flow}&end_user_id={self.rule}")
        yield Way("PATCH", f"/standing-statements/{found['statements'][0]['id']}", {"text": say("statement")})
        yield Way("POST", "/context", run | {"token_budget": 500, "query": say("question")})

    def reasons(self) -> Iterator[Way]:
        """Their answers show the reason as it is stored."""
        say, of_flow = self.say, f"flow_id={self.flow}"
        yield Way("DELETE", f"/messages/m2?{of_flow}&reason={quote(say('deletion'))}", None, warns=False)
        if self.rule == "refuse":
            self.call("DELETE", f"/messages/m2?{of_flow}")
        yield Way("POST", f"/deleted-messages/m2/restore?{of_flow}", {"reason": say("restoration")}, warns=False)
        yield Way("POST", "/holds", {"flow_id": self.flow, "reason": say("hold")}, warns=False)

    def traced(self) -> Way:
        """Answered as OTLP says, which has no warnings."""
        message = {"role": "user", "parts": [{"type": "text", "content": self.say("trace")}]}
        values = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps([message]),
            "gen_ai.conversation.id": "traced",
        }
        span = {
            "traceId": "0a" * 16,
            "spanId": "0b" * 8,
            "name": "chat",
            "startTimeUnixNano": "1767225600000000000",
            "endTimeUnixNano": "1767225601000000000",
            "attributes": [{"key": name, "value": {"stringValue": value}} for name, value in values.items()],
        }
        return Way(
            "POST", f"/flows/{self.flow}/traces", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, warns=False
        )


class Used(NamedTuple):
    """A stack that all of that was sent to, stopped; its dead letters, and what it told others than those who may read
    messages."""

    stack: EmbeddedStack
    sent: dict[str, Secrets]
    dead_letters: str
    told: str


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    directory = tmp_path_factory.mktemp("redaction")
    stack = EmbeddedStack(directory)
    stack.one_process = True
    stack.changes = {
        "MEMORYBASE_LOG_LEVEL": "DEBUG",
        "MEMORYBASE_SECRETS": "redact",
        "MEMORYBASE_WEBHOOK_ALLOWED_NETWORKS": '["127.0.0.0/8"]',
        **sabotage(directory / "broken", BROKEN_MODEL),
    }
    headers = {"Authorization": f"Bearer {KEY}"}
    with receiving() as receiver, running(stack):
        with httpx.Client(base_url=f"{stack.url}/v1", headers=headers, trust_env=False, timeout=60) as http:
            types = ["job.completed", "dead_letter.created"]
            http.post("/webhooks", json={"url": receiver.url, "event_types": types}).raise_for_status()
            senders = [Sender(http, rule) for rule in RULES]
            for sender in senders:
                sender.send_all()
            of_documents = send_documents(senders[0])
            letters = [dead_letters(sender) for sender in senders if sender.rule != "refuse"]
            wait_until(lambda: any("dead_letter" in each.body for each in receiver.requests), PATIENCE, "the webhook")
            told = [http.get(path).text for path in ("/audit?size=200", "/metrics", "/erasures")]
        stack.stop()
        told += [f"{each.headers} {each.body}" for each in receiver.requests]
        sent = {sender.rule: sender.say for sender in senders} | {"documents": of_documents}
        yield Used(stack, sent, "\n".join(letters), "\n".join(told))


def send_documents(sender: Sender) -> Secrets:
    """A knowledge base has no flow: the installation's setting holds."""
    say = Secrets(len(RULES))
    sender.call("POST", "/knowledge-bases", {"name": "kb"})
    document = {"id": "d", "text": say("document"), "metadata": {"k": say("document's metadata")}}
    answer = sender.call("POST", "/knowledge-bases/kb/documents", {"documents": [document]})
    assert [each["code"] for each in answer["warnings"]] == ["secrets_redacted"]
    sender.call("POST", "/knowledge-bases/kb/search", {"query": say("query of documents")})
    return say


def dead_letters(sender: Sender) -> str:
    """As the API shows them, once the message that has no vector is one and the others are ingested."""

    def is_done() -> bool:
        status = sender.call("GET", f"/memories/{sender.base}")
        return bool(status["dead_letters"] == 1 and status["pending_messages"] == 0)

    wait_until(is_done, PATIENCE, "a dead letter, and everything else ingested")
    return json.dumps(sender.call("GET", f"/memories/{sender.base}/dead-letters"))


def on_disk(directory: Path) -> dict[Path, str]:
    files = (each for each in directory.rglob("*") if each.is_file() and not each.is_symlink())
    return {each: each.read_bytes().decode("latin-1") for each in files}


def test_a_secret_that_is_not_kept_is_nowhere(used: Used) -> None:
    everything = on_disk(used.stack.directory) | {Path("dead letters"): used.dead_letters, Path("told"): used.told}
    for rule in ("redact", "refuse", "documents"):
        left = {str(path): found for path, text in everything.items() if (found := used.sent[rule].found_in(text))}
        assert left == {}, rule


def test_a_secret_that_is_kept_is_where_messages_are_and_nowhere_else(used: Used) -> None:
    """So that the test above finds a way in that is not screened."""
    kept = used.sent["keep"]
    files = on_disk(used.stack.directory)
    stored = {path: found for path, text in files.items() if (found := kept.found_in(text))}
    places = {path.relative_to(used.stack.data).parts[0].partition("-")[0] for path in stored}
    assert places == {"memorybase.db", "chroma"}
    assert set().union(*stored.values()) == {name for name in kept.sent if not name.startswith("query of")}
    assert kept.found_in(used.dead_letters) == {"text", "metadata", "key"}
    assert all(each in used.told for each in ("dead_letter.created", "edit_message", "memorybase_secrets_total"))
    assert kept.found_in(used.told) == set()
