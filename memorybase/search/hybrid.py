"""Keyword and hybrid search: candidates from both halves, each scored by all signals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy.orm import Session as OrmSession

from memorybase.queries import keyword_index as postings
from memorybase.queries import search as search_queries
from memorybase.queries import token_vectors
from memorybase.queries.search import Facts, Target
from memorybase.queries.token_vectors import TokensAt
from memorybase.search import keyword_search, pins, scoring, signals
from memorybase.search.keyword_search import Floats, QueryTerms
from memorybase.search.query_parser import Question
from memorybase.search.request import SearchRequest, passes
from memorybase.search.stored_candidates import Candidate, collection_of, marking_mismatch
from memorybase.services import Services
from memorybase.vectors.chunk_ids import chunk_ids
from memorybase.vectors.search import SCORE_DIGITS
from memorybase.vectors.store import StoredVector

if TYPE_CHECKING:
    from memorybase.embedding import QueryTokens
    from memorybase.search.vector_search import Nearest

# This many keyword candidates (more without vectors) and the 96 messages nearest to the question lose next to nothing
# against scoring every message (conversations of 190 to 690 messages).
KEYWORD_CANDIDATES: Mapping[str, int] = {"hybrid": 32, "keyword": 64}
MIN_VECTOR_CANDIDATES = 32  # messages; the first query asks for four times as many chunks
POSITIONS_PER_CANDIDATE = 4  # some have no message, are not counted, or are filtered out
CONDITION_POSITIONS = 2_000  # tried with conditions, of which no index knows; as many as nearest chunks
POSITIONS_READ = 64  # in one statement, until there are enough candidates
MAX_SESSION_RANGES = 50  # an end user with more sessions is filtered afterwards
CHUNKS_COMPARED = 4  # of a message that only the keyword half found


def find_keyword_candidates(
    db: OrmSession, request: SearchRequest, question: Question, targets: Sequence[Target]
) -> tuple[QueryTerms, dict[Target, list[Candidate]]]:
    """The question's terms, and each target's candidates by BM25, best first, without a cosine; then pinned messages,
    which may be relevant without its words."""
    flow_id = targets[0].flow_id
    within = None
    if request.session_id is not None or request.end_user_id is not None:
        within = postings.ranges_of(
            db, flow_id, session_id=request.session_id, end_user_id=request.end_user_id, at_most=MAX_SESSION_RANGES
        )
    terms = keyword_search.find_terms(db, flow_id, question.asked, within)
    tried = POSITIONS_PER_CANDIDATE * _candidate_limit(request) if request.conditions is None else CONDITION_POSITIONS
    positions = terms.best_positions(tried).tolist()
    pinned = search_queries.pinned_positions(
        db, flow_id, session_id=request.session_id, end_user_id=request.end_user_id, at_most=pins.PINNED_CANDIDATES
    )
    return terms, {
        target: _with_pinned(_eligible_at(db, target, positions, request), _eligible_at(db, target, pinned, request))
        for target in targets
    }


def _with_pinned(found: list[Candidate], pinned: list[Candidate]) -> list[Candidate]:
    known = {candidate.message_id for candidate in found}
    return found + [candidate for candidate in pinned if candidate.message_id not in known]


def _candidate_limit(request: SearchRequest) -> int:
    return max(KEYWORD_CANDIDATES[request.mode], request.top_k)


def _eligible_at(db: OrmSession, target: Target, positions: Sequence[int], request: SearchRequest) -> list[Candidate]:
    """The first eligible candidates, in the order of the positions."""
    eligible: list[Facts] = []
    for start in range(0, len(positions), POSITIONS_READ):
        page = positions[start : start + POSITIONS_READ]
        facts = search_queries.facts_at(db, target, page, metadata=request.filters_metadata)
        eligible += [facts[position] for position in page if position in facts and _eligible(facts[position], request)]
        if len(eligible) >= _candidate_limit(request):
            break
    return [
        Candidate(
            target,
            message.id,
            message.version,
            0.0,
            "",
            0,
            "pending" if message.chunks is None else "store",
            message,
        )
        for message in eligible[: _candidate_limit(request)]
    ]


def _eligible(facts: Facts, request: SearchRequest) -> bool:
    return (request.include_pending or facts.chunks is not None) and passes(facts, request)


def fetch_vectors(services: Services, target: Target, candidates: Sequence[Candidate]) -> dict[str, StoredVector]:
    """The stored vectors of keyword candidates, by chunk id."""
    ids = [id_ for candidate in candidates if candidate.source == "store" for id_ in _chunks_compared(candidate)]
    if not ids:
        return {}
    with marking_mismatch(services, target):
        return services.vectors.fetch(collection_of(target), ids, texts=False)


def with_cosines(
    nearest: Nearest, keyword_candidates: Sequence[Candidate], stored: Mapping[str, StoredVector]
) -> list[Candidate]:
    """Both halves' candidates with their cosine as score, each message once; -1 where no vector is known."""
    by_message = {candidate.message_id: candidate for candidate in reversed(nearest.candidates)}
    without_cosine = [candidate for candidate in keyword_candidates if candidate.message_id not in by_message]
    for candidate in without_cosine:
        scores = [
            (float(stored[id_].vector @ nearest.vector), index)
            for index, id_ in enumerate(_chunks_compared(candidate))
            if id_ in stored
        ]
        score, chunk = max(scores, default=(-1.0, 0))
        by_message[candidate.message_id] = candidate._replace(score=score, chunk=chunk, text=None if scores else "")
    return list(by_message.values())


def _chunks_compared(candidate: Candidate) -> list[str]:
    held = candidate.facts.chunks or 0 if candidate.facts else 0
    count = min(held, CHUNKS_COMPARED)
    return chunk_ids(candidate.target.memory_base_id, candidate.message_id, candidate.version, count)


def score(
    services: Services,
    request: SearchRequest,
    question: Question,
    terms: QueryTerms,
    candidates: Sequence[Candidate],
    tokens: QueryTokens | None,
    now: datetime,
) -> list[Candidate]:
    """The candidates of one target with their fused scores, and the signals' values if the request explains.

    Without the query's tokens (in mode keyword, or where the target has none) other weights apply.
    """
    pairs = [(candidate, candidate.facts) for candidate in candidates if candidate.facts is not None]
    if not pairs:
        return []
    facts = [message for _, message in pairs]
    target = pairs[0][0].target
    with services.database.reading(on_replica=True) as db:
        terms.complete(db, np.array([message.position for message in facts], dtype=np.int64))
        turns = search_queries.turns_at(db, target.flow_id, signals.positions_around(facts))
        dense = np.array([scoring.DENSE_UNKNOWN if found.score < 0 else found.score for found, _ in pairs])
        described = signals.Candidates(facts, turns, dense)
        stored = _tokens_at(db, target, signals.positions_needed(described)) if tokens else {}
    covered = terms.coverage(described.positions)
    columns = signals.columns(question, terms, described, covered)
    weights = scoring.WITHOUT_TOKENS
    if tokens is not None:
        weights = scoring.WITH_TOKENS
        rarity = signals.token_weights(question, request.query, tokens, terms)
        columns |= signals.token_columns(described, stored, tokens, rarity)
    half_life = request.half_life_days
    if not request.default_weights:
        weights = scoring.weights_of(target.search_weights, weights.name)
        half_life = scoring.half_life_of(target.search_weights) if half_life is None else half_life
    if request.weights is not None:
        weights = request.weights.applied(weights)
    scores, bias = weights.scores(columns)
    relevance = _relevance(request, question, terms, weights.name, columns, scores)
    fused: list[Candidate] = []
    for index, (candidate, message) in enumerate(pairs):
        recency = _recency(half_life, message.timestamp, now)
        total = round(float(scores[index]) * relevance * recency, SCORE_DIGITS)
        if total >= (request.min_score or 0):
            values = {name: float(column[index]) for name, column in columns.items()} if request.explain else None
            fused.append(
                candidate._replace(
                    score=total,
                    values=values,
                    bias=bias,
                    weights=weights,
                    recency=recency,
                    relevance=relevance,
                    coverage=float(covered[index] * (1 - columns["repeats"][index])),
                )
            )
    return fused


def _relevance(
    request: SearchRequest,
    question: Question,
    terms: QueryTerms,
    weight_set: str,
    columns: Mapping[str, Floats],
    scores: Floats,
) -> float:
    """The factor of all scores of a search. Words alone do not tell: without vectors it is 1, except for small talk."""
    if question.is_small_talk:
        return scoring.LEAST_RELEVANCE
    if request.mode == "keyword":
        return 1.0
    words = len(question.terms) + len(question.names)
    return scoring.RELEVANCE[weight_set].of(columns, scores, words, terms.collected.documents)


def _tokens_at(db: OrmSession, target: Target, positions: Collection[int]) -> dict[int, TokensAt]:
    return token_vectors.at_positions(
        db, base_id=target.memory_base_id, generation=target.generation, positions=positions
    )


def _recency(half_life_days: float | None, timestamp: datetime, now: datetime) -> float:
    """The factor for age: half of the score fades if there is a half-life."""
    if not half_life_days:
        return 1.0
    age = max(0.0, (now - timestamp).total_seconds() / 86_400)
    return 0.5 + 0.5 * float(0.5 ** min(age / half_life_days, 1_000))
