"""What is erased leaves the files of the embedded stack: its databases, their logs, Chroma's indexes, Redis's file."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from harness import running
from harness.stack import KEY, EmbeddedStack
from harness.waiting import wait_until

pytestmark = pytest.mark.slow

TEXT, PERSON = "zqxwordzqx", "zqxpersonzqx"
SECONDS = 300.0  # a compaction waits for a minute in which it does not repeat itself


@pytest.fixture(params=["stack", "one process"])
def stack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedStack]:
    stack = EmbeddedStack(tmp_path)
    stack.one_process = request.param == "one process"
    with running(stack):
        yield stack


@pytest.fixture
def api(stack: EmbeddedStack) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=f"{stack.url}/v1", headers=headers, trust_env=False, timeout=60) as client:
        yield client


def call(api: httpx.Client, method: str, path: str, **options: Any) -> Any:
    answer = api.request(method, path, **options).raise_for_status()
    return answer.json() if answer.headers.get("content-type") == "application/json" else answer.text


def say(api: httpx.Client, flow: str, person: str, text: str, number: int) -> None:
    messages = [
        {"id": f"{flow}-{person}-{number}", "role": "user", "content": f"Where do I keep {text} number {number}?"},
        {"role": "assistant", "content": f"You keep {text} number {number} in a box, {person}."},
    ]
    run = {"session_id": f"{person}-{number}", "end_user_id": person, "messages": messages}
    call(api, "POST", f"/flows/{flow}/runs", json=run)


def new_flow(api: httpx.Client, flow: str) -> str:
    """A flow of two people, with a memory base."""
    call(api, "PUT", f"/flows/{flow}", json={"name": flow})
    new = {"name": flow, "flow_id": flow, "threshold": 1, "capture": "all"}
    base: str = call(api, "POST", "/memories", json=new)["id"]
    for number in range(8):
        say(api, flow, PERSON, TEXT, number)
        say(api, flow, "ben", "apples", number)
    wait_until(lambda: call(api, "GET", f"/memories/{base}")["total_processed"] == 32, SECONDS)
    return base


def use(api: httpx.Client, flow: str) -> None:
    """What copies texts and ids to other places: searches, recall, edits, a deletion, a chat, an export."""
    assert TEXT in str(call(api, "POST", "/search", json={"query": TEXT, "flow_id": flow}))
    asked = {"flow_id": flow, "session_id": f"{PERSON}-0", "query": f"Where is {TEXT}?", "token_budget": 2_000}
    assert TEXT in str(call(api, "POST", "/context", json=asked))
    call(api, "PATCH", f"/messages/{flow}-{PERSON}-1", json={"content": f"{TEXT} is corrected"})
    call(api, "DELETE", f"/messages/{flow}-{PERSON}-2")
    call(
        api,
        "PUT",
        f"/flows/{flow}/chat-memories/node",
        json={"name": "n", "chat_id": "c", "user_message_content": "{{ start.text }}"},
    )
    said = [{"role": "user", "content": f"{TEXT} in a chat"}]
    chat = {"chat_id": f"{PERSON}-chat", "end_user_id": PERSON, "messages": said}
    call(api, "POST", f"/flows/{flow}/chat-memories/node/messages", json=chat)
    assert TEXT in call(api, "GET", "/export", params={"end_user_id": PERSON})


def traces(data: Path) -> dict[str, int]:
    """How often each file has the words, except what the audit log has of ids."""
    found: Counter[str] = Counter()
    for path in data.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            for word in (TEXT, PERSON):
                found[f"{path.relative_to(data)}: {word}"] += content.count(word.encode())
    with closing(sqlite3.connect(data / "memorybase.db")) as db:
        entries = db.execute("SELECT objects FROM audit_entries").fetchall()
    found[f"memorybase.db: {PERSON}"] -= sum(str(entry).count(PERSON) for entry in entries)
    return dict(+found)


def test_nothing_of_an_erased_person_or_flow_stays(stack: EmbeddedStack, api: httpx.Client) -> None:
    """But ids in the audit log, which says who was erased."""
    base = new_flow(api, "kept")
    new_flow(api, "deleted")
    use(api, "kept")
    assert {name.partition("/")[0].partition(":")[0] for name in traces(stack.data)} >= {"memorybase.db", "chroma"}
    call(api, "DELETE", "/flows/deleted")
    call(api, "DELETE", f"/end-users/{PERSON}")
    wait_until(lambda: traces(stack.data) == {}, SECONDS, "nothing is left")

    assert call(api, "GET", f"/memories/{base}/mismatch")["state"] == "ok"
    found = call(api, "POST", "/search", json={"query": "apples", "flow_id": "kept", "top_k": 20})["results"]
    assert len(found) == 16
    say(api, "kept", "ben", "pears", 9)
    wait_until(lambda: call(api, "GET", f"/memories/{base}")["total_processed"] == 18, SECONDS)
