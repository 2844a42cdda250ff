"""Which children the embedded stack has."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorybase.core.settings import Settings
from memorybase.stack import processes
from memorybase.stack.children import Plan, plan
from memorybase.stack.state import DataDir

POSTGRES = "postgresql+psycopg://memorybase@db/memorybase"


def planned(tmp_path: Path, **given: str) -> Plan:
    data = DataDir(tmp_path)
    data.make()
    return plan(Settings(data_dir=tmp_path, **given), data, host="127.0.0.1", port=8000, pid=1)  # type: ignore[arg-type]


def test_chroma_is_started_by_default(tmp_path: Path) -> None:
    stack = planned(tmp_path)

    assert [child.name for child in stack.children] == ["redis", "chroma", "worker", "sweeper", "api"]
    assert stack.environment["MEMORYBASE_CHROMA_URL"] == stack.stack.chroma_url


def test_with_pgvector_no_chroma_is_started_or_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = planned(tmp_path, vector_store="pgvector", database_url=POSTGRES)

    assert [child.name for child in stack.children] == ["redis", "worker", "sweeper", "api"]
    assert stack.stores == ("redis",)
    for name, value in stack.environment.items():
        monkeypatch.setenv(name, value)
    assert Settings().vector_stores_in_use == ("pgvector",)


def test_with_pgvector_a_chroma_that_has_data_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chroma").mkdir()
    stack = planned(tmp_path, vector_store="pgvector", database_url=POSTGRES)

    assert stack.stores == ("redis", "chroma")
    for name, value in stack.environment.items():
        monkeypatch.setenv(name, value)
    assert Settings().vector_stores_in_use == ("pgvector", "chroma")


def test_any_number_of_deaths_has_a_bounded_delay() -> None:
    delays = [processes._delay(deaths) for deaths in range(1, 2000)]
    assert delays[:4] == [0.0, 1.0, 2.0, 4.0]
    assert max(delays) == delays[-1] == processes.MAX_DELAY_SECONDS
