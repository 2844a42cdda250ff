"""The API that the tests of both transports use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness.mcp import Served, serve_mcp

from memorybase.settings import Settings


@pytest.fixture
def served(api_settings: Settings) -> Iterator[Served]:
    """A flow with a memory base and two sessions, one of them of an end user."""
    with serve_mcp(api_settings) as served:
        served.api.flow()
        served.api.memory(capture="all")
        served.api.capture("The fence is green.", "The roof is blue.", session="house")
        served.api.capture("Anna's fence is white.", session="anna-1", end_user_id="anna")
        yield served
