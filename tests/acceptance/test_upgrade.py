"""An upgrade under load, from the version before the newest migration: old and new processes beside each other,
forward, back and forward again. `make check-upgrade` runs it, in five minutes."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaos.cluster import DatabaseKind
from upgrade.run import plan_of, run
from upgrade.versions import older_version

pytestmark = [pytest.mark.slow, pytest.mark.tools]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_from_the_version_before_nothing_is_lost_and_no_call_fails(
    database: DatabaseKind, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    tree = tmp_path / "old"
    tree.mkdir()
    # Without history this fails and says what to do: an upgrade that was not tried must not look like one that works.
    old = older_version(tree, pytestconfig.getoption("--old-version") or "")

    report = run(plan_of(1, database), old, tmp_path)

    assert report.violations == [], str(report)
    assert report.acknowledged > 0
    assert report.at_rest.in_ledgers > 0
    assert report.calls["searches"] > 0
