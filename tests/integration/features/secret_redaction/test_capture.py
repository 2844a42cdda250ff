"""Secrets that callers send: what is stored, answered, counted and refused, and that repetitions stay repetitions."""

from __future__ import annotations

import json
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from harness.api import Api
from harness.secret_texts import OTHER, TEXT, TOKEN, everything, mark, post

from memorybase.core.screening import screen
from memorybase.features.dify.node_objects import NodeObjectMemory, objects_of

CALL = {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": json.dumps({"cmd": f"T={TOKEN}"})}}


def replaced(answer: Any) -> str:
    """The kinds and numbers that the answer tells."""
    (text,) = [each["message"] for each in answer["warnings"] if each["code"] == "secrets_redacted"]
    return str(text).partition("nowhere: ")[2].partition(". ")[0]


def test_a_captured_secret_is_stored_nowhere(api: Api) -> None:
    api.memory(capture="all")
    messages = [
        {"role": "user", "content": [{"type": "text", "text": TEXT}], "metadata": {"env": {"password": "hunter22"}}},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "name": "bot"},
        {
            "role": "tool",
            "content": f"out: {TOKEN}",
            "tool_call_id": "c1",
            "files": [{"url": f"https://x.dev/{TOKEN}"}],
        },
    ]

    answer = post(api, messages=messages)

    (warning,) = answer["warnings"]
    assert warning["code"] == "secrets_redacted"
    assert "github-token (4), password (1)" in warning["message"]
    assert TOKEN not in everything(api)
    assert "hunter22" not in everything(api)
    stored = api.get("/messages", flow_id="support")["items"]
    assert stored[0]["content"][0]["text"] == f"密钥是{mark(api)}请保存"
    assert json.loads(stored[1]["tool_calls"][0]["function"]["arguments"]) == {"cmd": f"T={mark(api)}"}
    api.work()
    assert TOKEN not in str(api.vectors.__dict__)


def test_a_repetition_stays_one_under_each_setting(api: Api) -> None:
    for rule in (None, "keep", "redact"):
        api.patch(f"/flows/{api.flow()}", {"secrets": rule})
        assert post(api)["messages"][0]["created"] is (rule is None)
    assert post(api, TEXT.replace(TOKEN, OTHER), expect=409)["error"]["code"] == "message_conflict"


def test_what_a_flow_kept_is_redacted_when_it_is_updated(api: Api) -> None:
    api.patch(f"/flows/{api.flow()}", {"secrets": "keep"})
    assert post(api)["warnings"] == []
    assert api.get("/messages", flow_id="support")["items"][0]["content"] == TEXT
    api.patch("/flows/support", {"secrets": None})

    post(api, on_conflict="update")

    assert api.get("/messages", flow_id="support")["items"][0]["content"] == TEXT.replace(TOKEN, mark(api))


def test_a_run_without_ids_replays_under_each_setting(api: Api) -> None:
    run: Any = {"run_id": "r1", "messages": [{"role": "user", "content": TEXT}]}
    assert post(api, **run)["created"]
    for rule in ("keep", "redact"):
        api.patch("/flows/support", {"secrets": rule})
        assert not post(api, **run)["created"]


def test_a_flow_refuses_secrets_and_names_field_kind_and_place(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    flow = api.patch(f"/flows/{api.flow()}", {"secrets": "refuse"})
    assert flow["secrets"] == "refuse"

    error = post(api, expect=422)["error"]

    assert (error["code"], error["field"]) == ("secret_refused", "messages[0].content")
    assert error["details"] == {"kind": "github-token", "at": 4}
    assert TOKEN not in json.dumps(error) + caplog.text + everything(api)
    post(api, "nothing secret", expect=201)


def test_secrets_are_counted_by_kind(api: Api) -> None:
    post(api)
    lines = api.call("GET", "/metrics").text.splitlines()
    counted = [line for line in lines if line.startswith("memorybase_secrets_total")]
    assert any('kind="github-token"' in line and 'rule="redact"' in line for line in counted)


def test_an_edit_is_redacted(api: Api) -> None:
    message = post(api, "before")["messages"][0]["id"]

    edit = {"content": TEXT, "metadata": {"note": TOKEN}, "reason": f"was {TOKEN}"}
    assert replaced(api.patch(f"/messages/{message}", edit)) == "github-token (3)"
    assert "warnings" not in api.patch(f"/messages/{message}", {"muted": True})

    assert TOKEN not in everything(api)
    assert api.get(f"/messages/{message}")["content"] == TEXT.replace(TOKEN, mark(api))


def test_session_metadata_is_redacted(api: Api) -> None:
    post(api, "before")
    changed = api.patch("/sessions", {"flow_id": "support", "session_id": "s1", "metadata": {"note": TOKEN}})
    assert replaced(changed) == "github-token (1)"
    assert "warnings" not in api.get("/sessions", flow_id="support")["items"][0]
    assert TOKEN not in everything(api)


def test_node_executions_and_what_models_were_given_are_redacted(api: Api) -> None:
    execution = {"node_id": "n", "status": "succeeded", "outputs": {"text": TEXT, "context": []}}
    run = post(api, "fine", run_id="r1", node_executions=[execution])
    assert replaced(run) == "github-token (1)"
    assert mark(api) in everything(api)
    given = {
        "session_id": "s1",
        "query": TEXT,
        "messages": [{"role": "user", "content": TEXT}],
        "sources": [{"kind": "history", "message_ids": []}],
    }
    use = api.call("PUT", f"/flows/support/runs/{run['run_id']}/memory/n", json=given, expect=(200, 201)).json()
    assert replaced(use) == "github-token (2)"
    asked = {
        "flow_id": "support",
        "session_id": "s1",
        "token_budget": 500,
        "query": TEXT,
        "run_id": "r1",
        "node_id": "m",
    }
    assert replaced(api.post("/context", asked)["report"]) == "github-token (1)"

    assert everything(api).count(mark(api)) >= 4
    assert TOKEN not in everything(api)


def test_chats_and_documents_are_redacted(api: Api) -> None:
    chat = f"/flows/{api.flow()}/chat-memories/n"
    api.call("PUT", chat, json={"name": "n", "chat_id": "{{ c }}"}, expect=(200, 201))
    for rule in (None, "keep"):
        api.patch("/flows/support", {"secrets": rule})
        body = {"chat_id": "c", "messages": [{"id": "m", "role": "user", "content": TEXT}]}
        assert api.post(f"{chat}/messages", body, expect=(200, 201))["messages"][0]["created"] is (rule is None)
    api.post("/knowledge-bases", {"name": "kb"}, expect=201)
    api.post("/knowledge-bases/kb/documents", {"documents": [{"id": "d", "text": TEXT}]}, expect=(200, 201))

    assert everything(api).count(mark(api)) == 2
    assert TOKEN not in everything(api) + str(api.vectors.__dict__)


def test_imported_lines_are_redacted(api: Api) -> None:
    where = {"flow_id": api.flow(), "session_id": "s1"}
    lines = [
        {"type": "session", **where, "metadata": {"note": TOKEN}},
        {"type": "message", **where, "run_id": "r1", "id": "m1", "role": "user", "content": TEXT},
    ]
    body = "\n".join(json.dumps(line) for line in lines)
    for _ in range(2):
        answer = api.call("POST", "/import", content=body, headers={"content-type": "application/x-ndjson"}).json()
        assert replaced(answer) == "github-token (2)"

    assert TOKEN not in everything(api)
    assert api.get("/messages", flow_id="support")["items"][0]["content"] == TEXT.replace(TOKEN, mark(api))


def test_runs_that_are_tried_again_one_by_one_count_once(api: Api) -> None:
    where = {"flow_id": api.flow(), "session_id": "s1", "type": "message", "role": "user"}
    post(api, "taken", messages=[{"id": "m2", "role": "user", "content": "taken"}])
    lines = [where | {"run_id": f"r{number}", "id": f"m{number}", "content": TEXT} for number in (1, 2)]
    body = "\n".join(json.dumps(line) for line in lines)

    answer = api.call("POST", "/import", content=body, params={"on_conflict": "keep"}).json()
    assert replaced(answer) == "github-token (2)"
    error = api.call("POST", "/import", content=body, expect=409).json()["error"]
    assert error["details"]["messages"]["known"] == 1


def test_what_another_user_does_with_secrets_is_not_told(api: Api) -> None:
    api.patch(f"/flows/{api.flow()}", {"secrets": "refuse"})
    flow_id = api.get("/flows/support")["id"]
    body = {"session_id": "s", "messages": [{"role": "user", "content": TEXT}]}
    assert api.of_new_user().post(f"/flows/{flow_id}/runs", body, expect=404)["error"]["code"] == "not_found"


def test_node_memory_in_objects_is_redacted_by_the_flow_that_is_stated(api: Api) -> None:
    services, flow_id = api.services, UUID(api.get(f"/flows/{api.flow()}")["id"])
    allowed = partial(screen, services, api.world.user_id, flow_id)
    for node, options in {"plain": {}, "screened": {"screen": allowed}}.items():
        memory = NodeObjectMemory("a", "c", node, objects=objects_of(services.settings), **options)
        memory.add_messages("m1", None, TEXT, [{"url": f"https://x.dev/{TOKEN}", "type": "image"}], f"It is {TOKEN}.")
        memory.flush()
    folder = services.settings.data_dir / "node_memory" / "a" / "c"
    written = {node: (folder / f"{node}.json").read_text() for node in ("plain", "screened")}

    assert written["plain"].count(TOKEN) == 3
    assert TOKEN not in written["screened"]
    assert written["screened"].count(mark(api)) == 3
