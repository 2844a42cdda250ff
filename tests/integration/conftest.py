"""Fixtures of the integration tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import PostgresServer
from harness.api import Api, open_api, settings_in
from harness.world import World, build_world

from memorybase.core import messages
from memorybase.core.settings import Settings


@pytest.fixture
def api_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(messages, "MAX_MESSAGES", 50)
    monkeypatch.setattr(messages, "MAX_MESSAGE_BYTES", 50_000)
    return settings_in(tmp_path)


@pytest.fixture
def api(api_settings: Settings) -> Iterator[Api]:
    """The API on SQLite."""
    with open_api(api_settings) as opened:
        yield opened


@pytest.fixture
def postgres_api(api_settings: Settings, ready_postgres_url: str) -> Iterator[Api]:
    """The API on PostgreSQL."""
    with open_api(api_settings.model_copy(update={"database_url": ready_postgres_url})) as opened:
        yield opened


@pytest.fixture
def sqlite_world(tmp_path: Path) -> Iterator[World]:
    """The domain on SQLite alone."""
    built = build_world(f"sqlite:///{tmp_path / 'memorybase.db'}", tmp_path)
    yield built
    built.close()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One database for all tests of a module: to make one takes longer than any of them."""
    folder = tmp_path_factory.mktemp("databases")
    url = f"sqlite:///{folder / 'memorybase.db'}"
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.url(server.create_database(template=server.template))
    built = build_world(url, folder)
    yield built
    built.close()
