"""One stack for all tests of the pages, one Chromium a module; each test reads and acts in a window of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from harness.browser import WIDE, Reader, chromium, reader
from harness.stack import KEY, EmbeddedStack
from playwright.sync_api import Browser, expect

from memorybase.client import Client

# What is expected of a page ends with the first look that shows it. On a busy machine that may be late: a worker's work
# takes seconds, and a page rests for ten times as long as its looks take.
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
    # No longer than a module: Playwright keeps an event loop running in this thread, and other tests start theirs.
    with chromium() as started:
        yield started


@pytest.fixture
def client(web_stack: EmbeddedStack) -> Iterator[Client]:
    """The API, for what a program does while somebody looks."""
    with Client(web_stack.url, KEY) as made:
        yield made


@pytest.fixture
def window(web_stack: EmbeddedStack, browser: Browser) -> Iterator[Callable[..., Reader]]:
    """Windows that are signed in; at the end of a test their consoles have said nothing."""
    with ExitStack() as open_windows:
        opened: list[Reader] = []

        def open_window(*, width: int = WIDE, dark: bool = False) -> Reader:
            made = open_windows.enter_context(reader(browser, web_stack.url, width=width, dark=dark))
            made.sign_in(KEY)
            opened.append(made)
            return made

        yield open_window
        said = [words for each in opened for words in each.said]
        assert said == []
