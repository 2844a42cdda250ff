"""Fits weights of signals so that the messages that answer a question rank first among its candidates.

Listwise: the fit moves the softmax over a question's candidates onto the evidence (ListNet: Cao et al., "Learning to
Rank", 2007). Each question counts 1 / sqrt(questions of its category) and each corpus its share, so that neither a
frequent category nor a large corpus dominates. Then the weights are scaled so that the logistic function of the sum is
the chance that a candidate is evidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memorybase.core.search import scoring

Floats = NDArray[np.float64]

TINY = 1e-6
PENALTY = 1e-3  # on the squared weights of signals divided by their standard deviation
# How far calibration may move from a prior: standard deviations of the slope, in proportion, and of the bias.
SLOPE_DEVIATION = 0.5
BIAS_DEVIATION = 1.0
EXPONENTS = tuple(step / 4 for step in range(-20, 21))  # logarithms of a factor to try first
GOLDEN = (math.sqrt(5) - 1) / 2
MOST_STEPS = 200
TOLERANCE = 1e-12  # of the loss: a step that gains less is the last


@dataclass(frozen=True, slots=True)
class JudgedCandidates:
    """A question with its evidence and its candidates: ids and signals' values (candidates x signals).

    A cross-validation leaves out the questions of one `group` together.
    """

    corpus: str
    group: str
    category: str
    evidence: frozenset[str]
    found: Sequence[str]
    values: Floats

    @property
    def hits(self) -> Floats:
        return np.array([name in self.evidence for name in self.found], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Fit:
    """A weight for each signal, and the bias, scaled so that shares in the order are chances."""

    weights: Floats
    bias: float

    def ranked(self, question: JudgedCandidates) -> list[str]:
        order = np.argsort(-(question.values @ self.weights), kind="stable")
        return [question.found[position] for position in order]

    def chances(self, question: JudgedCandidates) -> Floats:
        """The candidates' shares in the order, as a search computes them."""
        sums = question.values @ self.weights
        logits = sums + self.bias - scoring.COMPETITION * scoring.log_sum(sums)
        return _logistic(logits)


def fit(
    questions: Sequence[JudgedCandidates],
    shares: Mapping[str, float] | None = None,
    *,
    penalty: float = PENALTY,
    prior: Fit | None = None,
    calibrated: bool = True,
) -> Fit:
    """Fit weights on these questions. `shares`: the share of each corpus; by default equal.

    `penalty` is on the squared distance from zero, or from the weights of `prior`. Without `calibrated` the sums only
    rank candidates and are no chances, in half the time.
    """
    usable = [question for question in questions if question.hits.any()]
    if not usable:
        raise ValueError("no question has its evidence among the candidates")
    deviation = _deviation(usable)
    lists = _Lists.of(usable, deviation, _importance(usable, shares))
    scale = 1.0 if prior is None else _scale(lists, prior.weights * deviation)
    center = np.zeros(len(deviation)) if prior is None else scale * prior.weights * deviation

    def loss(weights: Floats) -> tuple[float, Floats]:
        total, slope = lists.loss(weights)
        away = weights - center
        return total + penalty * float(away @ away), slope + 2 * penalty * away

    def curvature(weights: Floats) -> Floats:
        return lists.curvature(weights) + 2 * penalty * np.eye(len(weights))

    weights = minimum(loss, curvature, center) / deviation
    if not calibrated:
        return Fit(weights, 0.0)
    slope, bias = _calibrated(questions, weights, shares, None if prior is None else (1 / scale, prior.bias))
    return Fit(slope * weights, bias)


@dataclass(frozen=True, slots=True)
class _Lists:
    """The candidates of all questions, concatenated."""

    values: Floats
    wanted: Floats  # sums to 1 for each question, spread over its evidence
    starts: NDArray[np.int64]  # of each question's candidates
    question: NDArray[np.int64]  # of each candidate
    importance: Floats

    @classmethod
    def of(cls, questions: Sequence[JudgedCandidates], deviation: Floats, importance: Floats) -> _Lists:
        lengths = [len(question.found) for question in questions]
        return cls(
            values=np.concatenate([question.values for question in questions]) / deviation,
            wanted=np.concatenate([question.hits / question.hits.sum() for question in questions]),
            starts=np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64),
            question=np.repeat(np.arange(len(questions)), lengths),
            importance=importance,
        )

    def loss(self, weights: Floats) -> tuple[float, Floats]:
        """The cross entropy of the evidence and the softmax of the sums, and its gradient."""
        logs = self._logs(weights)
        counts = self.importance[self.question]
        return -float((counts * self.wanted) @ logs), self.values.T @ (counts * (np.exp(logs) - self.wanted))

    def curvature(self, weights: Floats) -> Floats:
        """The Hessian of the loss."""
        chances = np.exp(self._logs(weights))[:, None] * self.values
        means = np.add.reduceat(chances, self.starts)
        spread: Floats = self.values.T @ (self.importance[self.question][:, None] * chances)
        return spread - means.T @ (self.importance[:, None] * means)

    def _logs(self, weights: Floats) -> Floats:
        """The log of the softmax over each question's candidates."""
        logs: Floats = self.values @ weights
        logs -= np.maximum.reduceat(logs, self.starts)[self.question]
        return logs - np.log(np.add.reduceat(np.exp(logs), self.starts))[self.question]


def minimum(
    loss: Callable[[Floats], tuple[float, Floats]], curvature: Callable[[Floats], Floats], start: Floats
) -> Floats:
    """The minimum of a smooth function of few variables by Newton's method; `curvature` is positive definite."""
    at = start
    value, slope = loss(at)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(curvature(at), -slope)
        gain = -float(slope @ step)
        length = 1.0
        # As far as the function falls at least a little (Armijo's rule): far from the minimum a whole step overshoots.
        while gain * length > TOLERANCE:
            new_value, new_slope = loss(at + length * step)
            if new_value <= value - 1e-4 * length * gain:
                break
            length /= 2
        else:
            return at
        at, value, slope = at + length * step, new_value, new_slope
    return at


def _lowest(function: Callable[[float], float]) -> float:
    """The minimum of a function of one variable among EXPONENTS and around it, by golden-section search."""
    values = [function(exponent) for exponent in EXPONENTS]
    middle = min(max(values.index(min(values)), 1), len(EXPONENTS) - 2)
    low, high = EXPONENTS[middle - 1], EXPONENTS[middle + 1]
    while high - low > 1e-6:
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, right) if function(left) < function(right) else (left, high)
    return (low + high) / 2


def _scale(lists: _Lists, weights: Floats) -> float:
    """The factor with which these weights fit best: a softmax and a chance need sums of different size."""
    return math.exp(_lowest(lambda exponent: lists.loss(math.exp(exponent) * weights)[0]))


def cross_validate(questions: Sequence[JudgedCandidates], shares: Mapping[str, float] | None = None) -> list[list[str]]:
    """Each question's candidates, ranked by weights that were fitted without its group."""
    ranked: dict[int, list[str]] = {}
    for group in sorted({question.group for question in questions}):
        weights = fit([question for question in questions if question.group != group], shares)
        for number, question in enumerate(questions):
            if question.group == group:
                ranked[number] = weights.ranked(question)
    return [ranked[number] for number in range(len(questions))]


def _deviation(questions: Sequence[JudgedCandidates]) -> Floats:
    values = np.concatenate([question.values for question in questions])
    deviation: Floats = values.std(axis=0)
    # A signal that differs only by rounding is constant: dividing by so little would let it dominate.
    return np.where(deviation > TINY * np.abs(values).max(axis=0), deviation, 1.0)


def _importance(questions: Sequence[JudgedCandidates], shares: Mapping[str, float] | None) -> Floats:
    """Each question's importance: 1 / sqrt(questions of its category), scaled to its corpus's share; sums to 1."""
    sizes = Counter((question.corpus, question.category) for question in questions)
    raw = np.array([1 / math.sqrt(sizes[question.corpus, question.category]) for question in questions])
    corpora = [question.corpus for question in questions]
    total = {name: sum(value for value, of in zip(raw, corpora, strict=True) if of == name) for name in set(corpora)}
    share = {name: 1.0 if shares is None else shares[name] for name in total}
    total_share = sum(share.values())
    return np.array([value * share[of] / total_share / total[of] for value, of in zip(raw, corpora, strict=True)])


@dataclass(frozen=True, slots=True)
class _Sums:
    """The sums of all candidates of all questions, concatenated."""

    sums: Floats
    hits: Floats
    counts: Floats  # the importance of each candidate's question
    starts: NDArray[np.int64]  # of each question's candidates
    sizes: Sequence[int]  # their number

    @classmethod
    def of(cls, questions: Sequence[JudgedCandidates], weights: Floats, importance: Floats) -> _Sums:
        weighted = [(question, of) for question, of in zip(questions, importance, strict=True) if len(question.found)]
        sizes = [len(question.found) for question, _ in weighted]
        return cls(
            sums=np.concatenate([question.values @ weights for question, _ in weighted]),
            hits=np.concatenate([question.hits for question, _ in weighted]),
            counts=np.repeat([of for _, of in weighted], sizes),
            starts=np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64),
            sizes=sizes,
        )

    def logits(self, slope: float) -> Floats:
        """The candidates' logits without the bias."""
        scaled = slope * self.sums
        competing: Floats = scaled - scoring.COMPETITION * np.repeat(scoring.log_sums(scaled, self.starts), self.sizes)
        return competing


def _calibrated(
    questions: Sequence[JudgedCandidates],
    weights: Floats,
    shares: Mapping[str, float] | None,
    toward: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Slope and bias that turn sums into chances, over all candidates of all questions.

    `toward`: a slope and bias that few questions should not move far.
    """
    sums = _Sums.of(questions, weights, _importance(questions, shares))
    hits, counts = sums.hits, sums.counts
    center, pull = (1.0, 0.0), np.zeros(2)
    if toward is not None:
        center = toward
        pull = 1 / np.array([SLOPE_DEVIATION * toward[0], BIAS_DEVIATION]) ** 2 / len(questions)

    def best(slope: float) -> tuple[float, float]:
        """The loss of a slope with its best bias, and that bias. The loss is convex in the bias."""
        known = sums.logits(slope)

        def loss(bias: Floats) -> tuple[float, Floats]:
            found, away = known + bias, bias - center[1]
            value = counts @ (np.logaddexp(0, found) - hits * found) + pull[1] * away[0] ** 2 / 2
            return float(value), counts @ (_logistic(found) - hits) + pull[1] * away

        def curvature(bias: Floats) -> Floats:
            chance = _logistic(known + bias)
            return np.array([[counts @ (chance * (1 - chance)) + pull[1] + TINY]])

        bias = minimum(loss, curvature, np.array([center[1]]))
        return loss(bias)[0] + float(pull[0]) * (slope - center[0]) ** 2 / 2, float(bias[0])

    # The number of alike candidates that count has a bound, so the loss has edges along the slope.
    slope = center[0] * math.exp(_lowest(lambda exponent: best(center[0] * math.exp(exponent))[0]))
    return slope, best(slope)[1]


def _logistic(logits: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(logits, -500, 500)))
