"""Chat memories over HTTP, as a flow runtime uses them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from harness.api import Api
from harness.rows import each_row
from sqlalchemy import select

from memorybase.core.models import ChatMemory
from memorybase.features.splox.summaries import SUMMARIZE, make_due
from memorybase.features.splox.template_work import MAX_NODES, MAX_STEPS

C = "/flows/support/chat-memories/llm%2F1"
CONFIG = {"name": "Support", "chat_id": "user-{{ start.user }}", "user_message_content": "{{ start.text }}"}


@pytest.fixture
def chat(api: Api) -> Api:
    api.flow()
    api.call("PUT", C, json=CONFIG, expect=201)
    return api


def say(api: Api, *texts: str, expect: int | tuple[int, ...] = 201, **fields: Any) -> Any:
    messages = [{"role": "user" if n % 2 else "assistant", "content": text} for n, text in enumerate(texts, 1)]
    return api.post(f"{C}/messages", {"chat_id": "user-anna", "messages": messages, **fields}, expect=expect)


def view(api: Api, **fields: Any) -> Any:
    return api.post(f"{C}/view", {"chat_id": "user-anna"} | fields)


def test_a_chat_memory_is_created_read_changed_and_deleted(chat: Api) -> None:
    made = chat.get(C)
    assert (made["node_id"], made["max_messages"], made["trim_mode"]) == ("llm/1", 20, "continuous")
    changed = chat.call("PUT", C, json={**CONFIG, "max_messages": 2, "predefined_messages": []}).json()
    assert (changed["id"], changed["max_messages"]) == (made["id"], 2)
    assert [each["node_id"] for each in chat.get("/flows/support/chat-memories")["items"]] == ["llm/1"]
    say(chat, "a", "b")
    chat.delete(C)
    assert chat.refused("GET", C, 404)["field"] == "node_id"
    chat.call("PUT", C, json=CONFIG, expect=201)
    assert chat.get(f"{C}/chats")["items"] == []


@each_row(
    ("changes", "field"),
    [
        ({"threshold_trigger": 100, "threshold_target": 100}, "threshold_trigger"),
        ({"chat_id": "{{ start."}, "chat_id"),
        ({"user_message_content": "{{ ''.__class__.mro() }}"}, "user_message_content"),
        ({"chat_id": " "}, "chat_id"),
        ({"chat_id": None}, "chat_id"),
        ({"name": "a\x00b"}, "name"),
        ({"max_messages": -1}, "max_messages"),
        ({"limit_type": "words"}, "limit_type"),
        ({"predefined_messages": [{"role": "tool", "content": "x"}]}, "predefined_messages[0].role"),
        ({"max_message": 3}, "max_message"),
    ],
)
def test_an_invalid_configuration_names_the_field(chat: Api, changes: Any, field: str) -> None:
    assert chat.refused("PUT", C, 422, json=CONFIG | changes)["field"] == field
    assert chat.get(C)["threshold_trigger"] == 500


def test_a_turn_of_a_flow_through_view_and_post(chat: Api) -> None:
    who = {"variables": {"start": {"user": "anna", "text": "Where is my order?"}}, "run_id": "run-1"}
    asked = chat.post(f"{C}/messages", {**who, "messages": [{"role": "user", "id": "q1"}]}, expect=201)
    assert asked["chat_id"] == "user-anna"
    assert chat.post(f"{C}/view", who)["messages"] == [], "a view leaves out the run's own messages"
    answer = {"role": "assistant", "content": "On its way.", "id": "a1"}
    answered = chat.post(f"{C}/messages", {**who, "messages": [answer]}, expect=201)
    assert [each["seq"] for each in asked["messages"] + answered["messages"]] == [1, 2]
    assert chat.post(f"{C}/messages", {**who, "messages": [answer]})["messages"][0]["created"] is False
    given = chat.post(f"{C}/view", who | {"run_id": "run-2"})
    assert given["messages"] == [
        {"role": "user", "content": "Where is my order?"},
        {"role": "assistant", "content": "On its way."},
    ]
    assert given["report"]["kept"] == [asked["messages"][0]["id"], answered["messages"][0]["id"]]
    assert [each["kind"] for each in given["sources"]] == ["history", "history"]
    (node,) = chat.get("/flows/support/runs/run-2/memory")["nodes"]
    assert (node["node_id"], node["messages"]) == ("llm/1", given["messages"])
    assert chat.get("/messages")["total"] == 0
    (row,) = chat.get(f"{C}/chats")["items"]
    assert (row["chat_id"], row["messages"], row["counter"]) == ("user-anna", 2, "estimate-2")
    assert row["tokens"] == given["report"]["tokens_after"] + 1, "a view counts exactly"


@each_row(
    "who",
    [
        {},
        {"chat_id": "c", "variables": {}},
        {"chat_id": ""},
        {"variables": {}},
        {"variables": {"start": {"user": ""}}},
        {"variables": {"start": {"user": None}}},
        {"variables": {"start": {"user": "x" * 200}}},
    ],
)
def test_a_chat_needs_exactly_one_of_id_and_variables(chat: Api, who: Any) -> None:
    for path, rest in (("messages", {"messages": [{"role": "user", "content": "x"}]}), ("view", {})):
        chat.refused("POST", f"{C}/{path}", 422, json=who | rest)
    assert chat.get(f"{C}/chats")["items"] == []


def test_pages_trims_summaries_and_deletions(chat: Api) -> None:
    say(chat, *[f"word{n} of the story." for n in range(1, 8)], run_id="r1")
    say(chat, "last question", "last answer", run_id="r2")
    where = {"chat_id": "user-anna"}
    page = chat.get(f"{C}/messages", **where, limit=2)
    assert ([item["seq"] for item in page["items"]], page["total"], page["next_cursor"]) == ([8, 9], 9, "before:8")
    assert chat.get(f"{C}/messages", **where, limit=4, offset=0)["next_offset"] == 4
    done = chat.post(f"{C}/summarize", {**where, "keep_last_n": 5})
    assert (done["deleted_count"], done["remaining_count"]) == (4, 6)
    assert view(chat)["sources"][0]["kind"] == "summary"
    assert chat.post(f"{C}/trim", {**where, "max_messages": 3}) == {
        "deleted_count": 2,
        "remaining_count": 3,
        "summary": None,
    }
    gone = chat.delete(f"{C}/messages", expect=200, **where, mode="latest_request", roles=["user", "assistant"]).json()
    assert (len(gone["deleted"]), gone["remaining_count"]) == (2, 7)
    assert chat.refused("DELETE", f"{C}/messages", 422, params={**where, "mode": "all"})["field"] == "roles"
    lines = [json.loads(line) for line in chat.call("GET", f"{C}/export").text.splitlines()]
    assert [line["type"] for line in lines] == ["chat_memory", "chat", *["chat_message"] * 7, "end"]
    assert (lines[2]["content"], lines[-1]["chats"]) == ("word1 of the story.", 1)
    chat.delete(f"{C}/messages", expect=200, **where, mode="all", roles=["user", "assistant"])
    assert view(chat)["messages"] == []


def test_a_worker_makes_a_due_summary(chat: Api) -> None:
    chat.call("PUT", C, json={**CONFIG, "max_messages": 2, "enable_summarization": True})
    say(chat, *[f"Fact number {n} is told." for n in range(12)])
    assert "summary" not in [each["kind"] for each in view(chat)["sources"]]
    assert chat.queue.drain_task(SUMMARIZE, lambda each: make_due(chat.services, each)) == 1
    given = view(chat)
    assert [each["kind"] for each in given["sources"]] == ["summary", "history", "history"]
    assert "Fact number" in given["messages"][0]["content"]


def test_a_conflicting_message_and_another_end_user_store_nothing(chat: Api) -> None:
    body = {"chat_id": "c", "messages": [{"role": "user", "content": "x", "id": "m"}], "end_user_id": "anna"}
    chat.post(f"{C}/messages", body, expect=201)
    body["messages"] = [{"role": "user", "content": "new"}, {"role": "user", "content": "y", "id": "m"}]
    assert chat.refused("POST", f"{C}/messages", 409, json=body)["code"] == "message_conflict"
    assert chat.refused("POST", f"{C}/messages", 409, json=body | {"end_user_id": "ben"})["field"] == "end_user_id"
    assert chat.get(f"{C}/messages", chat_id="c")["total"] == 1
    receipt = chat.delete("/end-users/anna", expect=200).json()
    assert (receipt["chats"], receipt["chat_messages"]) == (1, 1)


BOMB = "{% for one in l %}{% if one" + " | upper" * 50 + " %}{% endif %}{% endfor %}a"


def test_a_template_bomb_is_refused_at_each_view(chat: Api) -> None:
    chat.call("PUT", C, json={**CONFIG, "chat_id": BOMB})
    who = {"variables": {"l": ["text"] * 1_000}}
    error = chat.refused("POST", f"{C}/view", 422, json=who)
    assert (error["field"], error["limit"]) == ("variables", MAX_STEPS)
    assert chat.post(f"{C}/view", {"variables": {"l": ["text"]}})["messages"] == []


def test_a_template_stored_under_wider_bounds_is_listed_and_can_be_replaced(chat: Api) -> None:
    """Its views are refused; nothing else of the memory is."""
    wide = {**CONFIG, "chat_id": "{{ start.user }}" * 300}
    with chat.services.database.transaction() as db:
        memory = db.scalars(select(ChatMemory)).one()
        memory.options = {**memory.options, "chat_id": wide["chat_id"]}
    assert chat.get(C)["chat_id"] == wide["chat_id"]
    assert len(chat.get("/flows/support/chat-memories")["items"]) == 1
    error = chat.refused("POST", f"{C}/view", 422, json={"variables": {"start": {"user": "a"}}})
    assert (error["field"], error["limit"]) == ("variables", MAX_NODES)
    assert chat.refused("PUT", C, 422, json=wide)["field"] == "chat_id"
    chat.call("PUT", C, json=CONFIG)
    assert view(chat)["messages"] == []
