"""How the signs that a message answers a question become one score.

A sum of signals, each with a weight, less what the other candidates come to, through the logistic function: about the
chance that the message is what was asked for. `make bench-recall FIT=1` fits the weights on chats between two people
and on chats with an assistant, with one conversation left out each time. A signal is kept only if it helps on
conversations that it was not fitted on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# What each signal says, in the order in which an explanation lists them.
SIGNALS: Mapping[str, str] = {
    "dense": "cosine of the message's best chunk and the question without names",
    "nearby": "BM25 of the message with two turns before and after, long turns counting less",
    "topic": "the best cosine that the search has found in the message's session",
    "reply": "BM25 of the turn before, where that ended in a question: the answer follows it",
    "coverage": "a long message says nearly all of the question's words (share of their rarity, cubed)",
    "long": "log of the number of terms above 40: long messages match by chance",
    "long_you": "the same, where the question asks what the other side said: answers are long",
    "two_before": "each token of the question with the token nearest to it in the message and two turns before",
    "after_question": "the same, in the message and the question of somebody else that it may answer",
    "speaker": "the question names one speaker, and it is this one",
    "time": "the question asks for a time, and the message tells one",
    "number": "the question asks for a number, and the message tells one",
    "date": "the question names a date, and the message is of then or soon after",
    "wish": "cosine, where the question asks for help and the message states a standing wish",
    "first_person": "log of the number of words such as I and my, where the question has none",
    "capitals": "capitalized words inside a sentence, most of them names: up to three, as a share",
}

# A candidate that stands alone is likelier to be what was asked for than one among many as good. So the sum of each
# loses most of what all candidates come to together, as in a softmax, with something among them that is not in the
# store: where all are weak, that one wins.
CROWD = 0.85
NOT_THERE = 8.0


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal adds to a candidate's sum; a signal without a weight adds nothing. The bias is for all alike."""

    name: str  # of the set
    bias: float
    of: Mapping[str, float]
    tuned: bool = False  # a memory base's own

    def shares(self, values: Mapping[str, float]) -> dict[str, float]:
        """Each signal's part in the sum."""
        return {name: self.of.get(name, 0.0) * value for name, value in values.items()}

    def scores(self, columns: Mapping[str, Floats]) -> tuple[Floats, float]:
        """0 to 1, one a row of the columns, and what every candidate's sum began with."""
        sums = sum((self.of.get(name, 0.0) * column for name, column in columns.items()), np.zeros(1))
        begin = self.bias - CROWD * strength(sums)
        return 1 / (1 + np.exp(-np.clip(sums + begin, -500, 500))), begin


# In mode keyword, and where a generation has no token vectors.
WITHOUT_TOKENS = Weights(
    "without_token_vectors",
    bias=-0.98,
    of={
        "dense": 4.89,
        "nearby": 8.05,
        "topic": 5.79,
        "reply": 6.2,
        "coverage": 1.14,
        "long": -2.0,
        "long_you": 2.15,
        "speaker": 1.16,
        "time": 2.17,
        "number": 1.64,
        "date": 5.68,
        "wish": 7.0,
        "first_person": 0.3,
        "capitals": 0.75,
    },
)
WITH_TOKENS = Weights(
    "with_token_vectors",
    bias=-1.38,
    of={
        "dense": 1.81,
        "nearby": 5.03,
        "topic": 4.51,
        "reply": 3.92,
        "coverage": 1.79,
        "long": -1.63,
        "long_you": 2.17,
        "two_before": 5.01,
        "after_question": 4.31,
        "speaker": 1.13,
        "time": 2.03,
        "number": 1.31,
        "date": 5.61,
        "wish": 7.02,
        "first_person": 0.24,
        "capitals": 0.62,
    },
)
# Where no vector is known, because the mode is keyword or the message is not embedded yet: what most messages have.
DENSE_UNKNOWN = 0.2


# By name: the weights that a search uses unless the memory base has its own of that name.
SETS: Mapping[str, Weights] = {each.name: each for each in (WITH_TOKENS, WITHOUT_TOKENS)}


def strength(sums: Floats) -> float:
    """What the candidates of one search come to together: log of the sum of their exponentials, and of one more."""
    return float(np.logaddexp.reduce(np.append(sums, NOT_THERE)))


@lru_cache(maxsize=256)
def weights_of(stored: str | None, name: str) -> Weights:
    """The weights of this name: a memory base's own, from the JSON of its row, or the default ones."""
    own = json.loads(stored)["sets"].get(name) if stored else None
    return Weights(name, own["bias"], own["weights"], tuned=True) if own else SETS[name]
