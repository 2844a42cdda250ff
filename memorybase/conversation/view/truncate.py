"""A message cut to fit: its beginning and its end, with a mark between."""

from __future__ import annotations

from collections.abc import Sequence

from memorybase.conversation.view.records import Record
from memorybase.conversation.view.tokens import TokenCounter

MARK = "\n[...]\n"


def clip_longest(records: Sequence[Record], counter: TokenCounter, max_tokens: int) -> list[Record] | None:
    """The records with the costliest plain text among them cut so that all fit; None if that cannot be."""
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
    """The record with its text cut to so many tokens; None if its content is no string or too little is left."""
    if not isinstance(record.content, str):
        return None
    text = record.content
    low, high = 0, len(text)  # how many characters stay; more characters never cost less, or nearly so
    best: Record | None = None
    while low < high:
        size = (low + high + 1) // 2
        tried = record.with_content(_cut(text, size))
        if counter.count(tried) <= max_tokens:
            best, low = tried, size
        else:
            high = size - 1
    return best


def _cut(text: str, size: int) -> str:
    if size >= len(text):
        return text
    end = size // 3
    return text[: size - end] + MARK + (text[-end:] if end else "")
