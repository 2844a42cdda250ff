"""Calibration: how many results of a score are right, and which results a min_score removes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)
MIN_SCORES = (0.0, 0.05, 0.1, 0.2, 0.3)
PERCENTS = (5, 50, 95)
BINS = 10  # for the calibration error


@dataclass(frozen=True, slots=True)
class Scored:
    """A question's results with scores, best first, and the messages that answer it (none if empty)."""

    evidence: frozenset[str]
    results: Sequence[tuple[str, float]]

    @property
    def best(self) -> float:
        return self.results[0][1] if self.results else 0.0

    @property
    def first_is_right(self) -> bool:
        return bool(self.results) and self.results[0][0] in self.evidence


@dataclass(frozen=True, slots=True)
class Band:
    """The results with a score from `low` up to `high`, and how many of them are right."""

    low: float
    high: float
    results: int
    right: int


@dataclass(frozen=True, slots=True)
class BestScores:
    """The 5th, 50th and 95th percentile of the best result's score."""

    questions: int
    p5: float
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The effect of a min_score.

    `false_alarms`: the share of unanswerable questions that still have a result. `missed`: the share of answerable
    questions without an answering message left. `lost`: the share of right first results that are left out. None
    without such questions.
    """

    min_score: float
    false_alarms: float | None
    missed: float | None
    lost: float | None


def bands(scored: Sequence[Scored]) -> list[Band]:
    found = []
    for low, high in pairwise(EDGES):
        inside = [
            name in question.evidence
            for question in scored
            for name, score in question.results
            if low <= score < high or score == high == EDGES[-1]
        ]
        found.append(Band(low, high, len(inside), sum(inside)))
    return found


def calibration_error(scored: Sequence[Scored], *, first: int = 10) -> float:
    """The mean distance between the scores of the first results and the share that is right, by bands of scores."""
    rows = [(score, name in question.evidence) for question in scored for name, score in question.results[:first]]
    if not rows:
        return 0.0
    bins = [[row for row in rows if min(int(row[0] * BINS), BINS - 1) == position] for position in range(BINS)]
    distances = [abs(sum(score - is_right for score, is_right in band)) for band in bins]
    return sum(distances) / len(rows)


def best_scores(scored: Sequence[Scored]) -> BestScores | None:
    """None without questions."""
    if not scored:
        return None
    low, middle, high = np.percentile([question.best for question in scored], PERCENTS)
    return BestScores(len(scored), float(low), float(middle), float(high))


def cuts(scored: Sequence[Scored], min_scores: Sequence[float] = MIN_SCORES) -> list[Cut]:
    unanswered = [question.best if question.results else -1.0 for question in scored if not question.evidence]
    right = [
        max((score for name, score in question.results if name in question.evidence), default=-1.0)
        for question in scored
        if question.evidence
    ]
    first = [question.best for question in scored if question.first_is_right]
    return [
        Cut(
            at,
            _share([best >= at for best in unanswered]),
            _share([best < at for best in right]),
            _share([best < at for best in first]),
        )
        for at in min_scores
    ]


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None
