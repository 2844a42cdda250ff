"""NDCG and recall of ranked messages, by category, with confidence intervals by bootstrap."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

TOP = 10
RESAMPLES = 1_000
CONFIDENCE = 0.95
OTHERS = "others"  # the merged categories of few questions


@dataclass(frozen=True, slots=True)
class Judged:
    """The figures of one question."""

    category: str
    ndcg: float
    recall: float
    first: bool  # whether an answering message ranks first


@dataclass(frozen=True, slots=True)
class Figures:
    """The means over some questions."""

    questions: int
    ndcg: float
    recall: float
    first: float


@dataclass(frozen=True, slots=True)
class Summary:
    """`macro_ndcg` is the mean over the categories; `whole` is over all questions. Intervals hold with 95 %."""

    categories: dict[str, Figures]
    whole: Figures
    macro_ndcg: float
    macro_ndcg_interval: tuple[float, float]
    recall_interval: tuple[float, float]


def judge(category: str, found: Sequence[str], evidence: Collection[str]) -> Judged:
    """The figures of one question, whose evidence must not be empty."""
    return Judged(category, ndcg(found, evidence), recall(found, evidence), bool(found) and found[0] in evidence)


def ndcg(found: Sequence[str], evidence: Collection[str], top: int = TOP) -> float:
    """Normalized discounted cumulative gain of the first `top` (Järvelin and Kekäläinen, 2002), 0 to 1."""
    gained = sum(1 / math.log2(position + 2) for position, id_ in enumerate(found[:top]) if id_ in evidence)
    return gained / sum(1 / math.log2(position + 2) for position in range(min(top, len(evidence))))


def recall(found: Sequence[str], evidence: Collection[str], top: int = TOP) -> float:
    """The share of the evidence among the first `top`."""
    return len(set(evidence) & set(found[:top])) / len(evidence)


def summarize(judged: Sequence[Judged], *, seed: int = 0) -> Summary:
    """Means and intervals; raises ValueError without questions."""
    whole = _figures(judged)
    by_category: dict[str, list[Judged]] = defaultdict(list)
    for question in judged:
        by_category[question.category].append(question)
    categories = {name: _figures(by_category[name]) for name in sorted(by_category)}
    macros, recalls = _resampled(list(by_category.values()), seed)
    return Summary(
        categories=categories,
        whole=whole,
        macro_ndcg=float(np.mean([figures.ndcg for figures in categories.values()])),
        macro_ndcg_interval=_interval(macros),
        recall_interval=_interval(recalls),
    )


def with_small_merged(judged: Sequence[Judged], *, at_least: int = 5) -> list[Judged]:
    """Merge the categories with fewer questions: a category of one question has no spread."""
    sizes = Counter(question.category for question in judged)
    merged: set[str] = set()
    for name, size in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        if size >= at_least and (not merged or sum(sizes[category] for category in merged) >= at_least):
            break
        merged.add(name)
    if len(merged) < 2:
        return list(judged)
    return [replace(question, category=OTHERS) if question.category in merged else question for question in judged]


def difference(left: Sequence[Judged], right: Sequence[Judged], *, seed: int = 0) -> tuple[float, tuple[float, float]]:
    """The gain in macro NDCG of the left over the right, paired by question, and its interval."""
    pairs: dict[str, list[float]] = defaultdict(list)
    for one, other in zip(left, right, strict=True):
        pairs[one.category].append(one.ndcg - other.ndcg)
    groups = [np.array(values) for values in pairs.values()]
    rng = np.random.default_rng(seed)
    means = [
        float(np.mean([values[rng.integers(len(values), size=len(values))].mean() for values in groups]))
        for _ in range(RESAMPLES)
    ]
    return float(np.mean([values.mean() for values in groups])), _interval(means)


def paired_difference(
    left: Sequence[float], right: Sequence[float], *, seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """The mean gain of the left over the right, paired by question, and its interval."""
    gained = np.array(left, dtype=np.float64) - np.array(right, dtype=np.float64)
    rng = np.random.default_rng(seed)
    means = [float(gained[rng.integers(gained.size, size=gained.size)].mean()) for _ in range(RESAMPLES)]
    return float(gained.mean()), _interval(means)


def _figures(judged: Sequence[Judged]) -> Figures:
    if not judged:
        raise ValueError("there must be at least one question with evidence")
    return Figures(
        questions=len(judged),
        ndcg=float(np.mean([question.ndcg for question in judged])),
        recall=float(np.mean([question.recall for question in judged])),
        first=float(np.mean([question.first for question in judged])),
    )


def _resampled(groups: Sequence[Sequence[Judged]], seed: int) -> tuple[list[float], list[float]]:
    """Macro NDCG and recall of samples drawn with replacement within each category."""
    rng = np.random.default_rng(seed)
    values = [np.array([(question.ndcg, question.recall) for question in group]) for group in groups]
    total = sum(map(len, values))
    macros, recalls = [], []
    for _ in range(RESAMPLES):
        samples = [value[rng.integers(len(value), size=len(value))] for value in values]
        macros.append(float(np.mean([sample[:, 0].mean() for sample in samples])))
        recalls.append(float(sum(sample[:, 1].sum() for sample in samples) / total))
    return macros, recalls


def _interval(values: Sequence[float]) -> tuple[float, float]:
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [outside, 1 - outside])
    return float(low), float(high)
