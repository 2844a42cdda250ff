"""The search itself, top to bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase import errors
from memorybase.embedding import without_passage_prompt
from memorybase.messages import message_text
from memorybase.models import Message
from memorybase.queries import conversations, postings
from memorybase.queries import recall as queries
from memorybase.queries.recall import Neighbour, PendingMessage, Target
from memorybase.recall import fusion, hybrid, question, reranking
from memorybase.recall.pending import nearest_pending
from memorybase.recall.question import Question, possible_names
from memorybase.recall.request import SearchRequest, check
from memorybase.recall.stored import SCORE_DIGITS, Candidate, nearest_stored
from memorybase.services import Services

if TYPE_CHECKING:
    from memorybase.embedding import Embedder

# What is looked at of a memory base while the caller waits.
PENDING_MESSAGES = 64
PENDING_SESSIONS = 1_000

SNIPPET_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Hit:
    """A found message. `pending`: the serving generation does not hold it yet, or holds an older version of it.

    `snippet` is the chunk that matched. `before` and `after` are the turns around it as dicts, in the order they were
    said. `parts`, with explain, is how the score came about; else None.
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
    places = _look_up(services, user_id, request)
    find = _nearest if request.mode == "dense" else _reranked
    candidates = find(services, request, places) if places else []
    results = _hits(services, request, _cut(candidates, request))
    return SearchAnswer(results=results, took_ms=round((time.perf_counter() - started) * 1_000, 3))


Places = Sequence[tuple[Target, list[PendingMessage]]]


def _nearest(services: Services, request: SearchRequest, places: Places) -> list[Candidate]:
    """By vectors alone."""
    candidates: list[Candidate] = []
    asked = _asked(services, request.query, [target for target, _ in places])
    for (target, pending), (embedder, vector) in zip(places, asked, strict=True):
        candidates += nearest_stored(services, target, vector, request)
        candidates += nearest_pending(services, target, embedder, vector, pending, request)
    return candidates


def _reranked(services: Services, request: SearchRequest, places: Places) -> list[Candidate]:
    """By the fused score, or where a reranker is set, the best of them by its score."""
    if services.reranker is None:
        return _fused(services, request, places)
    fused = _fused(services, replace(request, min_score=None), places)
    return reranking.rerank(services, services.reranker, request, fused)


def _fused(services: Services, request: SearchRequest, places: Places) -> list[Candidate]:
    """By words, and in hybrid mode by vectors too; every candidate of either is scored by both."""
    now = datetime.now(UTC)
    asked_for = _read(services, request, places[0][0].flow_id, now)
    found, by_words = hybrid.find_words(services, request, asked_for, [target for target, _ in places])
    if request.mode == "keyword":
        candidates = [replace(each, score=-1.0) for own in by_words.values() for each in own]
        return hybrid.scored(services, request, asked_for, found, candidates, now)
    candidates = []
    wider = replace(request, top_k=max(hybrid.CANDIDATES, request.top_k), min_score=None)
    asked = _asked(services, asked_for.text, [target for target, _ in places])
    for (target, pending), (embedder, vector) in zip(places, asked, strict=True):
        near = nearest_stored(services, target, vector, wider)
        near += nearest_pending(services, target, embedder, vector, pending, wider)
        candidates += hybrid.compare_vectors(services, vector, by_words[target], near)
    return hybrid.scored(services, request, asked_for, found, candidates, now)


def _read(services: Services, request: SearchRequest, flow_id: UUID, now: datetime) -> Question:
    with services.database.reading() as session:
        speakers = postings.speakers_among(session, flow_id, possible_names(request.query))
    return question.read(request.query, language=services.settings.keyword_language, speakers=speakers, now=now)


def _look_up(services: Services, user_id: UUID, request: SearchRequest) -> list[tuple[Target, list[PendingMessage]]]:
    """Where to look. What is pending is read before the store is asked: what a worker ingests in between is in both."""
    with services.database.reading() as session:
        if request.flow_id is not None and conversations.fetch_flow(session, user_id, request.flow_id) is None:
            raise errors.NotFound(field="flow_id", value=str(request.flow_id))
        targets = queries.serving_targets(
            session, user_id, memory_base_id=request.memory_base_id, flow_id=request.flow_id
        )
        if request.memory_base_id is not None and not targets:
            raise errors.NotFound(field="memory_base_id", value=str(request.memory_base_id))
        if not request.include_pending or request.mode == "keyword":  # the keyword index has what is pending too
            return [(target, []) for target in targets]
        scope: dict[str, Any] = {
            "session_id": request.session_id,
            "end_user_id": request.end_user_id,
            "metadata": bool(request.metadata),
            "limit": PENDING_MESSAGES,
            "session_limit": PENDING_SESSIONS,
        }
        return [
            (
                target,
                queries.pending_messages(session, target, **scope) + queries.edited_messages(session, target, **scope),
            )
            for target in targets
        ]


def _asked(services: Services, query: str, targets: Sequence[Target]) -> list[tuple[Embedder, NDArray[np.float32]]]:
    """For each target, the embedder that it was built with and the query's vector by it."""
    vectors: dict[str, NDArray[np.float32]] = {}
    asked: list[tuple[Embedder, NDArray[np.float32]]] = []
    for target in targets:
        embedder = _embedder(services, target)
        if embedder.model not in vectors:
            vectors[embedder.model] = _query_vector(embedder, query)
        asked.append((embedder, vectors[embedder.model]))
    return asked


def _embedder(services: Services, target: Target) -> Embedder:
    """Raises ModelUnavailable when the model's weights have changed since the generation was built."""
    embedder = services.embedders.get(target.embedding_model)
    # The backend may differ, its vectors agree within a stated tolerance; so may the passage prompt, which no query is
    # put behind, so that the old store answers until it is regenerated. Model and revision may not.
    if _model_and_revision(embedder.identity) != _model_and_revision(target.embedder):
        raise errors.ModelUnavailable(
            f"The store was built with {target.embedder}, this process has {embedder.identity}: regenerate",
            field="embedding_model",
        )
    return embedder


def _model_and_revision(identity: str) -> str:
    return without_passage_prompt(identity).partition("/")[2]


def _query_vector(embedder: Embedder, query: str) -> NDArray[np.float32]:
    try:
        return embedder.embed_query(query)
    except errors.TextRejected as exc:
        raise errors.InvalidRequest("The embedding model cannot encode this query", field="query") from exc


def _cut(candidates: Iterable[Candidate], request: SearchRequest) -> list[Candidate]:
    """The top_k messages, each once."""
    best: dict[UUID, Candidate] = {}
    for each in sorted(candidates, key=lambda candidate: candidate.order):
        best.setdefault(each.message_id, each)
        if len(best) == request.top_k:
            break
    return list(best.values())


def _hits(services: Services, request: SearchRequest, chosen: Sequence[Candidate]) -> list[Hit]:
    """The chosen as they are now, with their neighbours: one read transaction."""
    if not chosen:
        return []
    flow_id = chosen[0].target.flow_id  # one search stays in one flow
    by_target: dict[Target, list[UUID]] = {}
    for each in chosen:
        by_target.setdefault(each.target, []).append(each.message_id)
    with services.database.reading() as session:
        messages = queries.fetch_messages(session, flow_id, [each.message_id for each in chosen])
        facts = {target: queries.fetch_facts(session, target, ids, metadata=False) for target, ids in by_target.items()}
        places = [(m.session_id, m.seq) for m in messages.values()] if request.neighbors else []
        turns = queries.neighbours(session, flow_id, places, count=request.neighbors)
    around = _around(turns, request)
    hits: list[Hit] = []
    for each in chosen:
        message = messages.get(each.message_id)
        if message is None or message.version != each.version:  # edited or deleted since it was verified
            continue
        held = facts[each.target][message.id].held
        hits.append(_hit(each, message, held != message.version, around, explain=request.explain))
    return hits


def _hit(
    candidate: Candidate,
    message: Message,
    pending: bool,
    around: Callable[[Message], tuple[list[dict[str, Any]], list[dict[str, Any]]]],
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
        snippet=candidate.text or message_text(message.content)[:SNIPPET_CHARS],
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
    if candidate.values is None:
        return {"dense": candidate.score, **found}
    shares = fusion.shares(candidate.values)
    signals = {
        name: {"value": round(value, SCORE_DIGITS), "share": round(shares[name], SCORE_DIGITS)}
        for name, value in candidate.values.items()
    }
    parts = {"signals": signals, "bias": fusion.BIAS, "recency": candidate.recency, **found}
    return parts if candidate.reranked is None else {"reranker": round(candidate.reranked, SCORE_DIGITS), **parts}


def _around(
    turns: Sequence[Neighbour], request: SearchRequest
) -> Callable[[Message], tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Who asks for a message's turns before and after it gets those nearest to it, in the order they were said."""
    by_session: dict[str, list[Neighbour]] = {}
    for turn in turns:
        if turn.id not in request.exclude_message_ids:
            by_session.setdefault(turn.session_id, []).append(turn)

    def around(message: Message) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
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
