"""The vector half: the query's vector, the nearest stored chunks, and the nearest pending messages."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors, tracing
from memorybase.embedding import QueryTokens
from memorybase.embedding.compatibility import check_searchable
from memorybase.queries import search as search_queries
from memorybase.queries.search import PendingMessage, Target
from memorybase.search import signals
from memorybase.search.pending_candidates import nearest_pending
from memorybase.search.query_parser import Question
from memorybase.search.query_vectors import LatestByOwner
from memorybase.search.request import SearchRequest
from memorybase.search.stored_candidates import Candidate, nearest_stored
from memorybase.services import Services
from memorybase.vectors.search import SCORE_DIGITS

if TYPE_CHECKING:
    from memorybase.embedding import Embedder

# How much pending work of a memory base a search reads.
PENDING_MESSAGES = 64
PENDING_SESSIONS = 1_000

CACHED_QUERIES = 256  # the latest of each model

# In mode dense the cosine loses this much each time the length grows e-fold above 40 terms; .08 to .10 do equally well.
LENGTH_COST = 0.08

# The store is queried in another thread while SQL runs: model and store work outside the interpreter. As many threads
# as an API process has for requests.
_threads = ThreadPoolExecutor(max_workers=40, thread_name_prefix="recall")


class Nearest(NamedTuple):
    """The vector half's result for one target."""

    target: Target
    embedder: Embedder
    vector: NDArray[np.float32]  # the query's
    candidates: list[Candidate]
    tokens: QueryTokens | None  # of the full query, if they compare with the target's


def nearest_in_thread(
    services: Services, targets: Sequence[Target], query: str, request: SearchRequest
) -> Future[list[Nearest]]:
    """`nearest` in another thread, with the tokens of the full query."""
    return _threads.submit(contextvars.copy_context().run, nearest, services, targets, query, request, with_tokens=True)


def nearest(
    services: Services, targets: Sequence[Target], query: str, request: SearchRequest, *, with_tokens: bool = False
) -> list[Nearest]:
    """Verified candidates of each target from the store; `query` is the text to embed."""
    full_query = request.query if with_tokens and services.settings.token_vectors else None
    results: list[Nearest] = []
    with tracing.span("embed_query"):
        embedded = _embed_queries(services, query, full_query, targets)
    for target, (embedder, vector, tokens) in zip(targets, embedded, strict=True):
        comparable = tokens is not None and target.token_encoding == embedder.token_encoding
        with tracing.span("vector_search", "client", memory_base_id=str(target.memory_base_id)):
            stored = nearest_stored(services, target, vector, request)
        results.append(Nearest(target, embedder, vector, stored, tokens if comparable else None))
    return results


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


def with_pending(
    services: Services, found: Nearest, pending: Mapping[Target, Sequence[PendingMessage]], request: SearchRequest
) -> Nearest:
    """The store's candidates and those among the pending messages, which are embedded here."""
    messages = pending.get(found.target, ())
    candidates = nearest_pending(services, found.target, found.embedder, found.vector, messages, request)
    return found._replace(candidates=found.candidates + candidates)


def corrected_for_length(
    candidates: Sequence[Candidate], question: Question, request: SearchRequest
) -> list[Candidate]:
    """Lower the scores of long messages, since the best of many chunks is near by chance.

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


_EmbeddedVectors = tuple[NDArray[np.float32], QueryTokens | None]


class _EmbeddedQuery(NamedTuple):
    """The query, embedded by one model."""

    embedder: Embedder
    vector: NDArray[np.float32]
    tokens: QueryTokens | None


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


_latest: LatestByOwner[tuple[str, str | None], _EmbeddedVectors] = LatestByOwner(CACHED_QUERIES)


def _embed_query(embedder: Embedder, query: str, full_query: str | None) -> _EmbeddedQuery:
    made = _latest.get(embedder, (query, full_query), lambda: _embed_vectors(embedder, query, full_query))
    return _EmbeddedQuery(embedder, *made)


def _embed_vectors(embedder: Embedder, query: str, full_query: str | None) -> _EmbeddedVectors:
    try:
        if full_query is None:
            return embedder.embed_query(query), None
        return embedder.embed_query_with_tokens(query, full_query)
    except errors.TextRejected as exc:
        raise errors.InvalidRequest("The embedding model cannot encode this query", field="query") from exc
