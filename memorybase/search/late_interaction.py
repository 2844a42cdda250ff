"""Late interaction: how well each token of the question matches its best token in a message.

MaxSim (ColBERT: Khattab and Zaharia, 2020), each token weighted by the rarity of its word: a rare word without a match
costs more than a common one. Matches in the two turns before a candidate count too, while both turns are short: an
answer often leaves out what the turns before it say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memorybase.embedding import token_vectors
from memorybase.keyword_index import analyzer as keywords
from memorybase.keyword_index.scripts import WORD
from memorybase.queries.token_vectors import TokensAt
from memorybase.search.keyword_search import Floats, QueryTerms
from memorybase.search.query_parser import Question
from memorybase.search.signals import PRECEDING_STEPS, Candidates

if TYPE_CHECKING:
    from memorybase.embedding import QueryTokens

MIN_NEIGHBOR_WEIGHT = 0.2  # turns with less weight are not read
STOP_WORD = 0.15  # the weight of a stop word; a name has none, because the signal `speaker` counts it
# For a message without token vectors yet: the usual value among candidates.
UNKNOWN: Mapping[str, float] = {"two_before": 0.44, "after_question": 0.39}


def weights_of(question: Question, query: str, tokens: QueryTokens, terms: QueryTerms) -> Floats:
    """The weight of each token of the query; they sum to 1, or to 0 if no token carries meaning."""
    analyzer = keywords.analyzer(question.asked.language)
    rarities = terms.rarities
    weights = np.zeros(len(tokens.spans))
    for word in WORD.finditer(query):
        weight = _weight(word[0], analyzer, question, rarities)
        for position, (start, end) in enumerate(tokens.spans):
            if start < word.end() and end > word.start():
                weights[position] = weight
    total = weights.sum()
    return weights / total if total else weights


def _weight(word: str, analyzer: keywords.Analyzer, question: Question, rarities: Mapping[str, float]) -> float:
    if keywords.name_words(word) & question.names:
        return 0.0
    terms = analyzer.terms(word)
    if not terms:  # a stop word, unless it is asked for as a name
        return rarities.get(word.casefold(), STOP_WORD)
    return max(rarities.get(term, 1.0) for term in terms)


def positions_needed(candidates: Candidates) -> set[int]:
    """The positions whose token vectors the signals read: the candidates and the two turns before each."""
    positions = set(candidates.positions.tolist())
    for step in PRECEDING_STEPS:
        is_read = candidates.neighbor_weight(step) >= MIN_NEIGHBOR_WEIGHT
        positions.update((candidates.positions[is_read] + step).tolist())
    return positions


def columns(
    candidates: Candidates, stored: Mapping[int, TokensAt], tokens: QueryTokens, weights: Floats
) -> dict[str, Floats]:
    """The two signals, with one value for each candidate; `stored` holds the positions needed."""
    positions = [
        position for position, tokens_at in stored.items() if candidates.version_at(position) == tokens_at.version
    ]
    # The last column, an empty message, stands for every missing one (index -1).
    matches = _matches(tokens.vectors, [*(stored[position].vectors for position in positions), b""])
    column = {position: number for number, position in enumerate(positions)}

    def at(step: int) -> NDArray[np.int64]:
        return np.array([column.get(message.position + step, -1) for message in candidates.facts])

    own = matches[:, at(0)]
    gains = {
        step: np.maximum(0.0, matches[:, at(step)] - own) * candidates.neighbor_weight(step) for step in PRECEDING_STEPS
    }
    answered = sum((gain * (candidates.question_steps == step) for step, gain in gains.items()), np.zeros_like(own))
    combined = {
        "two_before": own + np.maximum.reduce(list(gains.values())),
        "after_question": own + answered,
    }
    is_known = at(0) >= 0
    return {name: np.where(is_known, weights @ match, UNKNOWN[name]) for name, match in combined.items()}


def _matches(query: NDArray[np.float32], packed: Sequence[bytes]) -> NDArray[np.float32]:
    """The best cosine of each token of the query (rows) in each message (columns), at least 0."""
    dimensions = query.shape[1]
    counts = [len(vectors) * 2 // dimensions for vectors in packed]
    best = np.zeros((len(query), len(packed)), dtype=np.float32)
    filled = np.flatnonzero(counts)
    if len(filled):
        vectors, lengths = token_vectors.unpack(b"".join(packed), dimensions)
        cosines = query @ vectors.T
        cosines /= lengths  # cheaper than dividing thousands of vectors
        starts = np.concatenate(([0], np.cumsum(np.array(counts)[filled])[:-1]))
        best[:, filled] = np.maximum(np.maximum.reduceat(cosines, starts, axis=1), 0.0)
    return best
