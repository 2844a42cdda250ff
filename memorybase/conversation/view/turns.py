"""Groups and turns: a tool call with its results is a group, a question with everything that answers it a turn.

The members of a group are indices into the list of records, in order. Results may come late, after another message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memorybase.conversation.view.records import Record, call_ids, content_says

Group = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Paired:
    """A log without what no model accepts: the records that stay, and the reason for each removed one."""

    records: list[Record]
    removed: list[tuple[Record, str]]
    stripped: bool  # unanswered calls were removed from a message that has content


def groups_of(records: Sequence[Record]) -> list[Group]:
    """All records in groups, ordered by their first members."""
    return _grouped(records).groups


def turns_of(records: Sequence[Record], groups: Sequence[Group]) -> list[list[Group]]:
    """Each turn is the groups from one user message to the next; those before the first one are a turn too."""
    turns: list[list[Group]] = []
    for group in groups:
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
    """Remove results without a call and calls that lack results; a call at the end may still get them."""
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
    """Groups, and the indices of those that are a result without a call, and of those that lack results."""

    groups: list[Group]
    orphans: list[int]
    waiting: list[int]


def _grouped(records: Sequence[Record]) -> _Grouped:
    groups: list[Group] = []
    orphans: list[int] = []
    group_of_call: dict[str, int] = {}  # a model may reuse the id of a call: then the newest call has it
    unanswered: dict[int, set[str]] = {}
    for index, record in enumerate(records):
        if record.role == "tool":
            number = group_of_call.pop(record.tool_call_id or "", None)
            if number is not None:
                groups[number] = (*groups[number], index)
                unanswered[number].discard(record.tool_call_id or "")
                continue
            orphans.append(len(groups))
        elif record.tool_calls:
            unanswered[len(groups)] = call_ids(record)
            group_of_call.update(dict.fromkeys(unanswered[len(groups)], len(groups)))
        groups.append((index,))
    return _Grouped(groups, orphans, [number for number, ids in unanswered.items() if ids])


def _without_unanswered(records: Sequence[Record], members: Group) -> Record | None:
    """The record with only its answered tool calls; None if nothing is left."""
    call = records[members[0]]
    answered = {records[index].tool_call_id or "" for index in members[1:]}
    calls = [each for each in call.tool_calls if str(each.get("id") or "") in answered]
    if not calls and not content_says(call.content):
        return None
    return replace(call, tool_calls=calls)
