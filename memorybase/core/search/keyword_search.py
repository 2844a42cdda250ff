"""The keyword half: which turns contain the words of a question, and which turns stand near them.

BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) over exact postings in SQL. Scores are
divided by the best possible score of the question, so they compare across questions, and a term's rarity is relative to
the rarest possible term, so they compare across stores of any size.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import tracing
from memorybase.core.cache import Cache
from memorybase.core.keyword_index import analyzer
from memorybase.core.keyword_index.analyzer import Asked
from memorybase.core.queries import keyword_index as postings
from memorybase.core.queries import search as search_queries
from memorybase.core.queries.keyword_index import Collected, Occurrences
from memorybase.core.queries.search import Features, Target
from memorybase.core.search import misspelled
from memorybase.core.search.candidates import UNKNOWN_COSINE, Candidate
from memorybase.core.search.query_parser import Question
from memorybase.core.search.request import SearchRequest, passes

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

K1 = 1.2
B = 0.5
# The weight of a term one and two turns before or after: an answer seldom repeats the words of its question.
STEP_WEIGHTS = {-2: 0.35, -1: 0.35, 0: 1.0, 1: 0.5, 2: 0.35}
WEAK = 0.5  # of an occurrence: a word without the accents that the question has
MEANT = 0.75  # the same of a word that a misspelled one is read as
MISSPELLED = 3  # words of a question that are looked up so
MAX_TERMS = 32  # the rarest words of a question
USUAL_DOCUMENTS = 100  # in a flow of fewer messages a word that one of them has counts as rarer than the formula says
# A search reads at most this many postings, rarest terms first. A term in too many messages says little: its positions
# are looked up only for the candidates that rarer terms and vectors find.
POSTINGS_READ = 4_000
CACHE_ABOVE = 1_000  # sessions of a flow, or messages of a term: larger counts are cached
# For a count of up to 10,000. A larger one takes longer to count and changes more slowly, so it is cached longer in
# proportion.
CACHE_SECONDS = 10.0
MOST_CACHE_SECONDS = 300.0
_counts: Cache[Hashable, Any] = Cache(1_000)

# This many keyword candidates (more without vectors) and the 96 messages nearest to the question lose next to nothing
# against scoring every message (conversations of 190 to 690 messages).
KEYWORD_CANDIDATES: Mapping[str, int] = {"hybrid": 32, "keyword": 64}
POSITIONS_PER_CANDIDATE = 4  # some have no message, are not counted, or are filtered out
CONDITION_POSITIONS = 2_000  # tried with conditions or times, of which no index knows; as many as nearest chunks
POSITIONS_READ = 64  # in one statement, until there are enough candidates
MAX_SESSION_RANGES = 50  # an end user with more sessions is filtered afterwards
PINNED_CANDIDATES = 64  # pinned messages, the last captured first, that a search scores whatever else it finds


class Matches(NamedTuple):
    """The question's terms in a flow, and each target's candidates by them."""

    terms: QueryTerms
    candidates: Mapping[Target, list[Candidate]]


def find(db: OrmSession, request: SearchRequest, question: Question, targets: Sequence[Target]) -> Matches:
    """Each target's candidates by BM25, best first, without a cosine; then pinned messages, which may be relevant
    without the question's words."""
    flow_id = targets[0].flow_id  # one search stays in one flow
    scope = {"session_id": request.session_id, "end_user_id": request.end_user_id}
    with tracing.span("keyword_search"):
        within = None
        if request.session_id is not None or request.end_user_id is not None:
            within = postings.ranges_of(db, flow_id, **scope, at_most=MAX_SESSION_RANGES)
        terms = find_terms(db, flow_id, question.asked, within)
        limit = max(KEYWORD_CANDIDATES[request.mode], request.top_k)
        tried = POSITIONS_PER_CANDIDATE * limit if request.conditions is None else CONDITION_POSITIONS
        positions = _said_in_time(db, request, terms, tried)
        pinned = search_queries.pinned_positions(db, flow_id, **scope, at_most=PINNED_CANDIDATES)
        found: dict[Target, list[Candidate]] = {}
        for target in targets:
            by_words = _eligible_at(db, target, positions, request, limit)
            known = {candidate.message_id for candidate in by_words}
            further = _eligible_at(db, target, pinned, request, limit)
            found[target] = by_words + [each for each in further if each.message_id not in known]
        return Matches(terms, found)


def _said_in_time(db: OrmSession, request: SearchRequest, terms: QueryTerms, tried: int) -> list[int]:
    """The best positions, best first, of messages that were said in the time of the request."""
    is_any = request.since is None and request.latest is None
    positions: list[int] = terms.best_positions(tried if is_any else CONDITION_POSITIONS).tolist()
    if is_any:
        return positions
    said = search_queries.said_within(db, positions, request.since, request.latest)
    return [position for position in positions if position in said][:tried]


def _eligible_at(
    db: OrmSession, target: Target, positions: Sequence[int], request: SearchRequest, limit: int
) -> list[Candidate]:
    """The first eligible candidates, in the order of the positions."""
    eligible: list[Features] = []
    for start in range(0, len(positions), POSITIONS_READ):
        page = positions[start : start + POSITIONS_READ]
        found = search_queries.features_at(db, target, page, metadata=request.filters_metadata)
        eligible += [
            found[position] for position in page if position in found and is_eligible(found[position], request)
        ]
        if len(eligible) >= limit:
            break
    return [
        Candidate(target, each, UNKNOWN_COSINE, "", 0, "pending" if each.chunks is None else "store")
        for each in eligible[:limit]
    ]


def is_eligible(features: Features, request: SearchRequest) -> bool:
    return (request.include_pending or features.chunks is not None) and passes(features, request)


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the question and its positions. `common`: not all of its positions are known. `keys`: of all that
    stands for it, with the part of an occurrence that each counts as. `messages`: how many of the flow have it."""

    text: str
    keys: Mapping[int, float]
    rarity: float
    messages: int
    positions: Positions
    times: Floats
    common: bool

    def times_at(self, positions: Positions) -> Floats:
        """Occurrences of the term at each position."""
        if not len(self.positions):
            return np.zeros(len(positions))
        index = np.minimum(np.searchsorted(self.positions, positions), len(self.positions) - 1)
        return np.where(self.positions[index] == positions, self.times[index], 0.0)


class WordMeasures(NamedTuple):
    """Measures of the question's terms at each of some positions."""

    nearby: Floats  # BM25 of the turn together with its neighbors
    before: Floats  # BM25 of the turn before
    words: Floats  # how many words of the turn are the question's
    covered: Floats  # the share of the question's terms that the turn has, weighted by rarity: 0 to 1
    named: Floats  # the rarity of the rarest name or code of the question that the turn has


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The question's terms in one flow."""

    terms: list[Term]
    collected: Collected
    best_possible: float  # the divisor of every score
    meant: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by terms that the flow lacks: the nearest
    names: Collection[str] = ()  # those of the terms that look like names or codes

    @property
    def rarities(self) -> dict[str, float]:
        """Each term's rarity in the flow, 0 to 1."""
        return {term.text: term.rarity for term in self.terms}

    def unsaid(self, among: Collection[str], without: Positions) -> float:
        """The share of these of the question's terms, weighted by rarity, that no message has but those at these
        positions."""
        wanted = [term for term in self.terms if term.text in among]
        total = sum(term.rarity for term in wanted)
        unsaid = (each.rarity for each in wanted if each.messages <= np.count_nonzero(each.times_at(without)))
        return float(sum(unsaid)) / total if total else 0.0

    def best_positions(self, limit: int) -> Positions:
        """The positions with the best scores, best first, among those of the terms and of the turns around them."""
        located = [term for term in self.terms if len(term.positions)]
        if not located:
            return np.empty(0, dtype=np.int64)
        positions, index = np.unique(
            np.concatenate([term.positions + step for term in located for step in STEP_WEIGHTS]), return_inverse=True
        )
        scores = np.zeros(len(positions))
        start = 0
        for term in located:
            times = np.zeros(len(positions))
            for step, part in STEP_WEIGHTS.items():
                at = index[start : start + len(term.positions)]
                start += len(at)
                times[at] += part * term.times
                if step == 0:
                    scores[at] += _saturated(term, term.times, K1)
            scores += _saturated(term, times, K1)
        return _best(positions, scores, limit)

    def measure(
        self, db: OrmSession, positions: Positions, neighbor_weights: Mapping[int, Floats], lengths_before: Floats
    ) -> WordMeasures:
        """Measures of the terms at these positions. `neighbor_weights`: of the turns around, by step; `lengths_before`:
        terms in the turns before."""
        terms = self._completed(db, positions).terms
        average = self.collected.terms / max(1, self.collected.documents) or 1.0
        damping = K1 * (1 - B + B * lengths_before / average)
        nearby, before, words, covered, named = (np.zeros(len(positions)) for _ in range(5))
        for term in terms:
            times = term.times_at(positions)
            words += times
            covered += term.rarity * (times > 0)
            if term.text in self.names:
                named = np.maximum(named, term.rarity * (times > 0))
            before += _saturated(term, term.times_at(positions - 1), damping)
            for step, weight in neighbor_weights.items():
                times = times + STEP_WEIGHTS[step] * weight * term.times_at(positions + step)
            nearby += _saturated(term, times, K1)
        total = sum(term.rarity for term in terms)
        return WordMeasures(
            nearby / self.best_possible,
            before / self.best_possible,
            words,
            covered / total if total else covered,
            named,
        )

    def _completed(self, db: OrmSession, positions: Positions) -> QueryTerms:
        """The terms with all that is known of common ones around these positions."""
        common = [key for term in self.terms if term.common for key in term.keys]
        if not common:
            return self
        around = np.unique(np.concatenate([positions + step for step in STEP_WEIGHTS])).tolist()
        found = postings.occurrences_at(db, common, around)
        return replace(
            self,
            terms=[
                replace(term, **_merged(found, term.keys)._asdict()) if term.common else term for term in self.terms
            ],
        )


def _saturated(term: Term, times: Floats, damping: Floats | float) -> Floats:
    """BM25's part of one term: each repetition adds less."""
    score: Floats = term.rarity * times * (K1 + 1) / (times + damping)
    return score


def _best(positions: Positions, scores: Floats, limit: int) -> Positions:
    """The `limit` best; on equal scores the later position first."""
    if len(positions) > limit:
        is_candidate = scores >= np.partition(scores, -limit)[-limit]
        positions, scores = positions[is_candidate], scores[is_candidate]
    return positions[np.lexsort((-positions, -scores))[:limit]]


def find_terms(db: OrmSession, flow_id: UUID, asked: Asked, within: Sequence[tuple[int, int]] | None) -> QueryTerms:
    """The terms' positions in the flow or within these ranges; rarity is always the flow's.

    Of a question in a language that nobody speaks in the flow only words that were said count: its names.
    """
    collected = _counts.get(("flow", flow_id))
    if collected is None:
        collected = postings.collected(db, flow_id)
        _counts.put(("flow", flow_id), collected, seconds_cached(collected.sessions))
    documents = collected.documents
    rarest = math.log(2 * documents + 2)
    flatness = min(1.0, rarest / math.log(2 * USUAL_DOCUMENTS + 2))
    keys, meant = _keys(db, flow_id, asked)
    message_counts = _message_counts(db, [key for of_term in keys.values() for key in of_term])
    numbers = {text: sum(message_counts[key] for key in of_term) for text, of_term in keys.items()}
    # Somebody speaks the language if they said a word in its script.
    is_foreign = asked.is_foreign and not any(number and not text.isascii() for text, number in numbers.items())
    rarities: dict[str, float] = {}
    for text, number in numbers.items():
        if number or not is_foreign:
            rarity = math.log(1 + max(0, documents - number + 0.5) / (number + 0.5)) / rarest
            rarities[text] = rarity**flatness
    chosen = sorted(rarities, key=lambda text: -rarities[text])[:MAX_TERMS]
    counts, known = message_counts, None
    if within is not None:
        known = postings.occurrences(db, [key for text in chosen for key in keys[text]], within)
        counts = {key: len(found.positions) for key, found in known.items()}
    located = [tuple(key for key in keys[text] if counts[key]) for text in chosen]
    occurrences = _read(db, [of_term for of_term in located if of_term], counts, known)
    loaded = []
    for text, located_keys in zip(chosen, located, strict=True):
        found = _merged(occurrences, {key: keys[text][key] for key in located_keys if key in occurrences})
        common = any(len(occurrences.get(key, postings.NOWHERE).positions) < counts[key] for key in located_keys)
        loaded.append(Term(text, keys[text], rarities[text], numbers[text], *found, common=common))
    best = (K1 + 1) * math.sqrt(sum(rarities[text] for text in chosen))
    return QueryTerms(loaded, collected, best or 1.0, meant, asked.names)


def _keys(
    db: OrmSession, flow_id: UUID, asked: Asked
) -> tuple[dict[str, Mapping[int, float]], dict[str, tuple[str, ...]]]:
    """The keys of each term, with their weights; of one that the flow does not know, those of the nearest words. And
    the terms of these."""
    weak = {analyzer.term_key(flow_id, term) for term in asked.weak}
    keys: dict[str, Mapping[int, float]] = {}
    meant: dict[str, tuple[str, ...]] = {}
    for text in asked.terms:
        keys[text] = {key: WEAK if key in weak else 1.0 for key in analyzer.term_keys(flow_id, text, asked)}
    counts = _message_counts(db, [key for of_term in keys.values() for key in of_term])
    unknown = [text for text, of_term in keys.items() if not any(counts[key] for key in of_term)]
    for text in [text for text in unknown if text in asked.words][:MISSPELLED]:
        if near := misspelled.meant(db, flow_id, asked.words[text], asked.languages):
            keys[text] = dict.fromkeys(near, MEANT)
            meant[text] = tuple(dict.fromkeys(near.values()))
    return keys, meant


def _merged(occurrences: Mapping[int, Occurrences], keys: Mapping[int, float]) -> Occurrences:
    """One term's occurrences, found by several keys, each with its weight."""
    found = [(occurrences[key], weight) for key, weight in keys.items() if len(occurrences[key].positions)]
    if not found:
        return postings.NOWHERE
    if len(found) == 1:
        ((only, weight),) = found
        return only if weight == 1.0 else Occurrences(only.positions, only.times * weight)
    positions, index = np.unique(np.concatenate([each.positions for each, _ in found]), return_inverse=True)
    times = np.bincount(index, weights=np.concatenate([each.times * weight for each, weight in found]))
    return Occurrences(positions.astype(np.int64), times.astype(np.float64))


def _read(
    db: OrmSession,
    terms: Sequence[tuple[int, ...]],
    counts: Mapping[int, int],
    known: Mapping[int, Occurrences] | None,
) -> Mapping[int, Occurrences]:
    """Postings of the rarest terms, each given as its keys, up to the bound; at least some of the rarest term. From
    what is known of them, else read."""
    totals = accumulate(sum(counts[key] for key in keys) for keys in terms)
    complete = [key for keys, total in zip(terms, totals, strict=True) if total <= POSTINGS_READ for key in keys]
    chosen = complete or (terms[0] if terms else ())
    limit = None if complete else POSTINGS_READ
    if known is None:
        return postings.occurrences(db, chosen) if limit is None else postings.some_occurrences(db, chosen, limit=limit)
    return {key: Occurrences(known[key].positions[:limit], known[key].times[:limit]) for key in chosen}


def _message_counts(db: OrmSession, keys: Sequence[int]) -> dict[int, int]:
    """Number of messages of the flow with each term."""
    cached = {key: number for key in keys if (number := _counts.get(("term", key))) is not None}
    counted = postings.counts(db, [key for key in keys if key not in cached])
    for key, number in counted.items():
        _counts.put(("term", key), number, seconds_cached(number))
    return {key: cached.get(key, counted.get(key, 0)) for key in keys}


def seconds_cached(size: int) -> float:
    """Large counts change slowly, and counting takes longer as the store grows."""
    return min(CACHE_SECONDS * max(1.0, size / 10_000), MOST_CACHE_SECONDS) if size > CACHE_ABOVE else 0.0
