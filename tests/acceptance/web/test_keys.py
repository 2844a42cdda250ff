"""Keys in lists: j and k choose a row, Enter opens it and never sends the form around the rows. Pages of errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from harness.browser import Reader
from memorybase_client import Client
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]


@pytest.fixture
def flow(client: Client) -> str:
    """A flow of its own with a memory, and two sessions of one person."""
    flow_id = f"office-{uuid4().hex[:8]}"
    client.put_flow(flow_id, name=flow_id)
    client.create_memory_base(name=flow_id, flow_id=flow_id, threshold=2, capture="all")
    for number in range(2):
        client.capture_run(
            flow_id,
            session_id=f"{flow_id}-{number}",
            run_id=f"{flow_id}-run-{number}",
            end_user_id=f"{flow_id}-anna",
            messages=[{"role": "user", "content": "When do you open?"}, {"role": "assistant", "content": "At nine."}],
        )
    return flow_id


def posted(page: Page) -> list[str]:
    """The addresses that the page sends forms to from now on."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url) if request.method == "POST" else None)
    return found


def test_enter_opens_the_selected_row_of_every_list(window: Window, client: Client, flow: str) -> None:
    base = next(each.id for each in client.list_memory_bases() if each.name == flow)
    lists = {
        f"/conversations?flow={flow}": "/session",
        f"/conversations?tab=runs&flow={flow}": "/run",
        f"/conversations?tab=people&q={flow}": "/person",
        f"/memories?q={flow}": "/memories/",
        f"/memories/{base}": "/session",
        f"/memories/{base}?tab=messages": "/message",
        f"/jobs?tab=all&memory={base}": "/session",
        f"/person?id={flow}-anna": "/(session|memories/)",
    }
    opened = window()
    page = opened.page
    sent = posted(page)
    for path, leads_to in lists.items():
        opened.open(path)
        expect(page.locator("main [data-row]").first).to_be_visible()
        page.keyboard.press("j")
        expect(page.locator("[data-row].current")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page, path).to_have_url(re.compile(f"/ui{leads_to}"))
    assert sent == []


def test_a_bulk_form_is_not_sent_without_a_selection(window: Window, flow: str) -> None:
    opened = window()
    page = opened.page
    opened.open(f"/conversations?flow={flow}")
    sent = posted(page)
    page.get_by_label("Select all on this page").focus()
    page.keyboard.press("Enter")
    page.locator("[data-selection] button").first.evaluate("each => each.form.requestSubmit(each)")
    expect(page).to_have_url(re.compile(r"/conversations\?flow="))
    assert sent == []
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_role("button", name="Ingest now", exact=True).click()
    expect(page.get_by_role("heading", name="1 session to ingest")).to_be_visible()
    assert sent[0].endswith("/ui/conversations/sync")


@pytest.mark.parametrize("path", ["/nope", "/conversations/sync", "/memories/nope", "/session?flow=none&id=none"])
def test_an_error_page_has_the_navigation_and_a_way_on(window: Window, path: str) -> None:
    opened = window()
    page = opened.page
    opened.open("/jobs")
    page.evaluate("path => { location.href = path; }", f"/ui{path}")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    opened.console.clear()  # Chromium logs the status
    page.get_by_role("link", name="Back").click()
    expect(page).to_have_url(re.compile("/ui/jobs$"))
    page.go_back()
    page.keyboard.press("g")
    page.keyboard.press("m")
    expect(page.get_by_role("heading", name="Memories")).to_be_visible()
    opened.console.clear()
