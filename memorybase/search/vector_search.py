"""By vectors: the query's vector, what the store has near it, and what is near it and pending."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.embedding import QueryTokens
from memorybase.embedding.compatibility import check_searchable
from memorybase.search import queries, signals
from memorybase.search.pending_candidates import nearest_pending
from memorybase.search.queries import PendingMessage, Target
from memorybase.search.query_parser import Question
from memorybase.search.request import SearchRequest
from memorybase.search.stored_candidates import Candidate, nearest_stored
from memorybase.services import Services
from memorybase.vectors.search import SCORE_DIGITS

if TYPE_CHECKING:
    from memorybase.embedding import Embedder

# What is looked at of a memory base while the caller waits.
PENDING_MESSAGES = 64
PENDING_SESSIONS = 1_000

# What the cosine loses in mode dense whenever the length grows e-fold above 40 terms; .08 to .10 do alike.
LENGTH_COST = 0.08

# The store is asked in a thread of its own while SQL is: model and store work outside the interpreter. One for each
# thread in which an API process serves requests.
_threads = ThreadPoolExecutor(max_workers=40, thread_name_prefix="recall")


class Near(NamedTuple):
    """What vectors have found in one target."""

    target: Target
    embedder: Embedder
    vector: NDArray[np.float32]  # the query's
    candidates: list[Candidate]
    tokens: QueryTokens | None  # of the whole query, where they compare with what the target has


def nearest_beside(
    services: Services, targets: Sequence[Target], query: str, request: SearchRequest
) -> Future[list[Near]]:
    """The same as `nearest`, in another thread, with the tokens of the whole query."""
    return _threads.submit(contextvars.copy_context().run, nearest, services, targets, query, request, with_tokens=True)


def nearest(
    services: Services, targets: Sequence[Target], query: str, request: SearchRequest, *, with_tokens: bool = False
) -> list[Near]:
    """Verified candidates of each target from the store. `query` is what is embedded."""
    whole = request.query if with_tokens and services.settings.token_vectors else None
    found: list[Near] = []
    for target, (embedder, vector, tokens) in zip(targets, _asked(services, query, whole, targets), strict=True):
        comparable = tokens is not None and target.token_encoding == embedder.token_encoding
        stored = nearest_stored(services, target, vector, request)
        found.append(Near(target, embedder, vector, stored, tokens if comparable else None))
    return found


def read_pending(
    db: OrmSession, targets: Sequence[Target], request: SearchRequest
) -> dict[Target, list[PendingMessage]]:
    """What is pending in each target, where the request wants it.

    In a snapshot that is older than the store's answer: what a worker ingests in between is in both.
    """
    if not request.include_pending:
        return {}
    scope: dict[str, Any] = {
        "session_id": request.session_id,
        "end_user_id": request.end_user_id,
        "metadata": bool(request.metadata),
        "limit": PENDING_MESSAGES,
        "session_limit": PENDING_SESSIONS,
    }
    return {
        target: queries.pending_messages(db, target, **scope) + queries.edited_messages(db, target, **scope)
        for target in targets
    }


def with_pending(
    services: Services, near: Near, pending: Mapping[Target, Sequence[PendingMessage]], request: SearchRequest
) -> Near:
    """What the store has near the query and what is pending, embedded here."""
    waiting = pending.get(near.target, ())
    found = nearest_pending(services, near.target, near.embedder, near.vector, waiting, request)
    return near._replace(candidates=near.candidates + found)


def corrected_for_length(
    candidates: Sequence[Candidate], question: Question, request: SearchRequest
) -> list[Candidate]:
    """The candidates with a score that is fair to short messages: the best of many chunks is near by chance. Where the
    question asks what the other side said, the length costs nothing: answers are long."""
    lengths = np.array([each.facts.terms if each.facts else 0 for each in candidates], dtype=np.float64)
    excess = LENGTH_COST * signals.long(lengths) * (not question.asks_other_side)
    corrected = [
        each._replace(score=round(max(0.0, each.score - float(less)), SCORE_DIGITS), cosine=each.score)
        for each, less in zip(candidates, excess, strict=True)
    ]
    return [each for each in corrected if each.score >= (request.min_score or 0)]


class _Asked(NamedTuple):
    """The query as one model sees it."""

    embedder: Embedder
    vector: NDArray[np.float32]
    tokens: QueryTokens | None


def _asked(services: Services, query: str, whole: str | None, targets: Sequence[Target]) -> list[_Asked]:
    """For each target, the embedder that it was built with and the query by it; tokens only of a whole query."""
    by_model: dict[str, _Asked] = {}
    asked: list[_Asked] = []
    for target in targets:
        embedder = services.embedders.get(target.embedding_model)
        check_searchable(embedder, target.embedder, remedy="regenerate")
        if embedder.model not in by_model:
            wanted = whole if target.token_encoding is not None else None
            by_model[embedder.model] = _embedded(embedder, query, wanted)
        asked.append(by_model[embedder.model])
    return asked


def _embedded(embedder: Embedder, query: str, whole: str | None) -> _Asked:
    try:
        if whole is None:
            return _Asked(embedder, embedder.embed_query(query), None)
        return _Asked(embedder, *embedder.embed_query_with_tokens(query, whole))
    except errors.TextRejected as exc:
        raise errors.InvalidRequest("The embedding model cannot encode this query", field="query") from exc
