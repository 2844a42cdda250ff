"""A headless Chromium that looks at the pages as a reader does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
# What Chromium does for itself at a start would reach for the network.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--force-prefers-reduced-motion",
)  # fmt: skip
WIDE, NARROW = 1280, 390
SERIOUS = {"serious", "critical"}


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; a test that needs it fails, and says how to install it, where there is none."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.fail("There is no Chromium for the tests of the pages: apt-get install chromium", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Reader:
    """Somebody at a browser window, and what its console said."""

    page: Page
    url: str
    said: list[str] = field(default_factory=list)

    def hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.said.append(message.text)

    def open(self, path: str) -> None:
        """A page of ours, until it is live."""
        self.page.goto(f"{self.url}/ui{path}")
        self.page.wait_for_function("window.socket?.connected")

    def sign_in(self, key: str) -> None:
        self.page.goto(f"{self.url}/ui/sign-in")
        self.page.get_by_label("API key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_function("window.socket?.connected")

    def findings(self) -> list[str]:
        """What axe-core finds serious on the page that is open."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {node['html'][:200]}"
            for each in found
            if each["impact"] in SERIOUS
            for node in each["nodes"]
        ]


@contextmanager
def reader(browser: Browser, url: str, *, width: int = WIDE, dark: bool = False) -> Iterator[Reader]:
    """A window of its own, with cookies of its own."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    context.set_default_timeout(15_000)
    try:
        made = Reader(context.new_page(), url)
        made.page.on("console", made.hear)
        made.page.on("pageerror", lambda error: made.said.append(str(error)))
        yield made
    finally:
        context.close()
