"""Secrets that are stored already: counted by a dry run, replaced for good, with a receipt; page and command."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from harness.api import Api
from harness.clients import http_answer, scripted
from harness.plain_browser import Page, mounted
from harness.rows import each_row
from harness.secret_texts import OTHER, TEXT, TOKEN, everything, mark, post
from harness.stack import run_memorybase

from memorybase.features.secret_redaction import scan


def scanned(api: Api, **fields: Any) -> list[Any]:
    """All parts of a scan."""
    parts: list[Any] = []
    while not parts or parts[-1]["next_cursor"]:
        cursor = parts[-1]["next_cursor"] if parts else None
        parts.append(api.post("/secrets/scan", {"cursor": cursor, **fields}))
    return parts


def keep_some(api: Api) -> str:
    """Secrets in a message, its former version, a deleted message, a node execution and a chat. Returns the message."""
    api.memory(capture="all", threshold=1)
    api.patch("/flows/support", {"secrets": "keep"})
    execution = {"node_id": "n", "status": "succeeded", "outputs": {"text": f"out {TOKEN}", "context": []}}
    first = post(api, TEXT.replace(TOKEN, OTHER), node_executions=[execution])["messages"][0]["id"]
    api.patch(f"/messages/{first}", {"content": TEXT})
    gone = post(api, messages=[{"id": "m2", "role": "assistant", "content": TEXT}])["messages"][0]["id"]
    api.work()
    api.call("DELETE", f"/messages/{gone}")
    api.call("PUT", "/flows/support/chat-memories/n", json={"name": "n", "chat_id": "c"}, expect=201)
    api.post(
        "/flows/support/chat-memories/n/messages",
        {"chat_id": "c", "messages": [{"role": "user", "content": TEXT}]},
        expect=201,
    )
    return str(first)


def test_a_dry_run_counts_secrets_and_changes_nothing(api: Api) -> None:
    message = keep_some(api)
    before = everything(api)

    parts = scanned(api)

    places: dict[str, int] = {}
    for part in parts:
        places |= part["places"]
    assert places.keys() == {"messages", "former_versions", "deleted_messages", "node_executions", "chat_messages"}
    assert parts[0]["found"] == [
        {
            "place": "messages",
            "id": message,
            "flow_id": api.get("/flows/support")["id"],
            "field": "content",
            "kind": "github-token",
            "at": 4,
        }
    ]
    assert TOKEN not in str(parts)
    assert everything(api) == before


def test_a_redaction_is_for_good_and_the_knowledge_base_follows(api: Api) -> None:
    message = keep_some(api)

    parts = scanned(api, redact=True)
    api.work()

    left = everything(api) + str(api.vectors.__dict__)
    assert TOKEN not in left
    assert OTHER not in left
    assert TOKEN.lower() not in left  # as the keyword index would have it
    assert api.get(f"/messages/{message}")["content"] == TEXT.replace(TOKEN, mark(api))
    assert mark(api) in str(api.vectors.__dict__)
    assert not any(part["places"] for part in scanned(api))
    receipts = api.get("/erasures")["items"]
    assert {each["operation"] for each in receipts} == {"redact_secrets"}
    assert {part["receipt_id"] for part in parts} - {None} == {each["id"] for each in receipts}
    assert not post(api, TEXT)["messages"][0]["created"]  # still a repetition


def test_what_a_legal_hold_keeps_stays(api: Api) -> None:
    message = keep_some(api)
    api.post("/holds", {"flow_id": "support"}, expect=201)

    parts = scanned(api, redact=True)

    assert (sum(part["held"] for part in parts), sum(part["redacted"] for part in parts)) == (5, 0)
    assert api.get(f"/messages/{message}")["content"] == TEXT


def test_a_scan_sees_every_page_of_its_user_alone(api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr(scan, "PAGE", 2)
    api.patch(f"/flows/{api.flow()}", {"secrets": "keep"})
    post(api, messages=[{"role": "user", "content": f"{number} {TEXT}"} for number in range(5)])

    assert sum(part["places"].get("messages", 0) for part in scanned(api)) == 5
    assert sum(part["places"].get("messages", 0) for part in scanned(api, flow_id="support")) == 5
    assert not any(part["scanned"] for part in scanned(api.of_new_user()))


@each_row(
    "cursor",
    ["nothing", "{}", "[1]", '["x"]', '["messages", 3]', f'["chat_messages", "{uuid4()}", Infinity]', "[" * 500],
)
def test_a_cursor_that_is_of_no_scan_is_refused(api: Api, cursor: str) -> None:
    assert api.refused("POST", "/secrets/scan", 422, json={"cursor": cursor})["field"] == "cursor"


def test_the_page_shows_and_changes_what_a_flow_does(api: Api) -> None:
    flow_id = api.get(f"/flows/{api.flow()}")["id"]
    with mounted(api):
        page = Page(api)
        assert "As the installation: Redact" in page.get("/settings/secrets")
        for rule in ("refuse", ""):
            page.post("/settings/secrets", flow=flow_id, rule=rule)
            assert api.get("/flows/support")["secrets"] == (rule or None)


PART = {"dry_run": True, "scanned": 3, "redacted": 0, "held": 0, "job_ids": [], "receipt_id": None}
FOUND = {"place": "messages", "id": str(UUID(int=1)), "flow_id": str(UUID(int=2)), "field": "content", "at": 4}


@pytest.mark.slow  # It starts the command in a process of its own.
def test_the_command_prints_all_parts_of_a_scan() -> None:
    first = {**PART, "kinds": {"jwt": 1}, "places": {"messages": 1}, "found": [{**FOUND, "kind": "jwt"}]}
    last = {**PART, "kinds": {}, "places": {}, "found": []}
    parts = [{**first, "next_cursor": '["chats"]'}, {**last, "next_cursor": None}]
    with scripted([http_answer("200 OK", json.dumps(part).encode()) for part in parts]) as server:
        done = run_memorybase("secrets", "scan", "--url", server.url, "--key", "k")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"jwt  messages {UUID(int=1)}  content:4",
        "jwt 1: 1 of 6 rows",
        "nothing was changed; --redact replaces them for good",
    ]
