"""How the signs that a message answers a question become one score.

A sum of signals, each with a weight, through the logistic function: about the chance that the message is what was asked
for. `make bench-recall FIT=1` fits the weights, with one conversation left out each time, on chats between two people
and on chats with an assistant. A signal is kept only if it helps on conversations that it was not fitted on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal adds to the sum that begins with the bias; a signal without a weight adds nothing."""

    name: str  # of the set
    bias: float
    of: Mapping[str, float]
    tuned: bool = False  # a memory base's own

    def begin(self, messages: int) -> float:
        """What the sum begins with in a flow of so many messages."""
        return self.bias + math.log(1 + AMONG / max(1, messages))

    def shares(self, values: Mapping[str, float]) -> dict[str, float]:
        """Each signal's part in the sum."""
        return {name: self.of.get(name, 0.0) * value for name, value in values.items()}

    def scores(self, columns: Mapping[str, NDArray[np.float64]], begin: float) -> NDArray[np.float64]:
        """0 to 1, one a row of the columns."""
        sums = sum((self.of.get(name, 0.0) * column for name, column in columns.items()), np.full(1, begin))
        found: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(sums, -500, 500)))
        return found


# In mode keyword, and where a generation has no token vectors.
WITHOUT_TOKENS = Weights(
    "without_token_vectors",
    bias=-7.42,
    of={
        "dense": 2.27,
        "nearby": 3.74,
        "topic": 2.69,
        "reply": 2.88,
        "coverage": 0.53,
        "long": -0.93,
        "long_you": 1.0,
        "speaker": 0.54,
        "time": 1.01,
        "number": 0.76,
        "date": 2.64,
        "wish": 3.25,
        "first_person": 0.14,
        "capitals": 0.35,
    },
)
WITH_TOKENS = Weights(
    "with_token_vectors",
    bias=-8.71,
    of={
        "dense": 0.91,
        "nearby": 2.53,
        "topic": 2.27,
        "reply": 1.97,
        "coverage": 0.9,
        "long": -0.82,
        "long_you": 1.09,
        "two_before": 2.52,
        "after_question": 2.17,
        "speaker": 0.57,
        "time": 1.02,
        "number": 0.66,
        "date": 2.82,
        "wish": 3.53,
        "first_person": 0.12,
        "capitals": 0.31,
    },
)
# Any one of few messages is likelier to be what was asked for than one of many, as one in that number. But a candidate
# is not any one: it stands among the best of the store, which are about so many however large the store is.
AMONG = 50
# Where no vector is known, because the mode is keyword or the message is not embedded yet: what most messages have.
DENSE_UNKNOWN = 0.2


# By name: the weights that a search uses unless the memory base has its own of that name.
SETS: Mapping[str, Weights] = {each.name: each for each in (WITH_TOKENS, WITHOUT_TOKENS)}


@lru_cache(maxsize=256)
def weights_of(stored: str | None, name: str) -> Weights:
    """The weights of this name: a memory base's own, from the JSON of its row, or the default ones."""
    own = json.loads(stored)["sets"].get(name) if stored else None
    return Weights(name, own["bias"], own["weights"], tuned=True) if own else SETS[name]
