"""Session memory as text, in FlowX's format: a session's pairs and its summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memorybase.conversation.view.records import Record
from memorybase.conversation.view.transcript import INDENT, _indented
from memorybase.conversation.view.turns import groups_of, turns_of

SummaryStyle = Literal["line", "heading", "both"]
SUMMARY_LINE = "Summary of previous replies: "
SUMMARY_HEADING = "## Previous conversation summary:\n"


@dataclass(frozen=True, slots=True)
class Pair:
    """A user message and all replies to it."""

    user: Record
    agent: str


def pairs_of(records: Sequence[Record]) -> list[Pair]:
    """The turns with a user message and a reply, oldest first; several replies are joined by line breaks."""
    pairs: list[Pair] = []
    for turn in turns_of(records, groups_of(records)):
        members = sorted(index for group in turn for index in group)
        replies = [records[index].text for index in members if records[index].role == "assistant"]
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
    """FlowX's structure: "user:" and "agent:" lines, oldest first, and the summary of earlier messages."""
    lines = [
        f"{role}: {_indented(text, faithful=faithful)}"
        for pair in pairs
        for role, text in (("user", pair.user.text), ("agent", pair.agent))
    ]
    if summary:
        text = _indented(summary, faithful=faithful)
        if summary_style != "line" and not faithful and text.startswith(("user:", "agent:")):
            text = INDENT + text
        headings = {"line": SUMMARY_LINE, "heading": SUMMARY_HEADING, "both": SUMMARY_LINE + SUMMARY_HEADING}
        lines.insert(0 if summary_first else len(lines), headings[summary_style] + text)
    return "\n".join(lines)


def memory_use_summary(pairs: Sequence[Pair], summary: str = "") -> dict[str, Any]:
    """What a console shows of session memory: the pairs, newest first."""
    return {
        "summary": summary,
        "chatMessages": [
            {"messageId": pair.user.id, "userMessage": pair.user.text, "agentMessage": pair.agent}
            for pair in reversed(pairs)
        ],
    }
