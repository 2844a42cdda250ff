"""The signals of a search's candidates: one number each for what a message and the turns around it show.

A neighboring turn counts fully while it and the candidate are short, and less the longer either is (`neighbor_weight`).
Between people, the turns around an answer share its topic. A long answer of an assistant shares words with every
question, and would raise every turn next to it.

One signal compares single tokens: MaxSim (ColBERT: Khattab and Zaharia, 2020), each token of the question weighted by
the rarity of its word, because a rare word without a match costs more than a common one.

`read` reads what the signals need and computes all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.embedding import token_vectors
from memorybase.core.keyword_index import analyzer as keywords
from memorybase.core.keyword_index import scripts
from memorybase.core.keyword_index.analyzer import Traits, name_words
from memorybase.core.keyword_index.scripts import WORD
from memorybase.core.queries import search as search_queries
from memorybase.core.queries import token_vectors as token_queries
from memorybase.core.queries.search import Features, Turn
from memorybase.core.queries.token_vectors import TokensAt
from memorybase.core.search.candidates import Candidate
from memorybase.core.search.keyword_search import STEP_WEIGHTS, Floats, Positions, QueryTerms, WordMeasures
from memorybase.core.search.query_parser import Question
from memorybase.core.search.scoring import DENSE_UNKNOWN

if TYPE_CHECKING:
    from memorybase.core.embedding import QueryTokens

SHORT = 40  # terms; people's turns are below it, and most of a user's requests
OPENING = 32  # turns: a topic is mostly opened in the first of a session
OWN_TERMS = 1  # that a repeated question may have, unless the question is keywords
REPEATED = 0.5  # the share of the question's words, by rarity, that a repetition has at least
SAME_TEXT = 0.97  # cosine
ALL_TERMS = 0.99  # their share, by rarity
PRECEDING_STEPS = (-2, -1)  # the question that a candidate answers is often among these turns
# Characters of a token on average: a model made for English has 4.5 in English, 2.5 in French, 1 in Chinese, where a
# character counts as WIDE letters.
KNOWN_CHARS, UNKNOWN_CHARS = 3.6, 2.2
# Tokens of a word, which tell it of short words: "Do I have a dog?" has 2 characters a token, and each is a word.
KNOWN_PIECES, UNKNOWN_PIECES = 1.2, 2.0
SHORTEST = 3  # characters of such a word
FIRST_WIDE, WIDE = 0x2E80, 2
MORE_WORDS = 0.7

MIN_NEIGHBOR_WEIGHT = 0.2  # turns with less weight are not read
STOP_WORD = 0.15  # the weight of a stop word; a name has none, because the signal `speaker` counts it
UNKNOWN_MATCH = 0.36  # for a message without token vectors yet: the usual value among candidates


@dataclass
class Signals:
    """The signals of one target's candidates: a column for each, by its name, with a value for each candidate."""

    columns: dict[str, Floats]
    covered: Floats  # the share of the question's words that each candidate has; 0 if it says nothing
    other_terms: Floats  # of each candidate, besides the question's; infinite unless either has all terms of the other
    fluency: float  # how well the model knows the question's words, 0 to 1
    specific: Collection[str]  # the terms that an answer may have
    terms: QueryTerms
    positions: Positions  # of the candidates
    replied: NDArray[np.bool_]  # somebody else speaks after the candidate
    tokens: MatchedTokens | None
    non_answers: Collection[int] = ()  # candidates that say only that something is not known

    @property
    def unsaid(self) -> float:
        """The share of the question's words, by rarity, that no message of the flow has, but where they were only asked
        for and nobody answered."""
        return self.terms.unsaid(self.specific, self.positions[(self.columns["says_nothing"] > 0) & ~self.replied])

    def mark_non_answers(self, indexes: Collection[int]) -> None:
        self.non_answers = indexes
        for index in indexes:
            self.columns["says_nothing"][index] = 1.0
            self.covered[index] = self.columns["named"][index] = 0.0
            self.replied[index] = False
            self.replied[np.isin(self.positions, self.positions[index] + np.array(PRECEDING_STEPS))] = False

    def add_passage(self, index: int, weight: float, cosine: float, vectors: bytes) -> None:
        """Count a passage of a long candidate: the rarity of the question's terms in it, its cosine, and its packed
        token vectors.

        A message is as near as its nearest passage, and has the words of one: a long text has some of every question.
        """
        dense = max(float(self.columns["dense"][index]), cosine * self.fluency)
        self.columns["dense"][index] = dense
        self.columns["topic"][index] = max(float(self.columns["topic"][index]), dense)
        nearby = weight / self.terms.best_possible * trust_in_words(self.fluency)
        self.columns["nearby"][index] = min(float(self.columns["nearby"][index]), nearby)
        if self.tokens is not None:
            self.tokens.add(index, vectors)

    def update_matches(self) -> None:
        """Take the added passages into the signal `match`."""
        if self.tokens is not None:
            self.columns["match"] = self.tokens.matches()


class CandidateMatrix:
    """Candidates and the turns around them, as arrays in one order."""

    def __init__(self, features: Sequence[Features], turns: Mapping[int, Turn], dense: Floats) -> None:
        self.features = features
        self.dense = dense  # cosines
        self.positions: Positions = np.array([message.position for message in features], dtype=np.int64)
        self.lengths: Floats = np.array([message.terms for message in features], dtype=np.float64)
        self.traits: NDArray[np.int64] = np.array([message.traits for message in features], dtype=np.int64)
        self._turns = turns  # by position
        self._neighbors: dict[int, list[Turn | None]] = {}
        self._neighbor_weights: dict[int, Floats] = {}

    def neighbors(self, step: int) -> list[Turn | None]:
        """For each candidate the turn this many positions from it, if it is in the same session."""
        if step not in self._neighbors:
            turns = (self._turns.get(message.position + step) for message in self.features)
            self._neighbors[step] = [
                turn if turn is not None and turn.session_id == message.session_id else None
                for turn, message in zip(turns, self.features, strict=True)
            ]
        return self._neighbors[step]

    @cached_property
    def question_steps(self) -> NDArray[np.int64]:
        """The step (-1 or -2) to the last question of another speaker before each candidate; 0: there is none."""
        asks = Traits.ASKS.value  # as a number: an operation on flags takes ten times as long
        steps = np.zeros(len(self.features), dtype=np.int64)
        for step in PRECEDING_STEPS:
            for number, (message, turn) in enumerate(zip(self.features, self.neighbors(step), strict=True)):
                if turn and turn.traits & asks and _speaker(turn) != _speaker(message):
                    steps[number] = step
        return steps

    @property
    def has_reply(self) -> NDArray[np.bool_]:
        """Whether the next turn is another speaker's."""
        following = zip(self.features, self.neighbors(1), strict=True)
        return np.array([turn is not None and _speaker(turn) != _speaker(message) for message, turn in following])

    def version_at(self, position: int) -> int | None:
        """The version of the message at this position; None: there is no message."""
        turn = self._turns.get(position)
        return None if turn is None else turn.version

    def neighbor_weight(self, step: int) -> Floats:
        """For each candidate the weight of the turn this many positions from it; 0 if there is none."""
        if step not in self._neighbor_weights:
            turns = self.neighbors(step)
            is_there = np.array([turn is not None for turn in turns])
            self._neighbor_weights[step] = shortness(self.lengths) * shortness(_lengths(turns)) * is_there
        return self._neighbor_weights[step]


class MatchedTokens:
    """The candidates' tokens and those of the turns before them, compared with the question's."""

    def __init__(
        self, candidates: CandidateMatrix, stored: Mapping[int, TokensAt], tokens: QueryTokens, weights: Floats
    ) -> None:
        """`stored` holds the positions needed."""
        self._candidates, self._weights = candidates, weights
        self._query = tokens.vectors
        known = {
            position: at.vectors for position, at in stored.items() if candidates.version_at(position) == at.version
        }
        # The last column, an empty message, stands for every missing one (index -1).
        self._matches = _matches(tokens.vectors, [*known.values(), b""])
        column = {position: number for number, position in enumerate(known)}
        self._columns = {step: self._at(step, column) for step in (0, *PRECEDING_STEPS)}
        self._own = self._matches[:, self._columns[0]]
        self._is_known = self._columns[0] >= 0
        # Stored are the first tokens of the first chunk.
        most = token_vectors.MAX_TOKENS * tokens.vectors.shape[1] // token_vectors.PER_BYTE
        self.is_cut = np.array(
            [(each.chunks or 0) > 1 or len(known.get(each.position, b"")) >= most for each in candidates.features]
        )

    def _at(self, step: int, column: Mapping[int, int]) -> NDArray[np.int64]:
        return np.array([column.get(message.position + step, -1) for message in self._candidates.features])

    def add(self, index: int, vectors: bytes) -> None:
        """Count the tokens of a candidate's passage if they match better than those of its beginning; not the best of
        both, since among more tokens more are near by chance."""
        of_passage = _matches(self._query, [vectors])[:, 0]
        if self._weights @ of_passage > self._weights @ self._own[:, index]:
            self._own[:, index] = of_passage

    def matches(self) -> Floats:
        """For each candidate the weighted mean, over the question's tokens, of the best cosine in the message, or in
        the question of another speaker that it may answer."""
        answered = np.zeros_like(self._own)
        for step in PRECEDING_STEPS:
            gain = np.maximum(0.0, self._matches[:, self._columns[step]] - self._own)
            answered += gain * self._candidates.neighbor_weight(step) * (self._candidates.question_steps == step)
        return np.where(self._is_known, self._weights @ (self._own + answered), UNKNOWN_MATCH)


def read(
    db: OrmSession,
    question: Question,
    terms: QueryTerms,
    candidates: Sequence[Candidate],
    tokens: QueryTokens | None,
    *,
    by_words_alone: bool = False,
) -> Signals:
    """The signals of one target's candidates, at least one. Without the query's tokens the signal of tokens has its
    usual value."""
    target, features = candidates[0].target, [candidate.features for candidate in candidates]
    turns = search_queries.turns_at(db, target.flow_id, _positions_around(features))
    dense = np.array([DENSE_UNKNOWN if candidate.score < 0 else candidate.score for candidate in candidates])
    matrix = CandidateMatrix(features, turns, dense)
    neighbor_weights = {step: matrix.neighbor_weight(step) for step in STEP_WEIGHTS if step}
    words = terms.measure(db, matrix.positions, neighbor_weights, _lengths(matrix.neighbors(-1)))
    fluency = 0.0 if by_words_alone else fluency_of(question.query, tokens)
    columns = _columns(question, words, matrix, fluency)
    matched = None
    if tokens is not None:
        stored = token_queries.at_positions(
            db, base_id=target.memory_base_id, generation=target.generation, positions=_positions_with_tokens(matrix)
        )
        matched = MatchedTokens(matrix, stored, tokens, _token_weights(question, tokens, terms))
        columns["match"] = matched.matches()
    return Signals(
        columns,
        covered=words.covered * (1 - columns["says_nothing"]),
        other_terms=_other_terms(words, matrix, has_terms=bool(terms.terms)),
        fluency=fluency,
        specific=question.specific,
        terms=terms,
        positions=matrix.positions,
        replied=matrix.has_reply,
        tokens=matched,
    )


def fluency_of(query: str, tokens: QueryTokens | None) -> float:
    """How well the model knows a question's words, 0 to 1: it splits unknown words into small pieces, and has none for
    unknown characters. 1 without tokens."""
    if tokens is None:
        return 1.0
    covered = {position for start, end in tokens.spans for position in range(start, end)}
    letters = [position for position, character in enumerate(query) if character.isalnum()]
    pieces = len(tokens.spans) + sum(position not in covered for position in letters) or 1
    characters = sum(WIDE if ord(query[position]) >= FIRST_WIDE else 1 for position in letters)
    by_length = (characters / pieces - UNKNOWN_CHARS) / (KNOWN_CHARS - UNKNOWN_CHARS)
    by_words = (UNKNOWN_PIECES - _pieces_a_word(query, tokens.spans)) / (UNKNOWN_PIECES - KNOWN_PIECES)
    return min(1.0, max(0.0, by_length, by_words))


def _pieces_a_word(query: str, spans: Sequence[tuple[int, int]]) -> float:
    """The tokens of a word on average, of those that are long enough to be split."""
    found = (match for match in WORD.finditer(query) if len(match[0]) >= SHORTEST)
    words = [match.span() for match in found if not scripts.is_unspaced(match[0])]
    pieces = [sum(start < of_end and end > of_start for start, end in spans) for of_start, of_end in words]
    return float(np.mean([each or UNKNOWN_PIECES for each in pieces])) if words else UNKNOWN_PIECES


def _positions_around(features: Sequence[Features]) -> set[int]:
    """The positions of these candidates and of the neighboring turns that the signals read."""
    return {message.position + step for message in features for step in STEP_WEIGHTS if message.seq + step > 0}


def _columns(question: Question, words: WordMeasures, candidates: CandidateMatrix, fluency: float) -> dict[str, Floats]:
    """Every signal, with one value for each candidate; that of tokens has its usual value."""
    features, lengths, traits, dense = candidates.features, candidates.lengths, candidates.traits, candidates.dense
    is_answer = np.array([message.role == "assistant" for message in features])
    repeats = _repeats(question, words, candidates)
    coverage = words.covered**3
    return {
        "dense": dense * fluency,
        "nearby": words.nearby * trust_in_words(fluency),
        "topic": _best_in_session(dense * fluency * (1 - repeats), features),
        "reply": words.before * candidates.neighbor_weight(-1) * _ended_in_question(candidates.neighbors(-1)),
        "coverage": coverage * (1 - shortness(lengths)),
        "keywords": coverage * question.is_keywords,
        "named": words.named * (1 - repeats),
        "long_answer": long(lengths) * is_answer * (not question.asks_other_side),
        "match": np.full(len(features), UNKNOWN_MATCH),
        "speaker": _is_named_speaker(question, features),
        "time": _has_trait(traits, Traits.TELLS_TIME) * question.asks_time,
        "date": np.array([_nearness(question, message) for message in features]),
        "wish": dense * shortness(lengths) * _has_trait(traits, Traits.STATES_WISH) * question.asks_help,
        "sequence": _sequence(question, features),
        "says_nothing": repeats,
    }


def trust_in_words(fluency: float) -> float:
    """The factor of words: where the model does not know them, only words count."""
    return 1 + MORE_WORDS * (1 - fluency)


def shortness(lengths: Floats) -> Floats:
    """1 up to 40 terms, then 40 divided by the length."""
    values: Floats = np.minimum(1.0, SHORT / np.maximum(lengths, 1.0))
    return values


def long(lengths: Floats) -> Floats:
    """0 up to 40 terms, then the log of length / 40."""
    values: Floats = np.log(np.maximum(lengths, SHORT) / SHORT)
    return values


def _repeats(question: Question, words: WordMeasures, candidates: CandidateMatrix) -> Floats:
    """1 for a message that only asks the question again, perhaps in other words."""
    own_terms = candidates.lengths - words.words - len(question.names)
    asks = _has_trait(candidates.traits, Traits.ENDS_IN_QUESTION)
    # A message with a value of the kind asked for is no repetition: "Does the plan allow 40 connections?"
    for wanted, trait in ((question.asks_number, Traits.TELLS_NUMBER), (question.asks_time, Traits.TELLS_TIME)):
        asks *= 1 - wanted * _has_trait(candidates.traits, trait)
    is_question = (words.covered >= REPEATED) & (own_terms <= OWN_TERMS * (not question.is_keywords))
    is_same = question.is_question & (candidates.dense >= SAME_TEXT) & (own_terms <= 0)
    values: Floats = np.maximum(asks * is_question, is_same)
    return values


def _other_terms(words: WordMeasures, candidates: CandidateMatrix, *, has_terms: bool) -> Floats:
    others = candidates.lengths - words.words
    # A text of stop words alone has no terms.
    has_no_other = (others <= 0) & ((words.words > 0) | (not has_terms))
    return np.where((words.covered >= ALL_TERMS) | has_no_other, np.abs(others), np.inf)


def _lengths(turns: Sequence[Turn | None]) -> Floats:
    return np.array([turn.terms if turn else 0 for turn in turns], dtype=np.float64)


def _speaker(turn: Turn | Features) -> str:
    return turn.sender_name or turn.role


def _ended_in_question(turns: Sequence[Turn | None]) -> NDArray[np.bool_]:
    ends = Traits.ENDS_IN_QUESTION.value  # as a number: an operation on flags takes ten times as long
    return np.array([bool(turn and turn.traits & ends) for turn in turns])


def _best_in_session(dense: Floats, features: Sequence[Features]) -> Floats:
    best: dict[int, float] = {}
    for value, message in zip(dense, features, strict=True):
        best[message.first_position] = max(best.get(message.first_position, 0.0), float(value))
    return np.array([best[message.first_position] for message in features])


def _is_named_speaker(question: Question, features: Sequence[Features]) -> Floats:
    if len(question.names) != 1:  # no name, or several: then either speaker may be meant
        return np.zeros(len(features))
    return np.array([float(bool(question.names & name_words(message.sender_name))) for message in features])


def _nearness(question: Question, message: Features) -> float:
    return max((period.nearness(message.timestamp) for period in question.periods), default=0.0)


def _lateness(features: Sequence[Features]) -> Floats:
    """0 for the earliest of the candidates, 1 for the latest."""
    order = sorted(range(len(features)), key=lambda number: (features[number].timestamp, features[number].position))
    values = np.zeros(len(features))
    values[order] = np.linspace(0.0, 1.0, len(features))
    return values


def _sequence(question: Question, features: Sequence[Features]) -> Floats:
    """Nearness to the end of an order that the question asks for."""
    found = np.zeros(len(features))
    if question.asks_first:
        found += 1.0 - _lateness(features)
    if question.asks_latest:
        found += _lateness(features)
    if question.asks_order:
        found += _opening(features)
    return found


def _opening(features: Sequence[Features]) -> Floats:
    """Near 1 for a user's messages at the beginning of their session, less for later ones."""
    turns = np.array([message.seq - 1 for message in features], dtype=np.float64)
    is_user = np.array([message.role == "user" for message in features])
    values: Floats = np.exp(-turns / OPENING) * is_user
    return values


def _has_trait(traits: NDArray[np.int64], trait: Traits) -> Floats:
    values: Floats = (traits & trait.value != 0).astype(np.float64)
    return values


def _token_weights(question: Question, tokens: QueryTokens, terms: QueryTerms) -> Floats:
    """The weight of each token of the query; they sum to 1, or to 0 if no token carries meaning."""
    analyzer = keywords.analyzer(question.asked.language)
    rarities = terms.rarities
    weights = np.zeros(len(tokens.spans))
    for word in WORD.finditer(question.query):
        weight = _token_weight(word[0], analyzer, question, rarities)
        for position, (start, end) in enumerate(tokens.spans):
            if start < word.end() and end > word.start():
                weights[position] = weight
    total = weights.sum()
    return weights / total if total else weights


def _token_weight(word: str, analyzer: keywords.Analyzer, question: Question, rarities: Mapping[str, float]) -> float:
    if keywords.name_words(word) & question.names:
        return 0.0
    terms = analyzer.terms(word)
    if not terms:  # a stop word, unless it is asked for as a name
        return rarities.get(word.casefold(), STOP_WORD)
    return max(rarities.get(term, 1.0) for term in terms)


def _positions_with_tokens(candidates: CandidateMatrix) -> set[int]:
    """The positions whose token vectors the signals read: the candidates and the two turns before each."""
    positions = set(candidates.positions.tolist())
    for step in PRECEDING_STEPS:
        is_read = candidates.neighbor_weight(step) >= MIN_NEIGHBOR_WEIGHT
        positions.update((candidates.positions[is_read] + step).tolist())
    return positions


def _matches(query: NDArray[np.float32], packed: Sequence[bytes]) -> NDArray[np.float32]:
    """The best cosine of each token of the query (rows) in each message (columns), at least 0."""
    dimensions = query.shape[1]
    counts = [len(vectors) * token_vectors.PER_BYTE // dimensions for vectors in packed]
    best = np.zeros((len(query), len(packed)), dtype=np.float32)
    filled = np.flatnonzero(counts)
    if len(filled):
        vectors, lengths = token_vectors.unpack(b"".join(packed), dimensions)
        cosines = query @ vectors.T
        cosines /= lengths  # cheaper than dividing thousands of vectors
        starts = np.concatenate(([0], np.cumsum(np.array(counts)[filled])[:-1]))
        best[:, filled] = np.maximum(np.maximum.reduceat(cosines, starts, axis=1), 0.0)
    return best
