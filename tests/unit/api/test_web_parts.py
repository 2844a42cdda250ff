"""How often a page refreshes."""

from __future__ import annotations

import pytest

from api.web.parts import INTERVAL_FACTOR, next_interval


@pytest.mark.parametrize(
    ("seconds", "previous", "interval"),
    [
        pytest.param(0.01, 0.01, 1.0, id="fast refreshes"),
        pytest.param(2.0, 0.0, 1.0, id="a slow first refresh, which builds the page"),
        pytest.param(2.0, 0.01, 1.0, id="one slow refresh among fast ones"),
        pytest.param(2.0, 3.0, 2.0 * INTERVAL_FACTOR, id="slow refreshes"),
    ],
)
def test_two_slow_refreshes_in_a_row_lengthen_the_interval(seconds: float, previous: float, interval: float) -> None:
    assert next_interval(1.0, seconds, previous) == interval
