"""What the benchmark of captures measures: each part, with its processor time and its statements."""

from __future__ import annotations

import argparse
from pathlib import Path

import capture_cost
import pytest


@pytest.mark.slow
def test_every_part_of_a_job_is_measured() -> None:
    costs = capture_cost.measure_here("", capture_cost.RUNS_IN_SESSION)
    assert set(costs) == {"authenticate", "capture", "recorded", "limited", "claim", "advance"}
    assert all(cost.milliseconds > 0 for cost in costs.values())
    assert all(cost.statements >= 1 for name, cost in costs.items() if name != "authenticate")  # keys are cached


def checkout(folder: Path, *lines: str) -> Path:
    """A checkout whose script has these lines."""
    (folder / "bench").mkdir(parents=True)
    (folder / "bench" / "capture_cost.py").write_text("\n".join(["import json, sys, time", *lines]))
    return folder


def test_each_checkout_is_measured_by_its_own_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    busy = "while time.process_time() < 0.3: pass"  # for several turns
    mine = checkout(tmp_path / "mine", busy, 'print(json.dumps({"capture": [3.0, 8], "limited": [5.0, 9]}))')
    other = checkout(tmp_path / "other", busy, 'print(json.dumps({"capture": [4.0, 7]}))')
    monkeypatch.setattr(capture_cost, "ROOT", mine)
    capture_cost.report("SQLite", "", argparse.Namespace(against=other, pairs=2, captures=1))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.split() == [
        "SQLite",
        "capture",
        "4.00",
        "->",
        "3.00",
        "7.0",
        "->",
        "8.0",
        "0.750",
        "(0.75",
        "to",
        "0.75)",
    ]


def test_a_script_that_fails_ends_the_comparison(tmp_path: Path) -> None:
    failing, other = checkout(tmp_path / "one", "sys.exit(3)"), checkout(tmp_path / "two", "print('{}')")
    with pytest.raises(SystemExit, match="script failed"):
        capture_cost.measure({failing: "", other: ""}, captures=1)
