"""The search itself, top to bottom."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import tracing
from memorybase.database.replica import moment
from memorybase.ids import CallerId
from memorybase.models import Message
from memorybase.queries import caller_ids
from memorybase.queries import keyword_index as postings
from memorybase.queries import search as search_queries
from memorybase.queries.ownership import check_flow, not_found, require_memory_base
from memorybase.queries.search import Neighbour, Target
from memorybase.quotas.charges import charge_search
from memorybase.search import (
    alike,
    echoes,
    hybrid,
    pins,
    query_parser,
    reranking,
    spread,
    vector_search,
)
from memorybase.search.corrections import marking as corrections
from memorybase.search.corrections.marking import CorrectionOf
from memorybase.search.query_parser import Question, possible_names
from memorybase.search.request import SearchRequest, check, narrowed
from memorybase.search.snippets import Snippet, snippets_of
from memorybase.search.stored_candidates import Candidate
from memorybase.search.vector_search import Nearest
from memorybase.services import Services
from memorybase.vectors.search import SCORE_DIGITS, cut_query

if TYPE_CHECKING:
    from memorybase.embedding import QueryTokens


@dataclass(frozen=True, slots=True)
class Hit:
    """A found message. `pending`: the serving generation does not hold it yet, or holds an older version.

    `alike`: how many other messages with the same text are folded into it, if the request asks for that.
    `snippet` is the passage that matched, `text[snippet_start:snippet_end]` of the message. `before` and `after` are
    the turns around it as dicts, in conversation order. `parts` explains the score; null unless requested. `pinned`
    results come first if they are relevant. `corrects` and `corrected_by` name an earlier and a later message that says
    something else about what the query asks for.
    """

    message_id: UUID
    memory_base_id: UUID
    session_id: str
    run_id: UUID
    seq: int
    role: str
    sender_name: str | None
    content: Any
    snippet: str
    snippet_start: int
    snippet_end: int
    timestamp: datetime
    score: float
    pending: bool
    metadata: dict[str, Any]
    before: list[dict[str, Any]] = field(default_factory=list)
    after: list[dict[str, Any]] = field(default_factory=list)
    parts: dict[str, Any] | None = None
    alike: int = 0
    pinned: bool = False
    corrects: CorrectionOf | None = None
    corrected_by: CorrectionOf | None = None
    superseded_by: UUID | None = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first, each message once; ties: the later message first, then by id."""

    results: list[Hit]
    took_ms: float


def search(services: Services, user_id: UUID, request: SearchRequest) -> SearchAnswer:
    """The best messages for the query: from the serving generation, and pending ones.

    Pending are the 64 newest counted messages of the 1,000 sessions captured last, and the 64 newest edits; their first
    4 chunks each, 128 in all, are embedded here and cached.
    Raises NotFound, InvalidRequest, QuotaExceeded, VectorStoreUnavailable, CollectionMissing, ModelUnavailable.
    """
    charge_search(services, user_id)
    return search_uncharged(services, user_id, request)


def search_uncharged(services: Services, user_id: UUID, request: SearchRequest) -> SearchAnswer:
    """`search` as a part of a call that was charged."""
    started = time.perf_counter()
    request = narrowed(replace(request, query=cut_query(request.query)))
    check(request)
    with moment(), tracing.span("search", mode=request.mode):
        request = _with_rows(services, user_id, request)
        sought = corrections.sought_by(services, request)
        wanted = corrections.widened(request) if sought else request
        find = _dense if request.mode == "dense" else _reranked
        chosen = _top(services, find(services, user_id, wanted), wanted)
        results = _hits(services, wanted, chosen)
        if sought and results:
            results = corrections.corrected(services, request, sought, chosen, results)
    return SearchAnswer(results=results, took_ms=round((time.perf_counter() - started) * 1_000, 3))


def _with_rows(services: Services, user_id: UUID, request: SearchRequest) -> SearchRequest:
    """The request with the ids of rows for callers' ids of messages; those that the flow lacks are dropped."""
    given = [each for each in request.exclude_message_ids if isinstance(each, CallerId)]
    if not given:
        return request
    with services.database.reading(on_replica=True) as db:
        flow_id = request.flow_id
        if request.memory_base_id is not None:
            flow_id = require_memory_base(db, user_id, request.memory_base_id).flow_id
        rows = {} if flow_id is None else caller_ids.present(db, flow_id, given)
    kept = [each for each in request.exclude_message_ids if isinstance(each, UUID)]
    return replace(request, exclude_message_ids=[*kept, *rows.values()])


def _dense(services: Services, user_id: UUID, request: SearchRequest) -> list[Candidate]:
    """Candidates by vectors alone."""
    now = datetime.now(UTC)
    with services.database.reading(on_replica=True) as db:
        targets = _targets(db, user_id, request)
        if not targets:
            return []
        question = _parse(db, services, request, targets[0].flow_id, now)
        pending = vector_search.read_pending(db, targets, request)
    nearest = [
        vector_search.with_pending(services, found, pending, request)
        for found in vector_search.nearest(services, targets, question.text, request)
    ]
    candidates = [candidate for found in nearest for candidate in found.candidates]
    return vector_search.corrected_for_length(candidates, question, request)


def _reranked(services: Services, user_id: UUID, request: SearchRequest) -> list[Candidate]:
    """Candidates by the fused score; if a reranker is set, the best of them by its score."""
    if services.reranker is None:
        return _fused(services, user_id, request)
    fused = _fused(services, user_id, replace(request, min_score=None))
    return reranking.rerank(services, services.reranker, request, fused)


def _fused(services: Services, user_id: UUID, request: SearchRequest) -> list[Candidate]:
    """Candidates by keywords, in hybrid mode also by vectors; both halves score every candidate."""
    now = datetime.now(UTC)
    wider = replace(request, top_k=max(hybrid.MIN_VECTOR_CANDIDATES, request.top_k), min_score=None)
    vector_results: Future[list[Nearest]] | None = None
    with services.database.reading(on_replica=True) as db:
        targets = _targets(db, user_id, request)
        if not targets:
            return []
        question = _parse(db, services, request, targets[0].flow_id, now)
        if request.mode == "hybrid":
            vector_results = vector_search.nearest_in_thread(services, targets, question.text, wider)
            pending = vector_search.read_pending(db, targets, request)
        with tracing.span("keyword_search"):
            terms, by_keywords = hybrid.find_keyword_candidates(db, request, question, targets)
    by_target: list[tuple[list[Candidate], QueryTokens | None]]
    if vector_results is None:
        by_target = [([each._replace(score=-1.0) for each in found], None) for found in by_keywords.values()]
    else:
        # Fetching vectors takes as long as a query, so it does not wait for the vector half.
        vectors = {target: hybrid.fetch_vectors(services, target, found) for target, found in by_keywords.items()}
        nearest = [vector_search.with_pending(services, found, pending, wider) for found in vector_results.result()]
        by_target = [
            (hybrid.with_cosines(found, by_keywords[found.target], vectors[found.target]), found.tokens)
            for found in nearest
        ]
    return [
        candidate
        for candidates, tokens in by_target
        for candidate in hybrid.score(services, request, question, terms, candidates, tokens, now)
    ]


def _parse(db: OrmSession, services: Services, request: SearchRequest, flow_id: UUID, now: datetime) -> Question:
    language = services.settings.keyword_language
    speakers = postings.speakers_among(db, flow_id, possible_names(request.query, language))
    spoken = partial(postings.languages_of, db, [flow_id])
    return query_parser.parse(request.query, language=language, speakers=speakers, now=now, spoken=spoken)


def _targets(db: OrmSession, user_id: UUID, request: SearchRequest) -> list[Target]:
    if request.flow_id is not None:
        check_flow(db, user_id, request.flow_id)
    targets = search_queries.serving_targets(
        db, user_id, memory_base_id=request.memory_base_id, flow_id=request.flow_id
    )
    if request.memory_base_id is not None and not targets:
        raise not_found("memory base", request.memory_base_id)
    if not request.memory_base_ids:
        return targets
    by_id = {target.memory_base_id: target for target in targets}
    for base_id in request.memory_base_ids:
        if base_id not in by_id:
            raise not_found("memory base", base_id, field="memory_base_ids")
    return [by_id[base_id] for base_id in request.memory_base_ids]


def _top(services: Services, candidates: Iterable[Candidate], request: SearchRequest) -> list[Candidate]:
    """The top_k candidates, each message once; repetitions below what they repeat, and alike ones folded if the request
    says so."""
    spreads = request.mode != "dense" and query_parser.asks_order(request.query, services.settings.keyword_language)
    enough = max(request.top_k, echoes.COMPARED)
    best: dict[UUID, Candidate] = {}
    for candidate in pins.ordered(request, candidates):
        best.setdefault(candidate.message_id, candidate)
        if len(best) == enough and not request.fold_alike and not spreads:
            break
    found = list(best.values())
    if request.mode != "dense":
        found = echoes.originals_first(services, request.query, found)
    if spreads:
        found = spread.over_sessions(found, len(found) if request.fold_alike else request.top_k)
    return alike.fold(services, found, request.top_k) if request.fold_alike else found[: request.top_k]


def turns_around(
    services: Services, flow_id: UUID, hits: Sequence[Hit], request: SearchRequest
) -> list[tuple[Hit, list[dict[str, Any]]]]:
    """The `request.neighbors` turns before and after each hit, nearest first; on ties the later turn, because an answer
    follows its question."""
    with services.database.reading(on_replica=True) as db:
        positions = [(hit.session_id, hit.seq) for hit in hits]
        turns = search_queries.neighbours(db, flow_id, positions, count=request.neighbors)
    around = _turns_by_message(turns, request)
    return [
        (hit, sorted(itertools.chain(*around(hit)), key=lambda turn: (abs(turn["seq"] - hit.seq), -turn["seq"])))
        for hit in hits
    ]


def _hits(services: Services, request: SearchRequest, chosen: Sequence[Candidate]) -> list[Hit]:
    """The chosen messages in their current state, with their neighbors, from one read transaction."""
    if not chosen:
        return []
    flow_id = chosen[0].target.flow_id  # one search stays in one flow
    by_target: dict[Target, list[UUID]] = {}
    for candidate in chosen:
        by_target.setdefault(candidate.target, []).append(candidate.message_id)
    with services.database.reading(on_replica=True) as db:
        messages = search_queries.fetch_messages(db, flow_id, [candidate.message_id for candidate in chosen])
        held = {target: search_queries.held_of(db, target, ids) for target, ids in by_target.items()}
        positions = [(m.session_id, m.seq) for m in messages.values()] if request.neighbors else []
        turns = search_queries.neighbours(db, flow_id, positions, count=request.neighbors)
    around = _turns_by_message(turns, request)
    # Leave out messages that were edited or deleted since their verification.
    versions = {message.id: message.version for message in messages.values()}
    current = [candidate for candidate in chosen if versions.get(candidate.message_id) == candidate.version]
    snippets = snippets_of(services, request, current, messages, held)
    hits: list[Hit] = []
    for candidate, snippet in zip(current, snippets, strict=True):
        message = messages[candidate.message_id]
        stored = held[candidate.target].get(message.id)
        pending = stored is None or stored.version != message.version
        hits.append(_hit(candidate, message, snippet, pending, around, explain=request.explain))
    return hits


def _hit(
    candidate: Candidate,
    message: Message,
    snippet: Snippet,
    pending: bool,
    around: Callable[[Message | Hit], tuple[list[dict[str, Any]], list[dict[str, Any]]]],
    *,
    explain: bool,
) -> Hit:
    before, after = around(message)
    return Hit(
        message_id=message.id,
        memory_base_id=candidate.target.memory_base_id,
        session_id=message.session_id,
        run_id=message.run_id,
        seq=message.seq,
        role=message.role,
        sender_name=message.sender_name,
        content=message.content,
        snippet=snippet.text,
        snippet_start=snippet.start,
        snippet_end=snippet.end,
        timestamp=message.timestamp,
        score=candidate.score,
        pending=pending,
        metadata=message.meta,
        before=before,
        after=after,
        parts=_parts(candidate) if explain else None,
        alike=candidate.alike,
        pinned=message.pinned,
    )


def _parts(candidate: Candidate) -> dict[str, Any]:
    """The parts of the score: the cosine alone, or each signal's value and share of the sum before the logistic."""
    match: dict[str, Any] = {"chunk": candidate.chunk, "source": candidate.source}
    if candidate.values is None or candidate.weights is None:
        return {"dense": candidate.score if candidate.cosine is None else candidate.cosine, **match}
    shares = candidate.weights.shares(candidate.values)
    signals = {
        name: {"value": round(value, SCORE_DIGITS), "share": round(shares[name], SCORE_DIGITS)}
        for name, value in candidate.values.items()
    }
    parts = {
        "signals": signals,
        "bias": round(candidate.bias, SCORE_DIGITS),
        "weights": "tuned" if candidate.weights.tuned else "default",
        "weight_set": candidate.weights.name,
        "recency": candidate.recency,
        "relevance": round(candidate.relevance, SCORE_DIGITS),
        **match,
    }
    if candidate.own_score is not None:
        parts["own_score"] = candidate.own_score
    return parts if candidate.reranked is None else {"reranker": round(candidate.reranked, SCORE_DIGITS), **parts}


def _turns_by_message(
    turns: Sequence[Neighbour], request: SearchRequest
) -> Callable[[Message | Hit], tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """A function that returns a message's nearest turns before and after it, in conversation order."""
    by_session: dict[str, list[Neighbour]] = {}
    for turn in turns:
        if turn.id not in request.exclude_message_ids:
            by_session.setdefault(turn.session_id, []).append(turn)

    def around(message: Message | Hit) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        session = by_session.get(message.session_id, [])
        before = [turn for turn in session if turn.seq < message.seq][-request.neighbors :] if request.neighbors else []
        after = [turn for turn in session if turn.seq > message.seq][: request.neighbors]
        return [_as_dict(turn) for turn in before], [_as_dict(turn) for turn in after]

    return around


def _as_dict(turn: Neighbour) -> dict[str, Any]:
    return {
        "message_id": turn.id,
        "run_id": turn.run_id,
        "seq": turn.seq,
        "role": turn.role,
        "sender_name": turn.sender_name,
        "content": turn.content,
        "timestamp": turn.timestamp,
    }
