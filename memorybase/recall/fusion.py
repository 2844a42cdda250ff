"""How the signs that a message answers a question become one score.

A sum of a few signals, each with a weight, through the logistic function: on the conversations that it was fitted on
about the chance that the message is what was asked for, elsewhere an order that holds across queries. The weights are
fitted by bench/recall.py --fit and hold for other conversations: each was kept only because it helped on some that it
was not fitted on. Where a store is no dialogue, the signals of dialogue are 0 and what remains is words and vectors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Signal(NamedTuple):
    weight: float
    why: str


SIGNALS: Mapping[str, Signal] = {
    "dense": Signal(2.1, "cosine of the message's best chunk and the question without names and asking words"),
    "words": Signal(1.5, "BM25 of the message"),
    "nearby": Signal(3.9, "BM25 of the message with two turns before and after: an answer leaves its topic unsaid"),
    "topic": Signal(2.6, "the best cosine that the search has found in the message's session"),
    "session": Signal(1.2, "BM25 of the whole session"),
    "reply": Signal(2.9, "BM25 of the turn before, where that ended in a question: the answer follows it"),
    "speaker": Signal(0.7, "the question names one speaker, and it is this one"),
    "length": Signal(0.2, "log of the number of terms: greetings answer nothing"),
    "asks": Signal(-0.4, "the message is itself a question"),
    "time": Signal(1.5, "the question asks for a time, and the message tells one"),
    "number": Signal(0.7, "the question asks for a number, and the message tells one"),
    "date": Signal(2.4, "the question names a date, and the message is of then or soon after"),
}
BIAS = -8.9
# Any one of few messages is likelier to be what was asked for than one of many, as one in that number. But a candidate
# is not any one: it stands among the best of the store, which are about so many however large the store is.
AMONG = 50
# Where no vector is known, because the mode is keyword or the message is not embedded yet: what most messages have.
DENSE_UNKNOWN = 0.2


def bias(messages: int) -> float:
    """What the sum begins with in a flow of so many messages."""
    return BIAS + math.log(1 + AMONG / max(1, messages))


def shares(values: Mapping[str, float]) -> dict[str, float]:
    """Each signal's part in the score."""
    return {name: signal.weight * values[name] for name, signal in SIGNALS.items()}


def scores(columns: Mapping[str, NDArray[np.float64]], begin: float) -> NDArray[np.float64]:
    """0 to 1, one a row of the columns, which hold every signal; `begin` is the bias."""
    sums = sum((signal.weight * columns[name] for name, signal in SIGNALS.items()), np.full(1, begin))
    found: NDArray[np.float64] = 1 / (1 + np.exp(-sums))
    return found
