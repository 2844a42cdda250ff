"""Fits weights to the questions of one memory base, and measures their gain on unseen questions.

A user has tens of questions, rarely hundreds. So the fit starts from the default weights and stays near them;
cross-validation chooses how near. The reported gain is nested: its questions take part neither in the fit nor in that
choice.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memorybase.evaluation.calibration import Scored
from memorybase.evaluation.fitting import Asked, Fit, fit
from memorybase.evaluation.metrics import ndcg

PARTS = 5
# Penalties on the squared distance from the default weights; the strongest changes next to nothing.
STRENGTHS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
MIN_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class Tuned:
    """`fit`: on all questions. `left_out`: each question's candidates, scored by weights that have not seen it."""

    fit: Fit
    strength: float
    left_out: list[Scored]


def split(groups: Mapping[str, str]) -> tuple[dict[str, int], bool]:
    """Each question's part, and whether groups stay together.

    They do unless one group has so many questions that too few remain without it.
    """
    sizes = Counter(groups.values())
    if len(sizes) >= PARTS and max(sizes.values()) <= len(groups) / 2:
        filled = [0] * PARTS
        part_of: dict[str, int] = {}
        for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
            part_of[name] = filled.index(min(filled))
            filled[part_of[name]] += size
        return {question: part_of[group] for question, group in groups.items()}, True
    ordered = sorted(groups, key=lambda question: (zlib.crc32(question.encode()), question))
    return {question: position % PARTS for position, question in enumerate(ordered)}, False


def tune(asked: Sequence[Asked], default: Fit) -> Tuned:
    """Each question's `group` is its part. Raises ValueError if one part has all the usable questions."""
    left_out: dict[int, Scored] = {}
    for part in sorted({each.group for each in asked}):
        rest = [each for each in asked if each.group != part]
        found = fit(rest, penalty=_strength(rest, default), prior=default)
        left_out |= {position: scored(each, found) for position, each in enumerate(asked) if each.group == part}
    strength = _strength(asked, default)
    return Tuned(
        fit=fit(asked, penalty=strength, prior=default),
        strength=strength,
        left_out=[left_out[position] for position in range(len(asked))],
    )


def scored(asked: Asked, by: Fit) -> Scored:
    """The candidates with the scores of a search with these weights, best first."""
    scores = by.chances(asked)
    order = np.argsort(-scores, kind="stable")
    return Scored(asked.evidence, [(asked.found[position], float(scores[position])) for position in order])


def usable(asked: Sequence[Asked]) -> int:
    """How many questions have evidence among their candidates: only these can compare weights."""
    return sum(bool(each.hits.any()) for each in asked)


def _strength(asked: Sequence[Asked], default: Fit) -> float:
    """The strongest penalty within one standard error of the best one on left-out questions.

    The best itself would be chosen by chance among equals too often.
    """
    gains = [_left_out(asked, default, strength) for strength in STRENGTHS]
    best = max(gains, key=lambda each: float(each.mean()))
    for strength, each in zip(STRENGTHS, gains, strict=True):
        behind = best - each
        if behind.mean() <= behind.std() / math.sqrt(len(behind)):
            return strength
    raise AssertionError("the best is as good as itself")


def _left_out(asked: Sequence[Asked], default: Fit, strength: float) -> NDArray[np.float64]:
    """NDCG of each question with evidence, by weights that were fitted without its part."""
    found: list[float] = []
    for part in sorted({each.group for each in asked}):
        by = fit([each for each in asked if each.group != part], penalty=strength, prior=default, calibrated=False)
        left = [each for each in asked if each.group == part and each.evidence]
        found += [ndcg(by.ranked(each), each.evidence) for each in left]
    return np.array(found)
