"""Capture of runs: repeats are stored once, differences are conflicts, and a refused request stores nothing."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4, uuid5

import pytest
from harness.api import Api


def said(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


class TestFlows:
    def test_put_creates_a_flow_with_the_callers_id(self, api: Api) -> None:
        made = api.call("PUT", "/flows/support bot", expect=201, json={"name": "Support"}).json()
        assert made == {"id": str(uuid5(api.user_id, "flow:support bot")), "external_id": "support bot"} | {
            key: made[key] for key in ("name", "created_at", "retain_days", "standing", "secrets", "time_zone")
        }
        assert (made["retain_days"], made["standing"]) == (None, False)
        again = api.call("PUT", "/flows/support bot", expect=200, json={"name": "Renamed"}).json()
        assert (again["id"], again["name"]) == (made["id"], "Renamed")

    def test_a_flow_is_reachable_by_uuid_and_external_id(self, api: Api) -> None:
        uuid = api.call("PUT", "/flows/a%2Fb", expect=201, json={"name": "f"}).json()["id"]
        for flow in (uuid, "a%2Fb"):
            assert api.get(f"/flows/{flow}")["external_id"] == "a/b"
            api.post(f"/flows/{flow}/runs", {"session_id": flow, "messages": [said("user", "x")]}, expect=201)
        for flow in (uuid, "a/b"):
            assert api.get("/messages", flow_id=flow)["total"] == 2

    def test_a_slash_at_the_end_of_a_path_means_nothing(self, api: Api) -> None:
        body = {"name": "Support"}
        assert api.call("PUT", "/flows/support/", json=body, expect=201).json()["external_id"] == "support"
        assert [api.call("GET", path, expect=200).json()["total"] for path in ("/flows/", "/flows")] == [1, 1]
        assert api.refused("GET", "/flows/none/", 404)["code"] == "not_found"

    def test_a_deletion_with_an_empty_id_deletes_nothing(self, api: Api) -> None:
        flow = api.flow()
        assert api.refused("DELETE", f"/flows/{flow}/", 422)["field"] == "path"
        assert api.get("/flows")["total"] == 1

    def test_post_generates_an_id(self, api: Api) -> None:
        made = api.post("/flows", {"name": "f"}, expect=201)
        assert (made["external_id"], api.get(f"/flows/{made['id']}")) == (None, made)

    def test_a_uuid_from_the_caller_is_kept(self, api: Api) -> None:
        given = str(uuid4())
        assert api.call("PUT", f"/flows/{given}", expect=201, json={"name": "f"}).json()["id"] == given

    def test_deleting_a_flow_deletes_its_contents(self, api: Api) -> None:
        base = api.memory()
        api.capture("a")
        api.delete("/flows/support")
        for path in ("/flows/support", "/flows/support/runs", f"/memories/{base['id']}"):
            api.refused("GET", path, 404)
        assert api.get("/flows")["total"] == api.get("/messages")["total"] == api.get("/memories")["total"] == 0


class TestShape:
    def test_a_capture_returns_messages_and_ingestion_state(self, api: Api) -> None:
        base = api.memory(threshold=2)
        body = {
            "session_id": "s1",
            "run_id": "run-1",
            "end_user_id": "ada",
            "messages": [said("user", "hi", id="m-1"), said("assistant", "hello"), said("assistant", "again")],
        }
        answer = api.post("/flows/support/runs", body, expect=201)
        assert answer["run_id"] == api.get("/flows/support/runs/run-1")["run_id"]
        assert answer["run_external_id"] == "run-1"
        assert answer["session_id"] == "s1"
        assert [(m["external_id"], m["seq"], m["created"]) for m in answer["messages"]] == [
            ("m-1", 1, True),
            (None, 2, True),
            (None, 3, True),
        ]
        (state,) = answer["ingestion"]
        assert state["memory_base_id"] == base["id"]
        assert api.get(f"/jobs/{state['job_id']}")["state"] == "queued"

    def test_every_field_of_a_message_is_returned(self, api: Api) -> None:
        api.flow()
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        parts = [{"type": "text", "text": "ä"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
        body = {
            "session_id": "s",
            "end_user_id": "ada",
            "messages": [
                said(
                    "user",
                    parts,
                    id="m-1",
                    files=[{"name": "f.pdf"}],
                    metadata={"k": [1, None]},
                    sender_name="Ada",
                    timestamp="2026-01-07T13:57:55.5+08:00",
                ),
                said("assistant", None, tool_calls=[call], parent_message_id="m-1", status="stopped"),
                said("tool", "42", tool_call_id="c1", name="f"),
            ],
        }
        run = api.post("/flows/support/runs", body, expect=201)["run_id"]
        first, second, third = api.get("/messages", run_id=run)["items"]
        assert (first["content"], first["files"], first["metadata"]) == (parts, [{"name": "f.pdf"}], {"k": [1, None]})
        assert (first["sender_name"], first["end_user_id"], first["external_id"]) == ("Ada", "ada", "m-1")
        assert first["timestamp"] == "2026-01-07T05:57:55.500000Z"
        assert (second["content"], second["tool_calls"], second["is_output"]) == (None, [call], True)
        assert (second["parent_message_id"], second["status"]) == (first["id"], "stopped")
        assert (third["tool_call_id"], third["name"], third["is_output"]) == ("c1", "f", False)
        assert api.get("/messages/m-1") == first

    def test_langflow_and_langchain_messages_are_stored_in_openai_format(self, api: Api) -> None:
        api.flow()
        messages = [{"text": "a", "sender": "User"}, {"text": "b", "sender": "Machine"}, {"type": "ai", "content": "c"}]
        run = api.post("/flows/support/runs", {"session_id": "s", "messages": messages}, expect=201)["run_id"]
        stored = [(m["role"], m["content"], m["is_output"]) for m in api.get("/messages", run_id=run)["items"]]
        assert stored == [("user", "a", False), ("assistant", "b", True), ("assistant", "c", True)]

    def test_a_field_that_messages_do_not_have_is_stored_in_the_metadata_and_named(self, api: Api) -> None:
        api.flow()
        said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho", "reasoning_content": "Hm."}]
        body = {"session_id": "s", "messages": said}
        (warning,) = api.post("/flows/support/runs", body, expect=201)["warnings"]
        assert warning["code"] == "kept_in_metadata"
        assert "reasoning_content" in warning["message"]
        stored = api.get("/messages?flow_id=support")["items"]
        assert [each["metadata"] for each in stored] == [{}, {"reasoning_content": "Hm."}]
        assert api.capture("a")["warnings"] == []

    def test_equal_messages_without_ids_are_all_stored(self, api: Api) -> None:
        api.capture("yes", "yes")
        api.capture("yes")
        assert api.get("/messages", session_id="s1")["total"] == 3


class TestIdentity:
    def test_posting_a_run_again_stores_nothing_new(self, api: Api) -> None:
        first = api.capture("a", "b", run_id="r")
        body = {"session_id": "s1", "run_id": "r", "messages": [said("assistant", "a"), said("assistant", "b")]}
        again = api.post("/flows/support/runs", body, expect=200)
        assert [m["id"] for m in again["messages"]] == [m["id"] for m in first["messages"]]
        assert not any(m["created"] for m in again["messages"])
        assert api.get("/messages")["total"] == 2

    def test_other_messages_for_a_known_run_are_a_conflict(self, api: Api) -> None:
        api.capture("a", run_id="r")
        body = {"session_id": "s1", "run_id": "r", "messages": [said("assistant", "other")]}
        error = api.refused("POST", "/flows/support/runs", 409, json=body)
        assert (error["code"], error["field"], error["value"]) == ("run_conflict", "run_id", "r")
        assert api.get("/messages")["total"] == 1

    def test_a_run_stays_in_its_session(self, api: Api) -> None:
        api.capture("a", run_id="r")
        body = {"session_id": "elsewhere", "run_id": "r", "messages": [said("assistant", "a")]}
        assert api.refused("POST", "/flows/support/runs", 409, json=body)["code"] == "run_conflict"

    def test_posting_all_messages_again_stores_only_the_new_ones(self, api: Api) -> None:
        api.flow()
        state = [said("user", "q1", id="1"), said("assistant", "a1", id="2")]
        api.post("/flows/support/runs", {"session_id": "s", "run_id": "r1", "messages": state}, expect=201)
        state += [said("user", "q2", id="3"), said("assistant", "a2", id="4")]
        answer = api.post("/flows/support/runs", {"session_id": "s", "run_id": "r2", "messages": state}, expect=201)
        assert [m["created"] for m in answer["messages"]] == [False, False, True, True]
        assert [m["seq"] for m in answer["messages"]] == [1, 2, 3, 4]
        assert api.get("/messages", run_id="r2")["total"] == 2
        api.post("/flows/support/runs", {"session_id": "s", "run_id": "r2", "messages": state}, expect=200)

    def test_new_ids_append_to_a_known_run(self, api: Api) -> None:
        api.flow()
        for number in (1, 2):
            body = {"session_id": "s", "run_id": "r", "messages": [said("assistant", "x", id=f"m{number}")]}
            api.post("/flows/support/runs", body, expect=201)
        assert api.get("/runs/r")["messages"] == 2

    @pytest.mark.parametrize("other", [{"content": "changed"}, {"role": "user"}, {"files": ["f"]}])
    def test_other_content_for_a_known_id_is_a_conflict(self, api: Api, other: dict[str, Any]) -> None:
        api.flow()
        known = said("assistant", "a", id="m")
        api.post("/flows/support/runs", {"session_id": "s", "messages": [known]}, expect=201)
        body = {"session_id": "s", "messages": [said("assistant", "new", id="n"), known | other]}
        error = api.refused("POST", "/flows/support/runs", 409, json=body)
        assert (error["code"], error["value"]) == ("message_conflict", "m")
        assert api.get("/messages")["total"] == 1
        assert api.get("/runs/none-such", expect=404)
        assert api.get("/flows/support/runs")["total"] == 1

    def test_a_known_message_may_come_as_it_was_captured_or_as_it_was_edited(self, api: Api) -> None:
        api.flow()
        body = {"session_id": "s", "messages": [said("assistant", "a", id="m")]}
        api.post("/flows/support/runs", body, expect=201)
        api.patch("/messages/m", {"content": "b"})
        for content, status in (("a", 201), ("b", 201), ("c", 409)):
            api.post("/flows/support/runs", body | {"messages": [said("assistant", content, id="m")]}, expect=status)
        assert api.get("/messages/m")["content"] == "b"

    def test_keep_leaves_the_stored_message(self, api: Api) -> None:
        api.flow()
        api.post("/flows/support/runs", {"session_id": "s", "messages": [said("assistant", "a", id="m")]}, expect=201)
        changed = {"session_id": "s", "messages": [said("assistant", "b", id="m"), said("assistant", "c", id="n")]}
        answer = api.post("/flows/support/runs", changed | {"on_conflict": "keep"}, expect=201)
        assert [m["created"] for m in answer["messages"]] == [False, True]
        assert api.get("/messages/m")["content"] == "a"

    def test_update_stores_a_new_version(self, api: Api) -> None:
        api.flow()
        api.post("/flows/support/runs", {"session_id": "s", "messages": [said("assistant", "a", id="m")]}, expect=201)
        changed = {"session_id": "s", "messages": [said("assistant", "b", id="m")], "on_conflict": "update"}
        api.post("/flows/support/runs", changed, expect=(200, 201))
        stored = api.get("/messages/m")
        assert (stored["content"], stored["version"], stored["seq"]) == ("b", 2, 1)
        assert api.get("/messages")["total"] == 1

    def test_update_ends_a_message_that_was_stopped(self, api: Api) -> None:
        api.flow()

        def capture(content: str, status: str) -> dict[str, Any]:
            message = {"role": "assistant", "content": content, "id": "m", "status": status}
            body = {"session_id": "s", "messages": [message], "on_conflict": "update"}
            api.post("/flows/support/runs", body, expect=(200, 201))
            return dict(api.get("/messages/m"))

        assert capture("At ber", "stopped")["status"] == "stopped"
        assert capture("At berth 12.", "completed")["status"] == "completed"
        assert capture("At berth 12.", "stopped")["status"] == "stopped"
        assert capture("At berth 12.", "stopped")["version"] == 3

    def test_an_end_user_is_fixed_for_a_session(self, api: Api) -> None:
        api.capture("a", end_user_id="ada")
        body = {"session_id": "s1", "end_user_id": "eve", "messages": [said("assistant", "b")]}
        error = api.refused("POST", "/flows/support/runs", 409, json=body)
        assert (error["code"], error["field"]) == ("session_conflict", "end_user_id")


class TestRuns:
    def test_runs_are_listed_newest_first_and_read_by_either_id(self, api: Api) -> None:
        api.flow()
        for run in ("r1", "r2", "r3"):
            api.capture("x", run_id=run)
        page = api.get("/flows/support/runs")
        assert [run["external_id"] for run in page["items"]] == ["r3", "r2", "r1"]
        run = page["items"][0]
        assert (run["messages"], run["session_id"]) == (1, "s1")
        assert run == api.get("/runs/r3") == api.get(f"/flows/support/runs/{run['run_id']}")

    def test_a_run_of_another_flow_is_404(self, api: Api) -> None:
        api.flow()
        api.flow("other")
        api.capture("x", run_id="r")
        api.refused("GET", "/flows/other/runs/r", 404)
        api.refused("GET", "/flows/none-such/runs", 404)


class TestOwners:
    def test_another_users_message_id_is_another_message_in_a_capture(self, api: Api) -> None:
        message = UUID(api.capture("a")["messages"][0]["id"])
        other = api.of_user("eve")
        other.flow()
        body = {"session_id": "s", "messages": [said("user", "x", id=str(message))]}
        (captured,) = other.post("/flows/support/runs", body, expect=201)["messages"]
        assert (captured["id"] != str(message), captured["external_id"]) == (True, str(message))
        assert other.get(f"/messages/{message}")["content"] == "x"
        assert api.get(f"/messages/{message}")["content"] != "x"
