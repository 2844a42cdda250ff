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

from memorybase.features.lab.calibration import Scored
from memorybase.features.lab.fitting import Fit, JudgedCandidates, fit
from memorybase.features.lab.metrics import ndcg

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

    They do unless one group has almost all questions, so that too few remain without it.
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


def tune(questions: Sequence[JudgedCandidates], default: Fit) -> Tuned:
    """Each question's `group` is its part. Raises ValueError if one part has all the usable questions."""
    left_out: dict[int, Scored] = {}
    for part in sorted({question.group for question in questions}):
        rest = [question for question in questions if question.group != part]
        weights = fit(rest, penalty=_strength(rest, default), prior=default)
        of_part = [(position, question) for position, question in enumerate(questions) if question.group == part]
        left_out |= {position: scored(question, weights) for position, question in of_part}
    strength = _strength(questions, default)
    return Tuned(
        fit=fit(questions, penalty=strength, prior=default),
        strength=strength,
        left_out=[left_out[position] for position in range(len(questions))],
    )


def scored(question: JudgedCandidates, weights: Fit) -> Scored:
    """The candidates with their shares in the order of a search with these weights, best first."""
    scores = weights.chances(question)
    order = np.argsort(-scores, kind="stable")
    return Scored(question.evidence, [(question.found[position], float(scores[position])) for position in order])


def usable(questions: Sequence[JudgedCandidates]) -> int:
    """Number of questions with evidence among their candidates: only these can compare weights."""
    return sum(bool(question.hits.any()) for question in questions)


def _strength(questions: Sequence[JudgedCandidates], default: Fit) -> float:
    """The strongest penalty within one standard error of the best one on left-out questions.

    The best itself would be chosen by chance among equals too often.
    """
    gains = [_left_out(questions, default, strength) for strength in STRENGTHS]
    best = max(gains, key=lambda gain: float(gain.mean()))
    for strength, gain in zip(STRENGTHS, gains, strict=True):
        behind = best - gain
        if behind.mean() <= behind.std() / math.sqrt(len(behind)):
            return strength
    raise AssertionError("the best is as good as itself")


def _left_out(questions: Sequence[JudgedCandidates], default: Fit, strength: float) -> NDArray[np.float64]:
    """NDCG of each question with evidence, by weights that were fitted without its part."""
    ndcgs: list[float] = []
    for part in sorted({question.group for question in questions}):
        rest = [question for question in questions if question.group != part]
        weights = fit(rest, penalty=strength, prior=default, calibrated=False)
        left_out = [question for question in questions if question.group == part and question.evidence]
        ndcgs += [ndcg(weights.ranked(question), question.evidence) for question in left_out]
    return np.array(ndcgs)
