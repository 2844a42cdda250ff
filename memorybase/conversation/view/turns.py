"""What may not be torn apart: a tool call and its results are one group, a question and all that answers it one turn.

A group's members are places in the list it was made from, in order. Results may come late, behind another message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memorybase.conversation.view.records import Record, call_ids, content_says

Group = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Paired:
    """A log without what no model accepts: the records left, and the reason for each one that went."""

    records: list[Record]
    removed: list[tuple[Record, str]]
    stripped: bool  # calls that nobody answered were taken off a message that says something beside them


def groups_of(records: Sequence[Record]) -> list[Group]:
    """Every record in one group, groups by their first member."""
    return _grouped(records).groups


def turns_of(records: Sequence[Record], groups: Sequence[Group]) -> list[list[Group]]:
    """Groups from one user message up to the next; what comes before the first user message is a turn too."""
    turns: list[list[Group]] = []
    for group in groups:
        if not turns or records[group[0]].role == "user":
            turns.append([])
        turns[-1].append(group)
    return turns


def open_question(records: Sequence[Record]) -> int | None:
    """The place of the newest user message if its turn is not finished, so that a model is about to go on with it."""
    for index in range(len(records) - 1, -1, -1):
        record = records[index]
        if record.role == "user":
            return index
        if record.role == "assistant" and not record.tool_calls and record.status != "in_progress":
            return None
    return None


def drop_unpaired_tool_messages(records: Sequence[Record]) -> Paired:
    """Take out results without a call, and calls whose results never came; a call at the end may still get them."""
    grouped = _grouped(records)
    last = len(records) - 1
    broken = [number for number in grouped.waiting if grouped.groups[number][-1] != last]
    if not grouped.orphans and not broken:
        return Paired(list(records), [], stripped=False)
    paired: list[Record | None] = list(records)
    removed = [(grouped.groups[number][0], "tool_result_without_call") for number in grouped.orphans]
    for index, _ in removed:
        paired[index] = None
    stripped = False
    for number in broken:
        members = grouped.groups[number]
        paired[members[0]] = call = _without_unanswered(records, members)
        stripped = stripped or call is not None
        if call is None:
            removed.append((members[0], "tool_call_without_result"))
    left = [record for record in paired if record is not None]
    return Paired(left, [(records[index], reason) for index, reason in sorted(removed)], stripped=stripped)


@dataclass(frozen=True, slots=True)
class _Grouped:
    """Groups; by their numbers those that are a result without a call, and those that still wait for results."""

    groups: list[Group]
    orphans: list[int]
    waiting: list[int]


def _grouped(records: Sequence[Record]) -> _Grouped:
    groups: list[Group] = []
    orphans: list[int] = []
    asked: dict[str, int] = {}  # the id of a call to its group; a model that counts its calls anew takes the id over
    unanswered: dict[int, set[str]] = {}
    for index, record in enumerate(records):
        if record.role == "tool":
            number = asked.pop(record.tool_call_id or "", None)
            if number is not None:
                groups[number] = (*groups[number], index)
                unanswered[number].discard(record.tool_call_id or "")
                continue
            orphans.append(len(groups))
        elif record.tool_calls:
            unanswered[len(groups)] = call_ids(record)
            asked.update(dict.fromkeys(unanswered[len(groups)], len(groups)))
        groups.append((index,))
    return _Grouped(groups, orphans, [number for number, ids in unanswered.items() if ids])


def _without_unanswered(records: Sequence[Record], members: Group) -> Record | None:
    """The call with only the tool calls that were answered; None if then nothing is left of it."""
    call = records[members[0]]
    answered = {records[index].tool_call_id or "" for index in members[1:]}
    calls = [one for one in call.tool_calls if str(one.get("id") or "") in answered]
    if not calls and not content_says(call.content):
        return None
    return replace(call, tool_calls=calls)
