"""Puts tool calls and their results into the order that chat completions take.

Right after an assistant message with tool calls stands exactly one result for each call. Logs hold them otherwise:
each call as a message of its own (Responses API), results in any order or behind the next question, calls with equal
ids or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memorybase.conversation.view.content_parts import stub_of
from memorybase.conversation.view.records import Record, content_says, message_ids, parts_of, plain, text_part
from memorybase.conversation.view.turns import Exchange, Paired, drop_unpaired_tool_messages, exchanges_of

MOVED = "in the next message"


def arrange(records: Sequence[Record]) -> Paired:
    """Each message with its calls, then their results, then what came between. Calls of the log's end may still get
    results: then they stand at its end."""
    paired = drop_unpaired_tool_messages(records)
    exchanges = {exchange.members[0]: exchange for exchange in exchanges_of(paired.records)}
    inside = {index for exchange in exchanges.values() for index in exchange.members}
    arranged: list[Record] = []
    open_end: list[Record] = []
    for index, record in enumerate(paired.records):
        exchange = exchanges.get(index)
        if exchange is not None:
            (arranged if exchange.is_answered else open_end).extend(_in_order(paired.records, exchange))
        elif index not in inside:
            arranged.append(record)
    return replace(paired, records=[*arranged, *open_end])


def _in_order(records: Sequence[Record], exchange: Exchange) -> list[Record]:
    """One message with all calls, their results, and what these cannot hold as a user's message."""
    calling = [records[index] for index in exchange.calling]
    ids = _distinct_ids(calling)
    place = {index: number for number, index in enumerate(exchange.calling)}
    results: list[Record] = []
    moved: list[Record] = []
    for index, (caller, position) in exchange.answers.items():
        result = _whole(records[index], [records[each] for each in exchange.continued.get(index, ())])
        identity = ids[place[caller]][position]
        if result.tool_call_id != identity:
            result = replace(result, tool_call_id=identity)
        text, parts = _text_and_rest(result)
        results.append(result if not parts else result.with_content(text))
        if parts:
            moved.append(replace(result, role="user", content=parts, tool_call_id=None, name=None))
    return [_joined(calling, ids), *results, *moved]


def _whole(result: Record, more: Sequence[Record]) -> Record:
    """A call has one result: what its tool said in several messages."""
    if not more:
        return result
    content = plain([part for each in (result, *more) for part in parts_of(each.content)])
    return replace(result, content=content, message_ids=_ids_of([result, *more]))


def _ids_of(records: Sequence[Record]) -> tuple[str, ...]:
    return tuple(each for record in records for each in message_ids(record))


def _distinct_ids(calling: Sequence[Record]) -> list[list[str]]:
    """The ids of the calls of each message; a call whose id is empty or taken gets one of its own."""
    given = [[str(call.get("id") or "") for call in record.tool_calls] for record in calling]
    counts = Counter(identity for ids in given for identity in ids)
    if "" not in counts and len(counts) == counts.total():
        return given
    seen: set[str] = set()
    distinct: list[list[str]] = []
    for record, ids in zip(calling, given, strict=True):
        own = [f"{record.id}-{position}" for position in range(len(ids))]
        distinct.append([])
        for identity, other in zip(ids, own, strict=True):
            distinct[-1].append(other if not identity or identity in seen else identity)
            seen.add(identity)
    return distinct


def _joined(calling: Sequence[Record], ids: Sequence[Sequence[str]]) -> Record:
    calls: list[Any] = [
        call if call.get("id") == identity else {**call, "id": identity}
        for record, own in zip(calling, ids, strict=True)
        for call, identity in zip(record.tool_calls, own, strict=True)
    ]
    first = calling[0]
    if len(calling) == 1:
        return first if calls == list(first.tool_calls) else replace(first, tool_calls=calls)
    contents = [record.content for record in calling if content_says(record.content)]
    content = plain([part for each in contents for part in parts_of(each)]) if contents else None
    return replace(first, content=content, tool_calls=calls, message_ids=_ids_of(calling))


def _text_and_rest(result: Record) -> tuple[Any, list[dict[str, Any]]]:
    """A result may hold text only: a line for each other part, and these parts."""
    parts = parts_of(result.content)
    rest = [part for part in parts if part.get("type") != "text"]
    texts = [part if part.get("type") == "text" else text_part(f"{stub_of(part)} {MOVED}") for part in parts]
    return plain(texts), rest
