"""The two decisions of a score, its parts and its bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from harness.rows import each_row
from numpy.typing import NDArray

from memorybase.core.search.bands import BANDS, FAIR, GOOD, MIN_SCORE, STRONG, WEAK, Band, band_of
from memorybase.core.search.part_weights import KIND, PARTS, SIGNALS_OF, PartWeights, part_of, shares_by_part
from memorybase.core.search.scoring import (
    DEFAULT,
    ENOUGH_EVIDENCE,
    EVIDENCE,
    FEW,
    FLOOR,
    KEPT,
    KEPT_COVERED,
    NEAR,
    NEAR_AMONG_FEW,
    SIGNALS,
    is_near_among_few,
    scores_of,
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
    assert PartWeights().applied(DEFAULT) == DEFAULT
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


@each_row(
    ("shares", "covered", "evidence", "recalled"),
    [
        ((0.9, 0.4, 0.01), (), 0.9, 3),
        ((0.9, *[0.8 * FLOOR * 0.9**n for n in range(KEPT)]), (), 0.9, KEPT),  # one of them is the best itself
        ((0.9, *[0.99**n * FLOOR for n in range(KEPT)]), (), 0.9, KEPT + 1),
        ((0.9, *[0.8 * FLOOR * 0.9**n for n in range(KEPT)]), (KEPT_COVERED,) * (KEPT + 1), 0.9, KEPT + 1),
        ((1e-6, 1e-7), (), ENOUGH_EVIDENCE, 2),
        ((0.99, 0.9), (1.0, 1.0), ENOUGH_EVIDENCE - 1e-6, 0),
        ((1.0,), (), 0.0, 0),
        ((), (), 0.9, 0),
    ],
)
def test_scores_reach_the_minimum_only_if_the_store_answers(
    shares: Sequence[float], covered: Sequence[float], evidence: float, recalled: int
) -> None:
    scores = scores_of(np.array(shares), evidence, shown(len(shares), covered=covered))
    assert sum(score >= MIN_SCORE for score in scores) == recalled
    assert list(scores) == sorted(scores, reverse=True)
    assert len(set(np.round(scores, 6))) == len(shares) or recalled == 0, "rounding keeps their order"
    assert all(0 <= score <= 1 for score in scores)


def test_scores_keep_the_order_without_any_evidence() -> None:
    best, other = scores_of(np.array([0.9, 0.3]), 0.0, shown(2))
    assert MIN_SCORE > best > other > 0


def test_what_only_asks_the_question_again_is_not_recalled() -> None:
    again = shown(2)
    again.columns["says_nothing"][0] = 1.0
    scores = scores_of(np.array([0.9, 0.3]), 0.9, again)
    assert scores[0] < MIN_SCORE < scores[1]


def test_of_a_question_that_a_name_alone_answers_others_are_not_recalled() -> None:
    shares = np.array([0.9, 0.8])
    assert list(scores_of(shares, 0.9, shown(2), np.array([False, True])) >= MIN_SCORE) == [False, True]


def test_a_weak_message_beside_a_strong_one_is_recalled_if_it_is_near() -> None:
    shares = np.array([0.9, 1e-7])
    assert scores_of(shares, 0.9, shown(2, dense=(0.6, NEAR)))[1] > MIN_SCORE
    assert scores_of(shares, 0.9, shown(2, dense=(0.6, 0.0), covered=(1.0, 0.01)))[1] > MIN_SCORE
    assert scores_of(shares, 0.9, shown(2, dense=(0.6, 0.0)))[1] < MIN_SCORE


@each_row(
    ("messages", "dense", "is_near"),
    [
        (FEW, NEAR_AMONG_FEW, True),
        (FEW + 1, 0.9, False),  # among many something is near by chance
        (1, NEAR_AMONG_FEW - 0.01, False),
    ],
)
def test_a_near_message_is_evidence_among_a_few(messages: int, dense: float, *, is_near: bool) -> None:
    read = shown(2, dense=(0.1, dense))
    assert is_near_among_few(read, messages) is is_near
    read.columns["says_nothing"][1] = 1.0
    assert not is_near_among_few(read, messages)


@dataclass
class Shown:
    """What is read of the signals."""

    columns: dict[str, NDArray[np.float64]]
    covered: NDArray[np.float64]
    fluency: float
    unsaid: float


def shown(count: int, *, dense: Sequence[float] = (), covered: Sequence[float] = ()) -> Shown:
    columns = {"dense": np.array(dense) if dense else np.ones(count), "says_nothing": np.zeros(count)}
    of_words = np.array(covered) if covered else np.zeros(count)
    return Shown(columns, of_words, fluency=1.0, unsaid=0.0)


def evidence(
    sums: Sequence[float] = (8.0, 4.0),
    dense: Sequence[float] = (0.6, 0.4),
    covered: Sequence[float] = (0.7, 0.3),
    fluency: float = 1.0,
    unsaid: float = 0.0,
) -> float:
    read = Shown({"dense": np.array(dense)}, np.array(covered), fluency, unsaid)
    return EVIDENCE.of(read, np.array(sums))


def test_evidence_is_a_chance_and_follows_what_the_best_candidates_show() -> None:
    usual = evidence()
    assert 0 < usual < 1
    assert evidence(sums=(9.0, 4.0)) > usual
    assert evidence(dense=(0.6, 0.7)) > usual, "whichever of the best has it"
    assert evidence(unsaid=0.5) < usual
    assert evidence(covered=(1.0, 1.0)) == usual, "words do not decide where the model knows them"
    unsure = evidence(fluency=0.0)
    assert evidence(fluency=0.0, covered=(1.0, 0.3)) > unsure


def test_saying_a_thing_again_lowers_no_evidence() -> None:
    for fluency in (0.0, 0.5, 1.0):
        once = evidence(fluency=fluency)
        for times in (2, 3, 50):
            again = evidence(
                sums=(*[8.0] * times, 4.0), dense=(*[0.6] * times, 0.4), covered=(*[0.7] * times, 0.3), fluency=fluency
            )
            assert again >= once


def test_a_further_candidate_that_is_far_behind_changes_no_evidence() -> None:
    three = evidence(sums=(8.0, 7.0, 6.0), dense=(0.5, 0.5, 0.5), covered=(0.5, 0.5, 0.5))
    assert three == evidence(sums=(1.0, 8.0, 7.0, 6.0), dense=(0.9, 0.5, 0.5, 0.5), covered=(1.0, 0.5, 0.5, 0.5))
