"""Session memory as text: pairs of a session, and its summary, in FlowX's form."""

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
    """A question and all that was replied to it."""

    user: Record
    agent: str


def pairs_of(records: Sequence[Record]) -> list[Pair]:
    """The finished turns, oldest first: those with a user message and a reply; several replies are joined by line."""
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
