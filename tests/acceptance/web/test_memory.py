"""A memory's page: creating it, live figures, Sync Now, mismatch and regenerate, deleting it."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from uuid import uuid4

import pytest
from harness.browser import NARROW, Reader
from harness.chroma import delete_collections_of
from harness.stack import EmbeddedStack
from playwright.sync_api import Locator, Page, expect

from memorybase.client import Client
from memorybase.vectors.chroma import ChromaStore

Window = Callable[..., Reader]


@dataclass(frozen=True)
class Memory:
    """A memory for one test, and the API to capture its runs."""

    client: Client
    id: str
    name: str
    flow: str

    @property
    def path(self) -> str:
        return f"/memories/{self.id}"

    def capture(self, session_id: str, *answers: str) -> None:
        messages = [{"role": "assistant", "content": answer} for answer in answers]
        self.client.call("POST", f"/flows/{self.flow}/runs", json={"session_id": session_id, "messages": messages})

    def fetch(self) -> dict[str, object]:
        base: dict[str, object] = self.client.get(self.path)
        return base


@pytest.fixture
def memory(client: Client) -> Memory:
    name = f"memory-{uuid4().hex[:8]}"
    client.call("PUT", f"/flows/{name}", json={"name": f"Flow of {name}"})
    base = client.call("POST", "/memories", json={"name": name, "flow_id": name, "auto_capture": False})
    return Memory(client, base["id"], name, name)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Suspend a process."""
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
    dialog = page.get_by_role("dialog", name=title)
    yes = dialog.get_by_role("button", name=action)
    if typed is not None:
        expect(yes).to_be_disabled()
        dialog.get_by_role("textbox").fill(typed)
    yes.click()


def test_a_memory_is_created_shows_live_figures_and_is_deleted(window: Window, client: Client) -> None:
    page = window().page
    name = f"created-{uuid4().hex[:8]}"
    press(page, "New memory")
    form = page.get_by_role("dialog", name="New memory")
    form.get_by_label("Name").fill(name)
    form.get_by_label("Flow", exact=True).click()
    page.get_by_role("option", name="New flow").click()
    form.get_by_label("New flow ID").fill(name)
    form.get_by_label("Ingestion threshold").fill("7")
    form.get_by_role("button", name="Create").click()
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    expect(page.get_by_text("No runs yet")).to_be_visible()
    expect(page.locator("pre")).to_contain_text(f"/v1/flows/{name}/runs")

    memory = Memory(client, page.url.rpartition("/")[2], name, name)
    memory.capture("s-1", "Our office is in Porto.")
    expect(figure(page, "Pending")).to_have_text("1 / 7")
    expect(figure(page, "Sessions")).to_have_text("1")
    expect(row(page, "Sessions", "s-1")).to_contain_text("pending")
    expect(page.get_by_text("No runs yet")).to_be_hidden()

    page.get_by_role("switch", name="Auto-capture").click()
    expect(page.get_by_text("Off: runs are stored")).to_be_visible()
    assert memory.fetch()["auto_capture"] is False

    press(page, "Delete")
    confirm(page, f"Delete {name}?", "Delete", typed=name)
    expect(page.get_by_role("heading", name="Memories", level=1)).to_be_visible()
    expect(page.get_by_role("link", name=name)).to_have_count(0)
    assert name not in {base["name"] for base in client.pages("/memories")}


def test_sync_now_shows_its_jobs_and_conflicts(window: Window, memory: Memory, web_stack: EmbeddedStack) -> None:
    page = window().page
    memory.capture("s-1", "Lisbon", "Porto")
    memory.capture("s-2", "Faro")
    page.goto(f"{memory.client.url}/ui{memory.path}")
    with stopped(web_stack.child("worker")):
        page.get_by_role("button", name="Sync Now: s-1").click()
        expect(row(page, "Jobs", "s-1")).to_contain_text("queued")
        memory.capture("s-1", "Braga")
        expect(figure(page, "Pending")).to_have_text("4 / 50")
        page.get_by_role("button", name="Sync Now: s-1").click()
        conflict = page.get_by_role("alert").filter(has_text="Ingestion already running")
        expect(conflict).to_contain_text("Session s-1 has a queued job")
        expect(conflict.get_by_role("link")).to_have_attribute("href", re.compile(r"/jobs\?state=queued$"))
    expect(page.get_by_text("The previous job finished")).to_be_visible()
    expect(conflict).to_be_hidden()
    expect(row(page, "Jobs", "s-1")).to_contain_text("2 of 2")

    press(page, "Sync Now")
    expect(page.get_by_text("Sync Now complete: 2 messages ingested.")).to_be_visible()
    expect(row(page, "Jobs", "s-2")).to_contain_text("done")
    expect(figure(page, "Pending")).to_have_text("0 / 50")
    expect(figure(page, "Processed")).to_have_text("4")
    press(page, "Sync Now")
    expect(page.get_by_text("Nothing pending")).to_be_visible()


def test_a_mismatch_is_shown_and_regenerate_fixes_it(window: Window, memory: Memory, web_stack: EmbeddedStack) -> None:
    page = window().page
    memory.capture("s-1", "Lisbon", "Porto")
    memory.client.call("POST", f"{memory.path}/flush", params={"wait": 30})
    page.goto(f"{memory.client.url}/ui{memory.path}")
    press(page, "Check now")
    expect(page.get_by_text("No mismatch: all 2 chunks are present")).to_be_visible()

    chroma = json.loads((web_stack.data / "run" / "stack.json").read_text())["chroma_url"]
    with closing(ChromaStore(chroma, timeout_seconds=30)) as store:
        delete_collections_of(store, memory.id)
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
        expect(page.get_by_text("A regenerate is already running")).to_be_visible()
    expect(banner).to_be_hidden()
    expect(page.get_by_text("Regenerate complete")).to_be_visible()
    expect(figure(page, "Processed")).to_have_text("2")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (NARROW, True)], ids=["wide, light", "narrow, dark"])
def test_the_page_is_accessible(window: Window, memory: Memory, width: int, *, dark: bool) -> None:
    memory.capture("s-1", "Lisbon")
    memory.client.call("POST", f"{memory.path}/flush", params={"wait": 30})
    memory.capture("s-2", "Porto")
    reader = window(width=width, dark=dark)
    reader.open(memory.path)
    page = reader.page
    chart = page.get_by_role("img", name=re.compile("Last hour: 2 messages captured, 1 ingested"))
    expect(chart.locator("svg")).to_be_visible()
    press(page, "Show as table")
    expect(page.get_by_role("table", name="Captured and ingested").get_by_role("row")).not_to_have_count(1)
    press(page, "Sync Now")
    expect(page.get_by_text("Sync Now complete")).to_be_visible()
    assert reader.findings() == []
    page.get_by_role("button", name="Day").click()
    expect(page.get_by_text("Last day: 2 messages captured, 2 ingested")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
