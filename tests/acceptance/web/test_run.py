"""A run in a browser: its question, what each node was given and how well it fits, and when it was ingested."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from harness.browser import Reader
from memorybase_client import Client
from playwright.sync_api import expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]

BERTH = "Berth 12 has shore power and it is free from Friday."
QUESTION = "Which berth has shore power?"
NONSENSE = "Who won the chess match in 1972?"


def said(role: str, content: str | None, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


@pytest.fixture
def flow(client: Client) -> str:
    name = f"harbour-{uuid4()}"
    client.put_flow(name, name="Harbour")
    return name


def address(flow: str, run_id: str, **more: str) -> str:
    return f"/run?{urlencode({'flow': flow, 'id': run_id, **more})}"


def give(client: Client, flow: str, run_id: str, *, node: str = "answer", query: str = QUESTION) -> None:
    client.build_context(
        flow_id=flow,
        session_id="goran",
        run_id=run_id,
        node_id=node,
        query=query,
        token_budget=600,
        recall={"scope": "flow"},
    )


def test_a_run_shows_what_was_asked_given_and_answered(window: Window, client: Client, flow: str) -> None:
    base = client.create_memory_base(name=f"Support {uuid4()}", flow_id=flow, threshold=2, capture="all").id
    client.capture_run(flow, session_id="bea", messages=[said("user", "I need power"), said("assistant", BERTH)])
    client.wait_until_searchable(base)
    give(client, flow, "run-2")
    give(client, flow, "run-2", node="route", query=NONSENSE)
    call = {"id": "call_1", "type": "function", "function": {"name": "look_up_berth", "arguments": '{"power": true}'}}
    client.capture_run(
        flow, session_id="goran", run_id="run-1", messages=[said("user", "Hello"), said("assistant", "Hi")]
    )
    client.capture_run(
        flow,
        session_id="goran",
        run_id="run-2",
        messages=[
            said("user", QUESTION),
            said("assistant", None, tool_calls=[call]),
            said("tool", "12", tool_call_id="call_1"),
            said("assistant", "Berth 12."),
        ],
    )
    client.capture_run(flow, session_id="goran", run_id="run-3", messages=[said("user", "Thanks")])
    client.wait_until_searchable(base)

    reader = window()
    page = reader.page
    reader.open(address(flow, "run-2"))
    expect(page.get_by_role("heading", level=1)).to_have_text(QUESTION)
    expect(page).to_have_title(re.compile(re.escape(QUESTION)))
    answer = page.get_by_role("region", name="Node answer")
    expect(answer).to_contain_text("memories fit the question")
    expect(answer).to_contain_text(f"“{QUESTION}”")
    expect(answer.get_by_role("link", name=re.compile("Berth 12 has shore power"))).to_have_attribute(
        "href", re.compile("session.*id=bea.*at=2")
    )
    route = page.get_by_role("region", name="Node route")
    expect(route.get_by_text(re.compile("memories do not fit|no memories recalled"))).to_be_visible()
    limit = route.get_by_role("link", name=re.compile("Set a limit|Look why"))
    expect(limit).to_have_attribute("href", re.compile("playground.*q=Who"))

    folded = page.locator("details.folded", has_text="look_up_berth")
    expect(folded.get_by_text('"power": true')).to_be_hidden()
    folded.locator("summary").click()
    expect(folded.get_by_text('"power": true')).to_be_visible()

    # What the model read stands there once, each memory with its day.
    expect(answer.get_by_role("heading", name="What the model read")).to_be_visible()
    expect(answer.get_by_text("Memories of earlier conversations")).to_be_visible()
    expect(answer.get_by_text(BERTH)).to_have_count(1)
    expect(answer.get_by_role("listitem").filter(has_text=BERTH).last.locator("time")).to_be_visible()

    # The steps are there in order, and the run before and after is one key away.
    expect(page.locator("#run-state")).to_contain_text("Ingested after")
    steps = page.get_by_role("table", name=re.compile("Steps in")).get_by_role("rowheader").all_inner_texts()
    assert steps[0] == "Captured"
    assert steps[-4:] == ["In the queue", "Embedded", "Written, read back", "Ingested"]
    expect(page.get_by_text(re.compile(r"Ingested [\d.]+ (ms|s|min) after the capture"))).to_be_visible()
    reader.open(f"/conversations?tab=runs&flow={flow}")
    expect(page.get_by_role("row").filter(has_text=QUESTION)).to_contain_text(
        re.compile(r"Ingested after [\d.]+ (ms|s)")
    )
    expect(page.get_by_text("Searchable in")).to_have_count(0)  # which reads as a promise for the future
    reader.open(address(flow, "run-2"))
    page.locator("body").press("j")
    expect(page.get_by_role("heading", level=1)).to_have_text("Thanks")
    page.locator("body").press("k")
    expect(page.get_by_role("heading", level=1)).to_have_text(QUESTION)
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text(QUESTION)


def test_a_long_message_that_a_model_read_opens_in_place(window: Window, client: Client, flow: str) -> None:
    said_before = "Berth by berth: " + "the harbour has power. " * 60 + "That is all."
    client.capture_run(flow, session_id="goran", run_id="run-1", messages=[said("user", said_before)])
    give(client, flow, "run-2")
    reader = window()
    reader.open(address(flow, "run-2"))
    node = reader.page.get_by_role("region", name="Node answer")
    expect(node.get_by_text("Berth by berth:")).to_have_count(1)
    expect(node.get_by_text("That is all.")).to_have_count(0)
    node.get_by_text("The whole text").click()
    expect(node.get_by_text("That is all.")).to_be_visible()


def test_a_run_waits_in_a_memory_that_is_off(window: Window, client: Client, flow: str) -> None:
    name = f"Support {uuid4()}"
    client.create_memory_base(name=name, flow_id=flow, threshold=50, capture="all", auto_capture=False)
    client.capture_run(flow, session_id="goran", run_id="run-1", messages=[said("user", QUESTION)])
    reader = window()
    reader.open(address(flow, "run-1"))
    expect(reader.page.get_by_text("This memory is off and ingests only when asked")).to_be_visible()
    expect(reader.page.get_by_text("Ingestion starts with")).to_have_count(0)


def test_a_waiting_run_becomes_ingested_while_the_page_is_open(window: Window, client: Client, flow: str) -> None:
    client.create_memory_base(name=f"Support {uuid4()}", flow_id=flow, threshold=50, capture="all")
    client.capture_run(flow, session_id="goran", run_id="run-1", messages=[said("user", QUESTION)])
    reader = window()
    page = reader.page
    reader.open(address(flow, "run-1"))
    expect(page.locator("#run-state")).to_have_text("Waiting")
    expect(
        page.get_by_text("1 of 50 messages. Ingestion starts with 50, or 10 min after the last one. Searches find")
    ).to_be_visible()
    expect(page.locator(".columns > .stack")).to_have_count(1)  # no model's memory was recorded: there is no panel
    page.get_by_role("button", name="Ingest now").click()
    expect(page.locator("#notices")).to_contain_text("Ingestion has started.")
    expect(page.locator("#run-state")).to_contain_text("Ingested after")


def test_a_run_that_is_not_captured_yet_shows_what_is_recorded(window: Window, client: Client, flow: str) -> None:
    give(client, flow, "later")
    reader = window()
    reader.open(address(flow, "later"))
    expect(reader.page.get_by_role("heading", level=1)).to_have_text("Run later")
    expect(reader.page.get_by_text("The run is not captured yet")).to_be_visible()
    expect(reader.page.get_by_role("region", name="Node answer")).to_be_visible()


def test_an_unknown_run_says_so(window: Window, flow: str) -> None:
    reader = window()
    answer = reader.page.goto(f"{reader.url}/ui{address(flow, 'none-such')}")
    assert answer is not None
    assert answer.status == 404
    expect(reader.page.get_by_role("alert")).to_be_visible()
    reader.console.clear()  # the browser reports the status
