"""Truncates a message to fit: keeps its start and its end, with a mark between."""

from __future__ import annotations

from collections.abc import Sequence

from memorybase.conversation.view.records import Record
from memorybase.conversation.view.tokens import TokenCounter

MARK = "\n[...]\n"
CLOSE = 2  # tokens below the limit that are close enough


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
    tokens_high = counter.count(record)
    if tokens_high <= max_tokens:
        return record
    tokens_low = counter.count(record.with_content(MARK))
    low, high = 0, len(text)  # characters to keep: `high` are too many
    best: Record | None = None
    # A guess in proportion is usually close. Every second step halves, so that no text takes many.
    while high - low > 1 and (best is None or max_tokens - tokens_low > CLOSE):
        share = max(0.0, (max_tokens - tokens_low) / max(1, tokens_high - tokens_low))
        size = min(high - 1, low + 1 + int((high - low) * share))
        for tried in (size, (low + high) // 2):
            if not low < tried < high:
                continue
            candidate = record.with_content(_cut(text, tried))
            tokens = counter.count(candidate)
            if tokens <= max_tokens:
                best, low, tokens_low = candidate, tried, tokens
            else:
                high, tokens_high = tried, tokens
            if best is not None and max_tokens - tokens_low <= CLOSE:
                break
    return best


def _cut(text: str, size: int) -> str:
    if size >= len(text):
        return text
    end = size // 3
    return text[: size - end] + MARK + (text[-end:] if end else "")
