"""Curation over HTTP: what the domain does is tested in tests/integration/sessions/test_curation.py."""

from __future__ import annotations

from typing import Any

from harness.api import Api
from harness.rows import each_row

from memorybase.core.sessions.curation import MAX_IDS, MAX_REASON

SAID = ("Berth 12 has shore power.", "Berth 9 has water.", "The pump takes cards.")


def captured(api: Api) -> list[str]:
    api.flow()
    return [each["id"] for each in api.capture(*SAID)["messages"]]


def test_a_message_is_muted_and_edited_in_one_call_with_the_keys_name(api: Api) -> None:
    message, *_ = captured(api)
    changes = {"content": "Berth 12 has none.", "muted": True, "reason": "It was cut off."}
    api.call("PATCH", f"/messages/{message}", json=changes)

    shown = api.get(f"/messages/{message}")
    assert (shown["content"], shown["muted"], shown["pinned"], shown["version"]) == (
        "Berth 12 has none.",
        True,
        False,
        2,
    )
    history = api.get(f"/messages/{message}/history")["items"]
    assert [(each["action"], each["reason"]) for each in history] == [
        ("mute", "It was cut off."),
        ("edit", "It was cut off."),
    ]
    assert len({each["by"] for each in history} - {None, ""}) == 1
    assert history[1]["former"] == {"content": SAID[0]}


def test_an_edit_of_another_version_than_was_read_changes_nothing(api: Api) -> None:
    message, *_ = captured(api)
    path = f"/messages/{message}"
    for body in ({"content": "mine", "muted": True, "version": 2}, {"metadata": {"by": "me"}, "version": 3}):
        refused = api.call("PATCH", path, json=body, expect=409).json()["error"]
        assert (refused["code"], refused["field"]) == ("message_conflict", "version")
        assert (refused["value"], refused["limit"]) == (body["version"], 1)
    assert api.get(path)["content"] == SAID[0]
    assert not api.get(path)["muted"]
    api.call("PATCH", path, json={"content": "mine", "version": 1})
    assert api.call("PATCH", path, json={"content": "theirs", "version": 1}, expect=409).json()["error"]["limit"] == 2
    api.call("PATCH", path, json={"muted": True, "version": 2})
    assert (api.get(path)["content"], api.get(path)["version"]) == ("mine", 2)
    for version in (0, None, "1.5"):
        assert api.call("PATCH", path, json={"version": version}, expect=422).json()["error"]["field"] == "version"


def test_messages_are_listed_by_state_and_words(api: Api) -> None:
    twelve, nine, pump = captured(api)
    api.call("PATCH", f"/messages/{nine}", json={"pinned": True})
    api.call("PATCH", f"/messages/{pump}", json={"muted": True})
    flow = api.get(f"/messages/{nine}")["flow_id"]

    def listed(**which: Any) -> list[str]:
        return [each["id"] for each in api.get("/messages", flow_id=flow, **which)["items"]]

    assert listed(state="pinned") == [nine]
    assert listed(state="muted") == [pump]
    assert listed(find="berths") == [twelve, nine]
    assert listed(find="berths", state="pinned") == [nine]


def test_a_deletion_is_restored_by_the_callers_id(api: Api) -> None:
    api.flow()
    body = {"session_id": "s1", "messages": [{"role": "assistant", "content": "hello", "id": "mine"}]}
    flow = api.get("/flows")["items"][0]["id"]
    api.post(f"/flows/{flow}/runs", body, expect=201)

    receipt = api.call("DELETE", "/messages/mine", params={"reason": "by mistake"}).json()
    assert (receipt["reason"], receipt["removed"]) == ("by mistake", [])
    assert api.get("/messages")["total"] == 0
    api.post("/deleted-messages/mine/restore", {"reason": "it was right"})
    assert api.get("/messages")["items"][0]["external_id"] == "mine"
    api.call("DELETE", "/messages/mine")
    api.call("DELETE", "/deleted-messages/mine", expect=204)
    api.post("/deleted-messages/mine/restore", {}, expect=404)


def test_an_action_has_a_result_for_each_message(api: Api) -> None:
    twelve, nine, _ = captured(api)
    answer = api.post("/messages/actions", {"action": "delete", "ids": [twelve, "none-such", nine], "reason": "old"})
    assert (answer["done"], answer["failed"]) == (2, 1)
    assert [(each["id"], each["done"]) for each in answer["results"]] == [
        (twelve, True),
        ("none-such", False),
        (nine, True),
    ]
    assert answer["results"][1]["error"]["code"] == "not_found"
    assert {each["reason"] for each in api.get("/deleted-messages")["items"]} == {"old"}
    assert api.post("/messages/actions", {"action": "restore", "ids": [nine, twelve]})["done"] == 2
    assert api.get("/messages")["total"] == 3


@each_row(
    ("body", "field"),
    [
        ({"action": "hide", "ids": ["a"]}, "action"),
        ({"action": "mute", "ids": []}, "ids"),
        ({"action": "mute", "ids": ["a"] * (MAX_IDS + 1)}, "ids"),
        ({"action": "mute", "ids": ["a"], "reason": "x" * (MAX_REASON + 1)}, "reason"),
        ({"action": "mute", "ids": [""]}, "ids[0]"),
    ],
)
def test_a_bad_action_names_its_field(api: Api, body: dict[str, Any], field: str) -> None:
    assert api.call("POST", "/messages/actions", json=body, expect=422).json()["error"]["field"] == field


def test_what_was_muted_or_pinned_is_so_after_export_and_import(api: Api, postgres_api: Api) -> None:
    twelve, nine, _ = captured(api)
    api.call("PATCH", f"/messages/{twelve}", json={"muted": True})
    api.call("PATCH", f"/messages/{nine}", json={"pinned": True})
    lines = api.call("GET", "/export").text
    postgres_api.call("POST", "/import", content=lines)
    flags = [(each["muted"], each["pinned"]) for each in postgres_api.get("/messages")["items"]]
    assert flags == [(True, False), (False, True), (False, False)]
