"""Pauses between attempts at a delivery."""

from __future__ import annotations

from memorybase.features.webhooks import sender


def test_a_pause_that_the_receiver_asks_for_is_kept_up_to_a_day() -> None:
    assert 48 <= sender.retry_seconds(1, None) <= 72
    assert 48 <= sender.retry_seconds(1, 5) <= 72
    assert sender.retry_seconds(1, 3_600) == 3_600
    assert sender.retry_seconds(1, 10**9) == 86_400
