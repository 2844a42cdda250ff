"""A search request: where to search, its bounds and its filters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from memorybase.core import errors, time_zones
from memorybase.core.ids import CallerId
from memorybase.core.messages import ROLES
from memorybase.core.queries.search import Features
from memorybase.core.search.conditions import Condition, Conditions, epoch_seconds
from memorybase.core.search.part_weights import PartWeights, check_part_weights
from memorybase.core.validation import check_text
from memorybase.core.vectors.search import check_bound, check_query, has_metadata

Mode = Literal["hybrid", "dense", "keyword"]
MODES: tuple[Mode, ...] = ("hybrid", "dense", "keyword")

MAX_NEIGHBORS = 20
MIN_SNIPPET_CHARS, MAX_SNIPPET_CHARS = 80, 600
MAX_EXCLUDED = 1_000
MAX_HALF_LIFE_DAYS = 36_500
MAX_MEMORY_BASES = 50  # in one search: each is a query of the store

# Times that conditions narrow a search to: a little wider, because seconds as a float are rounded.
_ROUNDING = timedelta(milliseconds=1)
_EARLIEST, _LATEST = 0, 32_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search in one memory base, or in every memory base of a flow.

    since and until are inclusive. metadata: each key must have exactly this value in the message's metadata.
    as_of: answer as on that date: without later messages, and with what edited ones said; times and ages count from it.
    conditions: tried on the 2,000 nearest chunks and the 2,000 best keyword matches, because no index knows them.
    default_weights: ignore the memory base's own weights and half-life.
    weights: factors for the parts of the score, on top of the weights.
    half_life_days: half of the score fades with the message's age, with this half-life; 0: nothing fades; None: as the
    memory base's own weights say.
    memory_base_ids: in a flow, only these of its memory bases; empty: all.
    fold_alike: of messages with the same text only the best, with how many others there are.
    corrections: in hybrid search, compare what the results state and rank later statements first; None: unless that
    costs a further request to an endpoint.
    time_zone: whose days the query means; None: that of the flow.
    exact_text: the text whose own message comes first, of which the query may be a sentence. `search` sets it for a
    search by people, which is one without a min_score: what recalls for a model has at least 0.
    snippet_chars: the length of a snippet at most.
    passages: if false, a snippet is the chunk that matched, for callers that read the messages themselves.
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
    as_of: datetime | None = None
    metadata: Mapping[str, Any] | None = None
    conditions: Conditions | None = None
    min_score: float | None = None
    neighbors: int = 0
    include_pending: bool = True
    exclude_message_ids: Collection[UUID | CallerId] = ()
    explain: bool = False
    default_weights: bool = False
    weights: PartWeights | None = None
    half_life_days: float | None = None
    memory_base_ids: Sequence[UUID] = ()
    fold_alike: bool = False
    corrections: bool | None = None
    snippet_chars: int = MAX_SNIPPET_CHARS
    passages: bool = True
    time_zone: str | None = None
    exact_text: str | None = None

    @property
    def latest(self) -> datetime | None:
        """The last time at which a message may have been said; None: any."""
        return min((each for each in (self.until, self.as_of) if each is not None), default=None)

    @property
    def filters_metadata(self) -> bool:
        """Whether the filters need the messages' metadata."""
        return bool(self.metadata) or self.conditions is not None


def check(request: SearchRequest) -> None:
    if (request.memory_base_id is None) == (request.flow_id is None):
        raise errors.InvalidRequest("A search must name either a memory base or a flow", field="memory_base_id")
    if request.mode not in MODES:
        raise errors.InvalidRequest(
            f"mode must be one of {', '.join(MODES)} (got {request.mode!r})", field="mode", value=request.mode
        )
    check_query(request.query, top_k=request.top_k, min_score=request.min_score, metadata=request.metadata or {})
    check_bound("neighbors", request.neighbors, 0, MAX_NEIGHBORS)
    check_bound("snippet_chars", request.snippet_chars, MIN_SNIPPET_CHARS, MAX_SNIPPET_CHARS)
    check_bound("exclude_message_ids", len(request.exclude_message_ids), 0, MAX_EXCLUDED, unit="ids")
    check_half_life(request.half_life_days)
    time_zones.checked(request.time_zone)
    if request.weights is not None:
        check_part_weights(request.weights)
    for name in ("session_id", "end_user_id"):
        value = getattr(request, name)
        if value is not None:
            check_text(value, name)
    for role in request.roles or ():
        if role not in ROLES:
            raise errors.InvalidRequest(f"roles must be among {', '.join(ROLES)} (got {role!r})", field="roles")
    for name in ("since", "until", "as_of"):
        check_aware(name, getattr(request, name))


def check_aware(name: str, at: datetime | None) -> None:
    if at is not None and at.tzinfo is None:
        raise errors.InvalidRequest(f"{name} must have a time zone", field=name)


def check_half_life(days: float | None) -> None:
    if days is not None and not 0 <= days <= MAX_HALF_LIFE_DAYS:
        raise errors.InvalidRequest(
            f"half_life_days must be from 0 to {MAX_HALF_LIFE_DAYS} (got {days:g})",
            field="half_life_days",
            value=str(days),
            limit=MAX_HALF_LIFE_DAYS,
        )


def with_filters(request: SearchRequest) -> SearchRequest:
    """The request with filters that an index or the store knows, from its conditions. The conditions still decide."""
    if request.conditions is None or (request.conditions.logical == "or" and len(request.conditions.conditions) > 1):
        return request
    for condition in request.conditions.conditions:
        request = _with_filter(request, condition)
    return request


def _with_filter(request: SearchRequest, condition: Condition) -> SearchRequest:
    match condition.names, condition.operator, condition.value:
        case ("session_id",), "is", str(value) if request.session_id is None:
            return replace(request, session_id=value)
        case ("end_user_id",), "is", str(value) if request.end_user_id is None:
            return replace(request, end_user_id=value)
        case ("role",), "is", str(value) if request.roles is None and value in ROLES:
            return replace(request, roles=[value])
        case ("timestamp",), operator, value:
            seconds = epoch_seconds(value)
            if seconds is not None and _EARLIEST < seconds < _LATEST:
                return _with_time(request, operator, datetime.fromtimestamp(seconds, UTC))
    return request


def _with_time(request: SearchRequest, operator: str, at: datetime) -> SearchRequest:
    if operator in {"after", ">", "≥"}:
        since = at - _ROUNDING
        return replace(request, since=since if request.since is None else max(since, request.since))
    if operator in {"before", "<", "≤"}:
        until = at + _ROUNDING
        return replace(request, until=until if request.until is None else min(until, request.until))
    return request


def passes(features: Features, request: SearchRequest) -> bool:
    return (
        (request.session_id is None or features.session_id == request.session_id)
        and (request.end_user_id is None or features.end_user_id == request.end_user_id)
        and (request.roles is None or features.role in request.roles)
        and (request.since is None or features.timestamp >= request.since)
        and (request.latest is None or features.timestamp <= request.latest)
        and features.id not in request.exclude_message_ids
        and has_metadata(features.metadata or {}, request.metadata or {})
        and (request.conditions is None or request.conditions.hold(features))
    )
