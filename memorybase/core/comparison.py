"""Whether one statement repeats or replaces another. Pure.

The one comparison behind standing statements, what people say about themselves, corrections of hits, and what features
derive. They differ in what they know of a statement, in how alikeness is measured (shared words, vectors), and in how
much of it is enough: the limits below, and those of a feature in its folder.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple


class Relation(Enum):
    """What a later statement does to an earlier one."""

    NONE = auto()
    REPEATS = auto()
    REPLACES = auto()


@dataclass(frozen=True, slots=True)
class Limits:
    """How alike two statements about the same thing are at least; `changed`: if the later one tells a change.

    `words`: a shorter statement is not repeated.
    """

    same: float = 2.0  # more than any: never
    changed: float = 2.0
    words: int = 0

    def are_met(self, alike: float, *, tells_change: bool = False) -> bool:
        return alike >= self.same or (tells_change and alike >= self.changed)


# Of the words of both, the share that both have.
STANDING = Limits(same=0.6)
STANDING_DELETED = Limits(same=0.8)  # a statement that a person deleted hides only what says the same
STANDING_REPEATED = Limits(same=0.51)
ONESELF = Limits(same=0.6, changed=0.45, words=3)
# Cosines of vectors, which count from the model's cosine of unrelated texts.
VALUES = Limits(same=0.68, changed=0.37)  # with one unit, or the later statement names the earlier value
VALUES_WITHOUT_UNIT = Limits(changed=0.45)
NAMES = Limits(changed=0.37)
SENTENCES = Limits(changed=0.45)
DENIALS = Limits(same=0.47)


class Said(NamedTuple):
    """A statement as it is compared: its terms, and what else is known of it.

    `values` and `denials` are equal in statements that say the same. `subject`: what it sets, of which there is one at
    a time.
    """

    words: frozenset[str]
    values: frozenset[str] = frozenset()
    denials: frozenset[str] = frozenset()
    subject: Hashable = None
    tells_change: bool = False


def compare(newer: Said, older: Said, limits: Limits, alike: float | None = None) -> Relation:
    """What the later statement does to the earlier one; without `alike` their words decide."""
    alike = shared(newer.words, older.words) if alike is None else alike
    is_alike = limits.are_met(alike)
    says_the_same = is_alike and newer.values == older.values and newer.denials == older.denials
    if says_the_same and len(older.words) >= limits.words:
        return Relation.REPEATS
    if newer.subject is not None and newer.subject == older.subject:
        return Relation.REPLACES
    if says_the_same or not limits.are_met(alike, tells_change=newer.tells_change):
        return Relation.NONE
    return Relation.REPLACES


def shared(one: Collection[str], other: Collection[str]) -> float:
    """The share of the words of both that both have."""
    first, second = frozenset(one), frozenset(other)
    return len(first & second) / max(1, len(first | second))


def covered(older: Collection[str], newer: Collection[str]) -> float:
    """The share of the earlier statement's words that the later one has; all of none."""
    words = frozenset(older)
    return len(words.intersection(newer)) / len(words) if words else 1.0
