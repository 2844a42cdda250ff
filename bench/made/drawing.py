"""What the generators share: items and times drawn at random, and the text of a word bank."""

from __future__ import annotations

import random
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from itertools import cycle

FIRST_DAY = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


def capitalized(text: str) -> str:
    """With a capital as its first letter."""
    return text[:1].upper() + text[1:]


def unwrapped(bank: str) -> str:
    """A bank's lines; what is indented continues the line before."""
    return bank.strip().replace("\n  ", " ")


class Draw:
    """Hands out the items of a list in random order, and starts over when all were used."""

    def __init__(self, rng: random.Random, items: Collection[str]) -> None:
        order = list(items)
        rng.shuffle(order)
        self._items = cycle(order)

    def __call__(self) -> str:
        return next(self._items)


class Clock:
    """Sessions days apart, messages of one session minutes apart."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._day = FIRST_DAY
        self._now = FIRST_DAY

    def next_session(self) -> None:
        self._day += timedelta(days=self._rng.randint(2, 6))
        self._now = self._day + timedelta(minutes=self._rng.randint(0, 720))

    def next_message(self) -> str:
        self._now += timedelta(seconds=self._rng.randint(40, 240))
        return self._now.strftime("%Y-%m-%dT%H:%M:%SZ")
