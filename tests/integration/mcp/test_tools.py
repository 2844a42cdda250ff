"""What each tool, resource and prompt does, by the SDK's client in the same process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from harness.api import Api, open_api, settings_in
from harness.mcp import ERAS, McpClient
from harness.rows import each_row
from mcp import MCPError
from memorybase_client import AsyncClient
from memorybase_client.mcp.scope import TRIES, Scope
from memorybase_client.mcp.server import INSTRUCTIONS, build_server

READING = {"search_memory", "get_context", "get_session", "list_sessions", "memory_status"}
WRITING = {"remember", "correct_memory", "forget_memory"}


def client_of(api: Api, *, flow: str | None = "support", end_user: str | None = None, era: str = ERAS[0]) -> McpClient:
    transport = httpx.ASGITransport(cast(FastAPI, api.client.app))
    client = AsyncClient("http://memorybase", api.secret, tries=TRIES, transport=transport)
    return McpClient(build_server(Scope(client, flow, end_user)), era=era)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One application for all tests of this module."""
    with open_api(settings_in(tmp_path_factory.mktemp("mcp"))) as api:
        yield api


@pytest.fixture
def api(opened: Api) -> Iterator[Api]:
    """The application for a new user."""
    yield opened.of_new_user()
    opened.vectors.away = False


@pytest.fixture
def memory(api: Api) -> McpClient:
    """A flow with a memory base of all messages."""
    api.flow()
    api.memory(capture="all")
    return client_of(api)


def found_by(memory: McpClient, query: str = "fence", **arguments: Any) -> list[str]:
    hits = memory.call("search_memory", query=query, top_k=50, **arguments)["results"]
    return sorted(hit["content"] for hit in hits)


def shown(messages: list[dict[str, Any]], key: str = "content") -> list[tuple[str, str]]:
    return [(each["role"], each[key]) for each in messages]


@each_row("era", ERAS)
def test_a_client_learns_tools_hints_schemas_and_when_to_search(api: Api, era: str) -> None:
    async def look(client: Any) -> tuple[Any, ...]:
        return client.instructions, (await client.list_tools()).tools

    instructions, tools = client_of(api, era=era).run(look)

    assert instructions == INSTRUCTIONS
    assert {tool.name for tool in tools} == READING | WRITING
    for tool in tools:
        assert tool.description
        assert "  " not in tool.description
        assert tool.output_schema["properties"]
        assert tool.annotations.read_only_hint == (tool.name in READING)
        assert tool.annotations.destructive_hint in {None, tool.name in {"correct_memory", "forget_memory"}}
        assert tool.annotations.idempotent_hint
        assert all(each.get("description") for each in tool.input_schema["properties"].values()), tool.name
        assert not {"flow_id", "end_user_id", "user_id"} & set(tool.input_schema["properties"])


class TestSearchMemory:
    def test_filters(self, api: Api, memory: McpClient) -> None:
        old = (datetime.now(UTC) - timedelta(days=10)).isoformat()
        asked = {"role": "user", "content": "Is the fence green?", "timestamp": old}
        said = [asked, {"role": "assistant", "content": "The fence is green."}]
        api.post("/flows/support/runs", {"session_id": "s1", "messages": said}, expect=201)
        api.capture("The fence is old.", session="s2")
        found = partial(found_by, memory)
        week = (datetime.now(UTC) - timedelta(days=7)).isoformat()
        assert found() == ["Is the fence green?", "The fence is green.", "The fence is old."]
        assert found(role="user") == ["Is the fence green?"]
        assert found(session_id="s2") == ["The fence is old."]
        assert found(after=week) == ["The fence is green.", "The fence is old."]
        assert found(before=week) == found(as_of=week) == ["Is the fence green?"]
        assert len(memory.call("search_memory", query="fence", top_k=1)["results"]) == 1
        assert found("thanks") == [], "nothing fits"
        assert len(found("thanks", min_score=0)) == 3

    def test_a_hit_has_its_neighbours_and_says_whether_it_is_pending(self, api: Api, memory: McpClient) -> None:
        api.capture("one", "The fence is green.", "three")

        hit = memory.call("search_memory", query="green fence", top_k=1)["results"][0]
        beside = memory.call("search_memory", query="green fence", top_k=1, neighbors=1)["results"][0]

        assert [shown(beside[side]) for side in ("before", "after")] == [
            [("assistant", "one")],
            [("assistant", "three")],
        ]
        assert not {"before", "after"} & set(hit)
        assert hit["pending"] is True
        base = api.get("/memories")["items"][0]["id"]
        api.post(f"/memories/{base}/flush", expect=(200, 202))
        api.work()
        assert memory.call("search_memory", query="green fence", top_k=1)["results"][0].get("pending") is None

    def test_a_long_hit_is_the_passage_that_matched(self, api: Api, memory: McpClient) -> None:
        padding = "Nothing of interest happened on that day. " * 200
        text = f"{padding} The fence is green. {padding}"
        api.capture(text)

        hit = memory.call("search_memory", query="green fence", min_score=0)["results"][0]

        assert "The fence is green." in hit["content"]
        assert len(hit["content"]) <= 240
        assert hit["chars"] == len(text)
        assert text[hit["offset"] :].startswith(hit["content"])

    def test_an_answer_is_bounded_and_says_what_it_leaves_out(self, api: Api, memory: McpClient) -> None:
        long = 'It is a "long" fence.\n' * 40
        api.capture(*(f"Fence {number} is green. {long}" for number in range(40)))

        found, text = memory.answer("search_memory", query="green fence", top_k=40, neighbors=5, min_score=0)

        shown_hits = len(found["results"])
        assert 1 < shown_hits < 40
        assert found["left_out"].startswith(f"{40 - shown_hits} weaker results")
        assert len(text) <= 8_000
        assert json.loads(text) == found, "a client that reads the text has the same answer"
        few, _ = memory.answer("search_memory", query="green fence", top_k=2, min_score=0)
        assert "left_out" not in few

    def test_nothing_found_is_an_empty_list_but_without_a_memory_base_an_error(self, api: Api) -> None:
        api.flow()
        memory = client_of(api)
        assert "No memory base ingests this flow" in memory.refused("search_memory", query="fence")
        assert "No memory base ingests this flow" in memory.refused("list_sessions", query="fence")

        api.memory()

        assert memory.call("search_memory", query="fence") == {"results": [], "warnings": []}

    @each_row(
        ("arguments", "expected"),
        [
            ({"query": None}, "query must be a text (got None)"),
            ({}, "query is required"),
            ({"query": ""}, "query must not be empty (got '')"),
            ({"top_k": 0}, "top_k must be at least 1 (got 0)"),
            ({"top_k": "many"}, "top_k must be an integer (got 'many')"),
            ({"role": "bot"}, "role must be one of 'user', 'assistant', 'system' or 'tool' (got 'bot')"),
            ({"session_id": "s" * 129}, "session_id must have at most 128 characters"),
            ({"before": "2026"}, "before must be a date or a time in ISO 8601"),
            ({"after": "20261128"}, "after must be a date or a time in ISO 8601"),
            ({"after": "yesterday"}, "2026-11-28T09:30:00Z (got 'yesterday')"),
            ({"after": 2026}, "after must be a text (got 2026)"),
        ],
    )
    def test_bad_arguments_say_what_must_be(self, memory: McpClient, arguments: dict[str, Any], expected: str) -> None:
        query = {} if "query" in arguments or not arguments else {"query": "x"}

        error = memory.refused("search_memory", **query, **arguments)

        assert expected in error
        assert "pydantic" not in error

    def test_an_empty_string_for_an_optional_argument_is_none(self, api: Api, memory: McpClient) -> None:
        api.capture("The fence is green.")

        assert found_by(memory, session_id="", after="", before="", role="") == ["The fence is green."]
        assert memory.call("list_sessions", query="", cursor=None)["sessions"]

    def test_an_optional_text_that_is_json_is_text(self, api: Api, memory: McpClient) -> None:
        api.memory("m")
        ids = {"session_id": '["s"]', "run_id": '{"run": 1}'}
        (message_id,) = memory.call("remember", content="The walrus sleeps.", **ids)["message_ids"]

        assert memory.call("search_memory", query="walrus", session_id='["s"]')["results"]
        assert memory.call("list_sessions", query='["walrus"]')["sessions"][0]["session_id"] == '["s"]'
        assert """no message '{"a": 1}'""" in memory.refused("get_session", session_id='["s"]', before='{"a": 1}')
        memory.call("correct_memory", message_id=message_id, muted=True, reason='{"ticket": 5}')
        (change,) = api.get(f"/messages/{message_id}/history")["items"]
        assert change["reason"] == '{"ticket": 5}'


class TestReading:
    def test_a_context_recalls_from_the_flow_and_shows_the_session(self, api: Api, memory: McpClient) -> None:
        api.capture("The fence is green.", session="house")
        api.capture("Good morning.", session="today")

        alone = memory.call("get_context", query="green fence")
        within = memory.call("get_context", query="green fence", session_id="today")

        assert "The fence is green." in alone["text"]
        assert alone["report"]["spent"]["history"] == 0
        assert "The fence is green." in within["text"]
        assert "Good morning." in within["text"]
        assert within["report"]["degraded"] == []
        assert within["report"]["spent"]["history"] > 0
        assert api.get("/sessions")["total"] == 2  # the session without history was not stored

    def test_a_context_keeps_its_budget(self, api: Api, memory: McpClient) -> None:
        api.capture(*(f"Fence number {number} is green. " * 20 for number in range(20)))

        report = memory.call("get_context", query="fence", token_budget=300)["report"]

        assert report["tokens"] <= report["budget"] == 300

    def test_a_session_is_read_backwards_page_by_page(self, api: Api, memory: McpClient) -> None:
        api.capture(*"abcdefg")

        newest = memory.call("get_session", session_id="s1", limit=3)
        earlier = memory.call("get_session", session_id="s1", limit=3, before=newest["before"])
        first = memory.call("get_session", session_id="s1", limit=3, before=earlier["before"])

        pages = [[each["content"] for each in page["messages"]] for page in (newest, earlier, first)]
        assert pages == [["e", "f", "g"], ["b", "c", "d"], ["a"]]
        assert newest["total"] == 7
        assert newest["left_out"] == "4 earlier messages: pass `before`"
        assert (newest["after"], first["before"]) == (None, None)

    def test_a_message_is_read_with_those_around_it_and_further_in_both_directions(
        self, api: Api, memory: McpClient
    ) -> None:
        # All of one time: only their places tell the order.
        ids = [each["id"] for each in api.capture(*"abcdefghi")["messages"]]
        read = partial(memory.call, "get_session")

        around = read(around=ids[4], limit=3)
        earlier = read(session_id="s1", before=around["before"], limit=2)
        later = read(after=around["after"], limit=2)
        first, last = read(before=earlier["before"]), read(after=later["after"])

        pages = [
            "".join(each["content"] for each in page["messages"]) for page in (first, earlier, around, later, last)
        ]
        assert pages == ["a", "bc", "def", "gh", "i"]
        assert {page["total"] for page in (first, earlier, around, later, last)} == {9}
        assert around["left_out"] == "3 earlier messages: pass `before`; 3 later messages: pass `after`"
        assert (first["before"], last["after"]) == (None, None)
        assert read(around=ids[0], limit=1)["left_out"] == "8 later messages: pass `after`"

    def test_a_long_message_is_read_in_parts_that_say_so(self, api: Api, memory: McpClient) -> None:
        text = "".join(f'"{number}"\n' for number in range(4_000))
        said = ("before " * 1_000, text, "after")
        before, message, _ = (each["id"] for each in api.capture(*said)["messages"])

        page, shown_text = memory.answer("get_session", around=message)
        part = next(each for each in page["messages"] if each["id"] == message)
        parts = [part["content"]]
        while "next_offset" in part:
            rest, rest_text = memory.answer("get_session", around=message, offset=part["next_offset"])
            (part,) = rest["messages"]
            parts.append(part["content"])
            assert len(rest_text) <= 8_000
            assert (rest["before"], rest["after"]) == (message, message)

        assert "".join(parts) == text
        assert part["chars"] == len(text)
        assert len(shown_text) <= 8_000
        beside = {each["id"]: each for each in page["messages"]}[before]
        assert said[0].startswith(beside["content"])
        assert beside["next_offset"] == len(beside["content"]) < beside["chars"]
        assert "next_offset" in page["left_out"]
        assert f"offset must be less than {len(text)}" in memory.refused(
            "get_session", around=message, offset=len(text)
        )

    def test_what_does_not_fit_is_on_the_next_page(self, api: Api, memory: McpClient) -> None:
        said = [f"{number} {'x' * 1_000}" for number in range(20)]
        api.capture(*said)

        pages, page = [], memory.call("get_session", session_id="s1", limit=200)
        while page["before"] is not None:
            pages.append(page["messages"])
            page = memory.call("get_session", before=page["before"], limit=200)
        pages.append(page["messages"])

        assert [each["content"] for shown in reversed(pages) for each in shown] == said

    def test_which_messages_to_read_must_be_one_place_of_the_scope(self, api: Api, memory: McpClient) -> None:
        (message,) = (each["id"] for each in api.capture("x", session="ben-1", end_user_id="ben")["messages"])
        api.capture("y", session="s2")
        anna = client_of(api, end_user="anna")

        assert f"no message {message!r}" in anna.refused("get_session", around=message)
        assert "no message 'gone'" in memory.refused("get_session", around="gone")
        assert "Pass session_id, or around" in memory.refused("get_session")
        assert "only one of around and after" in memory.refused("get_session", around=message, after=message)
        assert "offset requires around (got 5)" in memory.refused("get_session", session_id="s2", offset=5)
        error = memory.refused("get_session", session_id="s2", before=message)
        assert f"before must be a message of session 's2' (got {message!r} of session 'ben-1')" in error
        for tool, arguments in (("correct_memory", {"muted": True}), ("forget_memory", {"confirm": True})):
            assert "no message 'gone'" in memory.refused(tool, message_id="gone", **arguments)

    def test_calls_of_tools_are_named(self, api: Api, memory: McpClient) -> None:
        asked = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
        call = {"role": "assistant", "content": None, "tool_calls": [asked]}
        said = [call, {"role": "tool", "tool_call_id": "c1", "content": "Rain."}]
        api.post("/flows/support/runs", {"session_id": "s1", "messages": said}, expect=201)

        messages = memory.call("get_session", session_id="s1")["messages"]

        assert shown(messages) == [("assistant", "[calls weather]"), ("tool", "Rain.")]

    def test_a_session_that_does_not_exist_is_an_error(self, memory: McpClient) -> None:
        assert "no session 'gone'" in memory.refused("get_session", session_id="gone")

    def test_sessions_are_listed_latest_first(self, api: Api, memory: McpClient) -> None:
        for session in ("s1", "s2", "s1"):
            api.capture("x", session=session, run_id=str(uuid4()))

        page = memory.call("list_sessions", limit=1)
        rest = memory.call("list_sessions", limit=1, cursor=page["cursor"])

        assert [(each["session_id"], each["messages"]) for each in page["sessions"]] == [("s1", 2)]
        assert [each["session_id"] for each in rest["sessions"]] == ["s2"]
        assert rest["cursor"] is None

    def test_sessions_that_do_not_fit_are_on_the_next_page(self, api: Api, memory: McpClient) -> None:
        names = [f"{number:03}-{'s' * 120}" for number in range(60)]
        for name in names:
            api.capture("x", session=name, run_id=name)

        page, text = memory.answer("list_sessions", limit=100)
        rest = memory.call("list_sessions", limit=100, cursor=page["cursor"])

        assert len(text) <= 8_000
        assert page["left_out"] == "older sessions: pass `cursor`"
        assert "left_out" not in rest
        assert [each["session_id"] for each in page["sessions"] + rest["sessions"]] == names[::-1]

    def test_sessions_about_something_are_listed_best_first(self, api: Api, memory: McpClient) -> None:
        api.capture("The roof is blue.", "The fence is green, the green fence.", session="house")
        api.capture("A fence.", session="garden")

        sessions = memory.call("list_sessions", query="green fence")["sessions"]

        assert [each["session_id"] for each in sessions] == ["house", "garden"]
        assert "green fence" in sessions[0]["passage"]
        assert memory.call("get_session", around=sessions[0]["message_id"])["session_id"] == "house"
        assert sessions[0]["score"] >= sessions[1]["score"]


class TestWriting:
    def test_a_note_is_stored_once_and_found(self, api: Api, memory: McpClient) -> None:
        stored = memory.call("remember", content="The staging server is called heron.")
        again = memory.call("remember", content="The staging server is called heron.")

        assert (stored["session_id"], stored["stored"], stored["searchable"]) == ("notes", 1, True)
        assert (again["stored"], again["message_ids"]) == (0, stored["message_ids"])
        assert memory.call("search_memory", query="staging server")["results"][0]["id"] == stored["message_ids"][0]
        assert api.get("/messages")["total"] == 1

    def test_a_memory_base_of_outputs_finds_a_note(self, api: Api) -> None:
        api.flow()
        api.memory()
        memory = client_of(api)

        memory.call("remember", content="The staging server is called heron.")

        assert memory.call("search_memory", query="staging server")["results"]

    def test_messages_keep_their_roles_and_ids(self, api: Api, memory: McpClient) -> None:
        spoken = [("user", "m1"), ("assistant", "m2"), ("user", "m3")]
        said = [{"role": role, "content": f"It is {name}.", "id": name} for role, name in spoken]

        stored = memory.call("remember", messages=said[:2], session_id="talk", run_id="r1")
        longer = memory.call("remember", messages=said, session_id="talk")

        assert (stored["stored"], longer["stored"]) == (2, 1)
        messages = api.get("/messages", session_id="talk", flow_id="support")["items"]
        assert shown(messages, "external_id") == spoken

    def test_the_same_note_in_another_session_is_another_one(self, memory: McpClient) -> None:
        assert memory.call("remember", content="x", session_id="s1")["stored"] == 1
        assert memory.call("remember", content="x", session_id="s2")["stored"] == 1

    def test_notes_of_end_users_are_theirs(self, api: Api) -> None:
        api.flow()
        for end_user in ("anna", "ben"):
            stored = client_of(api, end_user=end_user).call("remember", content=f"{end_user} likes tea.")
            assert stored["stored"] == 1
            assert api.get(f"/messages/{stored['message_ids'][0]}")["end_user_id"] == end_user

    def test_a_note_that_is_json_is_text(self, api: Api, memory: McpClient) -> None:
        notes = ['{"theme": "dark"}', '["tea", "bread"]', "null", "true", "7"]
        for note in notes:
            (message_id,) = memory.call("remember", content=note)["message_ids"]
        memory.call("correct_memory", message_id=message_id, content='{"theme": "light"}')

        stored = [each["content"] for each in api.get("/messages", session_id="notes")["items"]]
        assert stored == [*notes[:-1], '{"theme": "light"}']

    def test_what_to_remember_is_given_once(self, memory: McpClient) -> None:
        both = {"content": "x", "messages": [{"role": "user", "content": "x"}]}

        assert "either content or messages" in memory.refused("remember")
        assert "either content or messages" in memory.refused("remember", **both)

    def test_a_note_without_a_memory_base_says_that_no_search_will_find_it(self, api: Api) -> None:
        api.flow()

        assert client_of(api).call("remember", content="x")["searchable"] is False

    def test_a_correction_replaces_the_text(self, api: Api, memory: McpClient) -> None:
        message = api.capture("The fence is green.")["messages"][0]["id"]

        assert memory.call("correct_memory", message_id=message, content="The fence is white.")["message_id"] == message

        assert found_by(memory) == ["The fence is white."]

    def test_a_muted_message_is_not_found_and_a_pinned_one_comes_first(self, api: Api, memory: McpClient) -> None:
        green, old = (each["id"] for each in api.capture("The fence is green.", "The fence is old.")["messages"])

        memory.call("correct_memory", message_id=green, muted=True, reason="painted over")
        assert found_by(memory) == ["The fence is old."]
        memory.call("correct_memory", message_id=green, muted=False, pinned=True)
        assert len(found_by(memory)) == 2
        assert api.get(f"/messages/{green}")["pinned"] is True
        history = api.get(f"/messages/{green}/history")["items"]
        assert [each["reason"] for each in history] == [None, None, "painted over"]
        assert "content, muted or pinned" in memory.refused("correct_memory", message_id=old)

    def test_nothing_is_forgotten_without_confirmation(self, api: Api, memory: McpClient) -> None:
        message = api.capture("The fence is green.")["messages"][0]["id"]

        for arguments in ({"message_id": message}, {"session_id": "s1"}, {"session_id": "s1", "confirm": False}):
            assert "confirm must be true" in memory.refused("forget_memory", **arguments)
        assert "either message_id or session_id" in memory.refused("forget_memory", confirm=True)
        both = {"message_id": message, "session_id": "s1", "confirm": True}
        assert "either message_id or session_id" in memory.refused("forget_memory", **both)

        assert api.get("/messages")["total"] == 1

    def test_a_message_and_a_session_are_forgotten_with_a_receipt(self, api: Api, memory: McpClient) -> None:
        message = api.capture("The fence is green.", "The fence is old.")["messages"][0]["id"]

        one = memory.call("forget_memory", message_id=message, confirm=True, reason="sold")
        (kept,) = api.get("/deleted-messages")["items"]
        left = found_by(memory)
        all_of_it = memory.call("forget_memory", session_id="s1", confirm=True)

        assert (one["messages"], one["sessions"], one["restorable_until"]) == (1, 0, kept["restorable_until"])
        assert (kept["id"], kept["reason"]) == (message, "sold")
        assert left == ["The fence is old."]
        assert (all_of_it["messages"], all_of_it["sessions"]) == (1, 1)
        assert found_by(memory) == []
        assert "no session" in memory.refused("forget_memory", session_id="s1", confirm=True)


class TestStatus:
    def test_it_says_what_is_pending_and_when_something_was_captured(self, api: Api, memory: McpClient) -> None:
        empty = memory.call("memory_status")
        api.capture("one", "two")

        status = memory.call("memory_status")

        assert empty["last_captured_at"] is None
        assert status["last_captured_at"] == api.get("/sessions")["items"][0]["last_captured_at"]
        assert (status["pending_messages"], status["dead_letters"]) == (2, 0)
        assert [base["name"] for base in status["memory_bases"]] == ["notes"]
        assert status["memory_bases"][0]["delay_seconds"] is None

        base = api.get("/memories")["items"][0]["id"]
        api.post(f"/memories/{base}/flush", expect=(200, 202))
        api.work()

        ingested = memory.call("memory_status")["memory_bases"][0]
        assert (ingested["pending_messages"], ingested["processed_messages"]) == (0, 2)
        assert ingested["delay_seconds"] > 0

    def test_it_says_what_is_unavailable(self, memory: McpClient) -> None:
        # No worker and no sweeper runs here.
        status = memory.call("memory_status")

        assert status["state"] == "unavailable"
        assert "worker" in status["reason"]


class TestResourcesAndPrompts:
    def read(self, memory: McpClient, uri: str) -> str:
        async def read(client: Any) -> str:
            return str((await client.read_resource(uri)).contents[0].text)

        return memory.run(read)

    def prompt(self, memory: McpClient, name: str, **arguments: str) -> str:
        async def get(client: Any) -> str:
            return str((await client.get_prompt(name, arguments)).messages[0].content.text)

        return memory.run(get)

    @each_row("era", ERAS)
    def test_templates_and_prompts_are_listed_with_descriptions(self, api: Api, era: str) -> None:
        async def look(client: Any) -> tuple[Any, ...]:
            return (await client.list_resource_templates()).resource_templates, (await client.list_prompts()).prompts

        templates, prompts = client_of(api, era=era).run(look)

        assert {each.name for each in templates} == {"session", "summary", "message"}
        arguments = {each.name: [a.name for a in each.arguments] for each in prompts}
        assert arguments == {"recall": ["topic"], "catch_up": ["session_id"]}
        assert all(each.description for each in [*templates, *prompts])

    @each_row("session", ["s1", "../a b/ü%"])
    def test_a_session_is_a_transcript(self, api: Api, memory: McpClient, session: str) -> None:
        api.capture("one", "two", session=session)

        text = self.read(memory, f"memorybase://sessions/{quote(session, safe='')}")

        assert [line.partition(" ")[2] for line in text.split("\n\n")] == ["assistant: one", "assistant: two"]

    def test_a_message_is_read_whole(self, api: Api, memory: McpClient) -> None:
        long = "The fence is green. " * 1_000
        message = api.capture(long)["messages"][0]["id"]

        assert self.read(memory, f"memorybase://messages/{message}") == long

    def test_what_does_not_exist_or_is_anothers_is_an_error(self, api: Api, memory: McpClient) -> None:
        message = api.capture("x", session="ben-1", end_user_id="ben")["messages"][0]["id"]
        anna = client_of(api, end_user="anna")

        assert self.read(memory, f"memorybase://messages/{message}") == "x"
        for uri in (f"messages/{message}", "messages/gone", "sessions/ben-1", "sessions/ben-1/summary"):
            with pytest.raises(MCPError, match=r"no session|no message '"):
                self.read(anna, f"memorybase://{uri}")
        with pytest.raises(MCPError, match="no session 'ben-1'"):
            self.prompt(anna, "catch_up", session_id="ben-1")
        with pytest.raises(MCPError, match="no summary"):
            self.read(memory, "memorybase://sessions/ben-1/summary")

    def test_recall_brings_what_memory_has(self, api: Api, memory: McpClient) -> None:
        assert "nothing on this subject" in self.prompt(memory, "recall", topic="green fence")
        api.capture("The fence is green.")

        assert "The fence is green." in self.prompt(memory, "recall", topic="green fence")

    def test_catch_up_takes_the_latest_session(self, api: Api, memory: McpClient) -> None:
        assert "no conversation yet" in self.prompt(memory, "catch_up")
        api.capture("The fence is green.", session="s1")
        api.capture("The roof is blue.", session="s2")

        assert "The roof is blue." in self.prompt(memory, "catch_up")
        assert "The fence is green." in self.prompt(memory, "catch_up", session_id="s1")

    def test_an_outage_is_an_error_or_a_remark(self, api: Api, memory: McpClient) -> None:
        api.capture("The fence is green.")
        api.vectors.away = True

        text = self.prompt(memory, "recall", topic="green fence")

        assert "The fence is green." in text
        assert "may be incomplete" in text
