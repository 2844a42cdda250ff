from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.coding_agents import Machine, machine_at
from harness.served import Served, serve_api

from memorybase.client import Client
from memorybase.integrations.coding_agents import install
from memorybase.settings import Settings


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with machine_at(tmp_path / "home") as made:
        yield made


@pytest.fixture
def served(api_settings: Settings) -> Iterator[Served]:
    """The API with the hooks' flow and its memory base."""
    with serve_api(api_settings) as serving:
        with Client(serving.url, serving.api.secret) as client:
            install.prepare_flow(client, install.FLOW)
        yield serving
