"""Groups and turns: a tool call with its results is a group, a question with everything that answers it a turn.

The members of a group are indices into the list of records, in order. Results may come late, after another message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memorybase.core.conversation.view.records import Record, content_says

Group = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Paired:
    """A log without what no model accepts: the records that stay, and the reason for each removed one."""

    records: list[Record]
    removed: list[tuple[Record, str]]
    stripped: bool  # unanswered calls were removed from a message that has content


def groups_of(records: Sequence[Record]) -> list[Group]:
    """All records in groups, ordered by their first members."""
    return _Grouping(records).groups


def turns_of(records: Sequence[Record]) -> list[list[Group]]:
    """Each turn is the groups from one user message to the next; those before the first one are a turn too."""
    turns: list[list[Group]] = []
    for group in groups_of(records):
        if not turns or records[group[0]].role == "user":
            turns.append([])
        turns[-1].append(group)
    return turns


def open_question(records: Sequence[Record]) -> int | None:
    """The index of the newest user message if its turn is unfinished: a model is about to answer it."""
    for index in range(len(records) - 1, -1, -1):
        record = records[index]
        if record.role == "user":
            return index
        if record.role == "assistant" and not record.tool_calls and record.status != "in_progress":
            return None
    return None


def drop_unpaired_tool_messages(records: Sequence[Record]) -> Paired:
    """Remove results without a call and calls that lack results; calls at the end may still get them."""
    grouped = _Grouping(records)
    last = len(records) - 1
    broken = [each for each in grouped.exchanges if not each.is_answered and each.members[-1] != last]
    if not grouped.orphans and not broken:
        return Paired(list(records), [], stripped=False)
    paired: list[Record | None] = list(records)
    removed = [(index, "tool_result_without_call") for index in grouped.orphans]
    for index, _ in removed:
        paired[index] = None
    stripped = False
    for exchange in broken:
        answered = set(exchange.answers.values())
        for index in exchange.calling:
            calls = [call for place, call in enumerate(records[index].tool_calls) if (index, place) in answered]
            paired[index] = left = _with_calls(records[index], calls)
            if left is None:
                removed.append((index, "tool_call_without_result"))
            elif len(calls) < len(records[index].tool_calls):
                stripped = True
    left_over = [record for record in paired if record is not None]
    return Paired(left_over, [(records[index], reason) for index, reason in sorted(removed)], stripped=stripped)


def exchanges_of(records: Sequence[Record]) -> list[Exchange]:
    """The groups with tool calls, ordered by their first members."""
    return _Grouping(records).exchanges


@dataclass(slots=True)
class Exchange:
    """A group with tool calls. `calling` are the messages with the calls, more than one if calls of one moment were
    stored apart; `answers` has for each result the call that it answers: a message, and the call's place in it;
    `continued` the further parts of a result, such as the second message of a tool."""

    members: list[int]
    calling: list[int] = field(default_factory=list)
    answers: dict[int, tuple[int, int]] = field(default_factory=dict)
    continued: dict[int, list[int]] = field(default_factory=dict)
    open_calls: int = 0

    @property
    def is_answered(self) -> bool:
        return self.open_calls == 0


class _Grouping:
    """The groups of a log, those with tool calls, and the indices of results without a call."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.exchanges: list[Exchange] = []
        self.orphans: list[int] = []
        self._records = records
        self._members: list[list[int]] = []
        self._waiting: dict[str, list[tuple[Exchange, tuple[int, int]]]] = {}  # calls without a result, by their ids
        self._answered: dict[str, tuple[Exchange, int]] = {}  # the exchange and the result of each id
        self._growing: Exchange | None = None  # no result yet, and no question since: the next call belongs to it
        for index, record in enumerate(records):
            if record.role == "tool":
                self._add_result(index, record)
            elif record.tool_calls:
                self._add_calls(index, record)
            else:
                self._growing = None if record.role == "user" else self._growing
                self._members.append([index])

    @property
    def groups(self) -> list[Group]:
        return [tuple(each) for each in self._members]

    def _add_calls(self, index: int, record: Record) -> None:
        """A model may reuse the id of a call: then the newest calls have it, in their order."""
        if self._growing is None:
            self._growing = Exchange([])
            self.exchanges.append(self._growing)
            self._members.append(self._growing.members)
        exchange = self._growing
        exchange.members.append(index)
        exchange.calling.append(index)
        exchange.open_calls += len(record.tool_calls)
        for place, call in enumerate(record.tool_calls):
            waiting = self._waiting.setdefault(str(call.get("id") or ""), [])
            if waiting and waiting[0][0] is not exchange:
                waiting.clear()
            waiting.append((exchange, (index, place)))

    def _add_result(self, index: int, record: Record) -> None:
        identity = record.tool_call_id or ""
        if waiting := self._waiting.get(identity):
            exchange, call = waiting.pop(0)
            exchange.members.append(index)
            exchange.answers[index] = call
            exchange.open_calls -= 1
            self._answered[identity] = exchange, index
            self._growing = None if exchange is self._growing else self._growing
            return
        if identity in self._answered:
            exchange, first = self._answered[identity]
            if record.content != self._records[first].content:
                exchange.members.append(index)
                exchange.continued.setdefault(first, []).append(index)
                return
        self.orphans.append(index)
        self._members.append([index])


def _with_calls(record: Record, calls: Sequence[Mapping[str, Any]]) -> Record | None:
    """The record with only these of its calls; None if nothing is left."""
    if len(calls) == len(record.tool_calls):
        return record
    return replace(record, tool_calls=calls) if calls or content_says(record.content) else None
