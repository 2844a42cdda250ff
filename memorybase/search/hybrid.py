"""Keyword and hybrid search: candidates from both halves, and for each all the signs that it is what was asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy.orm import Session as OrmSession

from memorybase.keyword_index import queries as postings
from memorybase.queries import token_vectors
from memorybase.queries.token_vectors import TokensAt
from memorybase.search import keyword_search, late_interaction, queries, scoring, signals
from memorybase.search.keyword_search import Words
from memorybase.search.queries import Facts, Target
from memorybase.search.query_parser import Question
from memorybase.search.request import SearchRequest, passes
from memorybase.search.stored_candidates import Candidate, collection_of
from memorybase.services import Services
from memorybase.vectors.chunk_ids import chunk_ids
from memorybase.vectors.search import SCORE_DIGITS
from memorybase.vectors.store import StoredVector

if TYPE_CHECKING:
    from memorybase.embedding import QueryTokens
    from memorybase.search.vector_search import Near

# So many candidates by words, more where vectors find none, and the 96 messages nearest to the question lose next to
# nothing against scoring every message (conversations of 190 to 690 messages).
BY_WORDS: Mapping[str, int] = {"hybrid": 32, "keyword": 64}
NEAR = 32  # messages, at least; four times as many chunks are asked for at first
PLACES_A_CANDIDATE = 4  # some of them are no messages, not counted, or filtered out
POSITIONS_READ = 64  # at once, until there are enough candidates
SESSIONS_WITHIN = 50  # an end user with more sessions is filtered afterwards
CHUNKS_COMPARED = 4  # of a message that only its words have found


def find_words(
    db: OrmSession, request: SearchRequest, question: Question, targets: Sequence[Target]
) -> tuple[Words, dict[Target, list[Candidate]]]:
    """The question's words, and each target's candidates by them, best first, without a vector's word on them."""
    flow_id = targets[0].flow_id
    within = None
    if request.session_id is not None or request.end_user_id is not None:
        within = postings.ranges_of(
            db,
            flow_id,
            session_id=request.session_id,
            end_user_id=request.end_user_id,
            at_most=SESSIONS_WITHIN,
        )
    found = keyword_search.look_up(db, flow_id, question.terms, within)
    positions = found.best_positions(PLACES_A_CANDIDATE * _wanted(request)).tolist()
    return found, {target: _eligible_at(db, target, positions, request) for target in targets}


def _wanted(request: SearchRequest) -> int:
    return max(BY_WORDS[request.mode], request.top_k)


def _eligible_at(db: OrmSession, target: Target, positions: Sequence[int], request: SearchRequest) -> list[Candidate]:
    """The first candidates that count and pass, in the order of the places."""
    eligible: list[Facts] = []
    for start in range(0, len(positions), POSITIONS_READ):
        wanted = positions[start : start + POSITIONS_READ]
        facts = queries.facts_at(db, target, wanted, metadata=bool(request.metadata))
        eligible += [
            facts[position] for position in wanted if position in facts and _eligible(facts[position], request)
        ]
        if len(eligible) >= _wanted(request):
            break
    return [
        Candidate(target, each.id, each.version, 0.0, "", 0, "store" if each.held == each.version else "pending", each)
        for each in eligible[: _wanted(request)]
    ]


def _eligible(facts: Facts, request: SearchRequest) -> bool:
    return (request.include_pending or facts.held == facts.version) and passes(facts, request)


def vectors_of(services: Services, target: Target, by_words: Sequence[Candidate]) -> dict[str, StoredVector]:
    """The stored vectors of what words have found, by chunk id."""
    ids = [id_ for each in by_words if each.source == "store" for id_ in _chunks_compared(each)]
    return services.vectors.fetch(collection_of(target), ids, texts=False) if ids else {}


def compared(near: Near, by_words: Sequence[Candidate], stored: Mapping[str, StoredVector]) -> list[Candidate]:
    """Both halves' candidates with their cosine, each message once; a score of -1 where no vector is known."""
    known = {each.message_id: each for each in reversed(near.candidates)}
    lacking = [each for each in by_words if each.message_id not in known]
    for each in lacking:
        scores = [
            (float(stored[id_].vector @ near.vector), index)
            for index, id_ in enumerate(_chunks_compared(each))
            if id_ in stored
        ]
        score, chunk = max(scores, default=(-1.0, 0))
        known[each.message_id] = each._replace(score=score, chunk=chunk, text=None if scores else "")
    return list(known.values())


def _chunks_compared(candidate: Candidate) -> list[str]:
    return chunk_ids(candidate.target.memory_base_id, candidate.message_id, candidate.version, CHUNKS_COMPARED)


def scored(
    services: Services,
    request: SearchRequest,
    question: Question,
    found: Words,
    candidates: Sequence[Candidate],
    tokens: QueryTokens | None,
    now: datetime,
) -> list[Candidate]:
    """The candidates of one target with their fused scores, and what each signal gave. Without the query's tokens,
    because the mode is keyword or the target has none, other weights count."""
    known = [(each, each.facts) for each in candidates if each.facts is not None]
    if not known:
        return []
    facts = [each for _, each in known]
    target = known[0][0].target
    with services.database.reading() as db:
        found.complete(db, np.array([each.position for each in facts], dtype=np.int64))
        turns = queries.turns_at(db, target.flow_id, signals.places_around(facts))
        dense = np.array([each.score if each.score >= 0 else scoring.DENSE_UNKNOWN for each, _ in known])
        described = signals.Candidates(facts, turns, dense)
        stored = _tokens_at(db, target, late_interaction.places_wanted(described)) if tokens else {}
    columns = signals.columns(question, found, described)
    weights = scoring.WITHOUT_TOKENS
    if tokens is not None:
        weights = scoring.WITH_TOKENS
        language = services.settings.keyword_language
        rarity = late_interaction.weights_of(question, request.query, tokens, found, language)
        columns |= late_interaction.columns(described, stored, tokens, rarity)
    if not request.default_weights:
        weights = scoring.weights_of(target.search_weights, weights.name)
    scores, begin = weights.scores(columns)
    fused: list[Candidate] = []
    for index, (candidate, each) in enumerate(known):
        recency = _recency(request, each.timestamp, now)
        total = round(float(scores[index]) * recency, SCORE_DIGITS)
        if total >= (request.min_score or 0):
            values = {name: float(column[index]) for name, column in columns.items()} if request.explain else None
            fused.append(candidate._replace(score=total, values=values, bias=begin, weights=weights, recency=recency))
    return fused


def _tokens_at(db: OrmSession, target: Target, positions: Collection[int]) -> dict[int, TokensAt]:
    return token_vectors.at_positions(
        db, base_id=target.memory_base_id, generation=target.generation, positions=positions
    )


def _recency(request: SearchRequest, said: datetime, now: datetime) -> float:
    """Half of the score fades with age, where that was asked for."""
    if request.half_life_days is None:
        return 1.0
    age = max(0.0, (now - said).total_seconds() / 86_400)
    return 0.5 + 0.5 * float(0.5 ** min(age / request.half_life_days, 1_000))
