"""Search by vectors: embeds the query, asks the store for the nearest chunks, and compares pending messages here.

Nothing of this happens in a transaction: SQL is read before (`read_before`) and verifies the chunks afterwards.
"""

from __future__ import annotations

import contextvars
import hashlib
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors, tracing
from memorybase.database import clock
from memorybase.embedding import QueryTokens
from memorybase.embedding.chunking import chunker_for
from memorybase.embedding.compatibility import check_searchable
from memorybase.messages import message_text
from memorybase.queries import memory_bases
from memorybase.queries import search as search_queries
from memorybase.queries.search import PendingMessage, Target
from memorybase.search.candidates import Candidate, chunks_compared, verified
from memorybase.search.request import SearchRequest, passes
from memorybase.services import Services
from memorybase.vectors import chunk_ids, indexes
from memorybase.vectors.search import MAX_FETCH, SCORE_DIGITS
from memorybase.vectors.store import CollectionRef, StoredVector, VectorHit, as_score
from memorybase.webhooks import events

if TYPE_CHECKING:
    from memorybase.embedding import Embedder

MIN_CANDIDATES = 32  # messages of a hybrid search; the first query asks for four times as many chunks
# In Chroma a metadata filter costs as much as 350 unfiltered results (25 ms against 5 ms for 32 at 40,000 records) and
# grows with the store. So query unfiltered first, and for more if too few pass in SQL.
FIRST_FETCH = 32
CHUNKS_PER_MESSAGE = 4  # an assistant's answer has about four
FETCH_GROWTH = 5
FETCH_ROUNDS = 3
# A session or end user with at most this many chunks is read and compared here: exact, and the cost does not grow with
# the store.
COMPARED_CHUNKS = 1_000
# Where an index finds the chunks of a session, sessions are the filter, up to so many of an end user.
SESSIONS_SELECTED = 500

# How much pending work of a memory base a search reads, and how much of it is embedded.
PENDING_MESSAGES = 64
PENDING_SESSIONS = 1_000
PENDING_CHUNKS = 128
PENDING_CHUNKS_PER_MESSAGE = 4
PENDING_CHARS_PER_MESSAGE = 8_000  # enough for the chunks above in most languages, and cheap to tokenize
CACHED_PENDING_TEXTS = 2_048

CACHED_QUERIES = 256  # the latest of each model

# The store is asked in another thread while SQL runs: model and store work outside the interpreter. As many threads as
# an API process has for requests.
_threads = ThreadPoolExecutor(max_workers=40, thread_name_prefix="recall")

Key = TypeVar("Key")
Value = TypeVar("Value")
_Query = tuple[Mapping[str, Any] | None, int]  # filter and limit


class Asking(NamedTuple):
    """What the store will be asked for one target: these chunks, or the nearest ones by these queries in turn."""

    target: Target
    chunks: list[str] | None
    queries: list[_Query]


@dataclass(slots=True)
class NearestChunks:
    """The chunks of one target nearest to the query, as far as the store was asked, and the candidates among them."""

    target: Target
    embedder: Embedder
    vector: NDArray[np.float32]  # the query's
    tokens: QueryTokens | None  # of the full query, if they compare with the target's
    queries: deque[_Query]  # that the store was not asked yet
    hits: list[VectorHit] = field(default_factory=list)
    limit: int = 0  # of the last query
    pending: list[Candidate] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)  # verified chunks, then pending messages

    def ask(self, services: Services) -> None:
        """Ask the store the next query."""
        where, self.limit = self.queries.popleft()
        with marking_mismatch(services, self.target):
            self.hits = services.vectors.query(collection_of(self.target), self.vector, self.limit, where, texts=False)

    def verify(self, db: OrmSession, request: SearchRequest) -> bool:
        """Find the candidates among the chunks; whether they suffice, or no further query can bring more."""
        found = verified(db, self.target, self.hits, request)
        self.candidates = found + self.pending
        return (
            not self.queries
            or len(found) >= request.top_k
            or len(self.hits) < self.limit
            or self.hits[-1].score < (request.min_score or 0)
        )


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


def read_before(db: OrmSession, services: Services, targets: Sequence[Target], request: SearchRequest) -> list[Asking]:
    """What to ask the store for each target. The chunks of a small session or end user are named, unless an index finds
    them."""
    return [_asking(db, services, target, request) for target in targets]


def _asking(db: OrmSession, services: Services, target: Target, request: SearchRequest) -> Asking:
    first = max(FIRST_FETCH, CHUNKS_PER_MESSAGE * request.top_k)
    limits = [min(first * FETCH_GROWTH**round_, MAX_FETCH) for round_ in range(FETCH_ROUNDS)]
    where = _store_filter(request)
    if request.session_id is not None or request.end_user_id is not None:
        scope = {"session_id": request.session_id, "end_user_id": request.end_user_id}
        if indexes.finds_sessions(services.vectors, collection_of(target)):
            sessions = search_queries.session_ids_of(db, target.flow_id, **scope, at_most=SESSIONS_SELECTED)
            if sessions is not None:
                # No chunk of a session's former name is missed: a rename is a new version of its messages.
                of_sessions = {"session_id": {"$in": list(sessions)}}
                return Asking(target, None, [(of_sessions, limit) for limit in limits if sessions])
        else:
            held = search_queries.held_in_sessions(db, target, **scope, at_most=COMPARED_CHUNKS)
            if held is not None and sum(each.chunks for each in held.values()) <= COMPARED_CHUNKS:
                base_id = target.memory_base_id
                return Asking(
                    target, [id_ for m, each in held.items() for id_ in chunk_ids.chunk_ids(base_id, m, *each)], []
                )
    filtered = [] if where is None else [(where, limit) for limit in limits]
    return Asking(target, None, [*((None, limit) for limit in limits), *filtered])


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


def nearest_in_thread(
    services: Services, asking: Sequence[Asking], query: str, full_query: str | None
) -> Future[list[NearestChunks]]:
    """The nearest chunks of each target after the first query of each, in another thread.

    `query` is the text to embed; tokens are of the `full_query`, where the target has token vectors.
    """
    return _threads.submit(contextvars.copy_context().run, _nearest, services, asking, query, full_query)


def _nearest(services: Services, asking: Sequence[Asking], query: str, full_query: str | None) -> list[NearestChunks]:
    if not services.settings.token_vectors:
        full_query = None
    with tracing.span("embed_query"):
        embedded = _embed_queries(services, query, full_query, [each.target for each in asking])
    results: list[NearestChunks] = []
    for (target, chunks, queries), (embedder, vector, tokens) in zip(asking, embedded, strict=True):
        comparable = tokens is not None and target.token_encoding == embedder.token_encoding
        found = NearestChunks(target, embedder, vector, tokens if comparable else None, deque(queries))
        with tracing.span("vector_search", "client", memory_base_id=str(target.memory_base_id)):
            if chunks is not None:
                found.hits = _compared(services, target, vector, chunks)
            elif queries:
                found.ask(services)
        results.append(found)
    return results


def _compared(
    services: Services, target: Target, vector: NDArray[np.float32], chunks: Sequence[str]
) -> list[VectorHit]:
    """All of these chunks that are stored, nearest first."""
    stored = fetch(services, target, chunks)
    hits = [VectorHit(id_, as_score(1.0 - float(each.vector @ vector)), "", {}) for id_, each in stored.items()]
    return sorted(hits, key=lambda hit: -hit.score)


def fetch(services: Services, target: Target, ids: Sequence[str]) -> dict[str, StoredVector]:
    """The vectors of these chunks, as far as they are stored."""
    if not ids:
        return {}
    with marking_mismatch(services, target):
        return services.vectors.fetch(collection_of(target), ids, texts=False)


def fetch_compared(services: Services, target: Target, candidates: Sequence[Candidate]) -> dict[str, StoredVector]:
    """The stored vectors of keyword candidates, by chunk id."""
    ids = [id_ for candidate in candidates if candidate.source == "store" for id_ in chunks_compared(candidate)]
    return fetch(services, target, ids)


class LatestByOwner(Generic[Key, Value]):
    """The latest values of each owner, each made once however many threads ask for it. An owner's least recently used
    values are dropped beyond the capacity; all of them with the owner."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._guard = threading.Lock()
        self._values: WeakKeyDictionary[object, OrderedDict[Key, Future[Value]]] = WeakKeyDictionary()

    def get(self, owner: object, key: Key, make: Callable[[], Value]) -> Value:
        """The value of this key, made if it is not known. What `make` raises is not kept."""
        with self._guard:
            values = self._values.setdefault(owner, OrderedDict())
            known = values.get(key)
            made: Future[Value] = Future() if known is None else known
            values[key] = made
            values.move_to_end(key)
            while len(values) > self._capacity:
                values.popitem(last=False)
        if known is not None:
            # Whoever made it may have failed for a reason of its own.
            return known.result() if known.exception() is None else make()
        try:
            made.set_result(make())
        except BaseException as error:
            with self._guard:
                if values.get(key) is made:
                    del values[key]
            made.set_exception(error)
            raise
        return made.result()


class _EmbeddedQuery(NamedTuple):
    """The query, embedded by one model."""

    embedder: Embedder
    vector: NDArray[np.float32]
    tokens: QueryTokens | None


# A question asked again with other settings, or of several flows at once, is embedded once.
_latest: LatestByOwner[tuple[str, str | None], tuple[NDArray[np.float32], QueryTokens | None]] = LatestByOwner(
    CACHED_QUERIES
)


def _embed_queries(
    services: Services, query: str, full_query: str | None, targets: Sequence[Target]
) -> list[_EmbeddedQuery]:
    """The query for each target, embedded by the target's model; tokens only if there is a full query."""
    by_model: dict[str, _EmbeddedQuery] = {}
    embedded: list[_EmbeddedQuery] = []
    for target in targets:
        embedder = services.embedders.get(target.embedding_model)
        check_searchable(embedder, target.embedder, remedy="regenerate")
        if embedder.model not in by_model:
            tokens_of = full_query if target.token_encoding is not None else None
            by_model[embedder.model] = _embed_query(embedder, query, tokens_of)
        embedded.append(by_model[embedder.model])
    return embedded


def _embed_query(embedder: Embedder, query: str, full_query: str | None) -> _EmbeddedQuery:
    made = _latest.get(embedder, (query, full_query), lambda: _embed_vectors(embedder, query, full_query))
    return _EmbeddedQuery(embedder, *made)


def _embed_vectors(
    embedder: Embedder, query: str, full_query: str | None
) -> tuple[NDArray[np.float32], QueryTokens | None]:
    try:
        if full_query is None:
            return embedder.embed_query(query), None
        return embedder.embed_query_with_tokens(query, full_query)
    except errors.TextRejected as exc:
        raise errors.InvalidRequest("The embedding model cannot encode this query", field="query") from exc


def read_pending(
    db: OrmSession, targets: Sequence[Target], request: SearchRequest
) -> dict[Target, list[PendingMessage]]:
    """The pending messages of each target, unless the request excludes them.

    The snapshot is older than the store's answer, so a message that a worker ingests in between is in both.
    """
    if not request.include_pending:
        return {}
    scope = search_queries.PendingScope(
        request.session_id, request.end_user_id, request.filters_metadata, PENDING_MESSAGES, PENDING_SESSIONS
    )
    return {
        target: search_queries.pending_messages(db, target, scope) + search_queries.edited_messages(db, target, scope)
        for target in targets
    }


def nearest_pending(
    services: Services, nearest: NearestChunks, pending: Sequence[PendingMessage], request: SearchRequest
) -> list[Candidate]:
    """Candidates among pending messages, which no store holds yet: embedded here."""
    passing = [message for message in pending if passes(message.facts, request)]
    if not passing:
        return []
    texts = [message_text(message.content)[:PENDING_CHARS_PER_MESSAGE] for message in passing]
    embedded = _pending_vectors.embed(services, nearest.embedder, texts)
    candidates: list[Candidate] = []
    for message, text in zip(passing, texts, strict=True):
        chunks = embedded.get(text)
        if not chunks:
            continue
        scores = chunks.vectors @ nearest.vector
        best = int(np.argmax(scores))
        score = round(min(1.0, max(0.0, float(scores[best]))), SCORE_DIGITS)
        facts, chunk = message.facts, chunks.texts[best]
        candidates.append(Candidate(nearest.target, facts.id, facts.version, score, chunk, best, "pending", facts))
    return [candidate for candidate in candidates if candidate.score >= (request.min_score or 0)]


@dataclass(frozen=True, slots=True)
class _EmbeddedText:
    """A text's chunks and their vectors, row by row."""

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]

    def __bool__(self) -> bool:
        return bool(self.texts)


class _PendingVectors:
    """A cache of pending texts and their vectors; it drops the least recently used."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._guard = threading.Lock()
        self._cached: OrderedDict[tuple[str, str, bytes], _EmbeddedText] = OrderedDict()

    def embed(self, services: Services, embedder: Embedder, texts: Sequence[str]) -> dict[str, _EmbeddedText]:
        """By text, up to the bound on chunks; a text that the model rejects has no chunks."""
        chunker = chunker_for(services.settings, embedder)
        keys = {text: (embedder.identity, chunker.identity, hashlib.sha256(text.encode()).digest()) for text in texts}
        with self._guard:
            cached = {text: self._cached[key] for text, key in keys.items() if key in self._cached}
        split: dict[str, Sequence[str]] = {}
        chunks_left = PENDING_CHUNKS
        for text in keys:
            if chunks_left <= 0:  # skip cached texts too, so that the result does not depend on the cache
                break
            if text in cached:
                split[text] = cached[text].texts
            else:
                split[text] = [chunk.text for chunk in chunker.split(text)[:PENDING_CHUNKS_PER_MESSAGE]]
            chunks_left -= len(split[text])
        fresh = _embed_each(embedder, {text: pieces for text, pieces in split.items() if text not in cached})
        selected = {text: cached[text] if text in cached else fresh[text] for text in split}
        with self._guard:
            for text, embedded in selected.items():
                self._cached[keys[text]] = embedded
                self._cached.move_to_end(keys[text])
            while len(self._cached) > self._capacity:
                self._cached.popitem(last=False)
        return selected


_pending_vectors = _PendingVectors(CACHED_PENDING_TEXTS)


def _embed_each(embedder: Embedder, split: Mapping[str, Sequence[str]]) -> dict[str, _EmbeddedText]:
    """One batch for all; if the model rejects it, text by text, so that one bad message hides no other."""
    chunks = [chunk for pieces in split.values() for chunk in pieces]
    if not chunks:
        return {text: _EmbeddedText((), _no_vectors(embedder)) for text in split}
    try:
        vectors = embedder.embed(chunks)
    except (errors.MessageFailure, errors.EmbeddingFailed):  # it has just embedded the query, so a message is at fault
        if len(split) == 1:
            return {text: _EmbeddedText((), _no_vectors(embedder)) for text in split}
        return {k: v for text, pieces in split.items() for k, v in _embed_each(embedder, {text: pieces}).items()}
    embedded: dict[str, _EmbeddedText] = {}
    start = 0
    for text, pieces in split.items():
        embedded[text] = _EmbeddedText(tuple(pieces), vectors[start : start + len(pieces)].copy())
        start += len(pieces)
    return embedded


def _no_vectors(embedder: Embedder) -> NDArray[np.float32]:
    return np.empty((0, embedder.dimension), dtype=np.float32)
