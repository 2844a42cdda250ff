"""LangChain's chat histories: the table of SQLChatMessageHistory or PostgresChatMessageHistory (id, session_id,
message, created_at?), or the file of FileChatMessageHistory, a list of messages that is one session. LangChain.js, and
so n8n, writes type and fields into one object, or the constructor of the message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from memorybase_client.importers.records import (
    Found,
    Json,
    RawRecord,
    Report,
    as_list,
    as_object,
    as_text,
    given,
    json_column,
)

# What the API accepts of LangChain's fields; the others have no content.
_FIELDS = (
    "content",
    "tool_calls",
    "tool_call_id",
    "name",
    "status",
    "additional_kwargs",
    "response_metadata",
    "usage_metadata",
    "invalid_tool_calls",
    "artifact",
)
_TYPES = frozenset({"human", "ai", "system", "tool", "function", "chat", "generic"})
_CHAT_TYPES = {"user": "human", "human": "human", "assistant": "ai", "ai": "ai", "system": "system"}


def fits(record: Json) -> bool:
    """Whether this is a row of the table or a message of the file."""
    message = as_object(json_column(record["message"])) if "message" in record else record
    return _parts_of(message) is not None


def read(records: Iterable[RawRecord], report: Report) -> Iterator[Found]:
    """The messages of a table or a file, in its order."""
    counts: Counter[str] = Counter()
    for record in records:
        row = as_object(record.value)
        is_row = "message" in row
        session_id = as_text(row.get("session_id")) if is_row else record.source
        message = json_column(row["message"]) if is_row else row
        if session_id is None:
            report.lose(record.where, "session_id must be a string that is not blank", field="session_id")
            continue
        counts[session_id] += 1
        body = _message(as_object(message))
        if body is None:
            text = "a message must have type and data, or type and content, as LangChain writes it"
            report.lose(record.where, text, field="message")
            continue
        row_id = row.get("id") if is_row and row.get("id") is not None else counts[session_id]
        time = row.get("created_at") if is_row else None
        yield Found(record.where, session_id, {**body, "id": f"{session_id}:{row_id}", **given(timestamp=time)})


def _message(message: Json) -> Json | None:
    parts = _parts_of(message)
    if parts is None:
        return None
    kind, data = parts
    body: dict[str, Any] = {name: data[name] for name in _FIELDS if data.get(name) is not None}
    if kind == "function":  # the former name of a tool's result
        kind = "tool"
    elif kind in {"chat", "generic"}:
        kind = _CHAT_TYPES.get(str(data.get("role")).lower(), f"chat message of {data.get('role')}")
    if body.get("tool_calls") and not body.get("content"):
        body["is_output"] = False
    return {**body, "type": kind}


def _parts_of(message: Json) -> tuple[str, Json] | None:
    """Type and fields; None if it is no message of LangChain."""
    kind, data = message.get("type"), json_column(message.get("data"))
    if kind == "constructor" and as_list(message.get("id")):  # how LangChain serializes objects: by class and arguments
        kind, data = message["id"][-1], message.get("kwargs")
    if not isinstance(kind, str):
        return None
    if isinstance(data, dict):
        fields = data
    elif "content" in message and "role" not in message and _named(kind) in _TYPES:
        fields = message
    else:
        return None
    return _named(kind), fields


def _named(kind: str) -> str:
    """ChatMessageChunk is a chat message: streaming stores the joined chunks under their class's name."""
    short = kind.removesuffix("Chunk").removesuffix("Message")
    return short.lower() if short != kind else kind
