"""How often a page looks again."""

from __future__ import annotations

import pytest

from api.web.parts import LOOKS_SHARE, rest


@pytest.mark.parametrize(
    ("took", "before", "seconds"),
    [
        pytest.param(0.01, 0.01, 1.0, id="short looks"),
        pytest.param(2.0, 0.0, 1.0, id="a first look, which builds the page"),
        pytest.param(2.0, 0.01, 1.0, id="one long look among short ones"),
        pytest.param(2.0, 3.0, 2.0 * LOOKS_SHARE, id="long looks"),
    ],
)
def test_a_page_rests_for_long_only_when_looks_are_long_again_and_again(
    took: float, before: float, seconds: float
) -> None:
    assert rest(1.0, took, before) == seconds
