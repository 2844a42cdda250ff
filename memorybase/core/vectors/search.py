"""Shared by the searches of memory bases and of ordinary knowledge bases: bounds and the metadata filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memorybase.core import errors
from memorybase.core.caveats import MAX_QUERY_CHARS
from memorybase.core.validation import check_text

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
