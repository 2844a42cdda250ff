"""What several processes append to one node memory at once is all there: the benchmark of it, shortened."""

from __future__ import annotations

from pathlib import Path

import appends
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(appends.APPENDING))
def test_two_processes_lose_nothing(tmp_path: Path, kind: str) -> None:
    assert appends.measured(appends.place_in(str(tmp_path)), kind, 150, 2).lost == 0


@pytest.mark.slow
def test_two_processes_lose_nothing_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    assert appends.measured(appends.place_in(str(tmp_path), postgres_url), "v2, executions", 150, 2).lost == 0


@pytest.mark.slow
def test_what_is_lost_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(appends.APPENDING, "v1, objects", (appends.append_objects, lambda _: {"0-0"}))
    assert appends.measured(appends.place_in(str(tmp_path)), "v1, objects", 4, 2).lost == 3
