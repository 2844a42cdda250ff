"""One stack and one Chromium for all tests of the pages, one sign-in for each API key, and windows for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from harness import running, stuck
from harness.browser import WIDE, Reader, SignedIn, chromium, new_context
from harness.constants import PATIENT
from harness.stack import KEY, EmbeddedStack
from memorybase_client import Client
from playwright.sync_api import Browser, expect

# An expectation ends with the first refresh that meets it. On a busy machine that may be late: a job takes seconds, and
# a page waits ten times as long as its refreshes take.
expect.set_options(timeout=60_000)


@pytest.fixture(scope="package")
def web_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    stack = EmbeddedStack(tmp_path_factory.mktemp("web"))
    stack.values |= PATIENT | {"memorybase.core.settings.Settings.sweep_seconds": 2.0}
    stack.changes["MEMORYBASE_LEASE_SECONDS"] = str(stuck.SECONDS)  # what seems to wait must stay so
    with running(stack):
        yield stack


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    # Not for the session: Playwright keeps an event loop running in this thread, and other tests start their own.
    with chromium() as started:
        yield started


@pytest.fixture
def client(web_stack: EmbeddedStack) -> Iterator[Client]:
    """The API, for what a program does while a page is open."""
    with Client(web_stack.url, KEY) as api_client:
        yield api_client


@pytest.fixture(scope="package")
def read_key(web_stack: EmbeddedStack) -> str:
    """A key that may only read."""
    with Client(web_stack.url, KEY) as api_client:
        return api_client.create_key(name="may read", scopes=["read"]).secret


@pytest.fixture(scope="package")
def signed_in(web_stack: EmbeddedStack, browser: Browser) -> Callable[[str], SignedIn]:
    """The windows of a key: signing in at each window would take a third of the time of these tests."""
    return cache(lambda key: SignedIn(new_context(browser), web_stack.url, key))


@pytest.fixture
def window(signed_in: Callable[[str], SignedIn]) -> Iterator[Callable[..., Reader]]:
    """Signed-in windows; a test that signs out takes `reader`. At the end of a test their consoles must be empty."""
    with ExitStack() as open_windows:
        opened: list[Reader] = []

        def open_window(*, key: str = KEY, width: int = WIDE, dark: bool = False) -> Reader:
            opened.append(open_windows.enter_context(signed_in(key).window(width=width, dark=dark)))
            return opened[-1]

        yield open_window
        assert [text for each in opened for text in each.console] == []
