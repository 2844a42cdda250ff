"""Turns records into messages for a model: in the order that all providers demand, aligned as some do, in OpenAI's or
LangChain's shape, or as text.

Right after an assistant message with tool calls stands exactly one result for each call. Logs hold them otherwise: each
call as a separate message (Responses API), results in any order or behind the next question, calls with equal ids or
none.

In text, the second and later lines of a message are indented, so that its author cannot forge lines of the transcript.
`faithful` leaves lines as they are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memorybase.core.conversation.view.content_parts import stub_of
from memorybase.core.conversation.view.records import (
    REASONING,
    Kind,
    Record,
    call_parts,
    content_says,
    message_ids,
    parts_of,
    plain,
    text_part,
)
from memorybase.core.conversation.view.tokens import IMAGE_TYPES
from memorybase.core.conversation.view.turns import Exchange, Paired, drop_unpaired_tool_messages, exchanges_of
from memorybase.core.errors import InvalidRequest
from memorybase.core.messages import check_json

MOVED = "in the next message"
INDENT = "  "

Align = Literal["none", "user_first", "strict"]
Format = Literal["openai", "langchain", "text"]

_LANGCHAIN_TYPES = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}


@dataclass(frozen=True, slots=True)
class Aligned:
    """The records that stay, and the reason for each removed one; a merged record stands for several messages."""

    records: list[Record]
    removed: list[tuple[Record, str]]


def align(records: Sequence[Record], how: Align) -> Aligned:
    """none: only puts tool calls and results in order. user_first: also removes assistant and tool messages before the
    first user message of the history. strict: also removes empty messages and unanswered tool calls at the end, and
    merges neighbors of the same role."""
    early = [] if how == "none" else _before_first_user(records)
    removed = [(record, "before_first_user") for record in early]
    left = _without(records, early)
    if how == "strict":
        empty = [record for record in left if record.is_empty]
        unanswered = _unanswered_end(_without(left, empty))
        removed += [(record, "empty") for record in empty]
        removed += [(record, "tool_call_without_result") for record in unanswered]
        left = _without(left, [*empty, *unanswered])
    arranged = arrange(left)
    removed += arranged.removed
    return Aligned(_merged(arranged.records) if how == "strict" else arranged.records, removed)


def _without(records: Sequence[Record], removed: Sequence[Record]) -> list[Record]:
    identities = set(map(id, removed))  # not by Record.id: predefined messages may repeat one
    return [record for record in records if id(record) not in identities]


def _before_first_user(records: Sequence[Record]) -> list[Record]:
    early: list[Record] = []
    for record in records:
        if record.kind == "history" and record.role == "user":
            break
        if record.kind == "history" and record.role != "system":
            early.append(record)
    return early


def _unanswered_end(records: Sequence[Record]) -> list[Record]:
    """The calls that the end of the log leaves without results, with the results that they have."""
    open_calls = [exchange for exchange in exchanges_of(records) if not exchange.is_answered]
    return [records[index] for exchange in open_calls for index in exchange.members]


def _merged(records: Sequence[Record]) -> list[Record]:
    merged: list[Record] = []
    for record in records:
        before = merged[-1] if merged else None
        if before is not None and before.role == record.role in {"user", "assistant"} and not before.tool_calls:
            merged[-1] = _joined(before, record)
        else:
            merged.append(record)
    return merged


def _joined(first: Record, second: Record) -> Record:
    if isinstance(first.content, list) or isinstance(second.content, list):
        content: Any = [*parts_of(first.content), *parts_of(second.content)]
    else:
        content = "\n\n".join(text for text in (first.content, second.content) if text)
    kinds: set[Kind] = {first.kind, second.kind}
    return replace(
        second,
        content=content,
        kind="history" if "history" in kinds else first.kind,
        message_ids=(*message_ids(first), *message_ids(second)),
        score=None if first.score is None and second.score is None else max(first.score or 0, second.score or 0),
        name=first.name if first.name == second.name else None,
    )


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
    return [_one_call(calling, ids), *results, *moved]


def _whole(result: Record, more: Sequence[Record]) -> Record:
    """A call has one result: what its tool said in several messages."""
    if not more:
        return result
    content = plain([part for each in (result, *more) for part in parts_of(each.content)])
    return replace(result, content=content, message_ids=_ids_of([result, *more]))


def _ids_of(records: Sequence[Record]) -> tuple[str, ...]:
    return tuple(each for record in records for each in message_ids(record))


def _distinct_ids(calling: Sequence[Record]) -> list[list[str]]:
    """The ids of the calls of each message; a call whose id is empty or taken gets a new one."""
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


def _one_call(calling: Sequence[Record], ids: Sequence[Sequence[str]]) -> Record:
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


def to_openai(record: Record) -> dict[str, Any]:
    """A chat completion message."""
    message: dict[str, Any] = {"role": record.role, "content": record.content}
    if record.tool_calls:
        message["tool_calls"] = [_openai_call(call) for call in record.tool_calls]
        message["content"] = record.content or None
    return message | _references(record)


def to_langchain(record: Record) -> dict[str, Any]:
    """A message that LangChain's convert_to_messages reads, with the stored message's id."""
    message: dict[str, Any] = {"type": _LANGCHAIN_TYPES[record.role], "content": record.content or ""}
    if record.kind == "history":
        message["id"] = record.id
    if record.tool_calls:
        message["tool_calls"] = [_langchain_call(call) for call in record.tool_calls]
    return message | _references(record)


def _references(record: Record) -> dict[str, str]:
    references = {"tool_call_id": record.tool_call_id, "name": record.name or None, REASONING: record.reasoning}
    return {key: value for key, value in references.items() if value is not None}


def _openai_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """The call in OpenAI's format. Arguments are required, so they are added if the model wrote none."""
    name, arguments = call_parts(call)
    given = call["function"] if isinstance(call.get("function"), Mapping) else {}
    other = {key: value for key, value in call.items() if key not in {"name", "args"}} if not given else dict(call)
    return {"type": "function", **other, "function": {**given, "name": name, "arguments": arguments}}


def _langchain_call(call: Any) -> dict[str, Any]:
    name, arguments = call_parts(call)
    try:
        args = json.loads(arguments)
        # So far a text, they may hold what cannot be stored; nested as in a memory use, which an import must take.
        check_json([{"tool_calls": [{"args": args}]}], "args")
    except (ValueError, RecursionError, InvalidRequest):
        args = None
    # LangChain accepts only an object; keep anything else that a model wrote under _raw.
    return {
        "name": name,
        "args": args if isinstance(args, dict) else {"_raw": arguments},
        "id": call.get("id"),
        "type": "tool_call",
    }


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefix of each role's lines."""

    user: str = "Human"
    assistant: str = "Assistant"


def history_text(records: Sequence[Record], prefixes: Prefixes | None = None, *, faithful: bool = False) -> str:
    """Lines "prefix: content" of users and assistants; summaries and memories without a prefix; nothing else."""
    names = prefixes or Prefixes()
    by_role = {"user": names.user, "assistant": names.assistant}
    lines: list[str] = []
    for record in records:
        text = _shown_text(record)
        if record.kind not in {"history", "predefined"}:
            lines.append(indented(text, faithful=faithful))
        elif record.role in by_role and (text or not record.tool_calls):
            lines.append(f"{by_role[record.role]}: {indented(text, faithful=faithful)}")
    return "\n".join(lines)


def _shown_text(record: Record) -> str:
    """Text parts, and [image] for each image, a line each; other parts are dropped."""
    if isinstance(record.content, list):
        return "".join(map(_part_text, record.content)).strip()
    return record.content or ""


def _part_text(part: Mapping[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return f"{part['text']}\n"
    return "[image]\n" if part.get("type") in IMAGE_TYPES else ""


def indented(text: str, *, faithful: bool) -> str:
    return text if faithful else f"\n{INDENT}".join(text.splitlines())
