"""A value that a sentence states, as the rules of its language find it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["date", "time", "percent", "number", "name"]


class Found(NamedTuple):
    """A value in `text[start:end]`. `key` is equal for the same value; `unit` is written together with a number."""

    kind: Kind
    start: int
    end: int
    key: str
    unit: str = ""
