"""Turns the signals of a message into one score.

Two decisions. The order: the logistic function of the weighted sum of the signals, less a term for the competition
among all candidates; about the chance that the message answers the question, if any does. Whether any does: `Evidence`,
one chance for the whole question, from the best messages alone. A score from MIN_SCORE on says that the store answers
the question and that the message is near enough to its best ones; all that recalls for a model goes by it.

`make bench-recall FIT=1` fits the weights of the order, `make bench-scores ARGS=--fit` those of the evidence: on chats
between two people, chats with an assistant and histories of one person, with one conversation left out each time. A
signal is kept only if it helps on conversations that it was not fitted on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memorybase.core.search.bands import MIN_SCORE

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# What each signal means, in the order in which an explanation lists them.
SIGNALS: Mapping[str, str] = {
    "dense": "cosine of the best chunk or passage and the question without names, as far as the model knows words",
    "nearby": "BM25 of the message with two turns before and after, long turns less; more if `dense` counts less",
    "topic": "the best `dense` that the search found in the message's session",
    "reply": "BM25 of the turn before if it ended in a question: the answer follows it",
    "coverage": "a long message has nearly all of the question's words (share of their rarity, cubed)",
    "keywords": "the question is one to three words, and the message has them (share of their rarity, cubed)",
    "named": "the rarity of the rarest name or code of the question that the message has",
    "long_answer": "log of the number of terms above 40, of an assistant's message: it has words of every question",
    "match": "each token of the question with the token nearest to it in the message or the question that it answers",
    "speaker": "the question names one speaker, and this message is theirs",
    "time": "the question asks for a time, and the message has one",
    "date": "the question names a date, and the message was sent then or soon after",
    "wish": "cosine, if the question asks for help and the message states a standing wish",
    "sequence": "the question asks for the first or latest event, or the order of topics: nearness to that end, 0 to 1",
    "says_nothing": "the message only asks the question again, or says only that something is not known: 1",
}

# One good candidate alone is likelier to be the answer than one among many as good. So each sum loses most of the
# log-sum-exp of all candidates, as in a softmax. One more candidate stands for "the answer is not in the store"; it
# wins if all others are weak.
COMPETITION = 0.85
NO_ANSWER = 8.0
# Repeating something in many messages does not make it improbable: they count as at most this many.
MOST_ALIKE = 3.0

# What a context recalls at the least, and at the most: `make bench-lives` and `make bench-context` show the answers
# that further messages bring, and what they cost.
KEPT, KEPT_COVERED, FLOOR = 10, 0.3, 0.001
NEAR = 0.25  # cosine
SMALLEST_STEP = 1e-6  # between two scores, so that rounding keeps their order
LARGEST_WEAK = 0.99

# For a message without a vector (mode keyword, or not embedded yet): the usual cosine.
DENSE_UNKNOWN = 0.2

UNSURE = 0.3  # less for words that the model does not know: slips, and languages of many forms
BEST = 3  # the candidates whose evidence counts: more add nothing

ENOUGH_EVIDENCE = 0.5
# What is evidence by itself, in any language: a rare name or code, of which one of the best messages has at least this
# rarity (of 150 messages, at most six have it), and messages of the time that a question asks about alone.
RARE_NAME = 0.55
EVIDENT = 0.6
# And a cosine in a flow of a few messages, where little is near by chance: of 525 unrelated questions to such flows one
# in twenty had more than .26. That its words are unsaid so far says nothing there.
FEW, NEAR_AMONG_FEW = 10, 0.28
LEAST_EVIDENCE = 0.01  # also of small talk, which asks for nothing: scores keep their order


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each signal in a candidate's sum (a signal without one adds nothing), and the bias of every sum."""

    name: str  # of the set
    bias: float
    of: Mapping[str, float]
    tuned: bool = False  # a memory base's own

    def shares(self, values: Mapping[str, float]) -> dict[str, float]:
        """Each signal's part in the sum."""
        return {name: self.of.get(name, 0.0) * value for name, value in values.items()}

    def best(self, columns: Mapping[str, Floats]) -> NDArray[np.intp]:
        """The indexes of the rows, best sum first."""
        return np.argsort(-self.sums(columns), kind="stable")

    def sums(self, columns: Mapping[str, Floats]) -> Floats:
        """The weighted sum of each row of the columns."""
        return sum((self.of.get(name, 0.0) * column for name, column in columns.items()), np.zeros(1))

    def scores(self, columns: Mapping[str, Floats]) -> tuple[Floats, float]:
        """A score from 0 to 1 for each row of the columns, and the bias after the competition term."""
        sums = self.sums(columns)
        bias = self.bias - COMPETITION * log_sum(sums)
        return 1 / (1 + np.exp(-np.clip(sums + bias, -500, 500))), bias


def log_sum(sums: Floats) -> float:
    """The log of the summed exponentials of one search's candidates and of "no answer", within MOST_ALIKE."""
    return float(log_sums(sums, np.zeros(1, np.int64))[0]) if sums.size else NO_ANSWER


def log_sums(sums: Floats, starts: NDArray[np.int64]) -> Floats:
    """`log_sum` for each of several searches: the candidates of all, and where those of each start."""
    highest = np.maximum(np.maximum.reduceat(sums, starts), NO_ANSWER)
    found: Floats = np.logaddexp(np.logaddexp.reduceat(sums, starts), NO_ANSWER)
    return np.minimum(found, highest + math.log(MOST_ALIKE))


class Shown(Protocol):
    """The signals that evidence reads. Every property except `columns` covers all candidates."""

    @property
    def columns(self) -> Mapping[str, Floats]: ...
    @property
    def covered(self) -> Floats: ...
    @property
    def fluency(self) -> float: ...
    @property
    def unsaid(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whether the store answers a question: weights of what its best candidates show, whatever their place, and a bias.

    All are of best values, never of sums or shares, so saying a thing once more lowers nothing. Where the model does
    not know the question's words, `cosine` is near 0 and `covered` decides.
    """

    bias: float
    cosine: float  # the highest
    total: float  # the highest sum of the signals
    unsaid: float  # the share of the question's words, by rarity, that nobody has ever said here, in this form
    covered: float  # the largest share of its words, by rarity, that one of them has, as far as the model is unsure

    def of(self, read: Shown, sums: Floats) -> float:
        """The chance. `sums`: of the signals of each candidate."""
        best = np.argsort(-sums, kind="stable")[:BEST]
        logit = self.bias + self.total * float(sums[best[0]])
        logit += self.unsaid * read.unsaid * (1 - UNSURE * (1 - read.fluency))
        logit += self.cosine * float(np.max(read.columns["dense"][best]))
        logit += self.covered * (1 - read.fluency) * float(np.max(read.covered[best]))
        return 1 / (1 + math.exp(-logit))


# Fitted in November 2026 on the corpora of bench/recall.md: four conversations of LoCoMo, eight chats of BEAM, three
# invented histories and those of bench/. Order: `make bench-recall DATA="locomo.json beam.json lives/*.json" FIT=1`.
# Evidence: `make bench-scores DATA="locomo.json beam.json lives/*.json" ARGS=--fit`.
DEFAULT = Weights(
    "default",
    bias=-1.18,
    of={
        "dense": 2.0,
        "nearby": 4.45,
        "topic": 3.93,
        "reply": 4.05,
        "coverage": 1.1,
        "named": 3.0,
        "long_answer": -1.7,
        "match": 9.06,
        "speaker": 1.06,
        "time": 2.13,
        "date": 5.73,
        "wish": 7.24,
        # Set: too few questions of these chats are of such a form (`make bench-scores`, `make bench-corrections`). A
        # repetition of the question has all of its words, and answers nothing: it loses about as much as they give. So
        # does "I do not know where your boat lies".
        "keywords": 4.0,
        "sequence": 2.0,
        "says_nothing": -12.0,
    },
)
EVIDENCE = Evidence(bias=-4.56, cosine=2.29, total=0.54, unsaid=-2.88, covered=4.6)

# The weights that a search uses unless the memory base has its own set of that name.
SETS: Mapping[str, Weights] = {DEFAULT.name: DEFAULT}


def is_near_among_few(read: Shown, messages: int) -> bool:
    """Whether one of so few messages is near enough to be the answer."""
    nearest = np.max(read.columns["dense"] * (1 - read.columns["says_nothing"]))
    return messages <= FEW and float(nearest) >= NEAR_AMONG_FEW


def scores_of(shares: Floats, evidence: float, read: Shown, recallable: Mask | None = None) -> Floats:
    """The scores of one search, from each candidate's share of the competition, in whose order they are. `recallable`:
    which may be recalled; None: any.

    From MIN_SCORE on what is recalled: nothing unless the store answers the question, then all down to the floor. A
    small share alone leaves nothing out, since one strong message makes all others' small, also that of the newer
    statement: what has many of the question's words stays, and of the best KEPT whatever is near in words or meaning.
    """
    evidence = max(evidence, LEAST_EVIDENCE)
    rank = np.empty(len(shares))
    rank[np.argsort(-shares, kind="stable")] = np.arange(len(shares))
    is_near = (read.covered > 0) | (read.columns["dense"] >= NEAR)
    is_recalled = shares >= FLOOR * np.max(shares, initial=0.0)
    is_recalled |= (rank < KEPT) & is_near | (read.covered >= KEPT_COVERED)
    if recallable is not None:
        is_recalled &= recallable
    is_recalled &= (evidence >= ENOUGH_EVIDENCE) & (read.columns["says_nothing"] == 0)
    ordered = shares * evidence * (1 - MIN_SCORE) + (len(shares) - rank) * SMALLEST_STEP
    return np.where(is_recalled, MIN_SCORE + ordered, MIN_SCORE * np.minimum(ordered, LARGEST_WEAK))


@lru_cache(maxsize=256)
def half_life_of(stored: str | None) -> float | None:
    """The half-life in days that a memory base's own weights set, from the JSON of its row."""
    return json.loads(stored).get("half_life_days") if stored else None


@lru_cache(maxsize=256)
def weights_of(stored: str | None, name: str) -> Weights:
    """The weights of this name: a memory base's own from the JSON of its row, else the default ones."""
    tuned = json.loads(stored)["sets"].get(name) if stored else None
    return Weights(name, tuned["bias"], tuned["weights"], tuned=True) if tuned else SETS[name]
