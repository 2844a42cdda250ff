"""Truncates a message to fit: keeps its start and its end, with a mark between."""

from __future__ import annotations

from collections.abc import Sequence

from memorybase.conversation.view.records import Record
from memorybase.conversation.view.tokens import TokenCounter

MARK = "\n[...]\n"


def clip_longest(records: Sequence[Record], counter: TokenCounter, max_tokens: int) -> list[Record] | None:
    """The records, the costliest truncated so that all fit; None if that is impossible."""
    tokens = [counter.count(record) for record in records]
    costliest = max(range(len(records)), key=tokens.__getitem__, default=None)
    if costliest is None:
        return None
    allowed = max_tokens - sum(tokens) + tokens[costliest]
    clipped = clip(records[costliest], counter, allowed)
    if clipped is None:
        return None
    return [clipped if index == costliest else record for index, record in enumerate(records)]


def clip(record: Record, counter: TokenCounter, max_tokens: int) -> Record | None:
    """The record truncated to so many tokens; None if its content is not a string or even one character is too much."""
    if not isinstance(record.content, str):
        return None
    text = record.content
    low, high = 0, len(text)  # characters to keep; more of them cost more tokens, almost always
    best: Record | None = None
    while low < high:
        size = (low + high + 1) // 2
        candidate = record.with_content(_cut(text, size))
        if counter.count(candidate) <= max_tokens:
            best, low = candidate, size
        else:
            high = size - 1
    return best


def _cut(text: str, size: int) -> str:
    if size >= len(text):
        return text
    end = size // 3
    return text[: size - end] + MARK + (text[-end:] if end else "")
