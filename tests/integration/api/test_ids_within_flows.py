"""The same ids in two flows, over HTTP: `flow_id` decides, and without it the error lists the flows."""

from __future__ import annotations

from typing import Any

import pytest
from harness.api import Api
from harness.rows import each_row

SENT = ("m1", "6f1c1f5e-2b1d-4c07-9a55-0b8f6b1c0d11")
FLOWS = ("billing", "support")


@pytest.fixture(params=SENT)
def sent(request: pytest.FixtureRequest, api: Api) -> str:
    """An id of a message, a run and a node execution in two flows."""
    message_id: str = request.param
    for flow in FLOWS:
        api.call("PUT", f"/flows/{flow}", json={"name": flow}, expect=201)
        execution = {"id": message_id, "node_id": "llm", "status": "succeeded", "outputs": {"text": flow}}
        body = {
            "session_id": "s",
            "run_id": message_id,
            "node_executions": [execution],
            "messages": [{"id": message_id, "role": "assistant", "content": f"boats of {flow}"}],
        }
        api.post(f"/flows/{flow}/runs", body, expect=201)
        api.post(f"/flows/{flow}/runs", body, expect=200)
    return message_id


def error(api: Api, method: str, path: str, expect: int = 409, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = api.call(method, path, expect=expect, **options).json()["error"]
    return found


@each_row("path", ["/messages/{}", "/runs/{}", "/node-executions/{}"])
def test_an_id_of_two_flows_is_refused_with_their_names(api: Api, sent: str, path: str) -> None:
    ambiguous = error(api, "GET", path.format(sent))
    assert ambiguous["code"] == "ambiguous_id"
    assert (ambiguous["field"], ambiguous["value"], ambiguous["retryable"]) == ("flow_id", sent, False)
    assert sorted(flow["external_id"] for flow in ambiguous["details"]["flows"]) == sorted(FLOWS)
    assert all(flow in ambiguous["message"] for flow in FLOWS)

    ids = {api.get(path.format(sent), flow_id=flow).get("id") for flow in FLOWS}
    assert len(ids) == 2 or path == "/runs/{}"
    assert error(api, "GET", path.format(sent), expect=404, params={"flow_id": "unknown"})["field"] == "flow_id"
    assert error(api, "GET", path.format("other"), expect=404, params={"flow_id": "billing"})["value"] == "other"


def test_an_edit_and_a_delete_reach_the_message_of_the_named_flow(api: Api, sent: str) -> None:
    assert error(api, "PATCH", f"/messages/{sent}", json={"content": "x"})["code"] == "ambiguous_id"
    assert error(api, "DELETE", f"/messages/{sent}")["code"] == "ambiguous_id"

    api.call("PATCH", f"/messages/{sent}", json={"content": "edited"}, params={"flow_id": "support"})
    assert api.get(f"/messages/{sent}", flow_id="billing")["content"] == "boats of billing"
    assert api.get(f"/messages/{sent}", flow_id="support")["content"] == "edited"

    api.call("DELETE", f"/messages/{sent}", params={"flow_id": "billing"})
    assert api.get(f"/messages/{sent}")["content"] == "edited"  # no longer ambiguous
    assert error(api, "GET", f"/messages/{sent}", expect=404, params={"flow_id": "billing"})["value"] == sent


def test_the_id_in_an_answer_is_never_ambiguous_for_strings(api: Api, sent: str) -> None:
    for flow in FLOWS:
        (message,) = api.get("/messages", flow_id=flow)["items"]
        assert message["external_id"] in {sent, None}
        if sent == "m1":
            assert api.get(f"/messages/{message['id']}")["content"] == f"boats of {flow}"


def test_runs_and_lists_are_those_of_the_named_flow(api: Api, sent: str) -> None:
    assert error(api, "GET", "/messages", params={"run_id": sent})["code"] == "ambiguous_id"
    for flow in FLOWS:
        (message,) = api.get("/messages", run_id=sent, flow_id=flow)["items"]
        run = api.get(f"/flows/{flow}/runs/{sent}")
        assert (message["content"], message["run_id"]) == (f"boats of {flow}", run["run_id"])
        assert run == api.get(f"/runs/{sent}", flow_id=flow)


def test_the_current_run_is_left_out_of_its_own_flows_history(api: Api, sent: str) -> None:
    for flow in FLOWS:
        body = {"flow_id": flow, "session_id": "s", "run_id": sent, "node_id": "llm"}
        assert api.post("/history", body)["messages"] == []
        assert api.post("/history", {"flow_id": flow, "session_id": "s"})["messages"] != []
        api.post("/context", {**body, "token_budget": 1000})
        (node,) = api.get(f"/flows/{flow}/runs/{sent}/memory")["nodes"]
        assert node["node_id"] == "llm"


def test_a_search_excludes_the_message_of_its_own_flow(api: Api, sent: str) -> None:
    bases = [api.post("/memories", {"name": flow, "flow_id": flow}, expect=201)["id"] for flow in FLOWS]
    for flow, base in zip(FLOWS, bases, strict=True):
        query = {"query": "boats", "mode": "keyword"}
        assert len(api.post(f"/memories/{base}/search", query)["results"]) == 1
        assert api.post(f"/memories/{base}/search", {**query, "exclude_message_ids": [sent]})["results"] == []
        assert api.post("/search", {**query, "flow_id": flow, "exclude_message_ids": [sent]})["results"] == []


def test_reporting_a_node_execution_again_replaces_that_of_its_own_flow(api: Api, sent: str) -> None:
    body = {"session_id": "s", "run_id": sent, "node_id": "llm", "status": "succeeded", "outputs": {"text": "new"}}
    api.call("PUT", f"/node-executions/{sent}", json={**body, "flow_id": "billing"}, expect=200)
    assert [api.get(f"/node-executions/{sent}", flow_id=flow)["outputs"]["text"] for flow in FLOWS] == [
        "new",
        "support",
    ]
    api.call("DELETE", f"/node-executions/{sent}", params={"flow_id": "billing"}, expect=204)
    assert api.get(f"/node-executions/{sent}")["outputs"]["text"] == "support"
