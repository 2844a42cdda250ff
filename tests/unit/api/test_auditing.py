"""Which calls the audit log records, and what it records only once a minute."""

from __future__ import annotations

from pathlib import Path

from harness.contract import CONTRACT

from api.auditing import CAPTURES, EXPORTS, READS, RECENT_SECONDS, Recent


def test_every_operation_is_a_change_or_says_why_not() -> None:
    """Every call with another method than GET is recorded, but for those that need only the scope read."""
    found = {
        operation["operationId"]: (method, path.removeprefix("/v1"))
        for path, item in CONTRACT["paths"].items()
        for method, operation in item.items()
    }
    reference = Path(__file__).parents[3] / "docs" / "reference" / "api.md"
    lines = reference.read_text(encoding="utf-8").splitlines()
    for name in READS:
        method, path = found[name]
        row = next(line for line in lines if line.startswith(f"| `{method.upper()} {path}"))
        assert row.split("|")[2].strip() == "read", f"{name} may change something"
    assert found.keys() >= READS | EXPORTS | CAPTURES


def test_what_is_asked_again_and_again_is_recorded_once_a_minute() -> None:
    now = 0.0
    recent = Recent(lambda: now)
    assert "reading" not in recent
    recent.add("reading")
    now = RECENT_SECONDS - 1
    assert "reading" in recent
    assert "another" not in recent
    now = RECENT_SECONDS
    assert "reading" not in recent
