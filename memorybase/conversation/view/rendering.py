"""Records as the messages that a model takes: aligned as its provider wants them, in OpenAI's or LangChain's shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memorybase.conversation.view.records import Kind, Record, call_ids, call_parts, parts_of

Align = Literal["none", "user_first", "strict"]
Format = Literal["openai", "langchain", "text"]

_LANGCHAIN_TYPES = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}


@dataclass(frozen=True, slots=True)
class Aligned:
    """The records left, and the reason for each one that went; a merged one stands for several messages."""

    records: list[Record]
    removed: list[tuple[Record, str]]


def align(records: Sequence[Record], how: Align) -> Aligned:
    """user_first: no assistant or tool message before the first user message of the history. strict: no tool call
    without its result at the end and nothing empty either, and neighbours of one role become one message."""
    if how == "none":
        return Aligned(list(records), [])
    early = _before_first_user(records)
    left = _without(records, early)
    removed = [(record, "before_first_user") for record in early]
    if how == "user_first":
        return Aligned(left, removed)
    empty = [record for record in left if record.is_empty]
    removed += [(record, "empty") for record in empty]
    left = _without(left, empty)
    unanswered = _unanswered_end(left)
    removed += [(record, "tool_call_without_result") for record in unanswered]
    return Aligned(_merged(_without(left, unanswered)), removed)


def message_ids(record: Record) -> tuple[str, ...]:
    """The stored messages that it stands for."""
    if record.message_ids:
        return tuple(record.message_ids)
    return (record.id,) if record.kind == "history" else ()


def to_openai(record: Record) -> dict[str, Any]:
    """A chat completion message."""
    message: dict[str, Any] = {"role": record.role, "content": record.content}
    if record.tool_calls:
        message["tool_calls"] = [dict(call) for call in record.tool_calls]
        message["content"] = record.content or None
    return message | _references(record)


def to_langchain(record: Record) -> dict[str, Any]:
    """A message as LangChain's convert_to_messages reads it; its id is the stored message's."""
    message: dict[str, Any] = {"type": _LANGCHAIN_TYPES[record.role], "content": record.content or ""}
    if record.kind == "history":
        message["id"] = record.id
    if record.tool_calls:
        message["tool_calls"] = [_langchain_call(call) for call in record.tool_calls]
    return message | _references(record)


def _references(record: Record) -> dict[str, str]:
    known = {"tool_call_id": record.tool_call_id, "name": record.name or None}
    return {key: value for key, value in known.items() if value is not None}


def _langchain_call(call: Any) -> dict[str, Any]:
    name, arguments = call_parts(call)
    try:
        args = json.loads(arguments)
    except ValueError:
        args = None
    # LangChain takes an object only; what a model wrote that is none is kept in sight.
    return {"name": name, "args": args if isinstance(args, dict) else {"_raw": arguments}, "id": call.get("id"),
            "type": "tool_call"}  # fmt: skip


def _without(records: Sequence[Record], gone: Sequence[Record]) -> list[Record]:
    identities = set(map(id, gone))  # ids may repeat: predefined messages and summaries have their own
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
    """The open call at the end and the results it has so far."""
    for index in range(len(records) - 1, -1, -1):
        if records[index].role == "tool":
            continue
        answered = {record.tool_call_id or "" for record in records[index + 1 :]}
        return list(records[index:]) if call_ids(records[index]) - answered else []
    return []


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
