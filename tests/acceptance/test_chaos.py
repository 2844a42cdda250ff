"""A short run of faults at random: on SQLite, with a standby, on pgvector, as one process, and on a network; `make
chaos` and `make chaos-net` run longer ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from chaos.cluster import Plan
from chaos.run import Report, run
from harness.namespace import why_not

pytestmark = pytest.mark.slow

often = partial(Plan, fault_every_seconds=0.8, operator_every_seconds=2)
PLANS = (
    often(seed=1, seconds=5),
    often(seed=3, seconds=8, database="replicated", workers=2),
    often(seed=4, seconds=5, database="postgresql", vectors="pgvector", workers=2),
    often(seed=6, seconds=30, one_process=True, fault_every_seconds=6),
)


@pytest.mark.parametrize(
    "plan", PLANS, ids=lambda plan: "one process" if plan.one_process else f"{plan.database} {plan.vectors}"
)
def test_whatever_is_killed_nothing_is_lost_and_nothing_doubled(plan: Plan, tmp_path: Path) -> None:
    assert_exact(run(plan, tmp_path))


@pytest.mark.skipif(why_not() is not None, reason=f"NOT TESTED: {why_not()}")
def test_whatever_is_cut_nothing_is_lost_and_nothing_doubled(tmp_path: Path) -> None:
    plan = often(seed=5, seconds=8, database="postgresql", workers=2, apis=2, network=True, call_seconds=4)
    report = run(replace(plan, quiet_seconds=240), tmp_path)

    assert_exact(report)
    assert report.readiness["looks"] > 0


def assert_exact(report: Report) -> None:
    assert report.violations == [], str(report)
    assert report.acknowledged > 0
    assert sum(report.faults.values()) > 0
    assert report.samples > 0
    assert report.messages_in_ledgers > 0
