"""What `memorybase doctor` says of quotas, of every user."""

from __future__ import annotations

import pytest
from integration.features.quotas.conftest import Limited

from memorybase.cli import doctor


def test_a_quota_that_is_used_up_fails_its_check(limited: Limited, monkeypatch: pytest.MonkeyPatch) -> None:
    services = limited.world.services
    monkeypatch.setattr(doctor.DoctorContext, "services", services)
    context = doctor.DoctorContext(services.settings, None)
    (check,) = [each for each in doctor.checks_of(services.settings) if each.name == "quotas"]
    assert (check.run(context).ok, check.run(context).detail) == (True, "none is used up")
    limited.set(stored_messages=1)
    assert limited.say("one")
    result = check.run(context)
    assert not result.ok
    assert result.detail.startswith(
        "stored_messages is used up: 1 of 1 are used by the user; new messages are refused."
    )
    assert result.fix == "fix: memorybase quotas show, or set to raise one"
