"""Turns records into messages for a model: in the order that all providers demand, aligned as some do, in OpenAI's or
LangChain's shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memorybase.conversation.view.arrangement import arrange
from memorybase.conversation.view.records import Kind, Record, call_parts, message_ids, parts_of
from memorybase.conversation.view.turns import exchanges_of

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
    references = {"tool_call_id": record.tool_call_id, "name": record.name or None}
    return {key: value for key, value in references.items() if value is not None}


def _openai_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """With arguments even if the model wrote none: they are required."""
    name, arguments = call_parts(call)
    given = call["function"] if isinstance(call.get("function"), Mapping) else {}
    other = {key: value for key, value in call.items() if key not in {"name", "args"}} if not given else dict(call)
    return {"type": "function", **other, "function": {**given, "name": name, "arguments": arguments}}


def _langchain_call(call: Any) -> dict[str, Any]:
    name, arguments = call_parts(call)
    try:
        args = json.loads(arguments)
    except ValueError:
        args = None
    # LangChain accepts only an object; keep anything else that a model wrote under _raw.
    return {
        "name": name,
        "args": args if isinstance(args, dict) else {"_raw": arguments},
        "id": call.get("id"),
        "type": "tool_call",
    }


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
