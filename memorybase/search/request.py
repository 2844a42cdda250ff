"""What is asked, its bounds and its filters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from memorybase import errors
from memorybase.messages import ROLES, check_text
from memorybase.search.queries import Facts
from memorybase.settings import Settings

Mode = Literal["hybrid", "dense", "keyword"]
MODES: tuple[Mode, ...] = ("hybrid", "dense", "keyword")

MAX_NEIGHBORS = 20
MAX_EXCLUDED = 1_000
MAX_FILTER_KEYS = 20
MAX_HALF_LIFE_DAYS = 36_500


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What to look for, and where: a memory base, or every memory base of a flow.

    since and until are inclusive. metadata: each named key of the message's metadata has exactly this value.
    default_weights: whether a memory base's own weights are left out.
    half_life_days: half of the score fades with the message's age, by half in so many days.
    passages: without them a snippet is the chunk that matched, for a caller that reads the messages itself.
    """

    query: str
    memory_base_id: UUID | None = None
    flow_id: UUID | None = None
    top_k: int = 10
    mode: str = "hybrid"
    session_id: str | None = None
    end_user_id: str | None = None
    roles: Sequence[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: Mapping[str, Any] | None = None
    min_score: float | None = None
    neighbors: int = 0
    include_pending: bool = True
    exclude_message_ids: Collection[UUID] = ()
    explain: bool = False
    default_weights: bool = False
    half_life_days: float | None = None
    passages: bool = True


def check(settings: Settings, request: SearchRequest) -> None:
    if (request.memory_base_id is None) == (request.flow_id is None):
        raise errors.InvalidRequest("A search names a memory base or a flow", field="memory_base_id")
    if request.mode not in MODES:
        raise errors.InvalidRequest(f"This is one of {', '.join(MODES)}", field="mode", value=request.mode)
    _check_query(settings, request.query)
    _check_bound("top_k", request.top_k, 1, settings.max_top_k)
    _check_bound("neighbors", request.neighbors, 0, MAX_NEIGHBORS)
    _check_bound("exclude_message_ids", len(request.exclude_message_ids), 0, MAX_EXCLUDED)
    _check_bound("metadata", len(request.metadata or {}), 0, MAX_FILTER_KEYS)
    _check_scores(request)
    for name in ("session_id", "end_user_id"):
        value = getattr(request, name)
        if value is not None:
            check_text(value, name)
    for role in request.roles or ():
        if role not in ROLES:
            raise errors.InvalidRequest(f"This is one of {', '.join(ROLES)}", field="roles")
    for name in ("since", "until"):
        moment = getattr(request, name)
        if moment is not None and moment.tzinfo is None:
            raise errors.InvalidRequest("A timestamp carries a zone", field=name)


def _check_scores(request: SearchRequest) -> None:
    if request.min_score is not None and not 0 <= request.min_score <= 1:
        raise errors.InvalidRequest("A score is between 0 and 1", field="min_score", limit=1)
    if request.half_life_days is not None and not 0 < request.half_life_days <= MAX_HALF_LIFE_DAYS:
        raise errors.InvalidRequest(
            "A half-life is above 0 days",
            field="half_life_days",
            value=request.half_life_days,
            limit=MAX_HALF_LIFE_DAYS,
        )


def _check_query(settings: Settings, query: str) -> None:
    if not query.strip():
        raise errors.InvalidRequest("The query is empty", field="query")
    limit = settings.max_query_chars
    if len(query) > limit:
        raise errors.InvalidRequest("The query is too long", field="query", value=len(query), limit=limit)
    check_text(query, "query")


def _check_bound(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        limit = high if value > high else low
        raise errors.InvalidRequest(f"{name} is from {low} to {high}", field=name, value=value, limit=limit)


def passes(facts: Facts, request: SearchRequest) -> bool:
    return (
        (request.session_id is None or facts.session_id == request.session_id)
        and (request.end_user_id is None or facts.end_user_id == request.end_user_id)
        and (request.roles is None or facts.role in request.roles)
        and (request.since is None or facts.timestamp >= request.since)
        and (request.until is None or facts.timestamp <= request.until)
        and facts.id not in request.exclude_message_ids
        and _has_metadata(facts.metadata or {}, request.metadata or {})
    )


def _has_metadata(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(key in metadata and _same_json(metadata[key], value) for key, value in wanted.items())


def _same_json(one: Any, other: Any) -> bool:
    # In JSON, true is not 1.
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
