"""Records: the messages of a log, which a view is built from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from memorybase.core.conversation.view.files import FileRef, FileResolver, read_files
from memorybase.core.messages import message_text

Role = Literal["user", "assistant", "system", "tool"]
Status = Literal["in_progress", "completed", "failed", "stopped"]
Kind = Literal["history", "summary", "recall", "fact", "predefined", "standing"]
Content = str | list[dict[str, Any]] | None

# As a parent: the message just before. Runtimes without threads send it.
UUID_NIL = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One message of a log, in OpenAI's shape. Only `seq` orders it; `run_id` is the run that wrote it."""

    id: str
    seq: int
    role: Role
    content: Content = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    tool_call_id: str | None = None
    name: str | None = None
    reasoning: str | None = None  # what the model thought before its calls, if it wants that back
    files: Sequence[FileRef] = ()
    parent_id: str | None = None
    parent_rule: str | None = None  # messages.ParentRule
    run_id: str | None = None
    status: Status = "completed"
    created_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    intermediate: bool = False  # an assistant message that is no answer to the user, such as a routing decision
    # Its role in the view, and the stored messages that it stands for, if they are not the record itself.
    kind: Kind = "history"
    message_ids: Sequence[str] = ()
    score: float | None = None

    @classmethod
    def from_openai(cls, message: Mapping[str, Any], *, id: str, seq: int, **fields: Any) -> Self:  # noqa: A002 - the field's name
        """A chat completion message; the role developer becomes system."""
        role = message["role"]
        return cls(
            id=id,
            seq=seq,
            role="system" if role == "developer" else role,
            content=message.get("content"),
            tool_calls=message.get("tool_calls") or (),
            tool_call_id=message.get("tool_call_id"),
            name=message.get("name"),
            **fields,
        )

    @classmethod
    def from_row(cls, row: Any, *, message_id: UUID, created_at: datetime, parent_id: UUID | None = None) -> Self:
        """A row of `messages` or `chat_records`: the columns that both have, and those that they name differently."""
        return cls(
            id=str(message_id),
            seq=row.seq,
            role=row.role,
            content=row.content,
            tool_calls=row.tool_calls or (),
            tool_call_id=row.tool_call_id,
            name=row.name,
            files=read_files(row.files),
            parent_id=None if parent_id is None else str(parent_id),
            run_id=None if row.run_id is None else str(row.run_id),
            status=row.status,
            created_at=created_at,
            metadata=row.meta,
        )

    @property
    def text(self) -> str:
        """The string, or the text parts, a line each."""
        return message_text(self.content)

    @property
    def is_empty(self) -> bool:
        """Whether it has no content, files or tool calls, and is no tool result."""
        return not (self.tool_calls or self.files or self.role == "tool") and not content_says(self.content)

    def with_content(self, content: Content) -> Record:
        return replace(self, content=content)


# These models refuse tool calls in a history without the reasoning that led to them; others refuse the field.
_WANT_REASONING = re.compile("deepseek|kimi|moonshot|glm", re.IGNORECASE)
REASONING = "reasoning_content"


def message_ids(record: Record) -> tuple[str, ...]:
    """The stored messages that the record stands for."""
    if record.message_ids:
        return tuple(record.message_ids)
    return (record.id,) if record.kind == "history" else ()


def content_says(content: Content) -> bool:
    """Whether the content has more than white space."""
    if isinstance(content, str):
        return bool(content.strip())
    return any(part.get("type") != "text" or str(part.get("text", "")).strip() for part in content or ())


def call_parts(call: Mapping[str, Any]) -> tuple[str, str]:
    """A tool call's name and its arguments as JSON, from OpenAI's shape or LangChain's."""
    function = call["function"] if isinstance(call.get("function"), Mapping) else call
    arguments = function.get("arguments", function.get("args"))
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return str(function.get("name") or ""), arguments or "{}"


def with_reasoning(record: Record, model: str | None) -> Record:
    """The record with the reasoning behind its calls, unless the named model wants none. If no model is named, it is
    taken for the one that sent the reasoning."""
    if not record.tool_calls or not (model is None or _WANT_REASONING.search(model)):
        return record
    of_langchain = record.metadata.get("additional_kwargs")
    holders = [record.metadata, of_langchain if isinstance(of_langchain, Mapping) else {}]
    texts = (holder.get(REASONING) for holder in holders)
    return replace(record, reasoning=next((text for text in texts if isinstance(text, str) and text), None))


def call_ids(record: Record) -> set[str]:
    """The ids of its tool calls, which their results repeat."""
    return {str(call.get("id") or "") for call in record.tool_calls}


def text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def parts_of(content: Content) -> list[dict[str, Any]]:
    """The content as parts; empty content has none."""
    if isinstance(content, list):
        return content
    return [text_part(content)] if content else []


def plain(parts: Sequence[dict[str, Any]]) -> Content:
    """The parts, or a string if all are text, for models that do not read parts."""
    if all(part.get("type") == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return list(parts)


def with_files(record: Record, resolve: FileResolver) -> tuple[Record, bool]:
    """The record with its files as content parts, before its text, and whether one became a stub."""
    resolved = [(file, resolve(file)) for file in record.files]
    parts = [part if part is not None else text_part(file.stub) for file, part in resolved]
    content = plain([*parts, *parts_of(record.content)])
    return replace(record, content=content, files=()), any(part is None for _, part in resolved)
