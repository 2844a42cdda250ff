"""Chains of corrections: "12", then "31", then "12 again". Pure.

A value that its speaker stated before corrects nothing, unless another one replaced it meanwhile: then it returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memorybase.core.search.corrections import Kind
from memorybase.features.hit_corrections.statements import PAST, Statement, Value
from memorybase.features.hit_corrections.values import is_same


class Known(NamedTuple):
    """A speaker's statements up to a message: values that hold, and those that others replaced by then."""

    holding: frozenset[str]
    replaced: frozenset[str]

    def holds(self, key: str) -> bool:
        return any(is_same(key, each) for each in self.holding)

    def is_replaced(self, key: str) -> bool:
        return any(is_same(key, each) for each in self.replaced)


class Link(NamedTuple):
    """The message `older` stated a value that the message `newer` replaced by another; both are numbers of messages."""

    older: int
    newer: int
    was: str  # keys of values
    now: str


def known_at(stated: Sequence[tuple[int, Statement]], links: Iterable[Link]) -> Known:
    """The values that hold after these statements, which come in the order of time with the numbers of their
    messages."""
    keys = frozenset(value.key for _, each in stated for value in each.values)
    latest: dict[str, int] = {}  # the message that stated a value last, as the one that holds
    for number, each in stated:
        of_kinds = {value.kind: value.key for value in each.values}  # the last one counts: "from 70 % to 90 %"
        latest |= dict.fromkeys(of_kinds.values(), number)
    numbers = {number for number, _ in stated}
    gone = frozenset(
        key
        for key, number in latest.items()
        if any(each.older == number and each.newer in numbers and is_same(each.was, key) for each in links)
    )
    return Known(keys - gone, gone)


def current(statement: Statement, kind: Kind) -> str:
    """The value of this kind that holds: the last one, or the one before it in "12 again instead of 31"."""
    of_kind = [value for value in statement.values if value.kind == kind]
    return of_kind[-2 if len(of_kind) > 1 and of_kind[-1].is_former else -1].key


def returns(was: Value, now: Value, newer: Statement) -> bool:
    """Whether a statement of a value that was replaced says that it holds again, and not only what it was."""
    names_both = any(is_same(value.key, was.key) for value in newer.values)
    if (names_both or now.kind != "name") and current(newer, now.kind) != now.key:
        return False
    return newer.tells_return or PAST.search(newer.text) is None


def ends(links: Sequence[Link], order: Mapping[int, int]) -> dict[int, Link]:
    """For each message that is the older one of a link, the link from its value to the one that holds in the end.

    `order` has each message's position in time.
    """
    found: dict[int, Link] = {}
    for link in sorted(links, key=lambda each: (order[each.older], order[each.newer]), reverse=True):
        following = found.get(link.newer)
        reached = link
        if following is not None and is_same(following.was, link.now):
            reached = Link(link.older, following.newer, link.was, following.now)
        best = found.get(link.older)
        if best is None or order[reached.newer] > order[best.newer]:
            found[link.older] = reached
    return found
