"""Words for scores."""

from __future__ import annotations

from harness.rows import each_row

from memorybase.search.scoring import BANDS, FAIR, GOOD, STRONG, WEAK, Band, band_of


@each_row(
    ("score", "band"),
    [
        (1.0, STRONG),
        (0.5, STRONG),
        (0.4999, GOOD),
        (0.2, GOOD),
        (0.1999, FAIR),
        (0.05, FAIR),
        (0.0499, WEAK),
        (0.0, WEAK),
        (-0.1, WEAK),
    ],
)
def test_a_bound_belongs_to_the_band_above_it(score: float, band: Band) -> None:
    assert band_of(score) is band


def test_bands_cover_every_score_in_order() -> None:
    assert [band.low for band in BANDS] == sorted((band.low for band in BANDS), reverse=True)
    assert BANDS[-1].low == 0
