"""The API that the tests of both transports use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from harness.api import settings_in
from harness.served import Served, serve_api


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of a module: it takes longer to start than a test."""
    with serve_api(settings_in(tmp_path_factory.mktemp("mcp")), mcp=True) as served:
        yield served


@pytest.fixture
def served(server: Served) -> Iterator[Served]:
    """The server for a new user, who has a flow with a memory base and two sessions, one of them of an end user."""
    served = replace(server, api=server.api.of_new_user())
    served.api.flow()
    served.api.memory(capture="all")
    served.api.capture("The fence is green.", "The roof is blue.", session="house")
    served.api.capture("Anna's fence is white.", session="anna-1", end_user_id="anna")
    yield served
    served.api.vectors.away = False
