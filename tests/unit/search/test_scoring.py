"""Parts and bands of a score."""

from __future__ import annotations

from harness.rows import each_row

from memorybase.search.scoring import (
    BANDS,
    FAIR,
    GOOD,
    KIND,
    PARTS,
    SIGNALS,
    SIGNALS_OF,
    STRONG,
    WEAK,
    WITH_TOKENS,
    Band,
    PartWeights,
    band_of,
    part_of,
    shares_by_part,
)


def test_every_signal_belongs_to_one_part() -> None:
    named = [signal for signals in SIGNALS_OF.values() for signal in signals]
    assert len(named) == len(set(named))
    assert set(named) < set(SIGNALS)
    assert {part_of(signal) for signal in SIGNALS} == set(PARTS)
    assert part_of("date") == KIND


def test_the_shares_of_the_parts_add_up() -> None:
    shares = {signal: float(number) for number, signal in enumerate(SIGNALS)}
    assert sum(shares_by_part(shares).values()) == sum(shares.values())


def test_factors_of_one_change_no_weight() -> None:
    assert PartWeights().applied(WITH_TOKENS) == WITH_TOKENS
    assert PartWeights().changes_nothing
    assert not PartWeights(around=0.5).changes_nothing


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
