from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from harness.api import settings_in
from harness.coding_agents import Machine, machine_at
from harness.served import Served, serve_api
from memorybase_client import Client
from memorybase_client.coding_agents import install
from memorybase_client.coding_agents.events import FLOW

from memorybase.core import messages


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with machine_at(tmp_path / "home") as made:
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of a module, with bounds that a test reaches soon."""
    with pytest.MonkeyPatch.context() as patch, serve_api(settings_in(tmp_path_factory.mktemp("hooks"))) as serving:
        patch.setattr(messages, "MAX_MESSAGES", 50)
        patch.setattr(messages, "MAX_MESSAGE_BYTES", 50_000)
        yield serving


@pytest.fixture
def served(server: Served) -> Iterator[Served]:
    """The server for a new user, who has the hooks' flow and its memory base."""
    serving = replace(server, api=server.api.of_new_user())
    with Client(serving.url, serving.api.secret) as client:
        install.prepare_flow(client, FLOW)
    yield serving
    serving.api.vectors.away = False
