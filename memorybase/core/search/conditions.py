"""Conditions on the fields of messages and their metadata.

A condition compares the values of its fields with its own value. A list in the metadata counts as several values, and a
condition holds if one of them fits. A negated operator holds exactly where its opposite does not, so it also holds for
a message without the field.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from memorybase.core import errors
from memorybase.core.messages import MAX_EPOCH_SECONDS, read_time
from memorybase.core.queries.search import Features

MAX_CONDITIONS = 20
SHOWN_CHARS = 100  # of a value in an error
MAX_VALUES = 100  # of an "in", and names of one condition

# Names of what memorybase knows; metadata of the same name is reached as "metadata.NAME".
BUILT_IN: Mapping[str, Callable[[Features], Any]] = {
    "message_id": lambda features: str(features.id),
    "session_id": lambda features: features.session_id,
    "end_user_id": lambda features: features.end_user_id,
    "role": lambda features: features.role,
    "sender_name": lambda features: features.sender_name,
    "timestamp": lambda features: features.timestamp,
    "seq": lambda features: features.seq,
}
_PREFIX = "metadata."

NEGATIONS = {
    "not contains": "contains",
    "is not": "is",
    "≠": "=",
    "not in": "in",
    "not empty": "empty",
}
_TEXT: Mapping[str, Callable[[str, str], bool]] = {
    "contains": lambda held, wanted: wanted in held,
    "start with": str.startswith,
    "end with": str.endswith,
}
_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    ">": lambda held, wanted: held > wanted,
    "<": lambda held, wanted: held < wanted,
    "≥": lambda held, wanted: held >= wanted,
    "≤": lambda held, wanted: held <= wanted,
    "before": lambda held, wanted: held < wanted,
    "after": lambda held, wanted: held > wanted,
}
_TIMES = frozenset({"before", "after"})
OPERATORS = (
    "contains",
    "not contains",
    "start with",
    "end with",
    "is",
    "is not",
    "in",
    "not in",
    "empty",
    "not empty",
    "=",
    "≠",
    ">",
    "<",
    "≥",
    "≤",
    "before",
    "after",
)
# Other spellings of the same: ASCII, and those of older clients.
SPELLINGS = {"!=": "≠", ">=": "≥", "<=": "≤", "null": "empty", "not null": "not empty"}


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison; with several names, of the values of all these fields together."""

    names: tuple[str, ...]
    operator: str
    value: Any = None

    def holds(self, features: Features) -> bool:
        held = [each for name in self.names for each in _values(features, name)]
        positive = NEGATIONS.get(self.operator)
        if positive is not None:
            return not _compare(held, positive, self.value)
        return _compare(held, self.operator, self.value)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Several comparisons: all must hold, or any."""

    conditions: tuple[Condition, ...]
    logical: Literal["and", "or"] = "and"

    def hold(self, features: Features) -> bool:
        found = (condition.holds(features) for condition in self.conditions)
        return all(found) if self.logical == "and" else any(found)


def checked_condition(name: Any, operator: str, value: Any, *, where: str = "condition") -> Condition:
    """The condition, its name one text or several; raises InvalidRequest that names a field below `where`."""
    names = tuple(name) if isinstance(name, list) else (name,)
    if not 1 <= len(names) <= MAX_VALUES or not all(isinstance(each, str) and each.strip() for each in names):
        text = f"{where}.name must be a name or a list of 1 to {MAX_VALUES} names, none of them blank"
        raise errors.InvalidRequest(text, field=f"{where}.name", value=len(names), limit=MAX_VALUES)
    operator = SPELLINGS.get(operator, operator)
    if operator not in OPERATORS:
        raise _invalid(f"{where}.comparison_operator", f"must be one of {', '.join(OPERATORS)}", operator)
    return Condition(names, operator, _checked_value(operator, value, f"{where}.value"))


def _checked_value(operator: str, value: Any, field: str) -> Any:
    """The value as the comparison reads it. An absent or empty one is refused: left out, it would widen the search."""
    kind = NEGATIONS.get(operator, operator)
    if isinstance(value, dict):
        raise _invalid(field, "must be a text, a number or a list of these")
    if kind == "empty":
        return None
    if value is None:
        raise _invalid(field, f"must be there for the operator {operator}")
    if kind == "in":
        return _checked_list(operator, value, field)
    if isinstance(value, list):
        raise _invalid(field, f"must be a text or a number for the operator {operator}")
    if kind in _TEXT and _text(value) == "":
        raise _invalid(field, f"must not be empty for the operator {operator}")
    if kind in _TIMES and epoch_seconds(value) is None:
        raise _invalid(field, "must be a time in ISO 8601 or seconds since 1970", value)
    if kind in _ORDER and _number(value) is None and epoch_seconds(value) is None:
        raise _invalid(field, f"must be a number or a time for the operator {operator}", value)
    return value


def _checked_list(operator: str, value: Any, field: str) -> tuple[Any, ...]:
    """The values, also of a text with commas."""
    values = [each.strip() for each in value.split(",")] if isinstance(value, str) else value
    values = values if isinstance(values, list) else [values]
    if len(values) > MAX_VALUES:
        text = f"{field} must have at most {MAX_VALUES} values (got {len(values)})"
        raise errors.InvalidRequest(text, field=field, value=len(values), limit=MAX_VALUES)
    if any(isinstance(each, list | dict) or each is None for each in values):
        raise _invalid(field, f"must be a list of texts and numbers for the operator {operator}")
    return tuple(values)


def _invalid(field: str, rule: str, value: Any = None) -> errors.InvalidRequest:
    got = "" if value is None else f" (got {str(value)[:SHOWN_CHARS]!r})"
    return errors.InvalidRequest(f"{field} {rule}{got}", field=field, value=value)


def _values(features: Features, name: str) -> list[Any]:
    """The message's values in this field, without empty ones."""
    if name in BUILT_IN:
        found = BUILT_IN[name](features)
    else:
        metadata = features.metadata or {}
        found = metadata.get(name, metadata.get(name.removeprefix(_PREFIX)))
    values = found if isinstance(found, list) else [found]
    return [each for each in values if each is not None and each not in ("", [], {})]


def _compare(held: Collection[Any], operator: str, wanted: Any) -> bool:
    if operator == "empty":
        return not held
    if operator == "is":
        return any(_equal(each, wanted) for each in held)
    if operator == "=":
        return any(_equal_numbers(each, wanted) for each in held)
    if operator == "in":
        return any(_equal(each, one) for each in held for one in wanted)
    if operator in _TEXT:
        return any(_TEXT[operator](_text(each), _text(wanted)) for each in held)
    return any(_ordered(each, operator, wanted) for each in held)


def _equal(held: Any, wanted: Any) -> bool:
    """Compare as times where a time is stored, as numbers if one of the two is a number, else as texts."""
    if isinstance(held, datetime):
        return epoch_seconds(held) == epoch_seconds(wanted)
    if _is_number(held) or _is_number(wanted):
        number = _number(held)
        return number is not None and number == _number(wanted)
    return _text(held) == _text(wanted)


def _equal_numbers(held: Any, wanted: Any) -> bool:
    """Compare as numbers if both can be read as one, else as `_equal` does."""
    left, right = _number(held), _number(wanted)
    return _equal(held, wanted) if left is None or right is None else left == right


def _ordered(held: Any, operator: str, wanted: Any) -> bool:
    """Compare the order of numbers if both are numbers, else of times."""
    left, right = _number(held), _number(wanted)
    if left is None or right is None or operator in _TIMES:
        left, right = epoch_seconds(held), epoch_seconds(wanted)
    return left is not None and right is not None and _ORDER[operator](left, right)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> int | float | None:
    """Numbers, and texts that are one; not true and false. Whole numbers stay exact."""
    if isinstance(value, str):
        for kind in (int, float):
            with suppress(ValueError):
                return _number(kind(value))
        return None
    if not _is_number(value) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    number: int | float = value
    return number


def epoch_seconds(value: Any) -> float | None:
    """Seconds since 1970 of a time, of seconds, or of a text that is either."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    number = _number(value)
    if number is not None:
        return number if 0 <= number <= MAX_EPOCH_SECONDS else None
    if not isinstance(value, str):
        return None
    try:
        read = read_time(value, "value")
    except errors.InvalidRequest:
        return None
    return None if read is None else read.timestamp()
