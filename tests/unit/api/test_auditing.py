"""What the audit log records only once a minute."""

from __future__ import annotations

from api.auditing import RECENT_SECONDS, Recent


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
