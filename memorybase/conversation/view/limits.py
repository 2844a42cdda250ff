"""Which messages fit: whole units chosen from the newest backwards, each counted once.

A unit is a turn, a group or, as Dify does it, a single message. While the newest turn is unfinished, a model is about
to answer it: then its question is kept before anything else, and its groups are units of their own. A limit too small
for the newest unit, or for that question, keeps nothing but the floor of `min_messages`, and says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memorybase.conversation.view.records import Record
from memorybase.conversation.view.turns import Group, groups_of, open_question, turns_of
from memorybase.errors import InvalidRequest

Strategy = Literal["drop_oldest", "drop_middle"]
Prune = Literal["turn", "group", "message"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Nothing goes until `trigger` messages are there; then the newest `target` stay, and it grows again."""

    trigger: int
    target: int

    def __post_init__(self) -> None:
        _not_negative(target=self.target)
        if self.trigger <= self.target:
            raise InvalidRequest(
                "The threshold's trigger is above its target",
                field="trigger",
                value=self.trigger,
                limit=self.target + 1,
            )


@dataclass(frozen=True, slots=True)
class Cut:
    """Messages that are left out because they were before: those behind `after_seq`, up to and with `to_seq`."""

    after_seq: int
    to_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may be sent. None is no limit; 0 keeps nothing. All that are given hold together.

    max_turns      whole turns; the unfinished one is not counted. Needs prune="turn"
    min_messages   so many of the newest are kept whatever max_tokens says
    keep_first     how many messages drop_middle keeps at the start; by default the predefined ones, at least 2
    cuts           left out already, of a log that is not read again from its beginning: in a threshold's stead
    """

    max_messages: int | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    min_messages: int = 0
    strategy: Strategy = "drop_oldest"
    keep_first: int | None = None
    prune: Prune = "group"
    threshold: Threshold | None = None
    cuts: tuple[Cut, ...] = ()

    def __post_init__(self) -> None:
        _not_negative(
            max_messages=self.max_messages,
            max_tokens=self.max_tokens,
            max_turns=self.max_turns,
            min_messages=self.min_messages,
            keep_first=self.keep_first,
        )
        if self.max_messages is not None and self.min_messages > self.max_messages:
            raise InvalidRequest(
                "min_messages is not above max_messages",
                field="min_messages",
                value=self.min_messages,
                limit=self.max_messages,
            )
        if self.max_turns is not None and self.prune != "turn":
            raise InvalidRequest('max_turns needs prune="turn"', field="prune", value=self.prune, limit="turn")


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Places kept, in order, whether even the newest unit did not fit, and which places that unit is."""

    kept: list[int]
    over: bool = False
    newest: Group = ()


@dataclass(frozen=True, slots=True)
class _Unit:
    members: Group
    messages: int
    tokens: int
    turns: int


@dataclass(slots=True)
class _Room:
    """What is left of the limits; None is no limit."""

    messages: int | None
    tokens: int | None
    turns: int | None

    def fits(self, unit: _Unit) -> bool:
        return (
            (self.messages is None or unit.messages <= self.messages)
            and (self.tokens is None or unit.tokens <= self.tokens)
            and (self.turns is None or unit.turns <= self.turns)
        )

    def without(self, taken: Taken) -> _Room:
        left = _Room(self.messages, self.tokens, self.turns)
        left.take(_Unit((), taken.messages, taken.tokens, 0))
        return left

    def take(self, unit: _Unit) -> None:
        if self.messages is not None:
            self.messages -= unit.messages
        if self.tokens is not None:
            self.tokens -= unit.tokens
        if self.turns is not None:
            self.turns -= unit.turns


@dataclass(frozen=True, slots=True)
class Taken:
    """What of the limits is spent before any record is chosen: pinned messages, a summary."""

    messages: int = 0
    tokens: int = 0


NOTHING_TAKEN = Taken()


def trim(
    records: Sequence[Record],
    tokens: Sequence[int],
    limits: Limits,
    *,
    leading: int = 0,
    taken: Taken = NOTHING_TAKEN,
) -> Trimmed:
    """What of the records fits beside what is taken. The first `leading` ones are predefined messages, groups of their
    own, which drop_middle protects. A question that fits the limits alone stays even where `taken` leaves no room."""
    if limits.prune == "message":
        return _pop_from_front(tokens, limits)
    window = _window(records, tokens, limits, leading)
    units, question = _units(window, records, tokens, limits.prune, leading)
    whole = _Room(limits.max_messages, limits.max_tokens, limits.max_turns)
    room = whole.without(taken)
    if room.fits(_sum(units)):
        return Trimmed(_indices(units))
    musts = _musts(units, question, limits.min_messages)
    if not room.fits(_sum([units[index] for index in sorted(musts.needed)])):
        wanted = whole.messages != 0 and whole.turns != 0  # a limit of no messages asks for none
        kept = [units[index] for index in sorted(musts.floor | musts.alone(units, whole))]
        return Trimmed(_indices(kept), wanted, units[musts.anchor].members if musts.anchor is not None else ())
    head = _head(units, room, _keep_first(limits, leading), musts) if limits.strategy == "drop_middle" else 0
    for unit in units[:head]:
        room.take(unit)
    tail = _newest(units, head, room, musts)
    return Trimmed(_indices([*units[:head], *(units[index] for index in tail)]))


@dataclass(frozen=True, slots=True)
class _Musts:
    """Units that come before any other: the floor, and the question that is being answered or the newest unit."""

    floor: frozenset[int]
    anchor: int | None

    @property
    def needed(self) -> frozenset[int]:
        return self.floor if self.anchor is None else self.floor | {self.anchor}

    def alone(self, units: Sequence[_Unit], whole: _Room) -> set[int]:
        """The anchor where it fits by itself and only what else must be there makes it too much."""
        return set() if self.anchor is None or not whole.fits(units[self.anchor]) else {self.anchor}


def _musts(units: Sequence[_Unit], question: int | None, min_messages: int) -> _Musts:
    floor: set[int] = set()
    count = 0
    for index in range(len(units) - 1, -1, -1):
        if count >= min_messages:
            break
        floor.add(index)
        count += units[index].messages
    anchor = question if question is not None else len(units) - 1
    return _Musts(frozenset(floor), anchor if units else None)


def _newest(units: Sequence[_Unit], start: int, room: _Room, musts: _Musts) -> list[int]:
    """Places from `start` on: what must be, then the newest as long as they fit. Nothing is skipped to fit more in."""
    kept = {index for index in musts.needed if index >= start}
    for index in kept:
        room.take(units[index])
    for index in range(len(units) - 1, start - 1, -1):
        if index in kept:
            continue
        if not room.fits(units[index]):
            break
        room.take(units[index])
        kept.add(index)
    return sorted(kept)


def _head(units: Sequence[_Unit], room: _Room, keep_first: int, musts: _Musts) -> int:
    """How many leading units drop_middle keeps: at most half of each limit, and only what leaves room for the musts."""
    half = _Room(*(None if limit is None else limit // 2 for limit in (room.messages, room.tokens, room.turns)))
    rest = _Room(room.messages, room.tokens, room.turns)
    for index in musts.needed:
        rest.take(units[index])
    messages = 0
    for index, unit in enumerate(units):
        messages += unit.messages
        if messages > keep_first or index in musts.needed or not (half.fits(unit) and rest.fits(unit)):
            return index
        half.take(unit)
        rest.take(unit)
    return len(units)


def _keep_first(limits: Limits, leading: int) -> int:
    return max(2, leading) if limits.keep_first is None else limits.keep_first


def _units(
    window: Sequence[int], records: Sequence[Record], tokens: Sequence[int], prune: Prune, leading: int
) -> tuple[list[_Unit], int | None]:
    """The window cut into units, and which of them holds the question that is being answered."""
    split = next((number for number, index in enumerate(window) if index >= leading), len(window))
    units: list[_Unit] = []
    question: int | None = None
    for part, is_history in ((window[:split], False), (window[split:], True)):
        mine = [records[index] for index in part]
        asked = open_question(mine) if is_history else None
        groups = groups_of(mine)
        turns = turns_of(mine, groups) if prune == "turn" else [[group] for group in groups]
        for turn in turns:
            is_open = asked is not None and turn[0][0] >= asked
            for members in turn if is_open else [tuple(index for group in turn for index in group)]:
                if members[0] == asked:
                    question = len(units)
                indices = tuple(part[member] for member in members)
                units.append(
                    _Unit(indices, len(indices), sum(tokens[index] for index in indices), turns=0 if is_open else 1)
                )
    return units, question


def _window(records: Sequence[Record], tokens: Sequence[int], limits: Limits, leading: int) -> Sequence[int]:
    """What a threshold has left: the log is written anew, write by write, and cut whenever it reaches the trigger."""
    if limits.cuts:
        return [
            index
            for index, record in enumerate(records)
            if index < leading or not any(cut.after_seq < record.seq <= cut.to_seq for cut in limits.cuts)
        ]
    if limits.threshold is None:
        return range(len(records))
    units, _ = _units(range(len(records)), records, tokens, "group", leading)
    threshold = limits.threshold
    head_room = _Room(threshold.target, None, None)
    head: list[_Unit] | None = [] if limits.strategy == "drop_oldest" else None
    tail: deque[_Unit] = deque()
    count = 0
    for index, unit in enumerate(units):
        tail.append(unit)
        count += unit.messages
        if count < threshold.trigger or not _is_written(units, index, records):
            continue
        if head is None:
            musts = _musts(list(tail), None, 0)
            size = _head(list(tail), head_room, _keep_first(limits, leading), musts)
            head = [tail.popleft() for _ in range(size)]
        while len(tail) > 1 and count > threshold.target:
            count -= tail.popleft().messages
    return _indices([*(head or ()), *tail])


def _is_written(units: Sequence[_Unit], index: int, records: Sequence[Record]) -> bool:
    """Whether a write ends with this unit: what shares a run is one, and its answer is awaited."""
    here = records[units[index].members[-1]]
    if here.run_id is None:
        return True
    if index + 1 < len(units):
        return records[units[index + 1].members[0]].run_id != here.run_id
    return here.role != "user"


def _pop_from_front(tokens: Sequence[int], limits: Limits) -> Trimmed:
    """Single messages go from the front while it is too much, and one always stays: how Dify prunes."""
    start = 0 if limits.max_messages is None else max(0, len(tokens) - max(1, limits.max_messages))
    total = sum(tokens[start:])
    while limits.max_tokens is not None and total > limits.max_tokens and len(tokens) - start > 1:
        total -= tokens[start]
        start += 1
    return Trimmed(list(range(start, len(tokens))), over=limits.max_tokens is not None and total > limits.max_tokens)


def _sum(units: Sequence[_Unit]) -> _Unit:
    return _Unit(
        (),
        sum(unit.messages for unit in units),
        sum(unit.tokens for unit in units),
        sum(unit.turns for unit in units),
    )


def _indices(units: Sequence[_Unit]) -> list[int]:
    return sorted(index for unit in units for index in unit.members)


def _not_negative(**values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < 0:
            raise InvalidRequest(f"{name} is not negative", field=name, value=value, limit=0)
