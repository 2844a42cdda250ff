"""A conversation as text: for completion models, and for the system prompt of a node with session memory.

Whoever writes a message must not be able to write other lines of the transcript, so every further line of a message is
indented. `faithful` leaves lines as they are, like the originals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memorybase.conversation.groups import groups_of, turns_of
from memorybase.conversation.records import Record
from memorybase.conversation.tokens import IMAGE_TYPES

SummaryStyle = Literal["line", "heading", "both"]

INDENT = "  "
SUMMARY_LINE = "Summary of previous replies: "
SUMMARY_HEADING = "## Previous conversation summary:\n"


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What stands before a line of each role."""

    user: str = "Human"
    assistant: str = "Assistant"


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and all that was replied to it."""

    user: Record
    agent: str


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


def pairs_of(records: Sequence[Record]) -> list[Pair]:
    """The finished turns, oldest first: those with a user message and a reply; several replies are joined by line."""
    pairs: list[Pair] = []
    for turn in turns_of(records, groups_of(records)):
        members = sorted(place for group in turn for place in group)
        replies = [records[place].text for place in members if records[place].role == "assistant"]
        reply = "\n".join(text for text in replies if text.strip())
        if records[members[0]].role == "user" and reply:
            pairs.append(Pair(records[members[0]], reply))
    return pairs


def session_text(
    pairs: Sequence[Pair],
    summary: str = "",
    *,
    summary_style: SummaryStyle = "line",
    summary_first: bool = False,
    faithful: bool = False,
) -> str:
    """FlowX's structure: "user:" and "agent:" lines, oldest first, and the summary of what was before; else ""."""
    lines = [
        f"{role}: {_indented(text, faithful=faithful)}"
        for pair in pairs
        for role, text in (("user", pair.user.text), ("agent", pair.agent))
    ]
    if summary:
        shown = _indented(summary, faithful=faithful)
        if summary_style != "line" and not faithful and shown.startswith(("user:", "agent:")):
            shown = INDENT + shown
        heads = {"line": SUMMARY_LINE, "heading": SUMMARY_HEADING, "both": SUMMARY_LINE + SUMMARY_HEADING}
        lines.insert(0 if summary_first else len(lines), heads[summary_style] + shown)
    return "\n".join(lines)


def memory_use_summary(pairs: Sequence[Pair], summary: str = "") -> dict[str, Any]:
    """What a console shows of it: the pairs newest first."""
    return {
        "summary": summary,
        "chatMessages": [
            {"messageId": pair.user.id, "userMessage": pair.user.text, "agentMessage": pair.agent}
            for pair in reversed(pairs)
        ],
    }


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
