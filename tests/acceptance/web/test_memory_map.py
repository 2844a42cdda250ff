"""The map of a memory in a browser: its states, what is chosen on it, a question on it, and the same by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from harness.browser import IN_EVERY_LOOK, Reader
from harness.stack import EmbeddedStack
from harness.waiting import wait_until
from memorybase_client import Client
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]

TALK = (
    "Which berth has shore power for a boat of {n} meters?",
    "Berth {n} has shore power and is free from Friday.",
    "The diesel pump on pontoon {n} does not take my card.",
    "Invoice {n} was charged twice, and the refund follows.",
)
# What is drawn on the canvas, each pixel with its color; the most frequent color comes first.
PIXELS = """() => {
    const canvas = document.querySelector("canvas"), ratio = canvas.width / canvas.clientWidth, found = [], counts = {};
    const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    [copy.canvas.width, copy.canvas.height] = [canvas.width, canvas.height];
    copy.drawImage(canvas, 0, 0);
    const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] < 150) continue;
        const x = (at / 4) % canvas.width / ratio, y = Math.floor(at / 4 / canvas.width) / ratio;
        const color = data.slice(at, at + 3).join();
        counts[color] = (counts[color] ?? 0) + 1;
        found.push({ x, y, color });
    }
    return found.sort((a, b) => counts[b.color] - counts[a.color]);
}"""
PATIENCE = 90.0  # a busy machine embeds slowly


def memory(client: Client, count: int) -> str:
    """A memory base with so many ingested messages."""
    flow = f"harbor-{uuid4()}"
    client.put_flow(flow, name="Harbor")
    base = client.create_memory_base(name=f"Harbor {uuid4()}", flow_id=flow, threshold=1, capture="all").id
    for start in range(0, count, 20):
        said = [
            {"role": ("user", "assistant")[n % 2], "content": TALK[n % 4].format(n=n), "sender_name": f"Person {n % 3}"}
            for n in range(start, min(count, start + 20))
        ]
        client.capture_run(flow, session_id=f"session-{start}", messages=said)
    client.wait_until_searchable(base)
    return str(base)


def state_of(client: Client, base: str) -> str:
    return str(client.get_memory_map(base).state)


@pytest.fixture(scope="module")
def mapped(web_stack: EmbeddedStack) -> str:
    """A memory base with a map of 60 messages, which no test changes."""
    with Client(web_stack.url, "mb_test_key_of_the_embedded_stack") as client:
        base = memory(client, 60)
        client.request_memory_map(base)
        wait_until(lambda: state_of(client, base) == "ready", PATIENCE, "the map")
        return base


def path(base: str, query: str = "") -> str:
    return f"/memories/{base}?tab=map{query}"


def open_map(window: Reader, base: str, query: str = "") -> Page:
    window.open(path(base, query))
    expect(window.page.locator("[data-points]")).to_be_visible()
    return window.page


def listed(page: Page) -> int:
    return page.locator(".map-messages li").count()


class TestStates:
    def test_with_too_few_messages_it_says_how_many_are_needed(self, window: Window, client: Client) -> None:
        base = memory(client, 4)
        opened = window()
        opened.open(path(base))
        expect(
            opened.page.get_by_text("A map needs 20 messages that are ingested; this memory holds 4")
        ).to_be_visible()
        assert opened.findings() == []

    def test_a_map_is_computed_from_the_page_and_becomes_stale(self, window: Window, client: Client) -> None:
        base = memory(client, 24)
        opened = window()
        opened.open(path(base))
        page = opened.page
        page.get_by_role("button", name="Compute the map").click()
        expect(page.locator("[data-points='24']")).to_be_visible(timeout=PATIENCE * 1_000)
        gone = client.get_memory_map(base).points[0].message_id
        client.delete_message(str(gone))
        opened.open(path(base))
        expect(page.locator("[data-points='23']")).to_be_visible()
        expect(page.get_by_text(re.compile("Since .*: 1 removed"))).to_be_visible()
        page.get_by_role("button", name="Refresh").click()
        expect(page.get_by_text(re.compile("Since .* 1 removed"))).to_be_hidden(timeout=PATIENCE * 1_000)
        expect(page.locator("[data-points='23']")).to_be_visible(timeout=PATIENCE * 1_000)


class TestChoosing:
    def test_a_lasso_lists_what_is_inside(self, window: Window, mapped: str) -> None:
        page = open_map(window(), mapped)
        box = page.locator(".map-field canvas").bounding_box()
        assert box is not None
        left, top, right, bottom = box["x"] + 3, box["y"] + 3, box["x"] + box["width"] - 3, box["y"] + box["height"] - 3
        page.mouse.move(left, top)
        page.mouse.down()
        for x, y in ((right, top), (right, bottom), (left, bottom), (left, top + 1)):
            page.mouse.move(x, y, steps=4)
        page.mouse.up()
        expect(page.locator("[data-map-total]")).to_have_text("60 messages")
        expect(page.locator(".map-messages li")).to_have_count(50)
        page.get_by_role("button", name="Next 50").click()
        expect(page.locator(".map-messages li")).to_have_count(60)
        expect(page.locator(".map-messages li").first.get_by_role("link")).to_have_attribute(
            "href", re.compile("/session.*id=session-.*at=")
        )
        page.get_by_role("button", name="Clear").click()
        expect(page.locator(".map-messages li")).to_have_count(0)

    def test_an_entry_of_the_legend_lists_its_messages(self, window: Window, mapped: str) -> None:
        page = open_map(window(), mapped, "&color=speaker")
        entry = page.get_by_role("button", name="Person 1 20")
        entry.click()
        expect(page.locator("[data-map-total]")).to_have_text("20 messages")
        expect(page.locator(".map-messages li", has_text="Person 1")).to_have_count(20)
        expect(entry).to_have_attribute("aria-pressed", "true")

    def test_the_coloring_is_in_the_address(self, window: Window, mapped: str) -> None:
        opened = window()
        page = open_map(opened, mapped)
        page.get_by_role("link", name="Session", exact=True).click()
        expect(page.get_by_role("button", name="session-20 20")).to_be_visible()
        assert "color=session" in page.url
        assert "tab=map" in page.url
        page.reload()
        expect(page.get_by_role("button", name="session-20 20")).to_be_visible()
        page.get_by_role("link", name="Time", exact=True).click()
        expect(page.locator(".map-legend button").first).to_contain_text("\N{EN DASH}")

    def test_a_message_shows_under_the_pointer(self, window: Window, mapped: str) -> None:
        page = open_map(window(), mapped)
        place = page.wait_for_function(f"({PIXELS})()[0]").json_value()
        box = page.locator("canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + place["x"], box["y"] + place["y"])
        expect(page.locator(".map-tip")).to_contain_text("Person")
        page.mouse.move(box["x"] + 2, box["y"] + 2)
        expect(page.locator(".map-tip")).to_be_hidden()

    def test_all_can_be_done_by_keyboard(self, window: Window, mapped: str) -> None:
        page = open_map(window(), mapped)
        page.locator(".map-field").focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".map-said")).to_contain_text("Person")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        expect(page.locator("[data-map-total]")).to_have_text("20 messages")
        page.keyboard.press("Escape")
        expect(page.locator(".map-messages li")).to_have_count(0)


class TestCorrecting:
    def test_messages_are_muted_and_deleted_together_and_taken_back(self, window: Window, client: Client) -> None:
        base = memory(client, 21)
        client.request_memory_map(base)
        wait_until(lambda: state_of(client, base) == "ready", PATIENCE, "the map")
        page = open_map(window(), base, "&color=speaker")
        page.get_by_role("button", name="Person 1").click()
        page.get_by_label("Select those listed").check()
        page.get_by_role("button", name="Mute", exact=True).click()
        expect(page.locator("#notices")).to_contain_text("7 muted.")
        assert "color=speaker" in page.url
        page.get_by_role("button", name="Person 1").click()
        expect(page.locator(".map-messages").get_by_text("Muted")).to_have_count(7)
        page.get_by_label(re.compile("Select message")).first.check()
        page.get_by_role("button", name="Delete…").click()
        expect(page.get_by_role("dialog")).to_contain_text("Delete 1 of the listed messages")
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.locator("#notices")).to_contain_text("1 deleted.")
        expect(page.locator("[data-points='20']")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#notices")).to_contain_text("1 undone.")
        assert len(list(client.list_messages(memory_base_id=base))) == 21


class TestQuestion:
    def test_it_is_placed_and_what_a_search_finds_is_listed(self, window: Window, mapped: str) -> None:
        opened = window()
        page = open_map(opened, mapped)
        page.get_by_label("Where does a question fall?").fill("which berth has shore power")
        page.keyboard.press("Enter")
        expect(page.locator(".map-said")).to_contain_text("The cross is where the question falls")
        expect(page.locator(".map-messages li").first).to_contain_text("shore power")
        assert "question=which+berth" in page.url
        page.reload()
        expect(page.locator(".map-messages li").first).to_contain_text("shore power")


@IN_EVERY_LOOK
def test_it_is_accessible_and_fits(window: Window, mapped: str, width: int, dark: bool) -> None:
    opened = window(width=width, dark=dark)
    page = open_map(opened, mapped, "&question=shore+power")
    expect(page.locator(".map-messages li").first).to_be_visible()
    assert opened.findings() == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator("canvas")).to_have_attribute("aria-hidden", "true")


def test_it_is_drawn_in_the_colors_of_the_theme(window: Window, mapped: str) -> None:
    """Something other than the background is on the canvas, and it differs between light and dark."""
    seen = set()
    for dark in (False, True):
        page = open_map(window(dark=dark), mapped)
        page.wait_for_function(f"({PIXELS})().length > 0")
        seen.add(page.evaluate(f"({PIXELS})()[0].color"))
    assert len(seen) == 2
