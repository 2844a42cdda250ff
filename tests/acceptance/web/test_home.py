"""Home in a browser: what needs a person with its fix beside it, the same on every page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import closing
from uuid import UUID, uuid4

import pytest
from harness.browser import Reader
from harness.chroma import delete_collections_of
from harness.stack import EmbeddedStack
from memorybase_client import Client
from playwright.sync_api import expect

from memorybase.core.vectors.chroma import ChromaStore

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]
MESSAGES = [
    {"role": "user", "content": "Which berth has shore power?"},
    {"role": "assistant", "content": "Berth 12 has shore power."},
]


@pytest.fixture
def name() -> str:
    return f"harbour-{str(uuid4())[:8]}"


def shown(name: str, words: str) -> re.Pattern[str]:
    """The name of a memory's badge: the words are for those who do not see its icon."""
    return re.compile(rf"^{name}\s?: {words}$")


def new_memory(client: Client, name: str, **more: object) -> UUID:
    client.put_flow(name, name=name)
    return client.create_memory_base(name=name, flow_id=name, capture="all", **more).id


def test_messages_that_wait_for_a_person_are_synced_from_home(window: Window, client: Client, name: str) -> None:
    memory = new_memory(client, name, auto_capture=False)
    client.capture_run(name, session_id="goran", messages=MESSAGES)
    opened = window()
    opened.open("/")
    page = opened.page
    problem = page.get_by_role("listitem").filter(has_text=f"{name} is not being filled")
    expect(problem).to_contain_text("Auto-capture is off; 2 messages in 1 session wait.")
    expect(page).to_have_title(re.compile(r"^\(\d+\) Home"))
    expect(page.get_by_role("navigation", name="Main").locator(".count")).to_be_visible()
    expect(page.get_by_role("link", name=shown(name, "Waiting"))).to_be_visible()
    assert opened.findings() == []
    # The same on a page that knows nothing of memories.
    opened.open("/components")
    expect(page).to_have_title(re.compile(r"^\(\d+\) Components"))
    page.get_by_role("link", name="See what to do").click()
    problem.get_by_role("button", name=f"Ingest now: 1 session: {name}").click()
    expect(page.get_by_text("1 session being ingested.")).to_be_visible()
    expect(problem).to_have_count(0)
    expect(page.get_by_role("link", name="Which berth has shore power?").first).to_be_visible()
    client.delete_memory_base(memory)


def test_lost_vectors_are_rebuilt(window: Window, client: Client, web_stack: EmbeddedStack, name: str) -> None:
    memory = new_memory(client, name, threshold=2)
    client.capture_run(name, session_id="goran", messages=MESSAGES)
    client.wait_until_searchable(memory)
    chroma = json.loads((web_stack.data / "run" / "stack.json").read_text())["chroma_url"]
    with closing(ChromaStore(chroma, timeout_seconds=30)) as store:
        delete_collections_of(store, str(memory))
    client.check_mismatch(memory)
    opened = window()
    opened.open("/")
    page = opened.page
    problem = page.get_by_role("listitem").filter(has_text=f"{name} lost its vectors")
    expect(problem).to_contain_text("since")
    assert client.get_memory_base(memory).mismatch
    expect(page.get_by_role("link", name=shown(name, "Lost its vectors"))).to_be_visible()
    problem.get_by_role("button", name=f"Rebuild: {name}").click()
    expect(page.get_by_text("The rebuild has started.", exact=False)).to_be_visible()
    expect(problem).to_have_count(0)
    expect(page.get_by_role("link", name=shown(name, "Ingested"))).to_be_visible()
    client.delete_memory_base(memory)
