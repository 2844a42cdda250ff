"""Shared by the searches of memory bases and of ordinary knowledge bases: bounds, the metadata filter, widening."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memorybase import errors
from memorybase.caveats import MAX_QUERY_CHARS
from memorybase.validation import check_text
from memorybase.vectors.store import CollectionRef, VectorHit, VectorStore

T = TypeVar("T")

MAX_TOP_K = 100
MAX_FILTER_KEYS = 20
MAX_FETCH = 2_000  # records a query
SCORE_DIGITS = 6  # two computations of one cosine differ beyond these


def cut_query(query: str) -> str:
    """The part of a query to search for: beyond the bound its end, where a prompt's question mostly is."""
    return query[-MAX_QUERY_CHARS:]


def check_query(query: str, *, top_k: int, min_score: float | None, metadata: Mapping[str, Any]) -> None:
    """Raises InvalidRequest naming the field and its bound."""
    if not query.strip():
        raise errors.InvalidRequest("query must not be empty", field="query")
    check_text(query, "query")
    check_bound("top_k", top_k, 1, MAX_TOP_K)
    check_bound("metadata", len(metadata), 0, MAX_FILTER_KEYS, unit="keys")
    if min_score is not None and not 0 <= min_score <= 1:
        raise errors.InvalidRequest(f"min_score must be from 0 to 1 (got {min_score:g})", field="min_score", limit=1)


def check_bound(field: str, value: int, low: int, high: int, *, unit: str = "") -> None:
    """Raises InvalidRequest; with a unit, `value` is how many of them the field has."""
    if low <= value <= high:
        return
    must = f"{field} must have {low} to {high} {unit}" if unit else f"{field} must be from {low} to {high}"
    raise errors.InvalidRequest(f"{must} (got {value})", field=field, value=value, limit=high if value > high else low)


def has_metadata(metadata: Mapping[str, Any], required: Mapping[str, Any]) -> bool:
    """Whether each required key has exactly the required value."""
    return all(key in metadata and _is_same_json(metadata[key], value) for key, value in required.items())


def _is_same_json(left: Any, right: Any) -> bool:
    # In JSON, true is not 1.
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def query_until_enough(
    store: VectorStore,
    ref: CollectionRef,
    vector: NDArray[np.float32],
    attempts: Iterable[tuple[Mapping[str, Any] | None, int]],
    verify: Callable[[list[VectorHit]], list[T]],
    *,
    enough: int,
    min_score: float,
    texts: bool,
) -> list[T]:
    """Query with each (filter, limit) in turn until `verify` keeps enough hits or no further hit can help.

    Some hits are stale or filtered out afterwards, so each attempt asks for more than the one before.
    """
    verified: list[T] = []
    for where, limit in attempts:
        hits = store.query(ref, vector, limit, where, texts=texts)
        verified = verify(hits)
        if len(verified) >= enough or len(hits) < limit or hits[-1].score < min_score:
            break
    return verified
