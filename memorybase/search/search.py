"""The search itself, top to bottom.

Keyword search is one read transaction. The others are two: what the vector store is asked is read in the first, and
nothing is held open while the model and the store answer. The second verifies the answer and reads all the rest.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors, tracing
from memorybase.caveats import NO_MEMORY_BASE, UNKNOWN_SESSION, Caveat
from memorybase.database.replica import moment
from memorybase.ids import CallerId
from memorybase.messages import message_text
from memorybase.queries import caller_ids, memory_bases, sessions
from memorybase.queries import keyword_index as postings
from memorybase.queries import search as search_queries
from memorybase.queries.ownership import check_flow, not_found
from memorybase.queries.search import PendingMessage, Target
from memorybase.quotas.charges import charge_search
from memorybase.search import candidates, query_parser, ranking, vector_search
from memorybase.search.candidates import Candidate
from memorybase.search.corrections import marking as corrections
from memorybase.search.hits import NO_ROWS, Hit, Rows, hits_of, read_rows
from memorybase.search.keyword_search import QueryTerms
from memorybase.search.query_parser import Question, possible_names
from memorybase.search.request import MAX_MEMORY_BASES, SearchRequest, check, narrowed
from memorybase.search.vector_search import NearestChunks
from memorybase.services import Services
from memorybase.vectors.search import cut_query
from memorybase.vectors.store import StoredVector

if TYPE_CHECKING:
    from memorybase.embedding import QueryTokens, Reranker

# Flows that are searched beside each other, over all searches of this process. The caller's thread only waits.
_flows = ThreadPoolExecutor(max_workers=8, thread_name_prefix="flow-search")


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
        sought = corrections.sought_by(services, request)
        wanted = corrections.widened(request) if sought else request
        chosen, rows = _choose(services, user_id, wanted)
        results = hits_of(services, wanted, chosen, rows)
        if sought and results:
            results = corrections.corrected(services, request, sought, chosen, results)
    return SearchAnswer(results=results, took_ms=_milliseconds_since(started))


def _milliseconds_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1_000, 3)


@dataclass(slots=True)
class _FirstRead:
    """What the first transaction reads."""

    request: SearchRequest
    targets: Sequence[Target]
    question: Question
    now: datetime
    asked: Future[list[NearestChunks]] | None = None  # the vector store's answer to come; None in mode keyword
    pending: Mapping[Target, list[PendingMessage]] = field(default_factory=dict)
    terms: QueryTerms | None = None  # None in mode dense
    by_keywords: Mapping[Target, list[Candidate]] = field(default_factory=dict)

    @property
    def of_vectors(self) -> SearchRequest:
        """The request for chunks: in hybrid search more than the caller wants, because both halves score all."""
        if self.request.mode == "dense":
            return self.request
        top_k = max(vector_search.MIN_CANDIDATES, self.request.top_k)
        return replace(self.request, top_k=top_k, min_score=None)


def _choose(services: Services, user_id: UUID, request: SearchRequest) -> tuple[list[Candidate], Rows]:
    """The best candidates, best first, and their rows."""
    with services.database.reading(on_replica=True) as db:
        first = _read_first(db, services, user_id, request)
        if first is None:
            return [], NO_ROWS
        if first.asked is None:
            chosen, rows = _ranked(db, services, first)
    if first.asked is not None:
        chosen, rows = _with_vectors(services, first, first.asked)
    reranker = _reranker(services, request)
    if reranker is None:
        return chosen, rows
    chosen = ranking.rerank(reranker, request, chosen, rows.contents)
    return ranking.top(request, chosen, rows.contents, services.settings.keyword_language), rows


def _reranker(services: Services, request: SearchRequest) -> Reranker | None:
    return None if request.mode == "dense" else services.reranker


def _read_first(db: OrmSession, services: Services, user_id: UUID, request: SearchRequest) -> _FirstRead | None:
    """Read what needs no vector store, which is asked meanwhile; None if there is no memory base to search."""
    targets = _targets(db, user_id, request)
    if not targets:
        return None
    flow_id = targets[0].flow_id  # one search stays in one flow
    request = replace(request, exclude_message_ids=_row_ids(db, flow_id, request.exclude_message_ids))
    now = datetime.now(UTC)
    question = _parse(db, services, request, flow_id, now)
    first = _FirstRead(request, targets, question, now)
    if request.mode != "keyword":
        asking = vector_search.read_before(db, services, targets, first.of_vectors)
        full_query = request.query if request.mode == "hybrid" else None
        first.asked = vector_search.nearest_in_thread(services, asking, question.text, full_query)
        first.pending = vector_search.read_pending(db, targets, request)
    if request.mode != "dense":
        with tracing.span("keyword_search"):
            first.terms, first.by_keywords = candidates.find_by_keywords(db, request, question, targets)
    return first


def _row_ids(db: OrmSession, flow_id: UUID, given: Collection[UUID | CallerId]) -> frozenset[UUID]:
    """Ids of rows for callers' ids of messages; those that the flow lacks are dropped."""
    of_callers = [each for each in given if isinstance(each, CallerId)]
    rows = caller_ids.present(db, flow_id, of_callers) if of_callers else {}
    return frozenset((*(each for each in given if isinstance(each, UUID)), *rows.values()))


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


def _with_vectors(
    services: Services, first: _FirstRead, asked: Future[list[NearestChunks]]
) -> tuple[list[Candidate], Rows]:
    """What is chosen once the store has answered. It is asked for more where too few of its chunks pass."""
    request = first.of_vectors
    # Fetching vectors takes as long as a query, so it does not wait for the answer.
    stored = {
        target: vector_search.fetch_compared(services, target, found) for target, found in first.by_keywords.items()
    }
    nearest = asked.result()
    for each in nearest:
        each.pending = vector_search.nearest_pending(services, each, first.pending.get(each.target, ()), request)
    lacking = nearest
    while True:
        with services.database.reading(on_replica=True) as db:
            lacking = [each for each in lacking if not each.verify(db, request)]
            if not lacking:
                return _ranked(db, services, first, nearest, stored)
        for each in lacking:
            each.ask(services)


def _ranked(
    db: OrmSession,
    services: Services,
    first: _FirstRead,
    nearest: Sequence[NearestChunks] = (),
    stored: Mapping[Target, Mapping[str, StoredVector]] = MappingProxyType({}),
) -> tuple[list[Candidate], Rows]:
    """The top candidates, or those for the reranker, and their rows. `stored`: vectors of keyword candidates."""
    request, reranker = first.request, _reranker(services, first.request)
    if reranker is None:
        contents = partial(search_queries.fetch_contents, db, first.targets[0].flow_id)
        found = _scored(db, request, first, nearest, stored)
        chosen = ranking.top(request, found, contents, services.settings.keyword_language)
    else:
        found = _scored(db, replace(request, min_score=None), first, nearest, stored)
        chosen = ranking.to_rerank(request, found)
    return chosen, read_rows(db, request, chosen)


def _scored(
    db: OrmSession,
    request: SearchRequest,
    first: _FirstRead,
    nearest: Sequence[NearestChunks],
    stored: Mapping[Target, Mapping[str, StoredVector]],
) -> list[Candidate]:
    """The candidates of all targets with their scores; both halves of a hybrid search score every candidate."""
    if first.terms is None:
        found = [candidate for each in nearest for candidate in each.candidates]
        return candidates.corrected_for_length(found, first.question, request)
    of_targets: list[tuple[list[Candidate], QueryTokens | None]]
    if first.asked is None:
        of_targets = [(found, None) for found in first.by_keywords.values()]
    else:
        of_targets = [
            (candidates.joined(each, first.by_keywords[each.target], stored[each.target]), each.tokens)
            for each in nearest
        ]
    return [
        candidate
        for found, tokens in of_targets
        for candidate in ranking.score(db, request, first.question, first.terms, found, tokens, first.now)
    ]


def search_several(
    services: Services, user_id: UUID, request: SearchRequest, memory_base_ids: Sequence[UUID] | None
) -> SearchAnswer:
    """The best messages over these memory bases, or with None over all of the user's, each message once.

    The request names neither a memory base nor a flow. Raises what `search` raises, and InvalidRequest for too many.
    """
    charge_search(services, user_id)
    started = time.perf_counter()
    requests = [
        replace(request, flow_id=flow_id, memory_base_ids=of_flow)
        for flow_id, of_flow in _by_flow(services, user_id, memory_base_ids).items()
    ]
    hits = _hits_of_flows(services, user_id, requests)
    return SearchAnswer(results=merged(hits, request), took_ms=_milliseconds_since(started))


def _hits_of_flows(services: Services, user_id: UUID, requests: Sequence[SearchRequest]) -> list[Hit]:
    """The hits of each flow, beside each other and in the order of the requests. Raises what the first of them raises
    that fails."""
    if len(requests) < 2:
        return [hit for each in requests for hit in search_uncharged(services, user_id, each).results]
    answers = [
        _flows.submit(contextvars.copy_context().run, search_uncharged, services, user_id, each) for each in requests
    ]
    try:
        return [hit for answer in answers for hit in answer.result().results]
    finally:
        wait([answer for answer in answers if not answer.cancel()])


def merged(hits: Iterable[Hit], request: SearchRequest) -> list[Hit]:
    """The top_k hits of several searches, best first, each message once; alike ones folded if the request says so."""
    best: dict[UUID | str, Hit] = {}
    ordered = sorted(
        hits,
        key=lambda hit: (
            not ranking.leads(request, hit.score, pinned=hit.pinned),
            -hit.score,
            -hit.timestamp.timestamp(),
            str(hit.message_id),
        ),
    )
    seen: set[UUID] = set()
    for hit in ordered:
        if hit.message_id in seen:
            continue
        seen.add(hit.message_id)
        key: UUID | str = hit.message_id
        if request.fold_alike:
            key = ranking.normalized(message_text(hit.content)) or hit.message_id
        first = best.setdefault(key, hit)
        if first is not hit:
            best[key] = replace(first, alike=first.alike + hit.alike + 1)
    return list(best.values())[: request.top_k]


def _by_flow(services: Services, user_id: UUID, memory_base_ids: Sequence[UUID] | None) -> dict[UUID, list[UUID]]:
    """The memory bases of each flow, in a stable order. Raises NotFound, InvalidRequest."""
    wanted = None if memory_base_ids is None else list(dict.fromkeys(memory_base_ids))
    if wanted is not None and not 1 <= len(wanted) <= MAX_MEMORY_BASES:
        raise errors.InvalidRequest(
            f"memory_base_ids must hold 1 to {MAX_MEMORY_BASES} ids (got {len(wanted)})",
            field="memory_base_ids",
            value=len(wanted),
            limit=MAX_MEMORY_BASES,
        )
    with services.database.reading(on_replica=True) as db:
        found = search_queries.flows_of_bases(db, user_id, wanted, limit=MAX_MEMORY_BASES + 1)
    if len(found) > MAX_MEMORY_BASES:
        raise errors.InvalidRequest(
            f"A search takes at most {MAX_MEMORY_BASES} memory bases, and there are more. Name memory_base_ids or a "
            f"flow instead of all",
            field="all",
            limit=MAX_MEMORY_BASES,
        )
    for base_id in wanted or ():
        if base_id not in found:
            raise not_found("memory base", base_id, field="memory_base_ids")
    by_flow: dict[UUID, list[UUID]] = {}
    for base_id, flow_id in found.items():
        by_flow.setdefault(flow_id, []).append(base_id)
    return by_flow


def why_nothing(services: Services, request: SearchRequest) -> list[Caveat]:
    """What the flow of a search without results lacks; empty if it may simply hold nothing that fits."""
    with services.database.reading(on_replica=True) as db:
        base = None if request.memory_base_id is None else memory_bases.fetch_any_base(db, request.memory_base_id)
        flow_id = request.flow_id if base is None else base.flow_id
        if flow_id is None:
            return []
        found = []
        if base is None and not memory_bases.base_ids_of_flow(db, flow_id):
            found.append(NO_MEMORY_BASE)
        if request.session_id is not None and sessions.fetch_session(db, flow_id, request.session_id) is None:
            found.append(UNKNOWN_SESSION)
        return found
