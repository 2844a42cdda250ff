"""The search itself, top to bottom."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.keyword_index import queries as postings
from memorybase.models import Message
from memorybase.queries.ownership import check_flow, not_found
from memorybase.search import hybrid, queries, query_parser, reranking, vector_search
from memorybase.search.queries import Neighbour, Target
from memorybase.search.query_parser import Question, possible_names
from memorybase.search.request import SearchRequest, check
from memorybase.search.snippets import Snippet, snippets_of
from memorybase.search.stored_candidates import Candidate
from memorybase.search.vector_search import Near
from memorybase.services import Services
from memorybase.vectors.search import SCORE_DIGITS

if TYPE_CHECKING:
    from memorybase.embedding import QueryTokens


@dataclass(frozen=True, slots=True)
class Hit:
    """A found message. `pending`: the serving generation does not hold it yet, or holds an older version of it.

    `snippet` is the passage of the message's text that matched, from the character `snippet_start` up to and without
    `snippet_end`. `before` and `after` are the turns around it as dicts, in the order they were said. `parts`, with
    explain, is how the score came about; else None.
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


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first, one a message; ties: the later message first, then by id."""

    results: list[Hit]
    took_ms: float


def search(services: Services, user_id: UUID, request: SearchRequest) -> SearchAnswer:
    """The messages nearest to the query in the serving generation, and those captured but not yet ingested.

    Of what is pending, the 64 newest counted messages of the 1,000 sessions captured last are looked at, and the 64
    newest edits; of each its first 4 chunks, 128 in all. They are embedded here and remembered.
    Raises NotFound, InvalidRequest, VectorStoreUnavailable, CollectionMissing, ModelUnavailable.
    """
    started = time.perf_counter()
    check(services.settings, request)
    find = _nearest if request.mode == "dense" else _reranked
    candidates = find(services, user_id, request)
    results = _hits(services, request, _cut(candidates, request))
    return SearchAnswer(results=results, took_ms=round((time.perf_counter() - started) * 1_000, 3))


def _nearest(services: Services, user_id: UUID, request: SearchRequest) -> list[Candidate]:
    """By vectors alone."""
    now = datetime.now(UTC)
    with services.database.reading() as db:
        targets = _targets(db, user_id, request)
        if not targets:
            return []
        asked_for = _read(db, services, request, targets[0].flow_id, now)
        pending = vector_search.read_pending(db, targets, request)
    nearest = [
        vector_search.with_pending(services, each, pending, request)
        for each in vector_search.nearest(services, targets, asked_for.text, request)
    ]
    return vector_search.corrected_for_length(
        [each for found in nearest for each in found.candidates], asked_for, request
    )


def _reranked(services: Services, user_id: UUID, request: SearchRequest) -> list[Candidate]:
    """By the fused score, or where a reranker is set, the best of them by its score."""
    if services.reranker is None:
        return _fused(services, user_id, request)
    fused = _fused(services, user_id, replace(request, min_score=None))
    return reranking.rerank(services, services.reranker, request, fused)


def _fused(services: Services, user_id: UUID, request: SearchRequest) -> list[Candidate]:
    """By words, and in hybrid mode by vectors too; every candidate of either is scored by both."""
    now = datetime.now(UTC)
    wider = replace(request, top_k=max(hybrid.NEAR, request.top_k), min_score=None)
    beside: Future[list[Near]] | None = None
    with services.database.reading() as db:
        targets = _targets(db, user_id, request)
        if not targets:
            return []
        asked_for = _read(db, services, request, targets[0].flow_id, now)
        if request.mode == "hybrid":
            beside = vector_search.nearest_beside(services, targets, asked_for.text, wider)
            pending = vector_search.read_pending(db, targets, request)
        found, by_words = hybrid.find_words(db, request, asked_for, targets)
    by_target: list[tuple[list[Candidate], QueryTokens | None]]
    if beside is None:
        by_target = [([each._replace(score=-1.0) for each in own], None) for own in by_words.values()]
    else:
        # Reading vectors takes as long as finding some, so this does not wait for what the other half finds.
        vectors = {target: hybrid.vectors_of(services, target, own) for target, own in by_words.items()}
        nearest = [vector_search.with_pending(services, each, pending, wider) for each in beside.result()]
        by_target = [
            (hybrid.compared(each, by_words[each.target], vectors[each.target]), each.tokens) for each in nearest
        ]
    return [
        each
        for candidates, tokens in by_target
        for each in hybrid.scored(services, request, asked_for, found, candidates, tokens, now)
    ]


def _read(db: OrmSession, services: Services, request: SearchRequest, flow_id: UUID, now: datetime) -> Question:
    speakers = postings.speakers_among(db, flow_id, possible_names(request.query))
    return query_parser.read(request.query, language=services.settings.keyword_language, speakers=speakers, now=now)


def _targets(db: OrmSession, user_id: UUID, request: SearchRequest) -> list[Target]:
    if request.flow_id is not None:
        check_flow(db, user_id, request.flow_id)
    targets = queries.serving_targets(db, user_id, memory_base_id=request.memory_base_id, flow_id=request.flow_id)
    if request.memory_base_id is not None and not targets:
        raise not_found("memory base", request.memory_base_id)
    return targets


def _cut(candidates: Iterable[Candidate], request: SearchRequest) -> list[Candidate]:
    """The top_k messages, each once."""
    best: dict[UUID, Candidate] = {}
    for each in sorted(candidates, key=lambda candidate: candidate.order):
        best.setdefault(each.message_id, each)
        if len(best) == request.top_k:
            break
    return list(best.values())


def turns_around(
    services: Services, flow_id: UUID, hits: Sequence[Hit], request: SearchRequest
) -> list[tuple[Hit, list[dict[str, Any]]]]:
    """The turns beside each of these hits of a flow, as `request.neighbors` asks for, the nearest first, of two the
    later one: an answer follows its question."""
    with services.database.reading() as db:
        positions = [(hit.session_id, hit.seq) for hit in hits]
        turns = queries.neighbours(db, flow_id, positions, count=request.neighbors)
    around = _around(turns, request)
    return [
        (hit, sorted(itertools.chain(*around(hit)), key=lambda turn: (abs(turn["seq"] - hit.seq), -turn["seq"])))
        for hit in hits
    ]


def _hits(services: Services, request: SearchRequest, chosen: Sequence[Candidate]) -> list[Hit]:
    """The chosen as they are now, with their neighbours: one read transaction."""
    if not chosen:
        return []
    flow_id = chosen[0].target.flow_id  # one search stays in one flow
    by_target: dict[Target, list[UUID]] = {}
    for each in chosen:
        by_target.setdefault(each.target, []).append(each.message_id)
    with services.database.reading() as db:
        messages = queries.fetch_messages(db, flow_id, [each.message_id for each in chosen])
        held = {target: queries.held_of(db, target, ids) for target, ids in by_target.items()}
        positions = [(m.session_id, m.seq) for m in messages.values()] if request.neighbors else []
        turns = queries.neighbours(db, flow_id, positions, count=request.neighbors)
    around = _around(turns, request)
    # Those edited or deleted since they were verified are left out.
    living = [
        each for each in chosen if each.message_id in messages and messages[each.message_id].version == each.version
    ]
    snippets = snippets_of(services, request, living, messages, held)
    hits: list[Hit] = []
    for each, snippet in zip(living, snippets, strict=True):
        message = messages[each.message_id]
        stored = held[each.target].get(message.id)
        pending = stored is None or stored.version != message.version
        hits.append(_hit(each, message, snippet, pending, around, explain=request.explain))
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
    )


def _parts(candidate: Candidate) -> dict[str, Any]:
    """How the score came about: the cosine alone, or each signal's value and share in the sum below the logistic."""
    found: dict[str, Any] = {"chunk": candidate.chunk, "source": candidate.source}
    if candidate.values is None or candidate.weights is None:
        return {"dense": candidate.score if candidate.cosine is None else candidate.cosine, **found}
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
        **found,
    }
    return parts if candidate.reranked is None else {"reranker": round(candidate.reranked, SCORE_DIGITS), **parts}


def _around(
    turns: Sequence[Neighbour], request: SearchRequest
) -> Callable[[Message | Hit], tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Who asks for a message's turns before and after it gets those nearest to it, in the order they were said."""
    by_session: dict[str, list[Neighbour]] = {}
    for turn in turns:
        if turn.id not in request.exclude_message_ids:
            by_session.setdefault(turn.session_id, []).append(turn)

    def around(message: Message | Hit) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        own = by_session.get(message.session_id, [])
        before = [turn for turn in own if turn.seq < message.seq][-request.neighbors :] if request.neighbors else []
        after = [turn for turn in own if turn.seq > message.seq][: request.neighbors]
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
