"""The search itself, top to bottom; `_find` has a branch for each mode.

Keyword search is one read transaction. The others are two: the first reads the parameters of the vector search, and
none is open while the model and the store answer. The second verifies the answer and reads the rest.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors, time_zones, tracing
from memorybase.core.callers import charge_search
from memorybase.core.caveats import NO_MEMORY_BASE, UNKNOWN_SESSION, Caveat
from memorybase.core.database.replica import shared_position
from memorybase.core.ids import CallerId
from memorybase.core.messages import message_text
from memorybase.core.queries import caller_ids, memory_bases, sessions
from memorybase.core.queries import keyword_index as postings
from memorybase.core.queries import search as search_queries
from memorybase.core.queries.ownership import check_flow, not_found
from memorybase.core.queries.search import Features, Target
from memorybase.core.search import (
    asked_text,
    demotion,
    exact_matches,
    keyword_search,
    long_messages,
    query_parser,
    ranking,
    signals,
    vector_search,
)
from memorybase.core.search.candidates import Candidate
from memorybase.core.search.demotion import Contents, normalized
from memorybase.core.search.hits import NO_ROWS, Hit, Rows, hits_of, read_contents, read_rows
from memorybase.core.search.keyword_search import Matches, QueryTerms
from memorybase.core.search.long_messages import LongCandidates
from memorybase.core.search.passages import PassageTerms, joined
from memorybase.core.search.query_parser import Question, possible_names
from memorybase.core.search.request import MAX_MEMORY_BASES, SearchRequest, check, with_filters
from memorybase.core.search.signals import Signals
from memorybase.core.search.vector_search import Asked, Verified
from memorybase.core.services import Services
from memorybase.core.tracing import ShownRecord
from memorybase.core.vectors.search import cut_query

if TYPE_CHECKING:
    from memorybase.core.embedding import QueryTokens

# Flows that are searched in parallel, over all searches of this process. The caller's thread only waits.
_flows = ThreadPoolExecutor(max_workers=8, thread_name_prefix="flow-search")


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Hits, best first, each message once; ties: the later message first, then by id.

    `sought`: the terms that their passages are searched for; None if there is no memory base.
    """

    results: list[Hit]
    took_ms: float
    sought: PassageTerms | None = None


Select = Callable[[Question, Sequence[Candidate], Contents], list[Candidate]]


def search(services: Services, user_id: UUID, request: SearchRequest) -> SearchResults:
    """The best messages for the query: from the serving generation, and pending ones.

    Pending are the 64 newest counted messages of the 1,000 sessions captured last, and the 64 newest edits; their first
    4 chunks each, 128 in all, are embedded here and cached.
    Raises NotFound, InvalidRequest, QuotaExceeded, VectorStoreUnavailable, CollectionMissing, ModelUnavailable.
    """
    base_ids = request.memory_base_ids if request.memory_base_id is None else [request.memory_base_id]
    with tracing.memory_span("search_memory", memory_base_id=tracing.only_base(base_ids)):
        charge_search(services, user_id)
        return _noted(request, _search(services, user_id, request))


def search_uncharged(services: Services, user_id: UUID, request: SearchRequest) -> SearchResults:
    """`search` as a part of a call that was charged, and has the span of the memory operation."""
    with tracing.span("search"):
        return _search(services, user_id, request)


def _noted(request: SearchRequest, found: SearchResults) -> SearchResults:
    """The results, after its span has their number and, if texts are asked for, them."""
    tracing.note(record_count=len(found.results))
    records = (ShownRecord(message_text(hit.content), hit.message_id, hit.score) for hit in found.results)
    tracing.note_texts(query=request.query, records=records)
    return found


def _search(services: Services, user_id: UUID, request: SearchRequest) -> SearchResults:
    started = time.perf_counter()
    queries = asked_text.searches_of(request.query, services.settings.keyword_language)
    exact_text = request.query if request.min_score is None and request.mode != "dense" else None
    request = with_filters(replace(request, query=cut_query(request.query), exact_text=exact_text))
    check(request)
    tracing.note(mode=request.mode)
    with shared_position():
        each = [_answer(services, user_id, replace(request, query=query)) for query in queries]
        found = each[0] if len(each) == 1 else _of_text(each, request)
    return SearchResults(results=found.hits, took_ms=_milliseconds_since(started), sought=found.sought)


class _Answer(NamedTuple):
    """The hits of one question, and what passages of them are searched for."""

    hits: list[Hit]
    sought: PassageTerms | None


def _answer(services: Services, user_id: UUID, request: SearchRequest) -> _Answer:
    compare = (hooks.before_search(services, request) for hooks in services.hooks)
    compared = next((found for found in compare if found is not None), None)
    wanted = request if compared is None else compared.request
    try:
        question, chosen, rows = _choose(services, user_id, wanted)
    except vector_search.Superseded:  # the memory bases of now, or NotFound
        question, chosen, rows = _choose(services, user_id, wanted)
    if question is None:
        return _Answer([], None)
    hits = hits_of(services, wanted, question.sought, chosen, rows)
    if compared is not None and hits:
        hits = compared.apply(question, chosen, hits)
    return _Answer(hits, question.sought)


def _of_text(each: Sequence[_Answer], request: SearchRequest) -> _Answer:
    """The hits of the questions inside of a text, and of the whole, which is the last one.

    The whole text may find a message by the words around the questions; the passage to show answers one of them.
    """
    answers = merged((hit for answer in each[:-1] for hit in answer.hits), request)
    of_questions = {hit.message_id: hit for hit in answers}
    hits = merged((hit for answer in each for hit in answer.hits), request)
    sought = [answer.sought for answer in each[:-1] if answer.sought is not None]
    return _Answer([_with_passage(hit, of_questions.get(hit.message_id)) for hit in hits], joined(sought))


def _with_passage(hit: Hit, other: Hit | None) -> Hit:
    if other is None or other is hit:
        return hit
    return replace(hit, snippet=other.snippet, snippet_start=other.snippet_start, snippet_end=other.snippet_end)


def _milliseconds_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1_000, 3)


class Chosen(NamedTuple):
    """The candidates to show, best first, and the rows of their messages and neighbors; without a memory base none."""

    question: Question | None
    candidates: list[Candidate]
    rows: Rows


def _choose(services: Services, user_id: UUID, request: SearchRequest) -> Chosen:
    """The candidates to show."""
    reranker = services.reranker
    if reranker is None or request.mode == "dense":
        return _find(services, user_id, request, partial(ranking.top, request))
    # The reranker's scores replace the fused ones, so `min_score` is of those.
    unbounded = replace(request, min_score=None)
    found = _find(services, user_id, unbounded, lambda _, candidates, __: ranking.to_rerank(request, candidates))
    if found.question is None:
        return found
    reranked = ranking.rerank(reranker, request, found.candidates, found.rows.contents)
    return found._replace(candidates=ranking.top(request, found.question, reranked, found.rows.contents))


class _Prepared(NamedTuple):
    """A search whose names and words are known."""

    request: SearchRequest  # its messages to exclude by their rows' ids
    question: Question
    targets: Sequence[Target]  # all of one flow

    def reading(self, terms: QueryTerms) -> _Prepared:
        """The question with the words that misspelled ones are read as."""
        return self._replace(question=self.question.reading(terms.meant))


def _find(services: Services, user_id: UUID, request: SearchRequest, select: Select) -> Chosen:
    """The candidates that `select` takes from all that the search finds."""
    with services.database.reading(on_replica=True) as db:
        prepared = _prepare(db, services, user_id, request)
        if prepared is None:
            return Chosen(None, [], NO_ROWS)
        if request.mode == "keyword":
            return _by_keywords(db, prepared, select)
        asked = vector_search.ask(db, services, *prepared)
        matches = keyword_search.find(db, *prepared) if request.mode == "hybrid" else None
        is_narrowed = prepared.request.since != request.since
        exact = _exact_of_any_time(db, prepared, select) if is_narrowed and request.exact_text is not None else None
    if matches is None:  # mode dense
        return _by_vectors(services, prepared, asked, select)
    found = _by_both(services, prepared, asked, matches, select)
    return found if exact is None else _with_exact(exact, found, request.top_k)


def _exact_of_any_time(db: OrmSession, prepared: _Prepared, select: Select) -> Chosen | None:
    """The exact matches and replies of a question about a time alone, which was asked at another time."""
    request = replace(prepared.request, mode="keyword", since=None, until=None)
    found = _by_keywords(db, prepared._replace(request=request), select)
    led = [exact_matches.unscored(each) for each in found.candidates if each.lead is not None]
    return found._replace(candidates=led) if led else None


def _with_exact(exact: Chosen, found: Chosen, top_k: int) -> Chosen:
    led = {each.message_id for each in exact.candidates}
    others = [each._replace(lead=None) for each in found.candidates if each.message_id not in led]
    rows = Rows({**found.rows.messages, **exact.rows.messages}, [*found.rows.turns, *exact.rows.turns])
    return found._replace(candidates=[*exact.candidates, *others][:top_k], rows=rows)


def _by_keywords(db: OrmSession, prepared: _Prepared, select: Select) -> Chosen:
    terms, by_words = keyword_search.find(db, *prepared)
    prepared = prepared.reading(terms)
    scored = [
        ranking.score(prepared.request, prepared.question, found, _signals(db, prepared, terms, found, None))
        for found in by_words.values()
    ]
    return _selected(db, prepared, select, scored)


def _by_vectors(services: Services, prepared: _Prepared, asked: Asked, select: Select) -> Chosen:
    request, question, _ = prepared
    with vector_search.verified(services, asked, {}) as (db, found):
        scored = [ranking.corrected_for_length(each.candidates, question, request) for each in found]
        return _selected(db, prepared, select, scored)


def _by_both(services: Services, prepared: _Prepared, asked: Asked, matches: Matches, select: Select) -> Chosen:
    """The long ones of the best candidates are compared by their passages, outside of a transaction."""
    terms, by_words = matches
    prepared = prepared.reading(terms)
    with vector_search.verified(services, asked, by_words) as (db, found):
        read = [_signals(db, prepared, terms, each.candidates, each.tokens) for each in found]
        long = [
            _long_candidates(db, prepared, terms, each, of_target) if of_target is not None else None
            for each, of_target in zip(found, read, strict=True)
        ]
        if not any(each is not None and each.passages for each in long):
            return _selected(db, prepared, select, _scored(prepared, found, read))
    compared = [
        each if of_target is None else each._replace(candidates=of_target.compare(each.candidates))
        for each, of_target in zip(found, long, strict=True)
    ]
    with services.database.reading(on_replica=True) as db:
        return _selected(db, prepared, select, _scored(prepared, compared, read))


def _signals(
    db: OrmSession,
    prepared: _Prepared,
    terms: QueryTerms,
    candidates: Sequence[Candidate],
    tokens: QueryTokens | None,
) -> Signals | None:
    """The signals of one target's candidates, if there are any."""
    if not candidates:
        return None
    request, question, targets = prepared
    by_words_alone = request.mode == "keyword"
    read = signals.read(db, question, terms, candidates, tokens, by_words_alone=by_words_alone)
    best = ranking.weights_for(request, candidates[0].target).best(read.columns)
    contents = partial(read_contents, db, targets[0].flow_id, request)
    non_answers = demotion.non_answers([candidates[index] for index in best], contents)
    read.mark_non_answers([index for index in best if candidates[index].message_id in non_answers])
    return read


def _scored(
    prepared: _Prepared, found: Sequence[Verified], read: Sequence[Signals | None]
) -> Iterator[Sequence[Candidate]]:
    for each, of_target in zip(found, read, strict=True):
        yield ranking.score(prepared.request, prepared.question, each.candidates, of_target)


def _long_candidates(
    db: OrmSession, prepared: _Prepared, terms: QueryTerms, found: Verified, read: Signals
) -> LongCandidates:
    """The passages to compare of one target's candidates."""
    request, question, targets = prepared
    best = long_messages.best_of(found.candidates, read, ranking.weights_for(request, found.candidates[0].target))
    contents = read_contents(db, targets[0].flow_id, request, [found.candidates[at].message_id for at in best])
    passages = long_messages.passages_of(found.candidates, best, contents, question, terms.rarities)
    return LongCandidates(read, found.query, passages)


def _selected(db: OrmSession, prepared: _Prepared, select: Select, scored: Iterable[Sequence[Candidate]]) -> Chosen:
    request, question, targets = prepared
    contents = partial(read_contents, db, targets[0].flow_id, request)
    found: Sequence[Candidate] = [candidate for of_target in scored for candidate in of_target]
    if request.exact_text is not None:
        turns = partial(_eligible_turns, db, request)
        found = exact_matches.marked(found, request.exact_text, question.asked.language, contents, turns)
    chosen = select(question, found, contents)
    return Chosen(question, chosen, read_rows(db, request, chosen))


def _eligible_turns(
    db: OrmSession, request: SearchRequest, target: Target, positions: Collection[int]
) -> dict[int, Features]:
    found = search_queries.features_at(db, target, positions, metadata=request.filters_metadata)
    return {position: each for position, each in found.items() if keyword_search.is_eligible(each, request)}


def _prepare(db: OrmSession, services: Services, user_id: UUID, request: SearchRequest) -> _Prepared | None:
    """None if there is no memory base to search."""
    targets = _targets(db, user_id, request)
    if not targets:
        return None
    flow_id = targets[0].flow_id
    request = replace(request, time_zone=request.time_zone or targets[0].time_zone)
    request = replace(request, exclude_message_ids=_row_ids(db, flow_id, request.exclude_message_ids))
    question = _parse(db, services, request, flow_id)
    return _Prepared(_within_time(request, question), question, targets)


def _within_time(request: SearchRequest, question: Question) -> SearchRequest:
    """Limit the time by a question that is only about a time: the filter finds what was said then, no word or vector
    does. A date in figures may be searched for as well."""
    asks = question.is_time_alone and any(character.isalpha() for character in request.query)
    if not asks or request.mode == "keyword" or request.since is not None or request.until is not None:
        return request
    named = [period.latest(question.asked_at) for period in question.periods]
    until = max(period.end for period in named) - timedelta(microseconds=1)
    return replace(request, since=min(period.start for period in named), until=until)


def _row_ids(db: OrmSession, flow_id: UUID, given: Collection[UUID | CallerId]) -> frozenset[UUID]:
    """Ids of rows for callers' ids of messages; those that the flow lacks are dropped."""
    of_callers = [each for each in given if isinstance(each, CallerId)]
    rows = caller_ids.present(db, flow_id, of_callers) if of_callers else {}
    return frozenset((*(each for each in given if isinstance(each, UUID)), *rows.values()))


def _parse(db: OrmSession, services: Services, request: SearchRequest, flow_id: UUID) -> Question:
    language, now = services.settings.keyword_language, datetime.now(UTC)
    now = min(now, request.as_of or now)
    speakers = postings.speakers_among(db, flow_id, possible_names(request.query, language))
    spoken = partial(postings.languages_of, db, [flow_id])
    zone = time_zones.zone(request.time_zone)
    return query_parser.parse(request.query, language=language, speakers=speakers, now=now, spoken=spoken, zone=zone)


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


def search_several(
    services: Services, user_id: UUID, request: SearchRequest, memory_base_ids: Sequence[UUID] | None
) -> SearchResults:
    """The best messages over these memory bases, or with None over all of the user's, each message once.

    The request names neither a memory base nor a flow. Raises what `search` raises, and InvalidRequest for too many.
    """
    with tracing.memory_span("search_memory", memory_base_id=tracing.only_base(memory_base_ids or ())):
        charge_search(services, user_id)
        started = time.perf_counter()
        requests = [
            replace(request, flow_id=flow_id, memory_base_ids=of_flow)
            for flow_id, of_flow in _by_flow(services, user_id, memory_base_ids).items()
        ]
        hits = _hits_of_flows(services, user_id, requests)
        return _noted(request, SearchResults(results=merged(hits, request), took_ms=_milliseconds_since(started)))


def _hits_of_flows(services: Services, user_id: UUID, requests: Sequence[SearchRequest]) -> list[Hit]:
    """The hits of each flow, searched in parallel and in the order of the requests. Raises the error of the first
    request that fails."""
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
    found = list(hits)
    leads = exact_matches.leads_of(found, request.query)
    if leads:
        found = [exact_matches.with_lead(hit, leads.get(hit.message_id)) for hit in found]
    ordered = sorted(
        found,
        key=lambda hit: (
            exact_matches.place_of(leads.get(hit.message_id)),
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
            key = normalized(message_text(hit.content)) or hit.message_id
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
    """Reasons why a search without results may lack something; empty if the flow may simply hold nothing that fits."""
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
