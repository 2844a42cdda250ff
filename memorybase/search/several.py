"""A search in several memory bases, of one flow or of many, or in all of a user's."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from memorybase import errors
from memorybase.messages import message_text
from memorybase.queries import search as search_queries
from memorybase.queries.ownership import not_found
from memorybase.quotas.charges import charge_search
from memorybase.search import pins
from memorybase.search.alike import normalized
from memorybase.search.request import SearchRequest
from memorybase.search.search import Hit, SearchAnswer, search_uncharged
from memorybase.services import Services

MAX_MEMORY_BASES = 50  # in one search: each is a query of the store, one after the other


def search_several(
    services: Services, user_id: UUID, request: SearchRequest, memory_base_ids: Sequence[UUID] | None
) -> SearchAnswer:
    """The best messages over these memory bases, or with None over all of the user's, each message once.

    The request names neither a memory base nor a flow. Raises what `search` raises, and InvalidRequest for too many.
    """
    charge_search(services, user_id)
    started = time.perf_counter()
    hits: list[Hit] = []
    for flow_id, of_flow in _by_flow(services, user_id, memory_base_ids).items():
        narrowed = replace(request, flow_id=flow_id, memory_base_ids=of_flow)
        hits += search_uncharged(services, user_id, narrowed).results
    results = merged(hits, request)
    return SearchAnswer(results=results, took_ms=round((time.perf_counter() - started) * 1_000, 3))


def merged(hits: Iterable[Hit], request: SearchRequest) -> list[Hit]:
    """The top_k hits of several searches, best first, each message once; alike ones folded if the request says so."""
    best: dict[UUID | str, Hit] = {}
    ordered = sorted(
        hits,
        key=lambda hit: (
            not pins.leads(request, hit.score, pinned=hit.pinned),
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
