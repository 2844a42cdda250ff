"""The half of a search by meaning: the store proposes the chunks nearest to the query, and SQL verifies them.

In the order of the work: `ask` reads what the store is to be asked and asks it in another thread. `verified` waits for
the answer, embeds pending messages, verifies all in SQL, and adds the candidates that were found by words.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import numpy as np
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors, events, tracing
from memorybase.core.database import clock
from memorybase.core.messages import message_text
from memorybase.core.models import MemoryBase
from memorybase.core.queries import memory_bases
from memorybase.core.queries import search as search_queries
from memorybase.core.queries import search_pending as pending_queries
from memorybase.core.queries.search import Target
from memorybase.core.queries.search_pending import PendingMessage
from memorybase.core.search.candidates import UNKNOWN_COSINE, Candidate
from memorybase.core.search.embedded import Embedded, embed_query, pending_vectors
from memorybase.core.search.query_parser import Question
from memorybase.core.search.request import SearchRequest, passes
from memorybase.core.services import Services
from memorybase.core.vectors import chunk_ids, indexes
from memorybase.core.vectors.search import MAX_FETCH, SCORE_DIGITS
from memorybase.core.vectors.store import StoredVector, VectorHit

if TYPE_CHECKING:
    from memorybase.core.embedding import QueryTokens

MIN_CANDIDATES = 32  # messages of a hybrid search; the first query asks for four times as many chunks
# In Chroma a metadata filter costs as much as 350 unfiltered results (25 ms against 5 ms for 32 at 40,000 records) and
# grows with the store. So query unfiltered first, and for more if too few pass in SQL.
FIRST_FETCH = 32
CHUNKS_PER_MESSAGE = 4  # an assistant's answer has about four
FETCH_GROWTH = 5
FETCH_ROUNDS = 3
# A session or end user with at most this many chunks is searched among them: the cost does not grow with the store. In
# a large one up to so many times as many, at this share of its chunks: there a filter costs more than their ids.
COMPARED_CHUNKS, COMPARED_IN_LARGE, COMPARED_SHARE = 1_000, 4, 0.02
# If an index finds the chunks of a session, sessions are the filter, up to this many of an end user.
SESSIONS_SELECTED = 500
VERIFY_BATCH = 96  # messages, nearest first, until there are enough
CHUNKS_COMPARED = 4  # of a message that only the keyword half found

# How much pending work of a memory base a search reads; `embedded` says how much of it is embedded.
PENDING_MESSAGES = 64
PENDING_SESSIONS = 1_000
PENDING_CHARS_PER_MESSAGE = 8_000  # enough for the chunks that are embedded in most languages, and cheap to tokenize

# The store is asked in another thread while SQL runs: model and store work outside the interpreter. As many threads as
# an API process has for requests.
_threads = ThreadPoolExecutor(max_workers=40, thread_name_prefix="recall")

_Query = tuple[Mapping[str, Any] | None, int]  # filter and limit


class Plan(NamedTuple):
    """The store's work for one target: the nearest ones, of these chunks if there are any, by these queries in turn."""

    target: Target
    chunks: Sequence[str] | None
    queries: tuple[_Query, ...]


class Nearest(NamedTuple):
    """The stored chunks of one target that are nearest to the query, as far as the store was asked."""

    target: Target
    query: Embedded
    hits: Sequence[VectorHit]
    limit: int  # of the last query; 0: there is nothing to ask for
    chunks: Sequence[str] | None
    further: tuple[_Query, ...]


class Asked(NamedTuple):
    """The work of the model and the store while SQL runs."""

    request: SearchRequest  # for chunks
    nearest: Future[list[Nearest]]
    pending: Mapping[Target, list[PendingMessage]]


class Verified(NamedTuple):
    """One target's candidates, with their cosines as scores."""

    candidates: list[Candidate]
    query: Embedded
    tokens: QueryTokens | None  # of the query, if they compare with the target's


BEING_REBUILT = "The vectors are missing and being rebuilt. Until that is done, search by words: mode keyword"

_Version = tuple[UUID, int]  # of a message
_Chunks = list[tuple[float, int]]  # score and index of each, best first


def ask(
    db: OrmSession, services: Services, request: SearchRequest, question: Question, targets: Sequence[Target]
) -> Asked:
    """Ask the store for each target's nearest chunks, in another thread; meanwhile read its pending messages."""
    is_hybrid = request.mode == "hybrid"
    if is_hybrid:  # more than the caller wants, because both halves score all
        request = replace(request, top_k=max(MIN_CANDIDATES, request.top_k), min_score=None)
    plans = [_plan(db, services, target, request) for target in targets]
    full_query = request.query if is_hybrid and services.settings.token_vectors else None
    in_context = contextvars.copy_context().run
    nearest = _threads.submit(in_context, _nearest, services, plans, question.text, full_query)
    return Asked(request, nearest, _read_pending(db, targets, request))


def _plan(db: OrmSession, services: Services, target: Target, request: SearchRequest) -> Plan:
    """The chunks of a small session or end user are named, unless an index finds them."""
    first = max(FIRST_FETCH, CHUNKS_PER_MESSAGE * request.top_k)
    limits = [min(first * FETCH_GROWTH**round_, MAX_FETCH) for round_ in range(FETCH_ROUNDS)]
    if request.session_id is not None or request.end_user_id is not None:
        scope = {"session_id": request.session_id, "end_user_id": request.end_user_id}
        if indexes.finds_sessions(services.vectors, target.collection):
            sessions = search_queries.session_ids_of(db, target.flow_id, **scope, at_most=SESSIONS_SELECTED)
            if sessions is not None:
                of_sessions = {"session_id": {"$in": list(sessions)}}
                return Plan(target, None, tuple((of_sessions, limit) for limit in limits if sessions))
        else:
            share = min(int(target.chunks_stored * COMPARED_SHARE), COMPARED_IN_LARGE * COMPARED_CHUNKS)
            at_most = max(COMPARED_CHUNKS, share)
            held = search_queries.held_in_sessions(db, target, **scope, at_most=at_most)
            if held is not None and sum(each.chunks for each in held.values()) <= at_most:
                base_id = target.memory_base_id
                chunks = [
                    id_ for message_id, each in held.items() for id_ in chunk_ids.chunk_ids(base_id, message_id, *each)
                ]
                return Plan(target, chunks, tuple((None, limit) for limit in limits if chunks))
    where = _store_filter(request, _names(db, target, request))
    filters = [None] if where is None else [None, where]
    return Plan(target, None, tuple((each, limit) for each in filters for limit in limits))


def _names(db: OrmSession, target: Target, request: SearchRequest) -> Sequence[str]:
    """The ids under which the store has the session of the request: two while its rename is not done."""
    if request.session_id is None:
        return ()
    scope = {"session_id": request.session_id, "end_user_id": None}
    return search_queries.session_ids_of(db, target.flow_id, **scope, at_most=1) or [request.session_id]


def _store_filter(request: SearchRequest, names: Sequence[str]) -> dict[str, Any] | None:
    """The filters that a chunk's own metadata can answer."""
    conditions: list[dict[str, Any]] = []
    if names:
        conditions.append({"session_id": names[0] if len(names) == 1 else {"$in": list(names)}})
    if request.end_user_id is not None:
        conditions.append({"end_user_id": request.end_user_id})
    if request.roles is not None:
        conditions.append({"role": {"$in": list(request.roles)}})
    if request.since is not None:
        conditions.append({"timestamp": {"$gte": request.since.timestamp()}})
    if request.latest is not None:
        conditions.append({"timestamp": {"$lte": request.latest.timestamp()}})
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else {"$and": conditions}


def _read_pending(
    db: OrmSession, targets: Sequence[Target], request: SearchRequest
) -> dict[Target, list[PendingMessage]]:
    """The pending messages of each target, unless the request excludes them.

    The snapshot is older than the store's answer, so a message that a worker ingests in between is in both.
    """
    if not request.include_pending:
        return {}
    scope = pending_queries.PendingScope(
        request.session_id, request.end_user_id, request.filters_metadata, PENDING_MESSAGES, PENDING_SESSIONS
    )
    return {
        target: pending_queries.pending_messages(db, target, scope) + pending_queries.edited_messages(db, target, scope)
        for target in targets
    }


def _nearest(services: Services, plans: Sequence[Plan], query: str, full_query: str | None) -> list[Nearest]:
    """The answer to the first query of each plan. `query` is the text to embed; tokens are of the `full_query`."""
    with tracing.span("embed_query"):
        embedded = embed_query(services, query, full_query, [plan.target for plan in plans])
    return [_first_answer(services, plan, each) for plan, each in zip(plans, embedded, strict=True)]


def _first_answer(services: Services, plan: Plan, query: Embedded) -> Nearest:
    nearest = Nearest(plan.target, query, [], 0, plan.chunks, plan.queries)
    with tracing.span("vector_search", "client", memory_base_id=str(plan.target.memory_base_id)):
        return _next_answer(services, nearest) if plan.queries else nearest


def _next_answer(services: Services, nearest: Nearest) -> Nearest:
    """The answer to the next query."""
    (where, limit), *further = nearest.further
    collection, vector = nearest.target.collection, nearest.query.vector
    with _marking_mismatch(services, nearest.target):
        if nearest.chunks is None:
            hits = services.vectors.query(collection, vector, limit, where, texts=False)
        else:
            hits = services.vectors.query_among(collection, vector, nearest.chunks, limit)
    return nearest._replace(hits=hits, limit=limit, further=tuple(further))


class Superseded(errors.CollectionMissing):
    """The collection was dropped, because the memory base was deleted or regenerated during the search."""


def _serving_base(services: Services, target: Target) -> MemoryBase | None:
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, target.memory_base_id)
    return base if base is not None and base.deleting_at is None and base.serving == target.generation else None


@contextmanager
def _marking_mismatch(services: Services, target: Target) -> Iterator[None]:
    """Show the memory base's mismatch at once if its collection turns out to be missing."""
    try:
        yield
    except errors.CollectionMissing:
        base = _serving_base(services, target)
        if base is None:
            raise Superseded from None
        # Where the search would wait for it, the sweeper finds it.
        with suppress(errors.DatabaseUnavailable), services.database.transaction(wait=False) as db:
            now = clock.now(db)
            began = memory_bases.mark_mismatch(db, target.memory_base_id, target.generation, now)
            events.record_mismatch(db, services, began, now)
        if base.building is not None or services.settings.restored_dir.exists():
            raise errors.CollectionMissing(BEING_REBUILT) from None
        raise


@contextmanager
def verified(
    services: Services, asked: Asked, by_words: Mapping[Target, Sequence[Candidate]]
) -> Iterator[tuple[OrmSession, list[Verified]]]:
    """Each target's candidates once the store has answered, with those that were found by words; and the transaction
    that has verified the last of them.

    Where too few chunks pass, the store is asked for more. No transaction is open meanwhile.
    """
    # This takes as long as a query of the store, so it does not wait for the answer to one.
    vectors = {target: _fetch_compared(services, target, found) for target, found in by_words.items()}
    nearest = asked.nearest.result()
    pending = [_pending_candidates(services, each, asked) for each in nearest]
    stored: dict[Target, list[Candidate]] = {}
    lacking = nearest
    while True:
        with services.database.reading(on_replica=True) as db:
            stored |= {each.target: _verify(db, each, asked.request) for each in lacking}
            lacking = [each for each in lacking if _may_lack(each, stored[each.target], asked.request)]
            if not lacking:
                found = zip(nearest, pending, strict=True)
                yield db, [_joined(each, stored[each.target] + further, by_words, vectors) for each, further in found]
                return
        lacking = [_next_answer(services, each) for each in lacking]


def _may_lack(nearest: Nearest, found: Sequence[Candidate], request: SearchRequest) -> bool:
    """Whether too few candidates were found and a further query can bring more."""
    return (
        bool(nearest.further)
        and len(found) < request.top_k
        and len(nearest.hits) == nearest.limit  # more are all that there are
        and nearest.hits[-1].score >= (request.min_score or 0)
    )


def _pending_candidates(services: Services, nearest: Nearest, asked: Asked) -> list[Candidate]:
    """Candidates among pending messages, which no store holds yet: embedded here."""
    target, query = nearest.target, nearest.query
    passing = [each for each in asked.pending.get(target, ()) if passes(each.features, asked.request)]
    if not passing:
        return []
    texts = [message_text(message.content)[:PENDING_CHARS_PER_MESSAGE] for message in passing]
    embedded = pending_vectors.embed(services, query.embedder, texts)
    candidates: list[Candidate] = []
    for message, text in zip(passing, texts, strict=True):
        chunks = embedded.get(text)
        if not chunks:
            continue
        scores = chunks.vectors @ query.vector
        best = int(np.argmax(scores))
        score = round(min(1.0, max(0.0, float(scores[best]))), SCORE_DIGITS)
        candidates.append(Candidate(target, message.features, score, chunks.texts[best], best, "pending"))
    return [candidate for candidate in candidates if candidate.score >= (asked.request.min_score or 0)]


def _verify(db: OrmSession, nearest: Nearest, request: SearchRequest) -> list[Candidate]:
    """One candidate for each message of the store's hits, with its best chunk in the ledger; top_k or a few more.

    Messages that are deleted, filtered out, or of another version or flow are left out.
    """
    messages = [
        (message, chunks)
        for message, chunks in _chunks_of_messages(nearest).items()
        if chunks[0][0] >= (request.min_score or 0)
    ]
    batch_size = max(VERIFY_BATCH, 2 * request.top_k)
    found: list[Candidate] = []
    for start in range(0, len(messages), batch_size):
        found += _verify_batch(db, nearest.target, messages[start : start + batch_size], request)
        if len(found) >= request.top_k:
            break
    return found


def _chunks_of_messages(nearest: Nearest) -> dict[_Version, _Chunks]:
    """The chunks of each version of each message, in the order of the hits."""
    chunks: dict[_Version, _Chunks] = {}
    for hit in nearest.hits:
        chunk = chunk_ids.parse_chunk_id(hit.id)
        if chunk is not None and chunk.base_id == nearest.target.memory_base_id:
            scored = (round(hit.score, SCORE_DIGITS), chunk.index)
            chunks.setdefault((chunk.message_id, chunk.version), []).append(scored)
    return chunks


def _verify_batch(
    db: OrmSession, target: Target, messages: Sequence[tuple[_Version, _Chunks]], request: SearchRequest
) -> list[Candidate]:
    ids = {message_id for (message_id, _), _ in messages}
    features_of = search_queries.fetch_features(db, target, ids, metadata=request.filters_metadata)
    found: list[Candidate] = []
    for (message_id, version), chunks in messages:
        features = features_of.get(message_id)
        if features is None or features.version != version or not features.in_flow:
            continue
        # The ledger alone says that a chunk is of this text: after a backup of SQL was restored, the store may hold
        # chunks of the same message and version with another text. What a worker has written and not yet recorded is
        # pending, and found as such.
        held = (each for each in chunks if each[1] < (features.chunks or 0))
        score, index = next(held, (UNKNOWN_COSINE, 0))
        if score >= (request.min_score or 0) and passes(features, request):
            found.append(Candidate(target, features, score, None, index, "store"))
    return found


def _fetch_compared(services: Services, target: Target, by_words: Sequence[Candidate]) -> dict[str, StoredVector]:
    """The stored vectors of candidates that were found by words, by chunk id."""
    return _fetch(services, target, [id_ for each in by_words if each.source == "store" for id_ in _compared(each)])


def _fetch(services: Services, target: Target, ids: Sequence[str]) -> dict[str, StoredVector]:
    """The vectors of these chunks, as far as they are stored."""
    if not ids:
        return {}
    with _marking_mismatch(services, target):
        return services.vectors.fetch(target.collection, ids, texts=False)


def _compared(candidate: Candidate) -> list[str]:
    """The ids of the stored chunks from which a candidate that was found by words gets its cosine."""
    features = candidate.features
    count = min(features.chunks or 0, CHUNKS_COMPARED)
    return chunk_ids.chunk_ids(candidate.target.memory_base_id, features.id, features.version, count)


def _joined(
    nearest: Nearest,
    by_vectors: Sequence[Candidate],
    by_words: Mapping[Target, Sequence[Candidate]],
    vectors: Mapping[Target, Mapping[str, StoredVector]],
) -> Verified:
    """Both halves' candidates with their cosines as scores, each message once."""
    target, query = nearest.target, nearest.query
    by_message = {candidate.message_id: candidate for candidate in reversed(by_vectors)}
    stored = vectors.get(target, {})
    for candidate in by_words.get(target, ()):
        if candidate.message_id in by_message:
            continue
        scores = [
            (float(stored[id_].vector @ query.vector), index)
            for index, id_ in enumerate(_compared(candidate))
            if id_ in stored
        ]
        score, chunk = max(scores, default=(UNKNOWN_COSINE, 0))
        by_message[candidate.message_id] = candidate._replace(score=score, chunk=chunk, text=None if scores else "")
    comparable = target.token_encoding == query.embedder.token_encoding
    return Verified(list(by_message.values()), query, query.tokens if comparable else None)
