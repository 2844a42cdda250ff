"""Late interaction: how well each token of the question is matched by some token of a message.

MaxSim (ColBERT: Khattab and Zaharia, 2020), each token weighted by the rarity of its word: a rare word that nothing
matches costs more than a common one. A candidate may borrow a match from a turn near it, as far as both are short: an
answer leaves unsaid what the turns around it say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memorybase.embedding import token_vectors
from memorybase.keyword_index import analyzer as keywords
from memorybase.queries.token_vectors import TokensAt
from memorybase.search.keyword_search import Floats, Words
from memorybase.search.query_parser import Question
from memorybase.search.signals import BEFORE, Candidates

if TYPE_CHECKING:
    from memorybase.embedding import QueryTokens

LEAST_GATE = 0.2  # a turn that could lend less than this is not read
STOP_WORD = 0.15  # the weight of a word that says little; a name counts nothing, since `speaker` does
# Where a message has no token vectors yet: what most candidates have.
UNKNOWN: Mapping[str, float] = {"two_before": 0.44, "after_question": 0.39}


def weights_of(question: Question, query: str, tokens: QueryTokens, found: Words, language: str) -> Floats:
    """How much each token of the query counts; they sum to 1, or to 0 where no token says anything."""
    analyzer = keywords.analyzer(language)
    rarities = found.rarities
    weights = np.zeros(len(tokens.spans))
    for word in keywords.WORD.finditer(query):
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
    return max((rarities.get(term, 1.0) for term in terms), default=STOP_WORD)


def places_wanted(candidates: Candidates) -> set[int]:
    """The places whose token vectors the signals read: the candidates and two turns before each."""
    positions = set(candidates.positions.tolist())
    for step in BEFORE:
        lends = candidates.gate(step) >= LEAST_GATE
        positions.update((candidates.positions[lends] + step).tolist())
    return positions


def columns(
    candidates: Candidates, stored: Mapping[int, TokensAt], tokens: QueryTokens, weights: Floats
) -> dict[str, Floats]:
    """The two signals, a value a candidate; `stored` by place, of all places wanted."""
    positions = [position for position, held in stored.items() if candidates.version_at(position) == held.version]
    # One more column, of a message that matches nothing, stands for what is not there.
    matches = _matches(tokens.vectors, [*(stored[position].vectors for position in positions), b""])
    column = {position: number for number, position in enumerate(positions)}

    def at(step: int) -> NDArray[np.int64]:
        return np.array([column.get(each.position + step, -1) for each in candidates.facts])

    own = matches[:, at(0)]
    gains = {step: np.maximum(0.0, matches[:, at(step)] - own) * candidates.gate(step) for step in BEFORE}
    answered = sum((gain * (candidates.question_steps == step) for step, gain in gains.items()), np.zeros_like(own))
    combined = {
        "two_before": own + np.maximum.reduce(list(gains.values())),
        "after_question": own + answered,
    }
    known = at(0) >= 0
    return {name: np.where(known, weights @ match, UNKNOWN[name]) for name, match in combined.items()}


def _matches(query: NDArray[np.float32], packed: Sequence[bytes]) -> NDArray[np.float32]:
    """The best cosine of each token of the query (rows) in each message (columns), 0 at least."""
    dimensions = query.shape[1]
    counts = [len(each) * 2 // dimensions for each in packed]
    best = np.zeros((len(query), len(packed)), dtype=np.float32)
    filled = np.flatnonzero(counts)
    if len(filled):
        vectors, lengths = token_vectors.unpack(b"".join(packed), dimensions)
        cosines = query @ vectors.T
        cosines /= lengths  # for less than dividing the vectors, of which there are thousands
        starts = np.concatenate(([0], np.cumsum(np.array(counts)[filled])[:-1]))
        best[:, filled] = np.maximum(np.maximum.reduceat(cosines, starts, axis=1), 0.0)
    return best
