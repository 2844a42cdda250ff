"""Whether one statement tells a change of what another one says."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from memorybase.core.comparison import NAMES, VALUES, VALUES_WITHOUT_UNIT, Limits
from memorybase.core.search.corrections import Kind
from memorybase.features.hit_corrections import chains
from memorybase.features.hit_corrections.chains import Known
from memorybase.features.hit_corrections.statements import (
    Statement,
    Value,
)
from memorybase.features.hit_corrections.values import is_same


class Change(NamedTuple):
    """The value of the earlier statement and that of the later one, as they were written."""

    kind: Kind
    was: str
    now: str
    was_key: str
    now_key: str


def change(older: Statement, newer: Statement, likeness: float, known: Known) -> Change | None:
    """The change from one statement to the other; `known` are the values that the speaker stated before.

    The last values count: "from 70 % to 90 %" states 90 %. What was so changes nothing of what is.
    """
    tells_change = newer.tells_change or newer.tells_return
    pairs = [
        (was, now)
        for now in reversed(newer.values)
        for was in reversed(older.values)
        if now.kind == was.kind and now.asserted and _is_other(was, now, newer, known)
        if was.was or tells_change or not now.was
    ]
    for was, now in pairs:
        if _is_connected(was, now, newer) and VALUES.are_met(likeness, tells_change=tells_change):
            return _changed(was, now)
    for was, now in pairs:
        if _limits(was, now).are_met(likeness, tells_change=tells_change):
            return _changed(was, now)
    return None


def _is_other(was: Value, now: Value, newer: Statement, known: Known) -> bool:
    """Whether the value is new, or holds again."""
    if known.holds(now.key) or (now.kind != "name" and is_same(was.key, chains.current(newer, now.kind))):
        return False
    return not known.is_replaced(now.key) or chains.returns(was, now, newer)


def _is_connected(was: Value, now: Value, newer: Statement) -> bool:
    """Whether both have one unit, or the later statement names the earlier value: "40 now instead of 20"."""
    if now.kind in {"date", "time", "percent"} or was.unit_stems & now.unit_stems:
        return True
    return was.key in {value.key for value in newer.values}


def _limits(was: Value, now: Value) -> Limits:
    if was.unit_stems and now.unit_stems:
        return Limits()  # three hours and twelve problems are no change
    return NAMES if now.kind == "name" else VALUES_WITHOUT_UNIT


def _changed(was: Value, now: Value) -> Change:
    """Both values as written, with the unit that they share."""
    shared = was.unit_stems & now.unit_stems
    return Change(now.kind, _shown(was, shared), _shown(now, shared), was.key, now.key)


def _shown(value: Value, shared: Collection[str]) -> str:
    last = max((at for at, (_, stem) in enumerate(value.units, 1) if stem in shared), default=0)
    return " ".join([value.shown, *(word for word, _ in value.units[:last] if word)])
