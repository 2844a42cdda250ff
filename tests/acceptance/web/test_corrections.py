"""Results that correct each other, in the playground in a browser, against a real stack."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from harness.browser import IN_EVERY_LOOK, Reader
from harness.stack import KEY, EmbeddedStack
from memorybase_client import Client
from playwright.sync_api import expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]

SAID = (
    ("march", "2026-03-01", "The average response time of the API is 300 ms."),
    ("march", "2026-03-02", "I have never worked with Zotero for my references."),
    ("april", "2026-04-02", "After the new cache, the average response time of the API is now 250 ms."),
    ("april", "2026-04-03", "I just worked with Zotero for my references."),
)
VALUE = "/playground?q=What+is+the+average+response+time+of+the+API&flow=latency"
DENIAL = "/playground?q=Have+I+worked+with+Zotero+for+my+references&flow=latency"


@pytest.fixture(scope="module", autouse=True)
def latency(web_stack: EmbeddedStack) -> None:
    """A flow in which a person corrects a value, and denies what was said."""
    with Client(web_stack.url, KEY) as client:
        client.put_flow("latency", name="Latency bot")
        base = client.create_memory_base(name="Latency memory", flow_id="latency", capture="all", threshold=50)
        for session, day, text in SAID:
            message = {"role": "user", "content": text, "timestamp": f"{day}T10:00:00Z"}
            client.capture_run("latency", session_id=session, messages=[message])
        client.flush_memory_base(base.id, wait=60)


def test_the_later_value_is_first_and_each_message_leads_to_the_other(window: Window) -> None:
    reader = window()
    reader.open(VALUE)
    later, earlier = reader.page.locator("li.hit").all()[:2]
    expect(later.locator(".correction")).to_have_text("Now 250 ms, was 300 ms · Earlier message")
    expect(earlier.locator(".correction")).to_have_text("Corrected later: was 300 ms, now 250 ms · Later message")
    expect(earlier.locator(".hit-text.outdated")).to_contain_text("300 ms")
    expect(later.locator(".outdated")).to_have_count(0)
    later.get_by_role("link", name="Earlier message").click()
    assert reader.page.url.endswith(f"#{earlier.get_attribute('id')}")
    expect(reader.page.locator("li.hit:target")).to_contain_text("is 300 ms")
    reader.page.locator("li.hit:target").get_by_role("link", name="Later message").click()
    expect(reader.page.locator("li.hit:target")).to_contain_text("now 250 ms")


def test_why_names_the_message_whose_place_the_later_one_took_and_its_own_score(window: Window) -> None:
    reader = window()
    reader.open(VALUE)
    later, earlier = reader.page.locator("li.hit").all()[:2]
    expect(later.locator(".score")).to_contain_text("own 0.")
    expect(earlier.locator(".score")).not_to_contain_text("own")
    later.get_by_text(re.compile("^Why ")).click()
    decided = later.locator(".decided")
    expect(decided).to_contain_text("It took the place and the score of the message that it corrects")
    expect(later.locator(".walk .decides")).to_contain_text("Its own score, before it took the place of another")
    decided.get_by_role("link", name=SAID[0][2]).click()
    expect(reader.page.locator("li.hit:target")).to_contain_text("is 300 ms")
    earlier.get_by_text(re.compile("^Why ")).click()
    expect(earlier.locator(".decided")).to_contain_text("Most of it: ")
    expect(reader.page.get_by_label("Legend of the bars")).to_contain_text("Lent by another message")


def test_a_message_that_is_not_listed_has_a_page(window: Window) -> None:
    reader = window()
    reader.open(VALUE + "&k=1")
    reader.page.get_by_role("link", name="Earlier message").click()
    expect(reader.page.get_by_role("textbox", name="Text")).to_have_value(SAID[0][2])


def test_a_denial_says_so_and_greys_neither(window: Window) -> None:
    reader = window()
    reader.open(DENIAL)
    lines = [" ".join(text.split()) for text in reader.page.locator(".correction").all_text_contents()]
    assert sorted(lines) == [f"Another message says the opposite · {each} message" for each in ("Earlier", "Later")]
    expect(reader.page.locator(".outdated")).to_have_count(0)


def test_it_can_be_turned_off_and_compared(window: Window) -> None:
    reader = window()
    reader.open(VALUE + "&compare=1")
    a, b = (reader.page.get_by_role("region", name=f"Results of {side}") for side in "AB")
    b.get_by_role("link", name="Earlier message").click()
    expect(b.locator("li.hit:target")).to_contain_text("is 300 ms")  # and not the same message in A
    with reader.page.expect_response(re.compile("b.corrections=0")):
        reader.page.get_by_label("Later statements first").last.select_option("Off")
    reader.settle()
    expect(a.locator(".correction")).to_have_count(2)
    expect(b.locator(".correction")).to_have_count(0)


@IN_EVERY_LOOK
def test_nothing_is_serious_to_axe(window: Window, width: int, dark: bool) -> None:
    reader = window(width=width, dark=dark)
    for path in (VALUE, DENIAL):
        reader.open(path)
        expect(reader.page.locator(".correction")).to_have_count(2)
        assert reader.findings() == []
        assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
