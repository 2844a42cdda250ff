"""What the benchmark of captures measures: each part, with its processor time and its statements."""

from __future__ import annotations

import capture_cost
import pytest


@pytest.mark.slow
def test_every_part_of_a_job_is_measured() -> None:
    costs = capture_cost.measure_here("", capture_cost.RUNS_IN_SESSION)
    assert set(costs) == {"authenticate", "capture", "recorded", "limited", "claim", "advance"}
    assert all(cost.statements >= 1 and cost.milliseconds > 0 for cost in costs.values())
