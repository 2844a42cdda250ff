"""How the signals of a message become one score, what its parts are called, and which scores are good.

The score is the logistic function of the weighted sum of the signals, less a term for the competition among all
candidates: about the chance that the message answers the question. `make bench-recall FIT=1` fits the weights on chats
between two people and on chats with an assistant, with one conversation left out each time. A signal is kept only if it
helps on conversations that it was not fitted on. `keywords` is set by `make bench-scores`: no question of those chats
is so short.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memorybase import errors

Floats = NDArray[np.float64]

# What each signal means, in the order in which an explanation lists them.
SIGNALS: Mapping[str, str] = {
    "dense": "cosine of the message's best chunk and the question without names",
    "nearby": "BM25 of the message with two turns before and after, long turns counting less",
    "topic": "the best cosine that the search found in the message's session",
    "reply": "BM25 of the turn before if it ended in a question: the answer follows it",
    "coverage": "a long message has nearly all of the question's words (share of their rarity, cubed)",
    "keywords": "the question is one to three words, and the message has them (share of their rarity, cubed)",
    "long": "log of the number of terms above 40: long messages match by chance",
    "long_you": "the same, if the question asks what the other side said: answers are long",
    "two_before": "each token of the question with the token nearest to it in the message and two turns before",
    "after_question": "the same, in the message and the question of another speaker that it may answer",
    "speaker": "the question names one speaker, and this message is theirs",
    "time": "the question asks for a time, and the message has one",
    "number": "the question asks for a number, and the message has one",
    "date": "the question names a date, and the message was sent then or soon after",
    "wish": "cosine, if the question asks for help and the message states a standing wish",
    "first": "the question asks for the first of several events: 1 for the earliest candidate, 0 for the latest",
    "latest": "the question asks for the latest: the reverse",
    "opening": "the question asks for the order of topics: a user's message early in its session",
    "first_person": "log of the number of words such as I and my, if the question has none",
    "capitals": "capitalized words inside a sentence, most of them names: up to three, as a share",
    "repeats": "the message only asks the question again: 1",
}

# One good candidate alone is likelier to be the answer than one among many as good. So each sum loses most of the
# log-sum-exp of all candidates, as in a softmax. One more candidate stands for "the answer is not in the store"; it
# wins if all others are weak.
COMPETITION = 0.85
NO_ANSWER = 8.0
# What many messages say is not improbable for that: they count as at most so many.
MOST_ALIKE = 3.0


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal adds to a candidate's sum (nothing without a weight), and the bias of every sum."""

    name: str  # of the set
    bias: float
    of: Mapping[str, float]
    tuned: bool = False  # a memory base's own

    def shares(self, values: Mapping[str, float]) -> dict[str, float]:
        """Each signal's part in the sum."""
        return {name: self.of.get(name, 0.0) * value for name, value in values.items()}

    def sums(self, columns: Mapping[str, Floats]) -> tuple[Floats, float]:
        """The weighted sum of each row of the columns, and the bias after the competition term. The score is the
        logistic function of both."""
        sums = sum((self.of.get(name, 0.0) * column for name, column in columns.items()), np.zeros(1))
        return sums, self.bias - COMPETITION * log_sum(sums)


def logistic(sums: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(sums, -500, 500)))


# Of `first`, `latest` and `opening`: too few questions ask for them to fit a weight (`make bench-corrections`).
SEQUENCE = 2.0
# A repetition of the question has all of its words, and answers nothing: it loses about as much as they give.
REPETITION = -12.0

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
        "keywords": 3.0,
        "long": -2.0,
        "long_you": 2.15,
        "speaker": 1.16,
        "time": 2.17,
        "number": 1.64,
        "date": 5.68,
        "wish": 7.0,
        "first": SEQUENCE,
        "latest": SEQUENCE,
        "opening": SEQUENCE,
        "first_person": 0.3,
        "capitals": 0.75,
        "repeats": REPETITION,
    },
)
WITH_TOKENS = Weights(
    "with_token_vectors",
    bias=-1.32,
    of={
        "dense": 1.81,
        "nearby": 5.03,
        "topic": 4.51,
        "reply": 3.92,
        "coverage": 1.79,
        "keywords": 4.0,
        "long": -1.63,
        "long_you": 2.17,
        "two_before": 5.01,
        "after_question": 4.31,
        "speaker": 1.13,
        "time": 2.03,
        "number": 1.31,
        "date": 5.61,
        "wish": 7.02,
        "first": SEQUENCE,
        "latest": SEQUENCE,
        "opening": SEQUENCE,
        "first_person": 0.24,
        "capitals": 0.62,
        "repeats": REPETITION,
    },
)
# For a message without a vector (mode keyword, or not embedded yet): the usual cosine.
DENSE_UNKNOWN = 0.2


# The weights that a search uses unless the memory base has its own set of that name.
SETS: Mapping[str, Weights] = {weights.name: weights for weights in (WITH_TOKENS, WITHOUT_TOKENS)}


def log_sum(sums: Floats) -> float:
    """The log of the summed exponentials of one search's candidates and of "no answer", within MOST_ALIKE."""
    return float(log_sums(sums, np.zeros(1, np.int64))[0]) if sums.size else NO_ANSWER


def log_sums(sums: Floats, starts: NDArray[np.int64]) -> Floats:
    """`log_sum` for each of several searches: the candidates of all, and where those of each start."""
    highest = np.maximum(np.maximum.reduceat(sums, starts), NO_ANSWER)
    found: Floats = np.logaddexp(np.logaddexp.reduceat(sums, starts), NO_ANSWER)
    return np.minimum(found, highest + math.log(MOST_ALIKE))


@dataclass(frozen=True, slots=True)
class Relevance:
    """Whether the store knows anything of what is asked: the logistic function of what a search's candidates show.

    The weights are those of the highest cosine, of `two_before` and `nearby` of the best candidate, and of the log of
    the number of the flow's messages: among many, some are close by chance. `no_words` is added if the question has
    stop words alone.
    """

    bias: float
    no_words: float
    dense: float
    two_before: float
    nearby: float
    messages: float

    def of(self, columns: Mapping[str, Floats], scores: Floats, words: int, messages: int) -> float:
        best = int(np.argmax(scores))
        logit = self.bias + self.messages * math.log1p(messages) + (0.0 if words else self.no_words)
        logit += self.dense * float(np.max(columns["dense"] * (1 - columns["repeats"])))
        logit += self.nearby * float(columns["nearby"][best])
        if self.two_before:
            logit += self.two_before * float(columns["two_before"][best])
        return max(LEAST_RELEVANCE, 1 / (1 + math.exp(-logit)))


# Fitted with `make bench-scores FIT=1`, by the name of the set of weights.
RELEVANCE: Mapping[str, Relevance] = {
    WITH_TOKENS.name: Relevance(bias=-4.6, no_words=-4.0, dense=9.8, two_before=6.6, nearby=7.6, messages=-0.72),
    WITHOUT_TOKENS.name: Relevance(bias=-2.5, no_words=-3.2, dense=14.2, two_before=0.0, nearby=8.1, messages=-0.64),
}
LEAST_RELEVANCE = 0.01  # also of small talk, which asks for nothing: scores keep their order


@lru_cache(maxsize=256)
def half_life_of(stored: str | None) -> float | None:
    """The half-life in days that a memory base's own weights set, from the JSON of its row."""
    return json.loads(stored).get("half_life_days") if stored else None


@lru_cache(maxsize=256)
def weights_of(stored: str | None, name: str) -> Weights:
    """The weights of this name: a memory base's own from the JSON of its row, else the default ones."""
    tuned = json.loads(stored)["sets"].get(name) if stored else None
    return Weights(name, tuned["bias"], tuned["weights"], tuned=True) if tuned else SETS[name]


# The parts of a score are words that a user understands: each holds some of the signals, and a request may weigh it.
MAX_FACTOR: Final = 2.0
# Signals that no part names are of the kind of a message: its length, speaker, dates, times, numbers.
SIGNALS_OF: Mapping[str, tuple[str, ...]] = {
    "meaning": ("dense", "two_before", "after_question"),
    "words": ("nearby", "coverage", "keywords"),
    "around": ("reply", "topic"),
}
KIND = "kind"
PARTS = (*SIGNALS_OF, KIND)

_PART_OF = {signal: part for part, signals in SIGNALS_OF.items() for signal in signals}


def part_of(signal: str) -> str:
    return _PART_OF.get(signal, KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartWeights:
    """A factor for each part of the score."""

    meaning: float = 1.0
    words: float = 1.0
    around: float = 1.0
    kind: float = 1.0

    def applied(self, weights: Weights) -> Weights:
        """The weights, each times the factor of its part."""
        factors = asdict(self)
        return Weights(
            weights.name,
            weights.bias,
            {signal: weight * factors[part_of(signal)] for signal, weight in weights.of.items()},
            tuned=weights.tuned,
        )

    @property
    def changes_nothing(self) -> bool:
        return all(factor == 1 for factor in asdict(self).values())


def check_part_weights(weights: PartWeights) -> None:
    """Raises InvalidRequest that names the part."""
    for part, factor in asdict(weights).items():
        if not (math.isfinite(factor) and 0 <= factor <= MAX_FACTOR):
            raise errors.InvalidRequest(
                f"weights.{part} must be a number from 0 to {MAX_FACTOR:g} (got {factor:g})",
                field=f"weights.{part}",
                value=str(factor),
                limit=[0, MAX_FACTOR],
            )


def shares_by_part(shares: Mapping[str, float]) -> dict[str, float]:
    """What each part adds to the sum, from what each signal adds."""
    sums = dict.fromkeys(PARTS, 0.0)
    for signal, share in shares.items():
        sums[part_of(signal)] += share
    return sums


@dataclass(frozen=True, slots=True)
class Band:
    """A word for scores from `low` up to the next band's bound, wherever a result is shown.

    The bounds are of fused scores (modes hybrid and keyword), and were checked against labelled questions: see "What a
    score says" in docs/explanation/recall.md. A score is no probability, and a cosine (mode dense) has no band.
    """

    name: str
    low: float


# The default min_score of everything that recalls for a model. The clients have copies, which a test compares.
MIN_SCORE = 0.05  # `make bench-scores`
MIN_COSINE = 0.3  # in mode dense: unrelated sentences seldom reach it, related ones usually do

STRONG = Band("strong", 0.5)
GOOD = Band("good", 0.2)
FAIR = Band("fair", MIN_SCORE)
WEAK = Band("weak", 0.0)
BANDS = (STRONG, GOOD, FAIR, WEAK)  # best first


def min_score_of(mode: str, wanted: float | None = None) -> float:
    """The min_score of a recall in this mode, unless the caller wants another: 0 keeps everything."""
    if wanted is not None:
        return wanted
    return MIN_COSINE if mode == "dense" else MIN_SCORE


def band_of(score: float) -> Band:
    """The band of a fused score. Below 0 counts as weak."""
    return next((band for band in BANDS if score >= band.low), WEAK)
