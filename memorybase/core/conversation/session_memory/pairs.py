"""Pairs of a question and its reply, as session memory shows them (FlowX).

Pairs have what users and agents said to each other: no tool results and no intermediate outputs (`is_output: false`).
A turn without a reply does not count as a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memorybase.core.conversation.session_memory.presets import SessionPreset, SummaryStyle
from memorybase.core.conversation.view.records import Record
from memorybase.core.conversation.view.rendering import INDENT, indented
from memorybase.core.conversation.view.tokens import TokenCounter
from memorybase.core.conversation.view.turns import turns_of

SUMMARY_LINE = "Summary of previous replies: "
SUMMARY_HEADING = "## Previous conversation summary:\n"


@dataclass(frozen=True, slots=True)
class Pair:
    """A user message and the text of all replies to it. `records`: these messages."""

    user: Record
    agent: str
    records: tuple[Record, ...]


def pairs_of(records: Sequence[Record]) -> list[Pair]:
    """The turns with a user message and a reply, oldest first; several replies are joined by line breaks."""
    pairs: list[Pair] = []
    for turn in turns_of(records):
        members = tuple(records[index] for index in sorted(index for group in turn for index in group))
        replies = [record.text for record in members if record.role == "assistant"]
        reply = "\n".join(text for text in replies if text.strip())
        if members[0].role == "user" and reply:
            pairs.append(Pair(members[0], reply, members))
    return pairs


@dataclass(frozen=True, slots=True)
class PairWindow:
    """The pairs shown, the messages before the latest ones, and whether any of those is neither shown nor covered."""

    shown: list[Pair]
    earlier: list[Record]
    gap: bool = False


def pair_window(
    pairs: Sequence[Pair], records: Sequence[Record], preset: SessionPreset, counter: TokenCounter, covered_seq: int
) -> PairWindow:
    """The latest pairs of these records, and before them those that the summary does not cover, up to
    `uncovered_tokens`."""
    shown = list(pairs[-preset.pair_count :])
    start = shown[0].user.seq if shown else 0
    earlier = [record for record in records if record.seq < start]
    if not preset.summary:
        return PairWindow(shown, earlier)
    tokens_left = preset.uncovered_tokens
    for pair in reversed([pair for pair in pairs if covered_seq < pair.user.seq < start]):
        tokens_left -= sum(map(counter.count, pair.records))
        if tokens_left < 0:
            return PairWindow(shown, earlier, gap=True)
        shown.insert(0, pair)
    return PairWindow(shown, earlier)


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
        f"{role}: {indented(text, faithful=faithful)}"
        for pair in pairs
        for role, text in (("user", pair.user.text), ("agent", pair.agent))
    ]
    if summary:
        text = indented(summary, faithful=faithful)
        if summary_style != "line" and not faithful and text.startswith(("user:", "agent:")):
            text = INDENT + text
        headings = {"line": SUMMARY_LINE, "heading": SUMMARY_HEADING, "both": SUMMARY_LINE + SUMMARY_HEADING}
        lines.insert(0 if summary_first else len(lines), headings[summary_style] + text)
    return "\n".join(lines)


def memory_use_summary(pairs: Sequence[Pair], summary: str = "") -> dict[str, Any]:
    """Data for a console that shows session memory: the pairs, newest first."""
    return {
        "summary": summary,
        "chatMessages": [
            {"messageId": pair.user.id, "userMessage": pair.user.text, "agentMessage": pair.agent}
            for pair in reversed(pairs)
        ],
    }
