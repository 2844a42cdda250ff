"""Whether a later statement gives another value for the same thing. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from memorybase.search.corrections.statements import Statement, Value
from memorybase.search.corrections.values import Kind

# Likeness of the statements that suffices: if the later one tells a change and both values are of one unit; if it
# tells a change and nothing else connects the values; without a word of change, for values of one unit.
CHANGED = 0.37
CHANGED_WITHOUT_UNIT = 0.45
UNCHANGED = 0.68


class Change(NamedTuple):
    """The value of the earlier statement and that of the later one, as they were written."""

    kind: Kind
    was: str
    now: str


def change(older: Statement, newer: Statement, likeness: float, known: Collection[str]) -> Change | None:
    """The change from one statement to the other; `known` are the values that the speaker stated before.

    The last values count: "from 70 % to 90 %" states 90 %.
    """
    pairs = [
        (was, now)
        for now in reversed(newer.values)
        for was in reversed(older.values)
        if now.kind == was.kind and now.key not in known and now.asserted
    ]
    for was, now in pairs:
        if _is_connected(was, now, newer) and likeness >= (CHANGED if newer.tells_change else UNCHANGED):
            return Change(now.kind, *_shown(was, now))
    for was, now in pairs:
        if newer.tells_change and likeness >= _needed(was, now):
            return Change(now.kind, *_shown(was, now))
    return None


def _is_connected(was: Value, now: Value, newer: Statement) -> bool:
    """Of one unit, or the later statement names the earlier value: "40 now instead of 20"."""
    if now.kind in {"date", "time", "percent"} or was.unit_stems & now.unit_stems:
        return True
    return was.key in {value.key for value in newer.values}


def _needed(was: Value, now: Value) -> float:
    if was.unit_stems and now.unit_stems:
        return float("inf")  # three hours and twelve problems are no change
    return CHANGED if now.kind == "name" else CHANGED_WITHOUT_UNIT


def _shown(was: Value, now: Value) -> Iterator[str]:
    """Both values as written, with the unit that they share."""
    shared = was.unit_stems & now.unit_stems
    for value in (was, now):
        last = max((at for at, (_, stem) in enumerate(value.units, 1) if stem in shared), default=0)
        yield " ".join([value.shown, *(word for word, _ in value.units[:last] if word)])
