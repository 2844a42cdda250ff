"""The pages while a part of the stack stands still. These tests have a stack of their own, and each of them ends once
all of its parts answer again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from harness import running
from harness.browser import WIDE, Reader, SignedIn, new_context
from harness.constants import PAGES
from harness.stack import KEY, EmbeddedStack
from harness.waiting import wait_until
from memorybase_client import Client
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.slow  # a browser, and processes that are frozen

Window = Callable[[], Reader]
# The page gives up on a search after six seconds: soon enough for these tests, and late enough for a search by words on
# a busy machine.
FACTOR = 4.0
QUESTION = "/playground?q=which+berth+has+shore+power&flow=harbour"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    own = EmbeddedStack(tmp_path_factory.mktemp("outages"))
    own.values[PAGES] = FACTOR
    with running(own):
        yield own


@pytest.fixture(scope="module")
def harbour(stack: EmbeddedStack) -> str:
    """A memory with 24 ingested messages and a map, once the model is loaded."""
    with Client(stack.url, KEY) as client:
        client.put_flow("harbour", name="Harbour bot")
        base = str(client.create_memory_base(name="Harbour memory", flow_id="harbour", capture="all", threshold=1).id)
        said = [f"Berth {number} has shore power and is free from Friday." for number in range(24)]
        messages = [{"role": "assistant", "content": text} for text in said]
        client.capture_run("harbour", session_id="s", messages=messages)
        client.wait_until_searchable(base)
        client.request_memory_map(base)
        wait_until(lambda: client.get_memory_map(base).state == "ready", 90, "the map")
        client.search_memory_base(base, query="berth")
    return base


@pytest.fixture
def client(stack: EmbeddedStack) -> Iterator[Client]:
    with Client(stack.url, KEY) as opened:
        yield opened


@pytest.fixture(scope="module")
def signed_in(stack: EmbeddedStack, browser: Browser) -> SignedIn:
    return SignedIn(new_context(browser), stack.url, KEY)


@pytest.fixture
def window(signed_in: SignedIn, stack: EmbeddedStack) -> Iterator[Window]:
    """Windows of the stack of this module, whose consoles must be empty at the end."""
    assert stack.away() == []
    with ExitStack() as open_windows:
        opened: list[Reader] = []

        def open_window() -> Reader:
            opened.append(open_windows.enter_context(signed_in.window(width=WIDE, dark=False)))
            return opened[-1]

        yield open_window
        assert [text for each in opened for text in each.console] == []


def test_each_page_names_a_frozen_chroma(window: Window, stack: EmbeddedStack, client: Client, harbour: str) -> None:
    client.capture_run("harbour", session_id="t", messages=[{"role": "user", "content": "Which berth is free?"}])
    opened = window()
    page = opened.page
    with stack.frozen("chroma"):
        opened.open("/")
        problem = page.get_by_role("listitem").filter(has_text="Chroma does not answer")
        expect(problem).to_contain_text("searches by words answer")
        expect(problem).to_contain_text("memorybase up --data-dir")
        expect(page.get_by_role("heading", name="Latest runs")).to_be_visible()
        opened.open("/components")
        expect(page.locator("#alert")).to_contain_text("Chroma does not answer")

        opened.open("/settings/health")
        part = page.get_by_role("listitem").filter(has_text="Chroma")
        expect(part).to_contain_text("Away")
        expect(part).to_contain_text("What stops: Searches by meaning fail")
        expect(part).to_contain_text("since")
        expect(part.get_by_role("button", name="Copy the command")).to_be_visible()
        opened.open(f"/memories/{harbour}")
        page.get_by_role("button", name="Compare now").click()
        expect(page.get_by_role("alert").filter(has_text="Chroma does not answer")).to_be_visible()
    opened.open("/components")
    expect(page.locator("#alert").get_by_text("Chroma does not answer")).to_have_count(0)
    opened.open("/settings/health")
    expect(page.locator("#parts")).to_contain_text("All 5 answer")


@pytest.mark.usefixtures("harbour")
def test_the_playground_names_a_frozen_store_and_offers_a_search_by_words(window: Window, stack: EmbeddedStack) -> None:
    reader = window()
    with stack.frozen("chroma"):
        reader.page.goto(f"{stack.url}/ui{QUESTION}")
        card = reader.page.get_by_role("region", name="Results").get_by_role("alert")
        expect(card).to_contain_text("does not mean that nothing is there")
        expect(card).to_contain_text(re.compile("Chroma is away since .* ago"))
        command = card.locator("code").inner_text()
        opened = window()
        opened.page.goto(f"{stack.url}/ui/settings/health")
        part = opened.page.locator(".part-row", has_text="Chroma")
        expect(part).to_contain_text(re.compile("since .* ago"))
        expect(part.locator("code")).to_have_text(command)
        reader.page.get_by_role("link", name="Search by words instead").click()
        reader.settle()
        expect(reader.page.locator("li.hit").first).to_be_attached()


def test_with_a_frozen_store_the_map_shows_and_a_question_says_why_it_is_not_searched(
    window: Window, stack: EmbeddedStack, harbour: str
) -> None:
    opened = window()
    with stack.frozen("chroma"):
        opened.open(f"/memories/{harbour}?tab=map&question=diesel+pump")
        expect(opened.page.locator("[data-points]")).to_be_visible()
        expect(opened.page.locator(".map-said")).to_contain_text(
            re.compile("A search fails: .*(chroma|vector store)", re.IGNORECASE)
        )


def test_a_job_of_a_frozen_worker_is_cancelled(window: Window, stack: EmbeddedStack, client: Client) -> None:
    client.put_flow("stopped", name="stopped")
    base = str(client.create_memory_base(name="Stopped", flow_id="stopped", threshold=1).id)
    opened = window()
    page = opened.page
    row = page.get_by_role("row", name="waiting room")
    with stack.frozen("worker"):
        client.capture_run("stopped", session_id="waiting room", messages=[{"role": "assistant", "content": "one"}])
        opened.open(f"/jobs?tab=running&memory={base}")
        row.get_by_role("checkbox").check()
        page.get_by_role("button", name="Cancel", exact=True).click()
        expect(page.get_by_role("region", name="Results")).to_contain_text("Its messages wait again")
        expect(page.get_by_text("Nothing runs")).to_be_visible()
    opened.open(f"/jobs?tab=all&state=cancelled&memory={base}")
    expect(row).to_contain_text("Cancelled")
    row.get_by_role("link", name="waiting room").click()
    expect(page).to_have_url(re.compile("/session\\?flow=.*id=waiting"))
