"""A short run of faults at random, on each database and on one with a standby; `make chaos` runs longer ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.chaos.cluster import Plan
from harness.chaos.run import run

pytestmark = pytest.mark.slow

PLANS = (
    Plan(seed=1, seconds=5, fault_every_seconds=0.8, operator_every_seconds=2),
    Plan(seed=2, seconds=5, database="postgresql", workers=2, fault_every_seconds=0.8, operator_every_seconds=2),
    Plan(seed=3, seconds=8, database="replicated", workers=2, fault_every_seconds=0.8, operator_every_seconds=2),
)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.database)
def test_whatever_is_killed_nothing_is_lost_and_nothing_doubled(plan: Plan, tmp_path: Path) -> None:
    report = run(plan, tmp_path)

    assert report.violations == [], str(report)
    assert report.acknowledged > 0
    assert sum(report.faults.values()) > 0
    assert report.samples > 0
    assert report.messages_in_ledgers > 0
