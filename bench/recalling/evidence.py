"""Fits the weights of Evidence: whether a store answers a question, from what its best candidates show.

An explanation does not show all that the evidence is read from, so the questions are searched in this process too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from unittest.mock import patch
from uuid import UUID

import numpy as np

from memorybase.core.queries import memory_bases
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.scoring import ENOUGH_EVIDENCE, EVIDENCE, Evidence
from memorybase.core.search.search import search_uncharged
from memorybase.core.services import Services
from memorybase.features.lab.fitting import minimum

NAMES = tuple(each.name for each in fields(Evidence))  # the bias first
NONE = Evidence(**dict.fromkeys(NAMES, 0.0))
SMALL = 0.01  # a weight with which no chance is rounded to 1
PENALTY = 1e-3

Values = tuple[float, ...]  # of NAMES


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was searched. Groups count alike in a fit, and a cross-validation leaves out a conversation."""

    values: Values
    is_answered: bool
    group: str
    conversation: str


_chance = Evidence.of


def values_of(*shown: Any) -> Values:
    """What each weight is multiplied by, of the arguments of `Evidence.of`: the logit of that weight alone."""
    chances = (_chance(replace(NONE, **{name: SMALL}), *shown) for name in NAMES)
    return tuple(math.log(each / (1 - each)) / SMALL for each in chances)


def chance(evidence: Evidence, values: Values) -> float:
    logit = sum(weight * value for weight, value in zip(asdict(evidence).values(), values, strict=True))
    return 1 / (1 + math.exp(-logit))


def shown(services: Services, base_id: UUID, query: str) -> Values | None:
    """What a search shows of this question; of a text with several questions, the one with the most evidence.

    None if nothing is found, and for small talk, which has no evidence whatever is found.
    """
    found: list[Values] = []

    def record(evidence: Evidence, *shown: Any) -> float:
        found.append(values_of(*shown))
        return _chance(evidence, *shown)

    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
        assert base is not None
        user_id = base.user_id
    with patch.object(Evidence, "of", record):
        search_uncharged(services, user_id, SearchRequest(memory_base_id=base_id, query=query))
    return max(found, key=lambda values: chance(EVIDENCE, values), default=None)


def fit(asked: Sequence[Asked]) -> Evidence:
    """The weights. Questions with and without an answer count alike, and so do groups."""
    values = np.array([each.values for each in asked])
    answered = np.array([each.is_answered for each in asked], dtype=np.float64)
    sizes = Counter((each.is_answered, each.group) for each in asked)
    weight = np.array([1 / sizes[each.is_answered, each.group] for each in asked])
    for side in (0, 1):
        weight[answered == side] /= weight[answered == side].sum()
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    mean[0], deviation[deviation < 1e-9] = 0.0, 1.0
    scaled = (values - mean) / deviation

    def loss(weights: Any) -> tuple[float, Any]:
        logits = scaled @ weights
        total = weight @ (np.logaddexp(0, logits) - answered * logits) + PENALTY * weights[1:] @ weights[1:]
        slope = scaled.T @ (weight * (1 / (1 + np.exp(-logits)) - answered))
        return float(total), slope + 2 * PENALTY * np.append(0.0, weights[1:])

    def curvature(weights: Any) -> Any:
        chances = 1 / (1 + np.exp(-(scaled @ weights)))
        spread = scaled.T @ ((weight * chances * (1 - chances))[:, None] * scaled)
        return spread + 2 * PENALTY * np.diag([0.0, *[1.0] * (len(NAMES) - 1)])

    found = minimum(loss, curvature, np.zeros(len(NAMES))) / deviation
    found[0] -= found[1:] @ mean[1:]
    return Evidence(*(round(float(each), 2) for each in found))


def report(asked: Sequence[Asked]) -> dict[str, Any]:
    """The fitted weights, and how often they, those of today, and those fitted without the question's conversation say
    that the store answers."""
    conversations = {each.conversation for each in asked}
    without = {left: fit([each for each in asked if each.conversation != left]) for left in conversations}
    fitted = fit(asked)
    return {
        "weights": asdict(fitted),
        "today": _recalls(asked, [EVIDENCE] * len(asked)),
        "fitted": _recalls(asked, [fitted] * len(asked)),
        "left out": _recalls(asked, [without[each.conversation] for each in asked]),
    }


def _recalls(asked: Sequence[Asked], weights: Sequence[Evidence]) -> dict[str, float]:
    """The share of questions with and without an answer that have enough evidence."""
    enough: dict[bool, list[bool]] = {True: [], False: []}
    for each, of_each in zip(asked, weights, strict=True):
        enough[each.is_answered].append(chance(of_each, each.values) >= ENOUGH_EVIDENCE)
    return {
        "answered": round(float(np.mean(enough[True])), 3),
        "not answered": round(float(np.mean(enough[False])), 3),
    }
