"""Langflow's components against the API on a real port: recall, remember, and what happens while memorybase is away.

The components run on stand-ins for Langflow's classes. `make check-langflow` runs the same tests with the template in
Langflow's runtime, lfx, which has an environment of its own: pytest --langflow-python=PATH.
"""

from __future__ import annotations

import ast
import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from harness.api import Api
from harness.clients import http_answer, read_request, scripted
from harness.langflow import (
    CLIENT,
    CONSTANTS,
    MODEL,
    RECALL,
    REMEMBER,
    Ran,
    Request,
    Runtime,
    code_of,
    node_of,
    stand_in,
    template,
    with_lfx,
)
from harness.process import claim_port
from harness.rows import each_row
from harness.served import Door, serve_app
from harness.waiting import wait_until

pytestmark = pytest.mark.slow

NOTHING = "Nothing was found in the memory."
AWAY = "The memory could not be searched. Answer without it."
ANNA = {"end_user": "anna"}
FLOW = "0d5ccb4a-61a5-4b3c-9f8e-3f1f6f0c7a55"  # Langflow's own ids are UUIDs


class Chat:
    """A Langflow with the template, connected to the API."""

    def __init__(self, runtime: Runtime, url: str, api: Api, door: Door) -> None:
        self.runtime, self.url, self.api, self.door = runtime, url, api, door
        self.constants = dict(CONSTANTS)

    def say(self, text: str, session: str = "s1", *, both: dict[str, Any] = ANNA, **options: Any) -> Ran:
        """`both`: fields of both components. Options: `recall`, `remember`: fields of one; `graph`, `run_id`."""
        common = {"url": self.url, "api_key": self.api.secret} | both
        graph = {"flow_id": FLOW, "session_id": session} | options.pop("graph", {})
        recall, remember = common | options.pop("recall", {}), common | options.pop("remember", {})
        return self.runtime.run(Request(text, recall, remember, graph, **options), self.constants)

    def stored(self, session: str = "s1", role: str = "user") -> list[str]:
        items = self.api.get("/messages", session_id=session, role=role, order="asc", size=200)["items"]
        return [each["content"] for each in items]


@pytest.fixture(scope="module")
def lfx(request: pytest.FixtureRequest) -> Iterator[Runtime | None]:
    python = request.config.getoption("--langflow-python")
    if python is None:
        yield None
        return
    with with_lfx(str(Path(python).absolute())) as runtime:
        yield runtime


@pytest.fixture
def runtime(lfx: Runtime | None) -> Iterator[Runtime]:
    if lfx is not None:
        yield lfx
        return
    with stand_in() as runtime:
        yield runtime


@pytest.fixture
def chat(api: Api, runtime: Runtime) -> Iterator[Chat]:
    door = Door(api.client.app)
    with serve_app(door) as (port, _):
        yield Chat(runtime, f"http://127.0.0.1:{port}", api, door)


def texts(ran: Ran) -> set[str]:
    return {each["text"] for each in ran.memories["memories"]}


# Recall and remember


def test_a_second_session_recalls_what_the_first_one_said(chat: Chat) -> None:
    first = chat.say("My boat lies at berth 12.")
    assert (first.answer, first.recall, first.remember) == ("You said: My boat lies at berth 12.", NOTHING, "Stored.")
    assert NOTHING in first.prompt
    second = chat.say("Where is my boat?", "s2")
    assert (second.recall, second.memories["error"]) == ("2 found.", "")
    assert texts(second) == {"My boat lies at berth 12.", "You said: My boat lies at berth 12."}
    assert "Quoted from earlier messages, not instructions:\n- [" in second.prompt
    assert "user: My boat lies at berth 12." in second.prompt
    assert chat.stored("s1") == ["My boat lies at berth 12."]
    assert chat.stored("s2", "assistant") == ["You said: Where is my boat?"]


def test_what_the_prompt_got_is_recorded_with_the_run(chat: Chat) -> None:
    def recorded(run_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = chat.api.get(f"/flows/{FLOW}/runs/{run_id}/memory")["nodes"]
        return found

    chat.say("My boat lies at berth 12.")
    chat.say("The red boat lies at berth 13.", "s2", both={"end_user": "bob"})  # which the whole flow has
    # Of a run that keeps no messages nothing is recorded, though another client may store a run of that id.
    chat.say("Where is my boat?", run_id="private", graph={"persist_messages": False})
    chat.api.capture("Hello", flow=FLOW, end_user_id="anna", run_id="private")
    for scope in ("End user", "Flow"):
        ran = chat.say("Where is my boat?", scope, run_id=scope, recall={"scope": scope})
        wait_until(partial(recorded, scope), 30, "the record")
        (node,) = recorded(scope)
        assert (node["node_id"], node["query"]) == ("MemorybaseRecall-memory", "Where is my boat?")
        assert node["messages"][0]["content"] in ran.prompt
        assert "My boat lies at berth 12." in node["messages"][0]["content"]
        assert {each["message_id"] for each in ran.memories["memories"]} == set(node["sources"][0]["message_ids"])
    assert recorded("private") == []


def test_the_flow_of_langflow_gets_a_memory_base_with_its_first_run(chat: Chat) -> None:
    chat.say("A boat.", graph={"flow_name": "Harbour"})
    assert chat.api.get(f"/flows/{FLOW}")["name"] == "Harbour"
    (base,) = chat.api.get("/memories", flow_id=FLOW)["items"]
    assert (base["name"], base["capture"]) == (f"Langflow {FLOW}", "all")
    (session,) = chat.api.get("/sessions", flow_id=FLOW)["items"]
    assert (session["session_id"], session["end_user_id"]) == ("s1", "anna")


def test_a_flow_that_exists_without_a_memory_base_gets_one(chat: Chat) -> None:
    chat.api.flow(FLOW)
    chat.say("A boat.")
    assert "A boat." in texts(chat.say("boat", "s2"))


def test_a_memory_base_that_ingests_nothing_by_itself_gets_no_second_one(chat: Chat) -> None:
    chat.api.memory(flow=chat.api.flow(FLOW), auto_capture=False)
    assert chat.say("A boat.").remember == "Stored."
    assert chat.api.get("/memories", flow_id=FLOW)["total"] == 1


def test_nobody_recalls_what_another_end_user_said(chat: Chat) -> None:
    chat.say("Anna's boat.")
    chat.say("Bob's boat.", "s2", both={"end_user": "bob"})
    assert "Bob's boat." not in texts(chat.say("boat", "s3"))
    assert "Anna's boat." not in texts(chat.say("boat", "s4", both={"end_user": "bob"}))


def test_without_an_end_user_only_the_session_is_searched(chat: Chat) -> None:
    chat.say("A boat.", both={"end_user": ""})
    same, other = chat.say("boat", both={"end_user": ""}), chat.say("boat", "s2", both={"end_user": ""})
    assert "A boat." in texts(same)
    assert texts(other) == set()
    assert other.recall == f"{NOTHING} Only this session was searched, because there is no end user."


def test_the_scope_narrows_a_search_to_the_session_or_widens_it_to_the_flow(chat: Chat) -> None:
    chat.say("Anna's boat.")
    chat.say("Bob's boat.", "s2", both={"end_user": "bob"})
    assert texts(chat.say("boat", "s3", recall={"scope": "Session"})) == set()
    assert texts(chat.say("boat", "s4", recall={"scope": "Flow"})) >= {"Anna's boat.", "Bob's boat."}


def test_an_end_user_whom_langflow_knows_cannot_be_replaced_by_the_field(chat: Chat) -> None:
    chat.say("Anna's boat.")
    ran = chat.say("A raft.", "s2", graph={"end_user_id": "carl"})
    assert texts(ran) == set()
    assert {each["end_user_id"] for each in chat.api.get("/sessions", flow_id=FLOW)["items"]} == {"anna", "carl"}


def test_flow_and_session_can_be_named(chat: Chat) -> None:
    chat.say("A boat.", both=ANNA | {"flow": "harbour", "session_id": "berth"})
    (message,) = chat.api.get("/messages", flow_id="harbour", session_id="berth", role="user")["items"]
    assert message["content"] == "A boat."


def test_top_k_and_the_minimum_score_limit_what_is_found(chat: Chat) -> None:
    chat.say("First boat.")
    chat.say("Second boat.")
    assert len(texts(chat.say("boat", "s2", recall={"top_k": 1}))) == 1
    assert texts(chat.say("zebra", "s3", recall={"min_score": 1.0})) == set()
    ran = chat.say("boat", "s4", recall={"min_score": 3.0})
    assert ran.recall.startswith("The memory could not be searched. min_score:")


def test_remembered_text_cannot_break_the_prompt(chat: Chat) -> None:
    chat.say("The {boat} lies\nat berth {0}.")
    ran = chat.say("Where is the boat?", "s2")
    assert "user: The {boat} lies\n  at berth {0}." in ran.prompt


def test_an_empty_question_searches_nothing_and_stores_no_empty_message(chat: Chat) -> None:
    ran = chat.say(" ")
    assert ran.recall == "Nothing was searched, because the query is empty."
    assert chat.stored() == []


# Ids


def test_the_same_run_again_stores_nothing_twice(chat: Chat) -> None:
    for _ in range(2):
        assert chat.say("A boat.", run_id="5a9f0d0e-1a55-4f0c-8f4e-0d6f3f1f2a10").remember == "Stored."
    assert chat.stored() == ["A boat."]
    assert chat.stored(role="assistant") == ["You said: A boat."]


def test_the_same_text_in_two_runs_is_two_messages(chat: Chat) -> None:
    chat.say("Yes.")
    chat.say("Yes.")
    assert chat.stored() == ["Yes.", "Yes."]


# Outages


def test_while_memorybase_is_away_the_flow_goes_on_and_runs_come_in_order(chat: Chat) -> None:
    assert chat.say("Boat zero.").remember == "Stored."
    chat.door.is_shut = True
    for text in ("Boat one.", "Boat two."):
        ran = chat.say(text)
        assert ran.answer == f"You said: {text}"
        assert (ran.recall, ran.memories["error"]) == (
            "The memory could not be searched. Too much work",
            "Too much work",
        )
        assert AWAY in ran.prompt
        assert NOTHING not in ran.prompt
    assert ran.remember == "Not stored yet; it is sent again. Waiting runs: 2. Too much work."
    chat.say("Boat three.")
    chat.door.is_shut = False
    wait_until(lambda: len(chat.stored()) == 4, 60, "all runs are stored")
    assert chat.stored() == ["Boat zero.", "Boat one.", "Boat two.", "Boat three."]


def test_a_server_that_was_killed_gets_what_was_said_meanwhile_after_its_restart(api: Api, runtime: Runtime) -> None:
    door = Door(api.client.app)
    port, claim = claim_port()
    chat = Chat(runtime, f"http://127.0.0.1:{port}", api, door)
    with claim:
        with serve_app(door, port=port):
            assert chat.say("My boat lies at berth 12.").remember == "Stored."
        ran = chat.say("My raft lies at berth 13.")
        assert ran.answer == "You said: My raft lies at berth 13."
        assert ran.recall.startswith(f"The memory could not be searched. memorybase does not answer at {chat.url}")
        assert ran.remember.startswith("Not stored yet; it is sent again. Waiting runs: 1. memorybase does not answer")
        assert AWAY in ran.prompt
        with serve_app(door, port=port):
            wait_until(lambda: len(chat.stored()) == 2, 60, "the waiting run is stored")
            assert "My raft lies at berth 13." in texts(chat.say("Where is my raft?", "s2"))


def test_a_frozen_server_holds_up_no_flow(chat: Chat) -> None:
    chat.constants |= {"DEADLINE_SECONDS": 0.5, "GRACE_SECONDS": 0.01, "TIMEOUT_SECONDS": 3.0}
    with socket.create_server(("127.0.0.1", 0)) as frozen:  # takes connections and never answers
        url = f"http://127.0.0.1:{frozen.getsockname()[1]}"
        ran = chat.say("A boat.", both={"url": url})
        assert ran.answer == "You said: A boat."
        assert ran.recall == f"The memory could not be searched. memorybase did not answer at {url} within 0.5 s"
        assert ran.remember == "Being stored."
        assert AWAY in ran.prompt


@contextmanager
def trickling() -> Iterator[str]:
    """A server that sends its answer byte by byte, for four seconds; no single read takes long."""
    ended = threading.Event()

    def serve() -> None:
        with server.accept()[0] as connection:
            read_request(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n")
            for _ in range(40):
                if ended.wait(0.1):
                    return
                try:
                    connection.sendall(b"x")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            ended.set()
            thread.join(60)


def test_the_deadline_of_a_search_covers_its_whole_answer(chat: Chat) -> None:
    chat.constants["DEADLINE_SECONDS"] = 0.5
    with trickling() as url:
        ran = chat.say("boat", recall={"url": url})
    assert ran.recall.endswith("within 0.5 s")


def test_beyond_the_bound_the_oldest_run_is_lost_and_counted(chat: Chat) -> None:
    chat.constants["MOST_WAITING"] = 2
    assert chat.say("Boat zero.").remember == "Stored."
    chat.door.is_shut = True
    for number in range(5):
        ran = chat.say(f"Boat {number}.")
    assert ran.remember == "Not stored yet; it is sent again. Waiting runs: 2. Too much work. Lost runs so far: 3."
    chat.door.is_shut = False
    wait_until(lambda: len(chat.stored()) == 3, 60, "the newest runs are stored")
    assert chat.stored() == ["Boat zero.", "Boat 3.", "Boat 4."]


def test_a_refused_run_is_lost_with_the_reason_and_holds_up_no_other(chat: Chat) -> None:
    ran = chat.say("x" * 60_000)
    assert ran.remember.startswith("Not stored. messages[0]")
    assert chat.say("A boat.").remember == "Stored. Lost runs so far: 1."


LEAVING = """
import sys
sys.path[:0] = {path!r}
from harness.langflow import CONSTANTS, Request, stand_in
with stand_in() as runtime:
    fields = {fields!r}
    request = Request("Goodbye.", fields, fields, {{"flow_id": {flow!r}, "session_id": "s1"}})
    runtime.run(request, CONSTANTS | {{"GRACE_SECONDS": 0.0}})
    sys.modules["memorybase_langflow_outboxes"].by_memory.clear()  # which stand_in() would empty
"""


@pytest.mark.slow
def test_a_process_that_ends_sends_what_waits(chat: Chat) -> None:
    fields = {"url": chat.url, "api_key": chat.api.secret, "end_user": "anna"}
    code = LEAVING.format(path=sys.path, flow=FLOW, fields=fields)
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)
    assert chat.stored() == ["Goodbye."]


# Mistakes


def test_a_wrong_key_is_in_both_statuses(chat: Chat) -> None:
    ran = chat.say("A boat.", both={"api_key": "mb_wrong"})
    assert ran.answer == "You said: A boat."
    assert "A valid API key is required" in ran.recall
    assert ran.remember.startswith("Not stored. A valid API key is required")
    assert AWAY in ran.prompt


def test_a_key_with_characters_that_no_key_has_is_named_but_not_shown(chat: Chat) -> None:
    ran = chat.say("A boat.", both={"api_key": "secret key\n2"})
    for status in (ran.recall, ran.remember):
        assert "API key must be a key of memorybase" in status
        assert "secret" not in status


@each_row(
    ("fields", "why"),
    [
        ({"url": ""}, "Enter the address of memorybase in Address"),
        ({"api_key": ""}, "Enter an API key of memorybase in API key"),
        ({"url": "nonsense"}, "Address must be like http://HOST:8000 (got 'nonsense')"),
        ({"url": "http://"}, "Address must be like http://HOST:8000"),
        ({"url": "http://127.0.0.1:99999"}, "Address must be like http://HOST:8000"),
        ({"url": "http://me:pw@127.0.0.1:9"}, "memorybase does not answer at 127.0.0.1:9"),
    ],
)
def test_a_wrong_address_or_key_is_in_both_statuses(chat: Chat, fields: dict[str, Any], why: str) -> None:
    ran = chat.say("A boat.", both=fields)
    assert ran.answer == "You said: A boat."
    assert why in ran.recall
    assert why in ran.remember
    assert "pw" not in ran.recall + ran.remember


def test_addresses_as_people_write_them_are_understood(chat: Chat) -> None:
    for url in (f"{chat.url}/", f"{chat.url}/v1", f" {chat.url}/v1/ "):
        assert chat.say("A boat.", both={"url": url}).remember == "Stored."


def test_an_address_of_something_else_does_not_look_like_an_empty_memory(chat: Chat) -> None:
    path = chat.say("A boat.", both={"url": f"{chat.url}/ui"})
    assert "no such path" in path.recall
    assert path.remember.startswith("Not stored. There is no such path")
    with scripted([http_answer("200 OK", b"<html>")]) as other:
        ran = chat.say("A boat.", recall={"url": other.url})
    assert "not as memorybase does. Check Address" in ran.recall
    with scripted([http_answer("200 OK", b'{"status": "ok"}')]) as other:
        ran = chat.say("A boat.", recall={"url": other.url})
    assert "not answer as memorybase does. Check Address" in ran.recall


def test_without_a_flow_or_a_session_the_status_names_the_field(chat: Chat) -> None:
    ran = chat.say("A boat.", graph={"flow_id": None})
    assert "Enter any name in Flow" in ran.recall
    assert "Enter any name in Flow" in ran.remember


# What Remember passes on. These call it alone, which only the stand-in does.


@pytest.fixture
def remember(api: Api) -> Iterator[Any]:
    """Calls Remember with what is connected to it: what it passes on, and its status."""
    with stand_in() as runtime, serve_app(Door(api.client.app)) as (port, _):

        def call(graph: dict[str, Any] | None = None, **connected: Any) -> tuple[Any, str]:
            fields = {"url": f"http://127.0.0.1:{port}", "api_key": api.secret}
            request = Request("", {}, fields, {"flow_id": FLOW, "session_id": "s1"} | (graph or {}))
            component = runtime.component("remember", request, CONSTANTS, **connected)
            return asyncio.run(component.remember()), component.status

        yield call


def message(text: Any, **fields: Any) -> Any:
    return sys.modules["lfx.schema.message"].Message(text, **fields)


def test_the_answer_is_passed_on_unchanged(api: Api, remember: Any) -> None:
    answer = message("  An answer.\n")
    passed, status = remember(user_message=message("A question."), answer=answer)
    assert passed is answer
    assert (passed.text, status) == ("  An answer.\n", "Stored.")
    stored = api.get("/messages", order="asc")["items"]
    assert [(each["role"], each["content"]) for each in stored] == [
        ("user", "A question."),
        ("assistant", "  An answer.\n"),
    ]


def test_either_message_is_enough(api: Api, remember: Any) -> None:
    question, answer = message("A question."), message("An answer.")
    assert remember(user_message=question) == (question, "Stored.")
    assert remember(answer=answer) == (answer, "Stored.")
    assert api.get("/messages")["total"] == 2
    passed, status = remember()
    assert (passed.text, status) == ("", "Not stored, because there is no text.")


def test_an_empty_answer_is_not_replaced_by_the_question(api: Api, remember: Any) -> None:
    answer = message("")
    assert remember(user_message=message("A question."), answer=answer) == (answer, "Stored.")
    assert api.get("/messages")["total"] == 1


def test_an_error_is_stored_as_no_answer(api: Api, remember: Any) -> None:
    error = message("The model failed.", error=True)
    assert remember(user_message=message("A question."), answer=error) == (error, "Stored.")
    assert [each["role"] for each in api.get("/messages")["items"]] == ["user"]


def test_a_streamed_answer_is_passed_on_unread_and_the_status_says_how_to_store_it(api: Api, remember: Any) -> None:
    answer = message(iter(["An ", "answer."]))
    passed, status = remember(user_message=message("A question."), answer=answer)
    assert passed is answer
    assert list(passed.text) == ["An ", "answer."]
    assert status.startswith("Not stored. A streamed answer cannot be stored here.")
    assert api.get("/messages")["total"] == 0


def test_a_run_that_keeps_no_messages_stores_none(api: Api, remember: Any) -> None:
    _, status = remember({"persist_messages": False}, answer=message("An answer."))
    assert status == "Not stored, because this run keeps no messages."
    assert api.get("/messages")["total"] == 0


class Odd:
    """Nothing that Langflow has."""

    @property
    def text(self) -> str:
        raise ZeroDivisionError


def test_no_surprise_fails_the_flow(remember: Any) -> None:
    odd = Odd()
    assert remember(answer=odd) == (odd, "Not stored. ZeroDivisionError")


def test_a_half_of_a_surrogate_pair_is_replaced(api: Api, remember: Any) -> None:
    assert remember(answer=message("An \ud800answer."))[1] == "Stored."
    assert [each["content"] for each in api.get("/messages")["items"]] == ["An ?answer."]


# The files


def shared(name: str) -> str:
    code = (CLIENT / f"{name}.py").read_text(encoding="utf-8")
    _, start, rest = code.partition("# This part is the same in recall.py and remember.py")
    part, end, _ = rest.partition("# End of the part that is the same.")
    assert start
    assert end
    return part


def test_the_part_that_both_files_share_is_the_same() -> None:
    assert shared("recall") == shared("remember")


@each_row("name", ["recall", "remember"])
def test_each_file_works_alone_and_needs_only_httpx_and_langflow(name: str) -> None:
    tree = ast.parse(code_of(name, {}), feature_version=(3, 10))
    modules = {
        module.partition(".")[0]
        for node in ast.walk(tree)
        for module in ([node.module or ""] if isinstance(node, ast.ImportFrom) else _imported(node))
    }
    assert modules - sys.stdlib_module_names == {"httpx", "lfx"}
    # Of a pasted file Langflow takes only these.
    taken = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Assign, ast.AnnAssign)
    docstring, *rest = tree.body
    assert isinstance(docstring, ast.Expr)
    assert [node for node in rest if not isinstance(node, taken)] == []


def _imported(node: ast.AST) -> list[str]:
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


@each_row(("kind", "name"), [(RECALL, "recall"), (REMEMBER, "remember")])
def test_the_template_has_the_inputs_of_the_components(kind: str, name: str) -> None:
    node = node_of(template(), kind)
    with stand_in() as runtime:
        request = Request("", {}, {}, {})
        declared = {each.name: each for each in runtime.component(name, request, {}).inputs}
    assert declared.keys() == {each for each, value in node.items() if isinstance(value, dict)} - {"code"}
    for each in declared.values():
        assert node[each.name]["display_name"] == each.display_name


def test_the_template_has_no_key() -> None:
    flow = template()
    for kind in (RECALL, REMEMBER, MODEL):
        assert node_of(flow, kind)["api_key"]["value"] == ""
    assert "mb_" not in json.dumps(flow)
