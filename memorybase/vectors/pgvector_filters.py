"""Filters on metadata as conditions of PostgreSQL. JSON values are compared with their types: true is not 1."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memorybase.errors import VectorRejected
from memorybase.vectors.pgvector_layout import INDEXED_KEYS

_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def condition(where: Mapping[str, Any] | None, parameters: dict[str, Any]) -> str:
    """The filter as SQL, with its values added to the parameters. Raises VectorRejected for an unknown filter."""
    return _all(where or {}, parameters)


def _all(where: Mapping[str, Any], parameters: dict[str, Any]) -> str:
    return " AND ".join(_one(key, wanted, parameters) for key, wanted in where.items()) or "true"


def _one(key: str, wanted: Any, parameters: dict[str, Any]) -> str:
    if key in {"$and", "$or"}:
        parts = [f"({_all(part, parameters)})" for part in wanted]
        return f"({' AND '.join(parts)})" if key == "$and" else f"({' OR '.join(parts)})"
    (operator, operand), *more = (wanted if isinstance(wanted, Mapping) else {"$eq": wanted}).items()
    if more:
        raise VectorRejected(reason="the filter")
    value = f"metadata -> {_parameter(key, parameters)}::text"
    if operator in {"$eq", "$in"}:
        operands = operand if operator == "$in" else [operand]
        return f"{_indexed(key, operands, parameters)}{value} = ANY({_jsons(operands, parameters)})"
    if operator == "$ne":
        return f"{value} IS DISTINCT FROM {_parameter(_json(operand), parameters)}::jsonb"
    if operator == "$nin":
        return f"({value} = ANY({_jsons(operand, parameters)})) IS NOT TRUE"
    if operator in _COMPARISONS and isinstance(operand, int | float):
        number = f"{_parameter(_json(operand), parameters)}::jsonb"
        return f"(jsonb_typeof({value}) = 'number' AND {value} {_COMPARISONS[operator]} {number})"
    raise VectorRejected(reason="the filter")


def _indexed(key: str, operands: Sequence[Any], parameters: dict[str, Any]) -> str:
    """A condition that an index answers and that holds wherever the filter does."""
    if key not in INDEXED_KEYS or not all(isinstance(operand, str) for operand in operands):
        return ""
    return f"metadata ->> '{key}' = ANY({_parameter(list(operands), parameters)}::text[]) AND "


def _jsons(operands: Sequence[Any], parameters: dict[str, Any]) -> str:
    return f"{_parameter([_json(operand) for operand in operands], parameters)}::jsonb[]"


def _json(operand: Any) -> str:
    if not isinstance(operand, str | int | float):
        raise VectorRejected(reason="the filter")
    return json.dumps(operand)


def _parameter(value: Any, parameters: dict[str, Any]) -> str:
    name = f"filter_{len(parameters)}"
    parameters[name] = value
    return f"%({name})s"
