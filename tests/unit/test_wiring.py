from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from harness.rows import each_row

from memorybase import wiring
from memorybase.core.settings import Settings
from worker.queue import CeleryQueue

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings under which every connection fails, and in this folder raises."""
    return Settings(
        data_dir=tmp_path / "data",
        database_url="postgresql://nobody@127.0.0.1:1/none",
        redis_url="redis://127.0.0.1:1/0",
        chroma_url="http://127.0.0.1:1",
    )


@each_row("role", list(wiring.POOL_SIZES))
def test_building_connects_to_nothing_and_writes_nothing(settings: Settings, role: wiring.Role) -> None:
    services = wiring.build(settings, role=role)

    assert services.settings is settings
    assert isinstance(services.queue, CeleryQueue)
    assert not settings.data_dir.exists()
    wiring.close(services)


def test_building_loads_no_queue_before_it_is_needed() -> None:
    script = "import sys; from memorybase import wiring; print('celery' in sys.modules)"

    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "False"


def test_the_pool_is_the_roles(settings: Settings) -> None:
    api, cli = (wiring.build(settings, role=role) for role in ("api", "cli"))

    assert api.database.engine.pool.size() > cli.database.engine.pool.size()  # type: ignore[attr-defined]


def test_a_closed_set_of_services_works_again(tmp_path: Path) -> None:
    services = wiring.build(Settings(data_dir=tmp_path))
    services.database.ping()
    wiring.close(services)

    services.database.ping()

    wiring.close(services)


@each_row("url", ["redis://127.0.0.1:1/0", "redis+sentinel://127.0.0.1:1,127.0.0.1:2/memory/3"])
def test_the_lock_client_gives_up_within_its_timeout(settings: Settings, url: str) -> None:
    client = wiring.redis_client(settings.model_copy(update={"redis_url": url}))

    assert client.get_connection_kwargs()["socket_timeout"] == settings.redis_timeout_seconds
    assert client.get_retry() is not None
    assert client.get_retry().get_retries() == 0


def test_the_sentinels_together_are_asked_within_one_timeout(settings: Settings) -> None:
    url = "redis+sentinel://:of-redis@127.0.0.1:1,127.0.0.1:2/memory/3?sentinel_password=of-them"
    client = wiring.redis_client(settings.model_copy(update={"redis_url": url}))

    asked = [each.get_connection_kwargs() for each in client.connection_pool.sentinel_manager.sentinels]
    assert [(each["port"], each["password"]) for each in asked] == [(1, "of-them"), (2, "of-them")]
    assert sum(each["socket_connect_timeout"] for each in asked) == settings.redis_timeout_seconds
    assert [each["retry"] for each in asked] == [None, None]
    primary = client.get_connection_kwargs()
    assert (primary["db"], primary["password"]) == (3, "of-redis")
