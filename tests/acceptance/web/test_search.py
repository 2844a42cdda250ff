"""Searching on the page: results, scores, no results and failures."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from harness.browser import NARROW, Reader
from harness.chroma import delete_collections_of
from harness.stack import KEY, EmbeddedStack
from playwright.sync_api import expect

from memorybase.client import Client
from memorybase.vectors.chroma import ChromaStore

ORDER = [
    ("user", "My order has not come yet, when will it arrive?"),
    ("assistant", "It left the warehouse in Rotterdam on Monday."),
    ("user", "Please send it to my office in Ghent."),
    ("assistant", "The delivery goes to the Korenmarkt in Ghent now."),
]
PENDING = "Has the parcel reached Ghent?"
LAMP = [("user", "Can I return the lamp?"), ("assistant", "Yes, within thirty days.")]


@pytest.fixture(scope="module")
def base(web_stack: EmbeddedStack) -> str:
    """A memory of two ingested sessions and one pending message."""
    with Client(web_stack.url, KEY) as client:
        client.put_flow("searched")
        body = {"name": "Searched", "flow_id": "searched", "threshold": 100, "capture": "all"}
        base: str = client.call("POST", "/memories", json=body)["id"]
        capture(client, "order", ORDER)
        capture(client, "lamp", LAMP)
        client.settle(base, lambda _: None)
        capture(client, "order", [("user", PENDING)])
        return base


def capture(client: Client, session: str, turns: list[tuple[str, str]]) -> None:
    messages = [{"role": role, "content": text} for role, text in turns]
    client.post_run("searched", {"session_id": session, "messages": messages})


@contextmanager
def frozen(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def test_a_question_finds_messages_and_explains_their_scores(window: Callable[..., Reader], base: str) -> None:
    reader = window()
    page = reader.page
    reader.open(f"/memories/{base}/search")
    page.get_by_label("Question").fill("Where does the delivery to Ghent go?")
    page.get_by_label("Question").press("Enter")

    hits = page.get_by_role("list", name="Results").get_by_role("listitem")
    delivery = hits.filter(has=page.locator(".found", has_text="Korenmarkt"))
    expect(delivery.get_by_role("heading")).to_have_text(re.compile("assistant"))
    expect(delivery.locator(".turn")).to_have_text([f"user: {ORDER[2][1]}", ORDER[3][1], f"user: {PENDING}"])
    session = re.compile(rf"/ui/session\?flow_id=.+&session_id=order&memory_base_id={base}")
    expect(delivery.get_by_role("link", name="order")).to_have_attribute("href", session)
    expect(delivery.get_by_role("img")).to_have_accessible_name(re.compile(r"Meaning \+.+, Words \+.+, Context \+"))
    expect(hits.filter(has_text="not ingested").locator(".found")).to_have_text(PENDING)
    delivery.get_by_text("Score details").click()
    expect(delivery.get_by_role("row", name="dense")).to_contain_text("+")
    assert reader.findings() == []

    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Session").fill("lamp")
    page.get_by_label("Session").press("Enter")
    expect(hits.locator(".found")).to_have_count(len(LAMP))
    address = page.url
    page.go_back()
    expect(hits.locator(".found")).to_have_count(len(ORDER) + len(LAMP) + 1)

    narrow = window(width=NARROW, dark=True)
    narrow.open(address.partition("/ui")[2])
    expect(narrow.page.get_by_label("Session")).to_have_value("lamp")
    expect(narrow.page.locator(".found")).to_have_count(len(LAMP))
    assert narrow.findings() == []


def test_no_results_have_suggestions_and_an_invalid_search_its_error(window: Callable[..., Reader], base: str) -> None:
    reader = window()
    reader.open(f"/memories/{base}/search?q=xylophone&mode=keyword")
    expect(reader.page.get_by_text("No results found")).to_be_visible()
    expect(reader.page.get_by_text("hybrid mode, which also finds")).to_be_visible()
    reader.open(f"/memories/{base}/search?q=lamp&min_score=5")
    expect(reader.page.get_by_role("alert")).to_contain_text("min_score must be from 0 to 1")


def test_an_outage_is_shown_and_keyword_search_still_works(
    window: Callable[..., Reader], base: str, web_stack: EmbeddedStack
) -> None:
    reader = window()
    alert = reader.page.get_by_role("alert")
    found = reader.page.locator(".found", has_text=LAMP[0][1])
    with frozen(web_stack.child("chroma")):
        reader.open(f"/memories/{base}/search?q=the lamp&mode=dense")
        expect(alert).to_contain_text("Search unavailable", timeout=20_000)  # the page waits for the store
        expect(alert).to_contain_text("The vector store is unavailable.")
        expect(reader.page.get_by_text("No results found")).to_have_count(0)
        alert.get_by_role("button", name="Use keyword search").click()
        expect(found).to_be_visible()
        expect(reader.page).to_have_url(re.compile("mode=keyword"))
    reader.open(f"/memories/{base}/search?q=the lamp&mode=dense")
    expect(found).to_be_visible()


def test_a_missing_collection_links_to_regenerate(
    window: Callable[..., Reader], base: str, web_stack: EmbeddedStack
) -> None:
    """Runs last: nothing regenerates the memory afterwards."""
    url = json.loads((web_stack.data / "run" / "stack.json").read_text())["chroma_url"]
    with closing(ChromaStore(url, timeout_seconds=10)) as store:
        delete_collections_of(store, base)
    reader = window()
    reader.open(f"/memories/{base}/search?q=the lamp")
    expect(reader.page.get_by_role("alert")).to_contain_text("missing from the vector store")
    expect(reader.page.get_by_role("link", name="Regenerate")).to_have_attribute("href", f"/ui/memories/{base}")
