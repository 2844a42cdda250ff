"""Facts for a search: the same question and filters as for messages, with a separate score."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memorybase.core.ids import CallerId
from memorybase.core.queries import caller_ids
from memorybase.core.queries import search as search_queries
from memorybase.core.search.request import MAX_MEMORY_BASES, SearchRequest
from memorybase.core.services import Services
from memorybase.core.vectors.search import has_metadata
from memorybase.features.facts.queries import facts
from memorybase.features.facts.recall import CANDIDATES, MAX_FACTS, FactHit, FactQuery, recall


def facts_for_search(
    services: Services, user_id: UUID, request: SearchRequest, memory_base_ids: Sequence[UUID] | None = None
) -> list[FactHit]:
    """The facts about a search's question, best first, at most `top_k` and MAX_FACTS. All messages that a fact rests on
    pass the search's filters; `since` and `until` are about the newest of them.

    A request that names neither a memory base nor a flow is about `memory_base_ids`, or with None about all of the
    user's. The caller has made the search, which checks the request.
    """
    filters_sources = bool(request.roles is not None or request.metadata or request.exclude_message_ids)
    top_k = min(request.top_k, MAX_FACTS)
    query = FactQuery(
        query=request.query,
        base_ids=_base_ids(services, user_id, request, memory_base_ids),
        session_id=request.session_id,
        end_user_id=request.end_user_id,
        since=request.since,
        until=request.until,
        as_of=request.as_of,
        top_k=CANDIDATES if filters_sources else top_k,
    )
    hits = recall(services, query)
    return (_passing(services, request, hits) if filters_sources else hits)[:top_k]


def _base_ids(
    services: Services, user_id: UUID, request: SearchRequest, memory_base_ids: Sequence[UUID] | None
) -> list[UUID]:
    with services.database.reading() as db:
        if request.flow_id is not None:
            return facts.bases_of_flow(db, request.flow_id)
        named = memory_base_ids if request.memory_base_id is None else [request.memory_base_id]
        return list(search_queries.flows_of_bases(db, user_id, named, limit=MAX_MEMORY_BASES))


def _passing(services: Services, request: SearchRequest, hits: Sequence[FactHit]) -> list[FactHit]:
    """The facts whose messages all have these roles and this metadata and are not excluded."""
    ids = {message_id for hit in hits for message_id in hit.source_message_ids}
    by_caller = [each for each in request.exclude_message_ids if isinstance(each, CallerId)]
    excluded = {each for each in request.exclude_message_ids if isinstance(each, UUID)}
    with services.database.reading() as db:
        sources = facts.source_messages(db, ids)
        for flow_id in {source.flow_id for source in sources} if by_caller else ():
            excluded.update(caller_ids.present(db, flow_id, by_caller).values())
    passing = {
        source.id
        for source in sources
        if (request.roles is None or source.role in request.roles)
        and source.id not in excluded
        and has_metadata(source.meta or {}, request.metadata or {})
    }
    return [hit for hit in hits if passing.issuperset(hit.source_message_ids)]
