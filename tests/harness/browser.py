"""A headless Chromium that opens the pages as a user does."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without these flags Chromium reaches for the network when it starts.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-prefers-reduced-motion",
)
WIDE, NARROW = 1280, 390
# Every width in both themes. `make test` looks at a phone in the dark, where most faults show.
IN_EVERY_LOOK = pytest.mark.parametrize(
    ("width", "dark"),
    [
        pytest.param(width, dark, id=f"{theme}-{width}", marks=[] if dark and width == NARROW else pytest.mark.slow)
        for width in (NARROW, WIDE, 1440)
        for dark, theme in ((True, "dark"), (False, "light"))
    ],
)
MINOR = "minor"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium. Without it a test is skipped and says how to install it."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("The tests of the pages need Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


# htmx's words for a part that was asked for while the next page was opened. Of a request that failed Chromium itself
# says so.
CUT_OFF = ("htmx:sendError", "htmx:afterRequest")


@dataclass
class Reader:
    """A browser window and the warnings and errors of its console."""

    page: Page
    url: str
    console: list[str] = field(default_factory=list)

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(CUT_OFF):
            self.console.append(message.text)

    def on_error(self, error: Error) -> None:
        self.console.append(str(error))

    def open(self, path: str) -> None:
        """Open a page and wait for the parts that load after it."""
        self.page.goto(f"{self.url}/ui{path}")
        self.settle()

    def settle(self) -> None:
        """Wait until every part has loaded, or says why it has not."""
        # No wait_for_function: it polls with eval, which the pages' policy forbids.
        expect(self.page.locator(".htmx-request, [aria-busy=true]")).to_have_count(0)

    def sign_in(self, key: str) -> None:
        self.page.goto(f"{self.url}/ui/sign-in")
        self.page.get_by_label("API key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(re.compile("/ui/(first-minute)?$"))

    def findings(self) -> list[str]:
        """Accessibility violations above minor that axe-core finds on the open page."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {node['html'][:200]}" for each in found if each["impact"] != MINOR for node in each["nodes"]
        ]


@contextmanager
def reader(browser: Browser, url: str, *, width: int = WIDE, dark: bool = False) -> Iterator[Reader]:
    """A window with its own cookies."""
    context = new_context(browser)
    try:
        with window_of(context.new_page(), url, width=width, dark=dark) as window:
            yield window
    finally:
        context.close()


def new_context(browser: Browser) -> BrowserContext:
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(60_000)
    return context


@contextmanager
def window_of(page: Page, url: str, *, width: int, dark: bool) -> Iterator[Reader]:
    """A page of this size and theme, whose console is listened to."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
    window = Reader(page, url)
    page.on("console", window.on_console)
    page.on("pageerror", window.on_error)
    yield window
    page.remove_listener("console", window.on_console)
    page.remove_listener("pageerror", window.on_error)


@dataclass
class SignedIn:
    """Windows of one API key, which signs in once. Each starts with the cookies of that moment. A page that no test
    uses any more serves the next: Chromium starts a process for each and fills its caches."""

    context: BrowserContext
    url: str
    key: str
    _cookies: list[Any] = field(default_factory=list)
    _idle: list[Page] = field(default_factory=list)

    @contextmanager
    def window(self, *, width: int, dark: bool) -> Iterator[Reader]:
        page = self._idle.pop() if self._idle else self.context.new_page()
        if not self._cookies:
            Reader(page, self.url).sign_in(self.key)
            self._cookies = list(self.context.cookies())
        self.context.clear_cookies()
        self.context.add_cookies(self._cookies)
        with window_of(page, self.url, width=width, dark=dark) as window:
            yield window
        page.goto(f"{self.url}/health/live")  # of the same site: for another one Chromium would start a process
        self._idle.append(page)
