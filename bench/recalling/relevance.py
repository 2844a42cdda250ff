"""Fits the weights of Relevance: whether a store knows anything of what is asked, from what a search shows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memorybase.evaluation.fitting import minimum
from memorybase.search import query_parser

NAMES = ("bias", "no_words", "dense", "two_before", "nearby", "messages")
PENALTY = 1e-3


@dataclass(frozen=True, slots=True)
class Seen:
    """A search's values of NAMES. Small talk is recognized by its words, so nothing is fitted to it."""

    values: tuple[float, ...]
    is_small_talk: bool


def seen(query: str, results: Sequence[Mapping[str, Any]], messages: int) -> Seen:
    question = query_parser.parse(query, language="detect", speakers=(), now=datetime.now(UTC))
    signals = [{name: each["value"] for name, each in hit["parts"]["signals"].items()} for hit in results]
    best = max(zip(signals, results, strict=True), key=lambda pair: pair[1]["score"])[0]
    dense = max(each["dense"] * (1 - each["repeats"]) for each in signals)
    values = (1.0, float(not question.terms), dense, best.get("two_before", 0.0), best["nearby"], math.log1p(messages))
    return Seen(values, question.is_small_talk)


def fit(searches: Sequence[tuple[Seen, bool, str]]) -> dict[str, float]:
    """The weights, from searches with whether the store knows the answer, and their group: groups count alike, and so
    do those with and without an answer."""
    used = [each for each in searches if not each[0].is_small_talk]
    values = np.array([each.values for each, _, _ in used])
    known = np.array([is_known for _, is_known, _ in used], dtype=np.float64)
    sizes = Counter((is_known, group) for _, is_known, group in used)
    weight = np.array([1 / sizes[is_known, group] for _, is_known, group in used])
    for side in (0, 1):
        weight[known == side] /= weight[known == side].sum()
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    mean[0], deviation[deviation == 0] = 0.0, 1.0
    scaled = (values - mean) / deviation

    def loss(weights: Any) -> tuple[float, Any]:
        logits = scaled @ weights
        total = weight @ (np.logaddexp(0, logits) - known * logits) + PENALTY * weights[1:] @ weights[1:]
        slope = scaled.T @ (weight * (1 / (1 + np.exp(-logits)) - known))
        return float(total), slope + 2 * PENALTY * np.append(0.0, weights[1:])

    def curvature(weights: Any) -> Any:
        chance = 1 / (1 + np.exp(-(scaled @ weights)))
        spread = scaled.T @ ((weight * chance * (1 - chance))[:, None] * scaled)
        return spread + 2 * PENALTY * np.diag([0.0, *[1.0] * (len(NAMES) - 1)])

    found = minimum(loss, curvature, np.zeros(len(NAMES))) / deviation
    found[0] -= found[1:] @ mean[1:]
    return {name: round(float(each), 2) for name, each in zip(NAMES, found, strict=True)}
