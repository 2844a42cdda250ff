"""A session in a browser: bubbles, branches, finding, jumping, ten thousand messages, and correcting one."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from harness.browser import Reader
from harness.waiting import wait_until
from memorybase_client import Client
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]


def said(role: str, content: str | None, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


@pytest.fixture
def flow(client: Client) -> str:
    name = f"harbour-{uuid4()}"
    client.put_flow(name, name="Harbour")
    return name


def address(flow: str, session: str = "goran", **more: object) -> str:
    return f"/session?{urlencode({'flow': flow, 'id': session, **more})}"


def texts(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("article .bubble").all_text_contents()]


def about(page: Page, seq: int) -> None:
    page.get_by_role("button", name=f"About message {seq}", exact=True).click()
    expect(page.locator("#about h3").first).to_be_visible()


def test_a_session_reads_as_a_conversation(window: Window, client: Client, flow: str) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look_up_berth", "arguments": '{"power": true}'}}
    client.capture_run(
        flow,
        session_id="goran",
        run_id="first",
        messages=[
            said("user", "Which berth?", sender_name="Goran", id="q", timestamp="2026-03-02T10:00:00Z"),
            said("assistant", None, tool_calls=[call], timestamp="2026-03-02T10:00:01Z"),
            said("tool", "berth 12", tool_call_id="call_1", timestamp="2026-03-02T10:00:02Z"),
            said("assistant", "Berth 12.", id="a1", timestamp="2026-03-02T10:00:03Z"),
        ],
    )
    client.capture_run(
        flow,
        session_id="goran",
        run_id="again",
        messages=[
            said("assistant", "Berths 12 and 36.", id="a2", parent_message_id="q", timestamp="2026-03-05T10:00:00Z")
        ],
    )
    reader = window()
    page = reader.page
    reader.open(address(flow))
    assert texts(page) == ["Which berth?", "Berths 12 and 36."]
    expect(page.locator(".day")).to_have_count(2)
    expect(page.get_by_role("article", name="Goran, message 1")).to_be_visible()
    page.get_by_role("link", name="Previous branch").click()
    expect(page.get_by_text("answer 1 of 2")).to_be_visible()
    expect(page.get_by_role("article", name="Assistant, message 4")).to_be_visible()
    expect(page.get_by_text("berth 12", exact=True)).to_be_hidden()  # of a tool: folded
    page.locator("details.folded", has_text="result").locator("summary").click()
    expect(page.get_by_text("berth 12", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_text("answer 2 of 2")).to_be_visible()
    page.get_by_role("article", name="message 1").get_by_role("link", name="run").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Which berth?")


def test_find_filter_and_a_date_are_in_the_address(window: Window, client: Client, flow: str) -> None:
    for day in range(1, 10):
        client.capture_run(
            flow,
            session_id="goran",
            messages=[
                said("user", f"Question {day} about a mast", timestamp=f"2026-03-0{day}T10:00:00Z"),
                said("assistant", f"Answer {day}", timestamp=f"2026-03-0{day}T10:00:01Z"),
            ],
        )
    reader = window()
    page = reader.page
    reader.open(address(flow))
    page.locator("body").press("/")
    page.keyboard.type("MAST")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="9 of 9")).to_be_visible()
    expect(page.locator("mark")).to_have_count(9)
    page.get_by_role("link", name="Earlier match").click()
    expect(page.get_by_role("status").filter(has_text="8 of 9")).to_be_visible()
    expect(page.locator("article.here")).to_contain_text("Question 8")
    page.reload()
    expect(page.locator("article.here")).to_contain_text("Question 8")
    page.get_by_role("link", name="Clear").click()
    page.get_by_role("navigation", name="Who").get_by_role("link", name="Assistant").click()
    expect(page.locator("article")).to_have_count(9)
    page.get_by_role("navigation", name="Who").get_by_role("link", name="All").click()
    page.get_by_label("Jump to the date").fill("2026-03-04")
    page.get_by_role("button", name="Jump", exact=True).click()
    expect(page.locator("article.here")).to_contain_text("Question 4")
    reader.open(address(flow, find="nowhere"))
    expect(page.get_by_text("Nothing found")).to_be_visible()


def test_a_message_is_explained_edited_and_deleted(window: Window, client: Client, flow: str) -> None:
    base = client.create_memory_base(name=f"Support {uuid4()}", flow_id=flow, threshold=1, capture="all").id
    client.capture_run(
        flow, session_id="goran", messages=[said("user", "Is it free?"), said("assistant", "Berth 12 is.")]
    )
    client.wait_until_searchable(base)
    client.build_context(flow_id=flow, session_id="goran", run_id="later", node_id="answer", token_budget=500)
    client.capture_run(flow, session_id="bea", run_id="later", messages=[said("user", "Hi")])
    reader = window()
    page = reader.page
    reader.open(address(flow))
    expect(page.get_by_role("article", name="message 2")).to_contain_text("ingested")
    about(page, 2)
    card = page.locator("#about")
    expect(card).to_contain_text("Ingested after")
    expect(card).to_contain_text("1 chunk")
    expect(card).to_contain_text("Used in 1 run")
    expect(card.get_by_role("link", name="later")).to_have_attribute("href", re.compile("run.*id="))
    assert reader.findings() == []
    card.get_by_text("Edit", exact=True).click()
    card.get_by_label("Text").fill("Berth 13 is.\nSince Friday.")
    card.get_by_role("button", name="Save").click()
    expect(page.locator("article.here")).to_contain_text("Berth 13 is.\nSince Friday.")
    expect(page.locator("#notices")).to_contain_text("Saved")
    assert [message.content for message in client.list_messages(flow_id=flow).page().items][
        1
    ] == "Berth 13 is.\nSince Friday."
    about(page, 2)
    card.get_by_role("button", name="Delete").click()
    expect(page.locator("#notices")).to_contain_text("1 deleted.")
    expect(page.locator("article")).to_have_count(1)
    expect(page.get_by_text("earlier branch")).to_have_count(0)
    page.locator("body").press("Control+z")
    expect(page.locator("#notices")).to_contain_text("1 undone.")
    expect(page.locator("article.here")).to_contain_text("Berth 13 is.")
    expect(page.locator("article.here .state")).to_have_text("ingested")  # without loading the page again


def test_a_muted_message_says_so_and_is_unmuted_by_undo(window: Window, client: Client, flow: str) -> None:
    client.capture_run(
        flow, session_id="goran", messages=[said("user", "Is it free?"), said("assistant", "Berth 12 is.")]
    )
    reader = window()
    page = reader.page
    reader.open(address(flow))
    about(page, 2)
    page.locator("#about").get_by_role("button", name="Mute").click()
    expect(page.locator("article.here")).to_contain_text("muted")
    about(page, 2)
    expect(page.locator("#about")).to_contain_text("kept, and never recalled")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#notices")).to_contain_text("1 undone.")
    expect(page.locator("article.here")).not_to_contain_text("muted")
    expect(page.locator("article.here")).not_to_contain_text("edited")
    about(page, 2)
    page.locator("#about").get_by_role("button", name="Pin").click()
    expect(page.locator("article.here")).to_contain_text("pinned")


def test_a_session_is_renamed_deleted_and_kept(window: Window, client: Client, flow: str) -> None:
    client.capture_run(flow, session_id="goran", messages=[said("user", "Hello", timestamp="2025-06-01T10:00:00Z")])
    reader = window()
    page = reader.page
    reader.open(address(flow))
    expect(page).to_have_title(re.compile("Hello"))
    expect(page.locator(".headline")).to_contain_text(re.compile("1 Jun 2025 · captured .* ago"))
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Rename…").click()
    page.get_by_label("New id").fill("goran & co")
    page.get_by_role("button", name="Rename", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello")
    expect(page.locator(".headline .id code")).to_have_text("goran & co")
    expect(page.get_by_role("button", name="Copy the id goran & co")).to_be_visible()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#notices")).to_contain_text("1 session will be deleted in 30 s.")
    expect(page.locator("tbody tr")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#notices")).to_contain_text("1 session kept.")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_key_that_may_only_read_sees_no_actions(window: Window, client: Client, flow: str, read_key: str) -> None:
    client.capture_run(flow, session_id="goran", messages=[said("user", "Hello")])
    reader = window(key=read_key)
    page = reader.page
    reader.open(address(flow))
    expect(page.get_by_role("article", name="message 1")).to_be_visible()
    expect(page.get_by_role("button", name="More actions")).to_have_count(0)
    about(page, 1)
    expect(page.locator("#about").get_by_text("Delete")).to_have_count(0)


def test_all_of_a_long_session_is_reached_in_both_directions(window: Window, client: Client, flow: str) -> None:
    for run in range(5):
        client.capture_run(
            flow,
            session_id="goran",
            messages=[said("user" if n % 2 else "assistant", f"text {run * 100 + n + 1}") for n in range(100)],
        )
    reader = window()
    page = reader.page
    reader.open(address(flow))
    expect(page.locator("article").last).to_be_in_viewport()
    expect(page.locator("article").last).to_contain_text("text 500")
    scroll_until_all_is_there(page, "up", "scrollTo(0, 0)")
    expect(page.locator("article")).to_have_count(500)
    assert [int(text.split()[1]) for text in texts(page)] == list(range(1, 501))

    reader.open(address(flow, at=150))
    expect(page.locator("article.here")).to_be_in_viewport()
    scroll_until_all_is_there(page, "down", "scrollTo(0, document.documentElement.scrollHeight)")
    expect(page.locator("article").last).to_contain_text("text 500")


def scroll_until_all_is_there(page: Page, way: str, script: str) -> None:
    def is_there() -> bool:
        page.evaluate(script)
        return page.locator(f".reach.{way}").count() == 0

    wait_until(is_there, 60, f"the {way} end")
