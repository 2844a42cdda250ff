"""The page of one memory, and making one: figures that move by themselves, Sync Now, a broken store, deleting it."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest
from harness.browser import NARROW, Reader
from harness.stack import EmbeddedStack
from playwright.sync_api import Locator, Page, expect

from memorybase.client import Client
from memorybase.vectors.chroma import ChromaStore

Window = Callable[..., Reader]


@dataclass(frozen=True)
class Made:
    """A memory of this test's own, and the API that feeds it."""

    client: Client
    id: str
    name: str
    flow: str

    @property
    def path(self) -> str:
        return f"/memories/{self.id}"

    def say(self, session_id: str, *answers: str) -> None:
        said = [{"role": "assistant", "content": answer} for answer in answers]
        self.client.call("POST", f"/flows/{self.flow}/runs", json={"session_id": session_id, "messages": said})

    def now(self) -> dict[str, object]:
        found: dict[str, object] = self.client.get(self.path)
        return found


@pytest.fixture
def made(client: Client) -> Made:
    name = f"memory-{uuid4().hex[:8]}"
    client.call("PUT", f"/flows/{name}", json={"name": f"Flow of {name}"})
    base = client.call("POST", "/memories", json={"name": name, "flow_id": name, "auto_capture": False})
    return Made(client, base["id"], name, name)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """The process does nothing meanwhile, and is not dead."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def figure(page: Page, name: str) -> Locator:
    return page.get_by_label("Figures").locator(".stat").filter(has_text=re.compile(f"^{name}")).locator(".value")


def row(page: Page, table: str, of: str) -> Locator:
    return page.get_by_role("table", name=table).get_by_role("row").filter(has_text=of)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def confirm(page: Page, title: str, action: str, *, typed: str | None = None) -> None:
    question = page.get_by_role("dialog", name=title)
    yes = question.get_by_role("button", name=action)
    if typed is not None:
        expect(yes).to_be_disabled()
        question.get_by_role("textbox").fill(typed)
    yes.click()


def test_a_memory_is_made_counts_by_itself_and_is_deleted(window: Window, client: Client) -> None:
    page = window().page
    name = f"made-{uuid4().hex[:8]}"
    press(page, "New memory")
    asked = page.get_by_role("dialog", name="New memory")
    asked.get_by_label("Name").fill(name)
    asked.get_by_label("Flow", exact=True).click()
    page.get_by_role("option", name="A new flow").click()
    asked.get_by_label("Id of the new flow").fill(name)
    asked.get_by_label("Ingest after so many messages").fill("7")
    asked.get_by_role("button", name="Create").click()
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    expect(page.get_by_text("No runs yet")).to_be_visible()
    expect(page.locator("pre")).to_contain_text(f"/v1/flows/{name}/runs")

    memory = Made(client, page.url.rpartition("/")[2], name, name)
    memory.say("s-1", "Our office is in Porto.")
    expect(figure(page, "Pending")).to_have_text("1 / 7")
    expect(figure(page, "Sessions")).to_have_text("1")
    expect(row(page, "Sessions", "s-1")).to_contain_text("pending")
    expect(page.get_by_text("No runs yet")).to_be_hidden()

    page.get_by_role("switch", name="Auto-capture").click()
    expect(page.get_by_text("Off: runs are stored")).to_be_visible()
    assert memory.now()["auto_capture"] is False

    press(page, "Delete")
    confirm(page, f"Delete {name}?", "Delete", typed=name)
    expect(page.get_by_role("heading", name="Memories", level=1)).to_be_visible()
    expect(page.get_by_role("link", name=name)).to_have_count(0)
    assert name not in {base["name"] for base in client.pages("/memories")}


def test_sync_now_shows_the_progress_of_its_jobs_and_what_blocks_it(
    window: Window, made: Made, web_stack: EmbeddedStack
) -> None:
    page = window().page
    made.say("s-1", "Lisbon", "Porto")
    made.say("s-2", "Faro")
    page.goto(f"{made.client.url}/ui{made.path}")
    with stopped(web_stack.child("worker")):
        page.get_by_role("button", name="Sync Now: s-1").click()
        expect(row(page, "Jobs", "s-1")).to_contain_text("queued")
        made.say("s-1", "Braga")
        expect(figure(page, "Pending")).to_have_text("4 / 50")
        page.get_by_role("button", name="Sync Now: s-1").click()
        trouble = page.get_by_role("alert").filter(has_text="Already being ingested")
        expect(trouble).to_contain_text("The session s-1 has a job that is queued")
        expect(trouble.get_by_role("link")).to_have_attribute("href", re.compile(r"/jobs\?state=queued$"))
    expect(page.get_by_text("What was in the way has ended")).to_be_visible()
    expect(trouble).to_be_hidden()
    expect(row(page, "Jobs", "s-1")).to_contain_text("2 of 2")

    press(page, "Sync Now")
    expect(page.get_by_text("Sync Now is done: 2 messages ingested.")).to_be_visible()
    expect(row(page, "Jobs", "s-2")).to_contain_text("done")
    expect(figure(page, "Pending")).to_have_text("0 / 50")
    expect(figure(page, "Processed")).to_have_text("4")
    press(page, "Sync Now")
    expect(page.get_by_text("Nothing is pending")).to_be_visible()


def test_a_damaged_store_is_reported_and_regenerated(window: Window, made: Made, web_stack: EmbeddedStack) -> None:
    page = window().page
    made.say("s-1", "Lisbon", "Porto")
    made.client.call("POST", f"{made.path}/flush", params={"wait": 30})
    page.goto(f"{made.client.url}/ui{made.path}")
    press(page, "Check now")
    expect(page.get_by_text("No mismatch: all 2 chunks are there")).to_be_visible()

    chroma = json.loads((web_stack.data / "run" / "stack.json").read_text())["chroma_url"]
    with closing(ChromaStore(chroma, timeout_seconds=30)) as store:
        store.delete_collection(f"mb-{UUID(made.id)}-g1")
    press(page, "Check now")
    banner = page.get_by_role("alert").filter(has_text="Mismatch detected")
    expect(banner).to_contain_text("expected 2 chunks, found 0 (2 missing, 0 extra)")
    with stopped(web_stack.child("worker")):
        banner.get_by_role("button", name="Regenerate").click()
        confirm(page, "Regenerate?", "Regenerate")
        expect(page.get_by_role("progressbar", name="Regenerating")).to_have_attribute(
            "aria-valuetext", re.compile("0%")
        )
        banner.get_by_role("button", name="Regenerate").click()
        confirm(page, "Regenerate?", "Regenerate")
        expect(page.get_by_text("A regenerate is going on already")).to_be_visible()
    expect(banner).to_be_hidden()
    expect(page.get_by_text("Regenerate is done")).to_be_visible()
    expect(figure(page, "Processed")).to_have_text("2")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (NARROW, True)], ids=["wide, light", "narrow, dark"])
def test_it_is_readable_to_everybody(window: Window, made: Made, width: int, *, dark: bool) -> None:
    made.say("s-1", "Lisbon")
    made.client.call("POST", f"{made.path}/flush", params={"wait": 30})
    made.say("s-2", "Porto")
    reader = window(width=width, dark=dark)
    reader.open(made.path)
    page = reader.page
    chart = page.get_by_role("img", name=re.compile("In the last hour 2 messages captured, 1 ingested"))
    expect(chart.locator("svg")).to_be_visible()
    press(page, "As a table")
    expect(page.get_by_role("table", name="Captured and ingested").get_by_role("row")).not_to_have_count(1)
    press(page, "Sync Now")
    expect(page.get_by_text("Sync Now is done")).to_be_visible()
    assert reader.findings() == []
    page.get_by_role("button", name="Day").click()
    expect(page.get_by_text("In the last day 2 messages captured, 2 ingested")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
