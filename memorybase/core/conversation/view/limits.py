"""Which messages fit: `trim` chooses whole units from the newest backwards.

A unit is a turn, a group or a single message. If the newest turn is unfinished, a model is about to answer it: then its
question has priority over everything else, and each of its groups is a unit. If the limits are too small for the newest
unit, or for that question, only `min_messages` are kept and `TrimResult.over` is set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Literal

from memorybase.core.conversation.view.records import Record
from memorybase.core.conversation.view.turns import Group, groups_of, open_question, turns_of
from memorybase.core.errors import InvalidRequest

Strategy = Literal["drop_oldest", "drop_middle"]
Prune = Literal["turn", "group", "message"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimThreshold:
    """At `trigger` messages, all but the newest `target` are left out; then the view grows again."""

    trigger: int
    target: int

    def __post_init__(self) -> None:
        _not_negative(target=self.target)
        if self.trigger <= self.target:
            raise InvalidRequest(
                f"trigger must be above target (got {self.trigger} and {self.target})",
                field="trigger",
                value=self.trigger,
                limit=self.target + 1,
            )


@dataclass(frozen=True, slots=True)
class Cut:
    """Messages that were left out before: after_seq < seq <= to_seq."""

    after_seq: int
    to_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a view. None is no limit; 0 keeps nothing. All limits apply together.

    max_turns      whole turns; an unfinished one does not count. Needs prune="turn"
    min_messages   number of the newest that are always kept, whatever max_tokens is
    keep_first     number of messages that drop_middle keeps at the start; by default the predefined ones, at least 2
    cuts           earlier cuts of a threshold, so that the log need not be read from its start; replaces it
    """

    max_messages: int | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    min_messages: int = 0
    strategy: Strategy = "drop_oldest"
    keep_first: int | None = None
    prune: Prune = "group"
    threshold: TrimThreshold | None = None
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
                f"min_messages must be at most max_messages (got {self.min_messages} and {self.max_messages})",
                field="min_messages",
                value=self.min_messages,
                limit=self.max_messages,
            )
        if self.max_turns is not None and self.prune != "turn":
            raise InvalidRequest(
                f'max_turns needs prune="turn" (got "{self.prune}")', field="prune", value=self.prune, limit="turn"
            )


@dataclass(frozen=True, slots=True)
class TrimResult:
    """The indices that are kept, in order. `over`: not even the newest unit fits; `newest`: that unit's indices."""

    kept: list[int]
    over: bool = False
    newest: Group = ()


@dataclass(frozen=True, slots=True)
class Size:
    """The part of each limit that records take."""

    messages: int = 0
    tokens: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Unit(Size):
    """Records that are kept or left out together, by index."""

    members: Group = ()
    is_question: bool = False  # the open one


@dataclass(frozen=True, slots=True)
class _Room:
    """The rest of the limits; None is no limit."""

    messages: int | None = None
    tokens: int | None = None
    turns: int | None = None

    def fits(self, used: Size) -> bool:
        return (
            (self.messages is None or used.messages <= self.messages)
            and (self.tokens is None or used.tokens <= self.tokens)
            and (self.turns is None or used.turns <= self.turns)
        )

    def without(self, used: Size) -> _Room:
        return _Room(
            None if self.messages is None else self.messages - used.messages,
            None if self.tokens is None else self.tokens - used.tokens,
            None if self.turns is None else self.turns - used.turns,
        )

    def half(self) -> _Room:
        return _Room(*(None if rest is None else rest // 2 for rest in (self.messages, self.tokens, self.turns)))


NOTHING = Size()


def trim(
    records: Sequence[Record],
    tokens: Sequence[int],
    limits: Limits,
    *,
    leading: int = 0,
    used: Size = NOTHING,
) -> TrimResult:
    """The records that fit into what `used`, such as a summary, leaves of the limits. The first `leading` records are
    predefined messages, which drop_middle protects. A question that fits the limits alone is kept even if `used` leaves
    no room for it."""
    if limits.prune == "message":
        return _pop_from_front(tokens, limits)
    log = _Log(records, tokens, leading)
    units = log.units(_not_cut(log, limits), limits.prune)
    total = _Room(limits.max_messages, limits.max_tokens, limits.max_turns)
    room = total.without(used)
    if room.fits(_sum(units)):
        return TrimResult(_indices(units))
    required = _required(units, limits.min_messages)
    if not room.fits(_sum([units[index] for index in sorted(required.indices)])):
        over = total.messages != 0 and total.turns != 0  # a limit of 0 asks for nothing
        kept = [units[index] for index in sorted(required.floor | required.alone(units, total))]
        return TrimResult(_indices(kept), over, units[required.anchor].members if required.anchor is not None else ())
    head = _head(units, room, _keep_first(limits, leading), required) if limits.strategy == "drop_middle" else 0
    tail = _newest(units, head, room.without(_sum(units[:head])), required)
    return TrimResult(_indices([*units[:head], *(units[index] for index in tail)]))


@dataclass(frozen=True, slots=True)
class _Required:
    """Units with priority: `floor` for min_messages; `anchor`, the open question or else the newest unit."""

    floor: frozenset[int]
    anchor: int | None

    @property
    def indices(self) -> frozenset[int]:
        return self.floor if self.anchor is None else self.floor | {self.anchor}

    def alone(self, units: Sequence[Unit], total: _Room) -> set[int]:
        """The anchor, if it fits into the limits alone."""
        return set() if self.anchor is None or not total.fits(units[self.anchor]) else {self.anchor}


def _required(units: Sequence[Unit], min_messages: int) -> _Required:
    floor: set[int] = set()
    count = 0
    for index in range(len(units) - 1, -1, -1):
        if count >= min_messages:
            break
        floor.add(index)
        count += units[index].messages
    newest = len(units) - 1 if units else None
    anchor = next((index for index, unit in enumerate(units) if unit.is_question), newest)
    return _Required(frozenset(floor), anchor)


def _newest(units: Sequence[Unit], start: int, room: _Room, required: _Required) -> list[int]:
    """Indices from `start` on: required units, then the newest until one does not fit. No unit is skipped."""
    kept = {index for index in required.indices if index >= start}
    room = room.without(_sum([units[index] for index in kept]))
    for index in range(len(units) - 1, start - 1, -1):
        if index in kept:
            continue
        if not room.fits(units[index]):
            break
        room = room.without(units[index])
        kept.add(index)
    return sorted(kept)


def _head(units: Sequence[Unit], room: _Room, keep_first: int, required: _Required) -> int:
    """Number of leading units that drop_middle keeps: at most half of each limit, with room for the required ones."""
    half, rest = room.half(), room.without(_sum([units[index] for index in required.indices]))
    messages = 0
    for index, unit in enumerate(units):
        messages += unit.messages
        if messages > keep_first or index in required.indices or not (half.fits(unit) and rest.fits(unit)):
            return index
        half, rest = half.without(unit), rest.without(unit)
    return len(units)


def _keep_first(limits: Limits, leading: int) -> int:
    return max(2, leading) if limits.keep_first is None else limits.keep_first


@dataclass(frozen=True, slots=True)
class _Log:
    """Records and their tokens. The first `leading` ones are predefined messages, the others the history."""

    records: Sequence[Record]
    tokens: Sequence[int]
    leading: int

    def units(self, indices: Sequence[int], prune: Prune) -> list[Unit]:
        """These records as units; no unit has predefined messages and history."""
        predefined = [index for index in indices if index < self.leading]
        history = [index for index in indices if index >= self.leading]
        question = open_question([self.records[index] for index in history])
        return [*self._units_of(predefined, prune, None), *self._units_of(history, prune, question)]

    def _units_of(self, part: Sequence[int], prune: Prune, question: int | None) -> Iterator[Unit]:
        """Turns or groups. The turn with the open question counts as none, and each of its groups is a unit."""
        in_part = [self.records[index] for index in part]
        for turn in turns_of(in_part) if prune == "turn" else [[group] for group in groups_of(in_part)]:
            is_open = question is not None and turn[0][0] >= question
            for members in turn if is_open else [tuple(chain.from_iterable(turn))]:
                yield Unit(
                    members=tuple(part[member] for member in members),
                    messages=len(members),
                    tokens=sum(self.tokens[part[member]] for member in members),
                    turns=0 if is_open else 1,
                    is_question=members[0] == question,
                )


def _not_cut(log: _Log, limits: Limits) -> Sequence[int]:
    """The records that earlier cuts, or those of a threshold, have left in the log, by index."""
    if limits.cuts:
        return [
            index
            for index, record in enumerate(log.records)
            if index < log.leading or not any(cut.after_seq < record.seq <= cut.to_seq for cut in limits.cuts)
        ]
    if limits.threshold is None:
        return range(len(log.records))
    keep_first = _keep_first(limits, log.leading) if limits.strategy == "drop_middle" else None
    replay = Replay(limits.threshold, keep_first)
    units = log.units(range(len(log.records)), "group")
    for unit, following in zip_longest(units, units[1:]):
        replay.write(unit)
        if _ends_write(unit, following, log.records):
            replay.cut()
    return _indices(replay.left)


class Replay:
    """Replays a log write by write, and cuts it as a threshold did each time that it was reached."""

    def __init__(self, threshold: TrimThreshold, keep_first: int | None) -> None:
        """`keep_first`: messages that the first cut keeps at the start for all later ones; None: no cut keeps any."""
        self._threshold = threshold
        self._keep_first = keep_first
        self._first: list[Unit] = []
        self._newest: deque[Unit] = deque()
        self._messages = 0

    @property
    def left(self) -> list[Unit]:
        """The units that no cut has left out, in order."""
        return [*self._first, *self._newest]

    def write(self, unit: Unit) -> None:
        self._newest.append(unit)
        self._messages += unit.messages

    def cut(self) -> None:
        """At the trigger, leave out the oldest units until only the target is left. The newest one stays whole even if
        it alone is larger, but for a target of 0."""
        if self._messages < self._threshold.trigger:
            return
        self._set_first_apart()
        least = min(1, self._threshold.target)
        while len(self._newest) > least and self._messages > self._threshold.target:
            self._messages -= self._newest.popleft().messages

    def _set_first_apart(self) -> None:
        if self._keep_first is None:
            return
        units = list(self._newest)
        size = _head(units, _Room(self._threshold.target), self._keep_first, _Required(frozenset(), len(units) - 1))
        self._first, self._newest, self._keep_first = units[:size], deque(units[size:]), None


def _ends_write(unit: Unit, following: Unit | None, records: Sequence[Record]) -> bool:
    """Whether a write ends with this unit: the messages of a run are one write, which a question does not end."""
    last = records[unit.members[-1]]
    if last.run_id is None:
        return True
    if following is not None:
        return records[following.members[0]].run_id != last.run_id
    return last.role != "user"


def _pop_from_front(tokens: Sequence[int], limits: Limits) -> TrimResult:
    """Prune single messages: drop them from the front while there is too much; one always stays."""
    start = 0 if limits.max_messages is None else max(0, len(tokens) - max(1, limits.max_messages))
    total = sum(tokens[start:])
    while limits.max_tokens is not None and total > limits.max_tokens and len(tokens) - start > 1:
        total -= tokens[start]
        start += 1
    return TrimResult(list(range(start, len(tokens))), over=limits.max_tokens is not None and total > limits.max_tokens)


def _sum(units: Sequence[Unit]) -> Size:
    return Size(
        sum(unit.messages for unit in units),
        sum(unit.tokens for unit in units),
        sum(unit.turns for unit in units),
    )


def _indices(units: Sequence[Unit]) -> list[int]:
    return sorted(index for unit in units for index in unit.members)


def _not_negative(**values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < 0:
            raise InvalidRequest(f"{name} must be at least 0 (got {value})", field=name, value=value, limit=0)
