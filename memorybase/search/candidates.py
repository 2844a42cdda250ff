"""Candidates: messages that may answer a query, found by its words or by vectors, each verified in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session as OrmSession

from memorybase.queries import keyword_index as postings
from memorybase.queries import search as search_queries
from memorybase.queries.search import Facts, Target
from memorybase.search import keyword_search, signals
from memorybase.search.keyword_search import QueryTerms
from memorybase.search.query_parser import Question
from memorybase.search.request import SearchRequest, passes
from memorybase.search.scoring import Weights
from memorybase.vectors import chunk_ids
from memorybase.vectors.search import SCORE_DIGITS
from memorybase.vectors.store import StoredVector, VectorHit

if TYPE_CHECKING:
    from memorybase.search.vector_search import NearestChunks

# This many keyword candidates (more without vectors) and the 96 messages nearest to the question lose next to nothing
# against scoring every message (conversations of 190 to 690 messages).
KEYWORD_CANDIDATES: Mapping[str, int] = {"hybrid": 32, "keyword": 64}
POSITIONS_PER_CANDIDATE = 4  # some have no message, are not counted, or are filtered out
CONDITION_POSITIONS = 2_000  # tried with conditions, of which no index knows; as many as nearest chunks
POSITIONS_READ = 64  # in one statement, until there are enough candidates
MAX_SESSION_RANGES = 50  # an end user with more sessions is filtered afterwards
PINNED_CANDIDATES = 64  # pinned messages, the last captured first, that a search scores whatever else it finds
VERIFY_BATCH = 96  # messages, nearest first, until there are enough
CHUNKS_COMPARED = 4  # of a message that only the keyword half found
# In mode dense the cosine loses this much each time the length grows e-fold above 40 terms; .08 to .10 do equally well.
LENGTH_COST = 0.08


class Candidate(NamedTuple):
    """A message's best chunk, before and after SQL has confirmed it. A tuple: a search copies hundreds of them."""

    target: Target
    message_id: UUID
    version: int
    score: float
    text: str | None  # the chunk's; None: read it from the store; empty: the chunk is not known
    chunk: int
    source: Literal["store", "pending"]
    facts: Facts | None = None
    values: Mapping[str, float] | None = None  # of each signal, if a fused score is to be explained
    weights: Weights | None = None
    bias: float = 0.0
    recency: float = 1.0
    relevance: float = 1.0  # of the whole search
    reranked: float | None = None  # the reranker's score, if there is one
    cosine: float | None = None  # in mode dense, before the correction for length
    alike: int = 0  # other candidates with the same text that are folded into it
    coverage: float = 0.0  # the share of the question's words that the message has; 0 if it repeats the question
    own_score: float | None = None  # before it changed places with another candidate

    @property
    def chunk_id(self) -> str:
        return chunk_ids.chunk_id(self.target.memory_base_id, self.message_id, self.version, self.chunk)

    @property
    def order(self) -> tuple[float, float, int, bool, int]:
        """Best first. A stored chunk sorts before the same pending one."""
        sent = self.facts.timestamp.timestamp() if self.facts else 0.0
        return (-self.score, -sent, self.message_id.int, self.source == "pending", self.target.memory_base_id.int)


def find_by_keywords(
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
        db, flow_id, session_id=request.session_id, end_user_id=request.end_user_id, at_most=PINNED_CANDIDATES
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
        Candidate(target, each.id, each.version, -1.0, "", 0, "pending" if each.chunks is None else "store", each)
        for each in eligible[: _candidate_limit(request)]
    ]


def _eligible(facts: Facts, request: SearchRequest) -> bool:
    return (request.include_pending or facts.chunks is not None) and passes(facts, request)


def verified(db: OrmSession, target: Target, hits: Sequence[VectorHit], request: SearchRequest) -> list[Candidate]:
    """One candidate for each message of the store's hits, with its best chunk in the ledger; top_k or a few more.

    Messages that are deleted, filtered out, or of another version or flow are left out.
    """
    messages = [
        (message, chunks)
        for message, chunks in _chunks_of_messages(target, hits).items()
        if chunks[0][0] >= (request.min_score or 0)
    ]
    batch_size = max(VERIFY_BATCH, 2 * request.top_k)
    found: list[Candidate] = []
    for start in range(0, len(messages), batch_size):
        found += _verify_batch(db, target, messages[start : start + batch_size], request)
        if len(found) >= request.top_k:
            break
    return found


_Version = tuple[UUID, int]  # of a message
_Chunks = list[tuple[float, int]]  # score and index of each, best first


def _chunks_of_messages(target: Target, hits: Sequence[VectorHit]) -> dict[_Version, _Chunks]:
    """The chunks of each version of each message, in the order of the hits."""
    chunks: dict[_Version, _Chunks] = {}
    for hit in hits:
        chunk = chunk_ids.parse_chunk_id(hit.id)
        if chunk is not None and chunk.base_id == target.memory_base_id:
            scored = (round(hit.score, SCORE_DIGITS), chunk.index)
            chunks.setdefault((chunk.message_id, chunk.version), []).append(scored)
    return chunks


def _verify_batch(
    db: OrmSession, target: Target, messages: Sequence[tuple[_Version, _Chunks]], request: SearchRequest
) -> list[Candidate]:
    ids = {message_id for (message_id, _), _ in messages}
    facts_of = search_queries.fetch_facts(db, target, ids, metadata=request.filters_metadata)
    found: list[Candidate] = []
    for (message_id, version), chunks in messages:
        facts = facts_of.get(message_id)
        if facts is None or facts.version != version or not facts.in_flow:
            continue
        # The ledger alone says that a chunk is of this text: after a backup of SQL was restored, the store may hold
        # chunks of the same message and version with another text. What a worker has written and not yet recorded is
        # pending, and found as such.
        score, index = next((each for each in chunks if each[1] < (facts.chunks or 0)), (-1.0, 0))
        if score >= (request.min_score or 0) and passes(facts, request):
            found.append(Candidate(target, message_id, version, score, None, index, "store", facts))
    return found


def chunks_compared(candidate: Candidate) -> list[str]:
    """The ids of the stored chunks from which a keyword candidate gets its cosine."""
    held = candidate.facts.chunks or 0 if candidate.facts else 0
    count = min(held, CHUNKS_COMPARED)
    return chunk_ids.chunk_ids(candidate.target.memory_base_id, candidate.message_id, candidate.version, count)


def joined(
    nearest: NearestChunks, keyword_candidates: Sequence[Candidate], stored: Mapping[str, StoredVector]
) -> list[Candidate]:
    """Both halves' candidates with their cosine as score, each message once; -1 where no vector is known."""
    by_message = {candidate.message_id: candidate for candidate in reversed(nearest.candidates)}
    without_cosine = [candidate for candidate in keyword_candidates if candidate.message_id not in by_message]
    for candidate in without_cosine:
        scores = [
            (float(stored[id_].vector @ nearest.vector), index)
            for index, id_ in enumerate(chunks_compared(candidate))
            if id_ in stored
        ]
        score, chunk = max(scores, default=(-1.0, 0))
        by_message[candidate.message_id] = candidate._replace(score=score, chunk=chunk, text=None if scores else "")
    return list(by_message.values())


def corrected_for_length(
    candidates: Sequence[Candidate], question: Question, request: SearchRequest
) -> list[Candidate]:
    """Lower the cosines of long messages, since the best of many chunks is near by chance.

    If the question asks what the other side said, the length costs nothing: answers are long.
    """
    lengths = np.array([candidate.facts.terms if candidate.facts else 0 for candidate in candidates], dtype=np.float64)
    penalties = LENGTH_COST * signals.long(lengths) * (not question.asks_other_side)
    corrected = []
    for candidate, penalty in zip(candidates, penalties, strict=True):
        score = round(max(0.0, candidate.score - float(penalty)), SCORE_DIGITS)
        if score >= (request.min_score or 0):
            corrected.append(candidate._replace(score=score, cosine=candidate.score))
    return corrected
