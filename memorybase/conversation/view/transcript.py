"""A conversation as text: for completion models, and for the system prompt of a node with session memory.

Whoever writes a message must not be able to write other lines of the transcript, so every further line of a message is
indented. `faithful` leaves lines as they are, like the originals.
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
    """What stands before a line of each role."""

    user: str = "Human"
    assistant: str = "Assistant"


def history_text(records: Sequence[Record], prefixes: Prefixes | None = None, *, faithful: bool = False) -> str:
    """Lines "prefix: content" of user and assistant; summaries and recalled memories by themselves, no others."""
    names = prefixes or Prefixes()
    by_role = {"user": names.user, "assistant": names.assistant}
    lines: list[str] = []
    for record in records:
        text = _shown(record)
        if record.kind in {"summary", "recall"}:
            lines.append(_indented(text, faithful=faithful))
        elif record.role in by_role and (text or not record.tool_calls):
            lines.append(f"{by_role[record.role]}: {_indented(text, faithful=faithful)}")
    return "\n".join(lines)


def _shown(record: Record) -> str:
    """Text parts and images a line each, an image as a mark; nothing of other parts."""
    if isinstance(record.content, list):
        return "".join(map(_part, record.content)).strip()
    return record.content or ""


def _part(part: Mapping[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return f"{part['text']}\n"
    return "[image]\n" if part.get("type") in IMAGE_TYPES else ""


def _indented(text: str, *, faithful: bool) -> str:
    return text if faithful else f"\n{INDENT}".join(text.splitlines())
