"""A conversation as text: for completion models, and for the system prompt of a node with session memory.

The second and later lines of a message are indented, so that its author cannot forge lines of the transcript.
`faithful` leaves lines as they are, as Dify and FlowX do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorybase.conversation.view.records import Record
from memorybase.conversation.view.tokens import IMAGE_TYPES

INDENT = "  "


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
        text = _text(record)
        if record.kind in {"summary", "recall", "standing", "fact"}:
            lines.append(indented(text, faithful=faithful))
        elif record.role in by_role and (text or not record.tool_calls):
            lines.append(f"{by_role[record.role]}: {indented(text, faithful=faithful)}")
    return "\n".join(lines)


def _text(record: Record) -> str:
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
