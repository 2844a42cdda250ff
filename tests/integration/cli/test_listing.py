"""`memorybase list`, `status` and `search`, through the API."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from click.testing import Result
from harness.api import Api
from harness.clients import client_of
from memorybase_client import errors as client_errors
from typer.testing import CliRunner

from memorybase import cli
from memorybase.cli import command, listing
from memorybase.core import errors


@pytest.fixture(autouse=True)
def _connected(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (command, listing):
        monkeypatch.setattr(module, "connect", lambda *_: client_of(api, tries=1))


def run(*words: str) -> Result:
    result = CliRunner().invoke(cli.app, words)
    expected = SystemExit | errors.MemorybaseError | client_errors.MemorybaseError
    if result.exception is not None and not isinstance(result.exception, expected):
        raise result.exception
    return result


@pytest.fixture
def filled(api: Api) -> Api:
    """A flow with a memory base and a named session, and one with nothing."""
    api.flow()
    api.flow("empty")
    api.memory("notes", capture="all")
    api.capture("Where does the boat lie?", "At berth twelve.", "Good to know.", session="s-1")
    api.patch("/sessions", {"flow_id": "support", "session_id": "s-1", "metadata": {"title": "The harbour"}})
    return api


def test_flows_and_memory_bases_are_listed_with_counts_and_state(filled: Api) -> None:
    said = run("list").output.splitlines()
    assert [line.split() for line in said[1:]] == [
        ["support", "notes", "pending", "1", "0", "3", "0"],
        ["empty", "none"],
    ]
    base = filled.get("/memories")["items"][0]["id"]
    flow, empty = json.loads(run("list", "--json").output)
    assert ([each["id"] for each in flow["memory_bases"]], empty["memory_bases"]) == ([base], [])


def test_nothing_to_list_says_what_to_do(api: Api) -> None:
    assert api.get("/flows")["total"] == 0
    assert run("list").output == "There are no flows yet. Import some with: memorybase import FILE\n"


def test_the_status_says_what_does_not_answer_and_what_is_held(filled: Api) -> None:
    assert filled.get("/flows")["total"] == 2
    said = run("status")
    assert said.exit_code == 1  # no worker runs here
    assert said.output.startswith("not ready   http://testserver\n")
    assert "holds     2 flows, 1 memory base\nmessages  0 ingested, 3 pending, 0 dead letters\n" in said.output
    figures = ("processes workers 0, sweepers 0", "jobs      0 queued, 0 running, 0 stuck", "due       messages 0")
    assert "\n".join(figures) in said.output
    assert "problem   No worker is running" in said.output


def test_the_status_has_the_jobs_and_the_oldest_message_that_is_due(filled: Api) -> None:
    filled.memory("eager", capture="all", threshold=1)
    filled.capture("The tide is out.", session="s-2")
    figures = run("status").output.partition("processes")[2]
    assert "1 queued, 0 running" in figures
    assert re.search(r"\ndue       messages 1, the oldest captured \d+ s ago\n", figures)


def test_the_status_for_a_limited_key_has_no_figures_of_others(filled: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"name": "limited", "scopes": ["read"], "flow_ids": ["support"]}
    limited = replace(filled, secret=filled.post("/keys", body, expect=201)["secret"])
    monkeypatch.setattr(listing, "connect", lambda *_: client_of(limited, tries=1))
    said = run("status").output.splitlines()
    assert said[-1] == "messages  0 ingested, 3 pending, 0 dead letters"


def test_a_search_needs_no_memory_base_and_shows_title_and_turns(filled: Api) -> None:
    for words in ((), ("--flow", "support"), ("--memory", "notes")):
        said = run("search", "berth twelve", "--top-k", "1", *words).output
        assert "The harbour" in said
        assert "assistant: Where does the boat lie?" in said
        assert "assistant: Good to know." in said
    assert "Where does" not in run("search", "berth twelve", "--top-k", "1", "--neighbors", "0").output
    (hit,) = json.loads(run("search", "berth twelve", "--top-k", "1", "--json").output)["results"]
    (message,) = [each for each in filled.get("/messages")["items"] if each["content"] == "At berth twelve."]
    assert (hit["message_id"], hit["before"][0]["content"]) == (message["id"], "Where does the boat lie?")


def test_an_empty_query_and_two_scopes_are_refused_by_name() -> None:
    assert str(run("search", " ").exception).startswith("QUERY must have at least one word.")
    refused = run("search", "x", "--memory", "m", "--flow", "f").exception
    assert str(refused).startswith("Only one of --memory and --flow can be given.")


def test_a_search_in_a_flow_without_a_memory_base_is_an_error(filled: Api) -> None:
    assert filled.get("/flows")["total"] == 2
    assert "The flow empty has no memory base" in str(run("search", "boat", "--flow", "empty").exception)
    assert isinstance(run("search", "boat", "--flow", "nope").exception, client_errors.NotFound)
