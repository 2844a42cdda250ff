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
    "dense": "cosine of the message's best chunk and the question without names and asking words",
    "nearby": "BM25 of the message with two turns before and after, long turns counting less",
    "topic": "the best cosine that the search has found in the message's session",
    "reply": "BM25 of the turn before, where that ended in a question: the answer follows it",
    "coverage": "a long message says nearly all of the question's words (share of their rarity, cubed)",
    "long": "log of the number of terms above 40: long messages match by chance",
    "long_you": "the same, where the question asks what the other side said: answers are long",
    "speaker": "the question names one speaker, and it is this one",
    "time": "the question asks for a time, and the message tells one",
    "number": "the question asks for a number, and the message tells one",
    "date": "the question names a date, and the message is of then or soon after",
    "wish": "cosine, where the question asks for help and the message states a standing wish",
    "first_person": "log of the number of words such as I and my, where the question has none",
    "capitals": "capitalized words inside a sentence, most of them names: up to three, as a share",
    "opening": "one of the first two messages of its session",
    "asks": "the message asks something itself",
}


DEFAULT_SET = "default"


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal adds to the sum that begins with the bias; a signal without a weight adds nothing."""

    bias: float
    of: Mapping[str, float]
    name: str = DEFAULT_SET  # of the set
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


DEFAULT = Weights(
    bias=-7.37,
    of={
        "dense": 2.3,
        "nearby": 3.86,
        "topic": 2.44,
        "reply": 2.92,
        "coverage": 0.28,
        "long": -0.93,
        "long_you": 0.95,
        "speaker": 0.52,
        "time": 0.98,
        "number": 0.66,
        "date": 2.66,
        "wish": 2.92,
        "first_person": 0.13,
        "capitals": 0.35,
        "opening": 0.15,
        "asks": -0.08,
    },
)
# Any one of few messages is likelier to be what was asked for than one of many, as one in that number. But a candidate
# is not any one: it stands among the best of the store, which are about so many however large the store is.
AMONG = 50
# Where no vector is known, because the mode is keyword or the message is not embedded yet: what most messages have.
DENSE_UNKNOWN = 0.2


# By name: the weights that a search uses unless the memory base has its own of that name.
SETS: Mapping[str, Weights] = {each.name: each for each in (DEFAULT,)}


@lru_cache(maxsize=256)
def weights_of(stored: str | None, name: str = DEFAULT_SET) -> Weights:
    """The weights of this name: a memory base's own, from the JSON of its row, or the default ones."""
    own = json.loads(stored)["sets"].get(name) if stored else None
    return Weights(own["bias"], own["weights"], name, tuned=True) if own else SETS[name]
