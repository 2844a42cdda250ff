"""A session's page, where messages are edited and deleted, and a run's memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from harness.browser import NARROW, Reader
from harness.waiting import wait_until
from playwright.sync_api import Locator, expect

from memorybase.client import Client

OpenWindow = Callable[..., Reader]


def turn(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def capture(client: Client, flow: str, run: str, *messages: dict[str, Any], session: str = "alice/1 & more") -> None:
    client.call("PUT", f"/flows/{flow}", json={"name": flow})
    body = {"run_id": f"{flow}-{run}", "session_id": session, "messages": list(messages)}
    client.call("POST", f"/flows/{flow}/runs", json=body)


def remember(client: Client, flow: str) -> str:
    """A memory of the flow that has ingested all of its messages."""
    flow_id = client.call("GET", f"/flows/{flow}")["id"]
    base = client.call("POST", "/memories", json={"name": flow, "flow_id": flow_id, "threshold": 1, "capture": "all"})
    client.call("POST", f"/memories/{base['id']}/flush?wait=60", json={})
    return str(base["id"])


def repairs(client: Client, base_id: str) -> list[str]:
    jobs = client.call("GET", f"/memories/{base_id}/jobs")["items"]
    return [job["state"] for job in jobs if job["kind"] == "repair"]


def session_at(flow: str, session: str = "alice/1 & more", **more: str) -> str:
    return f"/session?{urlencode({'flow_id': flow, 'session_id': session, **more})}"


def message(reader: Reader, seq: int) -> Locator:
    return reader.page.get_by_role("article", name=re.compile(f"^Message {seq}, "))


def test_a_session_is_read_edited_and_continued(window: OpenWindow, client: Client) -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://pictures.invalid/lisbon.png"}}
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"month": 10}'}}
    capture(
        client, "edited", "1",
        turn("user", [{"type": "text", "text": "How warm is it in <b>Lisbon</b>?"}, picture], sender_name="Alice"),
        turn("assistant", None, tool_calls=[call]),
        turn("tool", "22 degrees", tool_call_id="c1"),
        turn("assistant", "Mild."),
    )  # fmt: skip
    base_id = remember(client, "edited")
    reader = window()
    page = reader.page
    reader.open(session_at("edited", memory_base_id=base_id))

    expect(message(reader, 1)).to_contain_text("Alice")
    expect(message(reader, 1)).to_contain_text("How warm is it in <b>Lisbon</b>?")
    expect(message(reader, 1)).to_contain_text("Image: https://pictures.invalid/lisbon.png")
    expect(message(reader, 2)).to_contain_text("Tool call: weather")
    expect(message(reader, 3)).to_contain_text("not counted")
    expect(message(reader, 4)).to_contain_text("ingested")
    assert reader.findings() == []

    page.get_by_role("button", name="Edit message 4").click()
    expect(page.get_by_role("dialog")).to_contain_text("A repair job in the flow's memory")
    assert reader.findings() == []
    page.get_by_role("dialog").get_by_label("Text").fill("Warm: 22 degrees.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Message 4 edited. 1 repair job queued.")).to_be_visible()
    expect(message(reader, 4)).to_contain_text("Warm: 22 degrees.")
    expect(message(reader, 4)).to_contain_text("edited")
    expect(message(reader, 4)).not_to_contain_text("repair running")
    expect(page.get_by_text("running to update the knowledge bases")).to_be_hidden()
    wait_until(lambda: repairs(client, base_id) == ["done"], what="the repair")

    page.get_by_role("button", name="Delete message 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(message(reader, 1)).to_have_count(0)

    capture(client, "edited", "2", turn("user", "And in November?"))
    expect(message(reader, 5)).to_contain_text("And in November?")
    expect(message(reader, 5)).to_contain_text("ingested")


def test_regenerations_are_numbered(window: OpenWindow, client: Client) -> None:
    capture(client, "regenerated", "1", turn("user", "A name for a cat?", id="ta-q"))
    for run, name in (("2", "Tom"), ("3", "Minka")):
        capture(client, "regenerated", run, turn("assistant", name, parent_message_id="ta-q"))
    reader = window(width=NARROW, dark=True)
    reader.open(session_at("regenerated"))

    expect(message(reader, 2)).to_contain_text("branch 1 of 2")
    expect(message(reader, 2)).to_contain_text("not on the latest thread")
    expect(message(reader, 3)).to_contain_text("branch 2 of 2")
    expect(message(reader, 3)).to_contain_text("reply to #1")
    expect(message(reader, 3)).not_to_contain_text("not on the latest thread")
    assert reader.findings() == []


def test_a_long_session_is_paged_and_can_be_deleted(window: OpenWindow, client: Client) -> None:
    capture(client, "paged", "1", *(turn("user", f"Line {number}") for number in range(1, 121)), session="long")
    reader = window()
    page = reader.page
    reader.open("/flows/paged/sessions")
    page.get_by_role("link", name="long").click()

    pages = page.get_by_role("navigation", name="Messages").first
    expect(pages).to_contain_text("Latest: 71 to 120 of 120")
    expect(page.get_by_role("article")).to_have_count(50)
    pages.get_by_role("button", name="Earlier").click()
    expect(pages).to_contain_text("21 to 70 of 120")
    pages.get_by_role("button", name="First").click()
    expect(message(reader, 1)).to_contain_text("Line 1")
    capture(client, "paged", "2", turn("user", "Line 121"), session="long")
    expect(pages).to_contain_text("1 to 50 of 121")
    pages.get_by_role("button", name="Latest").click()
    expect(message(reader, 121)).to_contain_text("Line 121")

    page.get_by_role("button", name="Delete session").click()
    delete = page.get_by_role("dialog").get_by_role("button", name="Delete")
    expect(delete).to_be_disabled()
    page.get_by_label("Type long to confirm").fill("long")
    delete.click()
    expect(page.get_by_text("Session deleted")).to_be_visible()
    expect(page.get_by_text("121 messages, 2 runs")).to_be_visible()
    page.get_by_role("link", name="Flow sessions").last.click()
    expect(page.get_by_text("No sessions yet")).to_be_visible()


def test_a_run_shows_what_its_models_were_given(window: OpenWindow, client: Client) -> None:
    capture(
        client,
        "given",
        "1",
        turn("user", "I hike in Madeira."),
        turn("assistant", "Its levadas are good hikes."),
    )
    capture(client, "given", "2", turn("user", "Where was it?"))
    reader = window()
    page = reader.page
    reader.open(session_at("given"))
    message(reader, 3).get_by_role("link", name="Run").click()
    expect(page.get_by_text("No memory recorded for this run")).to_be_visible()
    expect(page.get_by_text('"run_id": "given-2"')).to_be_visible()
    expect(page.get_by_text("Where was it?")).to_be_visible()
    assert reader.findings() == []

    body = {"flow_id": "given", "session_id": "alice/1 & more", "run_id": "given-2", "node_id": "planner"}
    client.call("POST", "/context", json={**body, "token_budget": 1_000})
    node = page.locator("details").filter(has=page.get_by_role("heading", name="Node planner"))
    expect(node).to_be_visible()
    expect(page.get_by_text("No memory recorded for this run")).to_be_hidden()
    node.get_by_role("heading", name="Node planner").click()
    expect(node).to_contain_text("2 messages of the log")
    expect(node).to_contain_text("1 from this run")
    node.get_by_text("Its levadas are good hikes.").first.click()
    expect(node.locator(".message-text", has_text="Its levadas are good hikes.")).to_be_visible()

    narrow = window(width=NARROW, dark=True)
    narrow.open("/flows/given/runs")
    narrow.page.get_by_role("link", name="given-2").click()
    expect(narrow.page.get_by_text("1,000 tokens used")).to_be_visible()
    assert narrow.findings() == []
