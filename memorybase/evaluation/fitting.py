"""Weights of signals, fitted so that the messages that answer a question stand out among its candidates.

Listwise: the softmax over a question's candidates is to lie on the evidence (ListNet: Cao et al., "Learning to Rank",
2007). Each question counts by 1 / sqrt(questions of its category), each corpus by its share, so that neither many
questions of one kind nor a large corpus decides alone. The weights are then scaled so that the logistic function of the
sum is the chance that a candidate is evidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]

PENALTY = 1e-3  # on the squares of the weights, of signals divided by their standard deviation
PARTS = 10  # of a cross-validation without groups of its own


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its candidates: ids, the signals' values (candidates x signals), and what answers it.

    `group`: what is left out together in a cross-validation. `prior`: what the store's size adds to the bias.
    """

    corpus: str
    group: str
    category: str
    evidence: frozenset[str]
    found: Sequence[str]
    values: Floats
    prior: float = 0.0

    @property
    def hits(self) -> Floats:
        return np.array([name in self.evidence for name in self.found], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Fit:
    """A weight a signal, and the bias, scaled so that the logistic function of the sum is a chance."""

    weights: Floats
    bias: float

    def ranked(self, asked: Asked) -> list[str]:
        order = np.argsort(-(asked.values @ self.weights), kind="stable")
        return [asked.found[place] for place in order]


def fit(asked: Sequence[Asked], shares: Mapping[str, float] | None = None, *, penalty: float = PENALTY) -> Fit:
    """Weights fitted on these questions. `shares`: what each corpus counts; by default all the same."""
    usable = [each for each in asked if each.hits.any()]
    if not usable:
        raise ValueError("no question has its evidence among the candidates")
    deviation = _deviation(usable)
    importance = _importance(usable, shares)
    sizes = [len(each.found) for each in usable]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    values = np.concatenate([each.values for each in usable]) / deviation
    # What each candidate should get of its question's importance.
    wanted = np.concatenate([each.hits / each.hits.sum() for each in usable]) * np.repeat(importance, sizes)

    def loss(weights: Floats) -> tuple[float, Floats]:
        sums = values @ weights
        sums -= np.repeat(np.maximum.reduceat(sums, starts), sizes)
        chances = np.exp(sums)
        totals = np.add.reduceat(chances, starts)
        logs = sums - np.repeat(np.log(totals), sizes)
        chances *= np.repeat(importance / totals, sizes)
        slope = values.T @ (chances - wanted)
        return float(-wanted @ logs) + penalty * float(weights @ weights), slope + 2 * penalty * weights

    weights = minimize(loss, np.zeros(len(deviation)), jac=True, method="L-BFGS-B").x / deviation
    slope, bias = _calibrated(asked, weights, shares)
    return Fit(slope * weights, bias)


def cross_validate(asked: Sequence[Asked], shares: Mapping[str, float] | None = None) -> list[list[str]]:
    """Each question's candidates in the order of weights that were fitted without its group."""
    ranked: dict[int, list[str]] = {}
    for group in sorted({each.group for each in asked}):
        weights = fit([each for each in asked if each.group != group], shares)
        for number, each in enumerate(asked):
            if each.group == group:
                ranked[number] = weights.ranked(each)
    return [ranked[number] for number in range(len(asked))]


def _deviation(asked: Sequence[Asked]) -> Floats:
    deviation: Floats = np.concatenate([each.values for each in asked]).std(axis=0)
    return np.where(deviation > 0, deviation, 1.0)


def _importance(asked: Sequence[Asked], shares: Mapping[str, float] | None) -> Floats:
    """Of each question: 1 / sqrt(questions of its category), scaled to its corpus's share; 1 in all."""
    sizes = Counter((each.corpus, each.category) for each in asked)
    raw = np.array([1 / math.sqrt(sizes[each.corpus, each.category]) for each in asked])
    corpora = [each.corpus for each in asked]
    total = {name: sum(value for value, of in zip(raw, corpora, strict=True) if of == name) for name in set(corpora)}
    wanted = {name: 1.0 if shares is None else shares[name] for name in total}
    whole = sum(wanted.values())
    return np.array([value * wanted[of] / whole / total[of] for value, of in zip(raw, corpora, strict=True)])


def _calibrated(asked: Sequence[Asked], weights: Floats, shares: Mapping[str, float] | None) -> tuple[float, float]:
    """Slope and bias that turn a sum into a chance, over all candidates of all questions."""
    importance = _importance(asked, shares)
    sums = np.concatenate([each.values @ weights for each in asked])
    priors = np.concatenate([np.full(len(each.found), each.prior) for each in asked])
    counts = np.concatenate([np.full(len(each.found), of) for each, of in zip(asked, importance, strict=True)])
    hits = np.concatenate([each.hits for each in asked])

    def loss(line: Floats) -> float:
        logits = line[0] * sums + line[1] + priors
        return float(counts @ (np.logaddexp(0, logits) - hits * logits))

    slope, bias = minimize(loss, np.array([1.0, -float(np.mean(sums))]), method="Nelder-Mead").x
    return float(slope), float(bias)
