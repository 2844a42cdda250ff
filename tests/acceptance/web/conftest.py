"""One stack for all tests of the pages, one Chromium for each module, and windows for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from harness.browser import WIDE, Reader, chromium, reader
from harness.stack import KEY, EmbeddedStack
from memorybase_client import Client
from playwright.sync_api import Browser, expect

# An expectation ends with the first refresh that meets it. On a busy machine that may be late: a job takes seconds, and
# a page waits ten times as long as its refreshes take.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def web_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    stack = EmbeddedStack(tmp_path_factory.mktemp("web"))
    try:
        stack.start()
        yield stack
    finally:
        stack.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Per module: Playwright keeps an event loop running in this thread, and other tests start their own.
    with chromium() as started:
        yield started


@pytest.fixture
def client(web_stack: EmbeddedStack) -> Iterator[Client]:
    """The API, for what a program does while a page is open."""
    with Client(web_stack.url, KEY) as api_client:
        yield api_client


@pytest.fixture
def window(web_stack: EmbeddedStack, browser: Browser) -> Iterator[Callable[..., Reader]]:
    """Signed-in windows. At the end of a test their consoles must be empty."""
    with ExitStack() as open_windows:
        opened: list[Reader] = []

        def open_window(*, width: int = WIDE, dark: bool = False) -> Reader:
            new = open_windows.enter_context(reader(browser, web_stack.url, width=width, dark=dark))
            new.sign_in(KEY)
            opened.append(new)
            return new

        yield open_window
        assert [text for each in opened for text in each.console] == []
