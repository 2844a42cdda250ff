from __future__ import annotations

from memorybase.core.foreground import Foreground


def test_there_is_a_gap_while_no_request_is_in_progress() -> None:
    foreground = Foreground()

    assert foreground.wait_for_gap(0)
    with foreground:
        with foreground:
            assert not foreground.wait_for_gap(0)
        assert not foreground.wait_for_gap(0)
    assert foreground.wait_for_gap(0)
