"""The first minute in a browser: from an empty stack to a hit, and sample data that goes as it came."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.browser import NARROW, reader
from harness.constants import PATIENT
from harness.stack import KEY, EmbeddedStack
from memorybase_client import Client
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.timeout(300)  # a whole stack of processes starts, on whatever machine


@pytest.fixture(scope="module")
def empty_stack(web_stack: EmbeddedStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """The stack of the other tests if this one comes first, as in `make test`; otherwise one of its own."""
    with Client(web_stack.url, KEY) as client:
        is_empty = list(client.list_flows()) == []
    if is_empty:
        yield web_stack
        return
    stack = EmbeddedStack(tmp_path_factory.mktemp("first"))
    stack.values |= PATIENT
    try:
        stack.start()
        yield stack
    finally:
        stack.close()


def test_a_stranger_gets_from_empty_to_a_hit(empty_stack: EmbeddedStack, browser: Browser, tmp_path: Path) -> None:
    with reader(browser, empty_stack.url) as window:
        page = window.page
        window.sign_in(KEY)
        expect(page.get_by_role("heading", name="First minute")).to_be_visible()
        assert window.findings() == []
        page.get_by_label("Name").fill("Harbour café")
        page.get_by_role("button", name="Create a flow and its memory").click()
        expect(page.get_by_text("with the id")).to_contain_text("harbour-cafe")

        # The call is pasted into a shell as it stands.
        call = page.locator("li.step", has_text="4 Send a run").locator("pre").inner_text()
        assert f"{empty_stack.url}/v1/flows/harbour-cafe/runs" in call
        script = tmp_path / "call.sh"
        script.write_text(f"export MEMORYBASE_API_KEY={KEY}\n{call} --fail --silent --noproxy '*'\n")
        subprocess.run(["bash", str(script)], check=True, capture_output=True)
        for step in ("4 Send a run", "5 Ingested"):  # turns green by itself
            expect(page.locator("li.step", has_text=step).get_by_text("Done")).to_be_visible()
        page.reload()  # the guide stays until its last step is done
        expect(page.get_by_role("heading", name="First minute")).to_be_visible()
        window.open("/")
        guide = page.get_by_role("region", name="First minute")
        expect(guide).to_contain_text("5 of 6 steps done. Next: search.")
        guide.get_by_role("link", name="Continue").click()
        page.get_by_role("button", name="Search", exact=True).click()
        expect(page.locator("#first-hits")).to_contain_text("Berth 12 has shore power")
        window.open("/")
        expect(page.get_by_role("heading", name="Latest runs")).to_be_visible()
        expect(guide).to_have_count(0)
        expect(page.get_by_role("link", name="First minute")).to_be_visible()

        window.open("/first-minute?lang=dify")
        expect(page.locator("li.step", has_text="4 Send a run")).to_contain_text("An HTTP Request node")
        page.get_by_role("button", name="Load sample data").click()
        expect(page.get_by_text("Sample memory", exact=False).first).to_be_visible()
        page.get_by_role("button", name="Remove the sample data").click()
        expect(page.get_by_role("heading", name="Latest runs")).to_be_visible()
        expect(page.get_by_text("Sample memory")).to_have_count(0)
        expect(page.get_by_role("link", name="Harbour café").first).to_be_visible()
        assert window.console == []


@pytest.mark.slow
def test_the_guide_fits_a_phone(empty_stack: EmbeddedStack, browser: Browser) -> None:
    with reader(browser, empty_stack.url, width=NARROW, dark=True) as window:
        window.sign_in(KEY)
        window.open("/first-minute")
        assert window.findings() == []
        assert window.page.evaluate("document.documentElement.scrollWidth") <= NARROW
