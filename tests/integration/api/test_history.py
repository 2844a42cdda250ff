"""Conversation memory over HTTP: history, node executions, and the memory use of a run."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from harness.api import Api
from harness.rows import each_row
from harness.what_models_take import refusals

from memorybase.core import errors
from memorybase.core.messages import MAX_DEPTH
from memorybase.core.queries import node_executions as queries

SAID = [{"role": "user", "content": "q1", "id": "m1"}, {"role": "assistant", "content": "a1", "id": "m2"}]
CONTEXT = [{"role": "user", "content": "to the node"}, {"role": "assistant", "content": "from the node"}]
ODD_PARTS = [{"type": "text"}, {"name": "x"}, {"type": ["x"]}, {"type": "tool_result"}, None]
ODD_ARGUMENTS = [
    '{"q": "\\ud83d"}',
    '{"q": 1e999}',
    '{"q": NaN}',
    "[" * 900 + "]" * 900,
    *(f'{{"q": {"[" * levels}1{"]" * levels}}}' for levels in (MAX_DEPTH - 5, MAX_DEPTH - 4)),
]
EXECUTION = {"node_id": "llm", "status": "succeeded", "outputs": {"text": "from the node", "context": CONTEXT}}


def capture(api: Api, run: str, *, expect: int = 201, **fields: Any) -> Any:
    body = {"session_id": "s1", "run_id": run, "messages": SAID} | fields
    return api.post("/flows/support/runs", body, expect=expect)


def called(arguments: str) -> dict[str, Any]:
    """A call whose id is its arguments."""
    return {"id": arguments, "type": "function", "function": {"name": "look", "arguments": arguments}}


def history(api: Api, *, expect: int = 200, **fields: Any) -> Any:
    return api.post("/history", {"flow_id": "support", "session_id": "s1"} | fields, expect=expect)


def test_history_is_a_view_and_its_use_is_recorded_with_the_run(api: Api) -> None:
    api.flow()
    first, second = capture(api, "r1")["messages"]
    capture(api, "r2", messages=[{"role": "user", "content": "q2", "parent_message_id": "m2"}])

    view = history(api, run_id="r2", node_id="llm", role_prefix={"user": "U"}, model="any")

    assert view["messages"] == [{"role": message["role"], "content": message["content"]} for message in SAID]
    assert [source["message_ids"] for source in view["sources"]] == [[first["id"]], [second["id"]]]
    assert view["text"] == "U: q1\nAssistant: a1"
    assert (view["report"]["removed"][0]["reason"], view["report"]["counter"]) == ("current_run", "openai:o200k_base")
    assert view["execution_id"] is None
    used = api.get("/flows/support/runs/r2/memory")
    assert (used["session_id"], [node["node_id"] for node in used["nodes"]]) == ("s1", ["llm"])
    assert {name: used["nodes"][0][name] for name in ("messages", "sources", "report")} == {
        name: view[name] for name in ("messages", "sources", "report")
    }
    assert [m["content"] for m in history(api, leaf_id="m2")["messages"]] == ["q1", "a1"]
    assert history(api, format="langchain", leaf_id="m2")["messages"][0]["type"] == "human"
    assert history(api, max_tokens=1)["report"]["over_budget"]


@each_row("alone", [False, True])
def test_what_a_session_holds_can_go_to_a_model_unchanged(api: Api, alone: bool) -> None:
    """Calls with ids of any length or of none, alone or in one message, and parts of other makers."""
    api.flow()
    session = "alone" if alone else "together"
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    names = ["call_1__thought__" + "A" * 2_000, "", ""]
    calls = [{"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}} for name in names]
    calling = [[call] for call in calls] if alone else [calls]
    prompt = {"role": "system", "content": "Be brief."}
    said = [
        prompt,
        {"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, image]},
        *({"role": "assistant", "content": None, "tool_calls": each} for each in calling),
        {"role": "user", "content": "Well?"},
        {"role": "tool", "tool_call_id": names[0], "content": [image]},
        {"role": "tool", "tool_call_id": "", "content": ""},
        {"role": "tool", "tool_call_id": "", "content": "a cat"},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "output_text", "text": "A cat."}],
        },
    ]
    capture(api, f"{session} 1", session_id=session, messages=said)
    capture(
        api,
        f"{session} 2",
        session_id=session,
        messages=[prompt, {"role": "user", "content": "Sure?"}, {"role": "assistant", "content": "Yes."}],
    )

    asked = {"flow_id": "support", "session_id": session, "token_budget": 9_000}
    for align in ("none", "user_first", "strict"):
        view = api.post("/context", asked | {"config": {"align": align}})
        assert refusals(view["messages"]) == []
        assert [one["role"] for one in view["messages"]].count("tool") == 3
        assert [one["role"] for one in view["messages"]].count("system") == 1
        assert view["report"]["replaced_parts"] == 1
    assert refusals(history(api, session_id=session)["messages"]) == []
    for view in (
        history(api, session_id=session, roles=["user", "assistant"]),
        api.post("/context", asked | {"config": {"roles": ["user"]}}),
    ):
        assert {one["role"] for one in view["messages"]} <= {"user", "assistant"}
    for preset in ("window", "flowx_5", "flowx_6"):
        assert refusals(api.post("/context", asked | {"preset": preset})["messages"]) == []


@each_row(
    "odd",
    [
        [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": ODD_PARTS}]},
        ],
        [
            {"role": "assistant", "content": None, "tool_calls": [called(each) for each in ODD_ARGUMENTS]},
            *({"role": "tool", "tool_call_id": each, "content": "r"} for each in ODD_ARGUMENTS),
        ],
    ],
)
def test_an_odd_message_fails_no_view_of_its_session_and_no_export(api: Api, odd: list[dict[str, Any]]) -> None:
    flow = api.flow(uuid4().hex)
    said = [{"role": "user", "content": "q"}, *odd, *SAID]
    execution = EXECUTION | {"id": f"x of {flow}", "outputs": {"context": said}}
    api.post(
        f"/flows/{flow}/runs",
        {"session_id": "s1", "run_id": "r", "messages": said, "node_executions": [execution]},
        expect=201,
    )
    for output in ("openai", "langchain", "text"):
        asked = {"flow_id": flow, "format": output}
        shown = history(api, **asked, run_id=f"r of {output}", node_id="llm")["messages"]
        assert [one.get("role", one.get("type")) for one in shown].count("tool") == len(odd) - 1
        assert len(history(api, **asked, mode="node", node_id="llm")["messages"]) == len(shown)
        budget = {"session_id": "s1", "token_budget": 9_000, "config": {"format": output}}
        assert api.post("/context", {"flow_id": flow, **budget})["messages"] == shown
    lines = api.call("GET", "/export", params={"flow_id": flow}).content
    api.of_new_user().call("POST", "/import", content=lines)


def test_an_unanswered_question_at_the_end_is_dropped_unless_it_is_wanted(api: Api) -> None:
    api.flow()
    capture(api, "r1")
    capture(api, "r2", messages=[{"role": "user", "content": "q2", "id": "m3"}])

    assert [m["content"] for m in history(api)["messages"]] == ["q1", "a1"]
    assert [m["content"] for m in history(api, unanswered="keep")["messages"]] == ["q1", "a1", "q2"]
    assert history(api, leaf_id="m1")["messages"] == []
    empty = {"role": "assistant", "content": "", "id": "m4"}  # stored before the model answers
    capture(api, "r2", expect=201, messages=[empty])
    assert [m["content"] for m in history(api)["messages"]] == ["q1", "a1"]


def test_executions_captured_with_a_run_are_node_memory(api: Api) -> None:
    api.flow()
    answer = capture(api, "r1", node_executions=[EXECUTION | {"id": "x1"}, EXECUTION | {"index": 1}])
    named, counted = answer["node_executions"]
    assert (named["created"], counted["created"], counted["index"]) == (True, True, 1)
    assert not any(
        each["created"]
        for each in capture(
            api, "r1", expect=200, node_executions=[EXECUTION | {"id": "x1"}, EXECUTION | {"index": 1}]
        )["node_executions"]
    )

    view = history(api, mode="node", node_id="llm")

    assert (view["messages"], view["execution_id"]) == (CONTEXT, counted["id"])
    api.delete(f"/node-executions/{counted['id']}")
    assert history(api, mode="node", node_id="llm")["execution_id"] == named["id"]
    assert api.get("/node-executions/x1")["outputs"] == EXECUTION["outputs"]
    assert api.refused("GET", f"/node-executions/{counted['id']}", 404)["field"] == "execution_id"


def test_an_execution_that_fails_loses_no_message(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise errors.DatabaseUnavailable

    api.flow()
    api.flow("other")
    monkeypatch.setattr(queries, "executions_of_ids", fails)
    (reported,) = capture(api, "r1", node_executions=[EXECUTION | {"id": "x"}])["node_executions"]
    assert (reported["created"], reported["error"]) == (False, "database_unavailable")
    monkeypatch.undo()
    assert api.get("/messages", session_id="s1", flow_id="support")["total"] == 2

    wrong = EXECUTION | {"outputs": {"context": [{"role": "nobody", "content": ""}]}}
    body = {"session_id": "s2", "messages": SAID, "node_executions": [wrong]}
    error = api.refused("POST", "/flows/other/runs", 422, json=body)
    assert error["field"] == "node_executions[0].outputs.context[0].role"
    assert api.get("/messages", flow_id="other")["total"] == 0


def test_missing_history_is_empty_or_404(api: Api) -> None:
    api.flow()
    assert history(api)["messages"] == []
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({}, 404, "session_id"),
        ({"leaf_id": "m9", "on_missing": "empty"}, 404, "leaf_id"),
        ({"mode": "node"}, 422, "node_id"),
        ({"mode": "node", "node_id": "llm"}, 404, "node_id"),
        ({"flow_id": "unknown"}, 404, "flow_id"),
    ]
    for fields, status, field in cases:
        if field != "session_id":
            capture(api, "r1", expect=201 if "leaf_id" in fields else 200)
        body = {"flow_id": "support", "session_id": "s1", "on_missing": "error"} | fields
        assert api.refused("POST", "/history", status, json=body)["field"] == field
