"""Candidates from the store, verified in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database import clock
from memorybase.queries import memory_bases
from memorybase.queries import search as search_queries
from memorybase.queries.search import Facts, Target
from memorybase.search.request import SearchRequest, passes
from memorybase.search.scoring import Weights
from memorybase.services import Services
from memorybase.vectors import chunk_ids, indexes
from memorybase.vectors.search import MAX_FETCH, SCORE_DIGITS, query_until_enough
from memorybase.vectors.store import CollectionRef, VectorHit, as_score
from memorybase.webhooks import events

# In Chroma a metadata filter costs as much as 350 unfiltered results (25 ms against 5 ms for 32 at 40,000 records) and
# grows with the store. So query unfiltered first, and for more if too few pass in SQL.
FIRST_FETCH = 32
CHUNKS_PER_MESSAGE = 4  # an assistant's answer has about four
VERIFY_BATCH = 96  # messages, nearest first, until there are enough
FETCH_GROWTH = 5
FETCH_ROUNDS = 3
# A session or end user with at most this many chunks is read and compared here: exact, and the cost does not grow with
# the store.
COMPARED_CHUNKS = 1_000
# Where an index finds the chunks of a session, sessions are the filter, up to so many of an end user.
SESSIONS_SELECTED = 500


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
    def order(self) -> tuple[float, float, str, bool, str]:
        """Best first. A stored chunk sorts before the same pending one."""
        sent = self.facts.timestamp.timestamp() if self.facts else 0.0
        return (-self.score, -sent, str(self.message_id), self.source == "pending", str(self.target.memory_base_id))


def collection_of(target: Target) -> CollectionRef:
    return CollectionRef(target.collection_name, target.collection_id)


@contextmanager
def marking_mismatch(services: Services, target: Target) -> Iterator[None]:
    """Show the memory base's mismatch at once if its collection turns out to be missing."""
    try:
        yield
    except errors.CollectionMissing:
        with suppress(errors.DatabaseUnavailable), services.database.transaction(durable=False) as db:
            now = clock.now(db)
            began = memory_bases.mark_mismatch(db, target.memory_base_id, target.generation, now)
            events.record_mismatch(db, began, now)
        raise


def nearest_stored(
    services: Services, target: Target, vector: NDArray[np.float32], request: SearchRequest
) -> list[Candidate]:
    """Verified candidates, at least top_k if the bounds of the widening reach that many."""
    with marking_mismatch(services, target):
        chunks = _few_chunks(services, target, request)
        if chunks is not None:
            hits = _compared(services, target, vector, chunks)
            return _verified(services, target, _chunks_of_messages(target, hits), request)
        return query_until_enough(
            services.vectors,
            collection_of(target),
            vector,
            _attempts(services, target, request),
            lambda hits: _verified(services, target, _chunks_of_messages(target, hits), request),
            enough=request.top_k,
            min_score=request.min_score or 0,
            texts=False,
        )


def _attempts(
    services: Services, target: Target, request: SearchRequest
) -> Iterator[tuple[Mapping[str, Any] | None, int]]:
    """The queries to try in turn until enough candidates pass: (filter, limit)."""
    first = max(FIRST_FETCH, CHUNKS_PER_MESSAGE * request.top_k)
    limits = [min(first * FETCH_GROWTH**round_, MAX_FETCH) for round_ in range(FETCH_ROUNDS)]
    if _is_of_sessions(request) and indexes.finds_sessions(services.vectors, collection_of(target)):
        session_ids = _session_ids(services, target, request)
        if session_ids is not None:
            # No chunk of a session's former name is missed: a rename is a new version of its messages.
            yield from (({"session_id": {"$in": session_ids}}, limit) for limit in limits if session_ids)
            return
    yield from ((None, limit) for limit in limits)
    where = _store_filter(request)
    if where is not None:
        yield from ((where, limit) for limit in limits)


def _session_ids(services: Services, target: Target, request: SearchRequest) -> list[str | None] | None:
    with services.database.reading(on_replica=True) as db:
        found = search_queries.session_ids_of(
            db,
            target.flow_id,
            session_id=request.session_id,
            end_user_id=request.end_user_id,
            at_most=SESSIONS_SELECTED,
        )
    return None if found is None else list(found)


def _few_chunks(services: Services, target: Target, request: SearchRequest) -> list[str] | None:
    """The ids of a session's or an end user's chunks; None if they are many, or an index finds them."""
    if not _is_of_sessions(request) or indexes.finds_sessions(services.vectors, collection_of(target)):
        return None
    with services.database.reading(on_replica=True) as db:
        held = search_queries.held_in_sessions(
            db, target, session_id=request.session_id, end_user_id=request.end_user_id, at_most=COMPARED_CHUNKS
        )
    if held is None or sum(each.chunks for each in held.values()) > COMPARED_CHUNKS:
        return None
    base_id = target.memory_base_id
    return [id_ for message_id, each in held.items() for id_ in chunk_ids.chunk_ids(base_id, message_id, *each)]


def _compared(
    services: Services, target: Target, vector: NDArray[np.float32], chunks: Sequence[str]
) -> list[VectorHit]:
    """All of these chunks that are stored, nearest first."""
    stored = services.vectors.fetch(collection_of(target), chunks, texts=False) if chunks else {}
    hits = [VectorHit(id_, as_score(1.0 - float(each.vector @ vector)), "", {}) for id_, each in stored.items()]
    return sorted(hits, key=lambda hit: -hit.score)


def _is_of_sessions(request: SearchRequest) -> bool:
    return request.session_id is not None or request.end_user_id is not None


def _store_filter(request: SearchRequest) -> dict[str, Any] | None:
    """The filters that a chunk's own metadata can answer."""
    conditions: list[dict[str, Any]] = []
    if request.session_id is not None:
        conditions.append({"session_id": request.session_id})
    if request.end_user_id is not None:
        conditions.append({"end_user_id": request.end_user_id})
    if request.roles is not None:
        conditions.append({"role": {"$in": list(request.roles)}})
    if request.since is not None:
        conditions.append({"timestamp": {"$gte": request.since.timestamp()}})
    if request.until is not None:
        conditions.append({"timestamp": {"$lte": request.until.timestamp()}})
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else {"$and": conditions}


def _chunks_of_messages(target: Target, hits: Sequence[VectorHit]) -> list[list[Candidate]]:
    """The chunks of each version of each message, best first like the hits."""
    chunks: dict[tuple[UUID, int], list[Candidate]] = {}
    for hit in hits:
        chunk = chunk_ids.parse_chunk_id(hit.id)
        if chunk is None or chunk.base_id != target.memory_base_id:
            continue
        candidate = Candidate(
            target, chunk.message_id, chunk.version, round(hit.score, SCORE_DIGITS), None, chunk.index, "store"
        )
        chunks.setdefault((chunk.message_id, chunk.version), []).append(candidate)
    return list(chunks.values())


def _verified(
    services: Services, target: Target, messages: Sequence[Sequence[Candidate]], request: SearchRequest
) -> list[Candidate]:
    """Of the first messages, top_k or more, that exist in this version and flow and pass the filters, the best chunk
    that the ledger knows."""
    good_enough = [chunks for chunks in messages if chunks[0].score >= (request.min_score or 0)]
    if not good_enough:
        return []
    batch_size = max(VERIFY_BATCH, 2 * request.top_k)
    verified: list[Candidate] = []
    with services.database.reading(on_replica=True) as db:
        for start in range(0, len(good_enough), batch_size):
            verified += _verify_batch(db, target, good_enough[start : start + batch_size], request)
            if len(verified) >= request.top_k:
                break
    return verified


def _verify_batch(
    db: OrmSession, target: Target, messages: Sequence[Sequence[Candidate]], request: SearchRequest
) -> list[Candidate]:
    facts_of = search_queries.fetch_facts(
        db, target, {chunks[0].message_id for chunks in messages}, metadata=request.filters_metadata
    )
    verified: list[Candidate] = []
    for chunks in messages:
        facts = facts_of.get(chunks[0].message_id)
        if facts is None or facts.version != chunks[0].version or not facts.in_flow:
            continue
        # The ledger alone says that a chunk is of this text: after a backup of SQL was restored, the store may hold
        # chunks of the same message and version with another text. What a worker has written and not yet recorded is
        # pending, and found as such.
        best = next((candidate for candidate in chunks if candidate.chunk < (facts.chunks or 0)), None)
        if best is not None and best.score >= (request.min_score or 0) and passes(facts, request):
            verified.append(best._replace(facts=facts))
    return verified
