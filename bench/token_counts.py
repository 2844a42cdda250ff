"""Compares the token estimate with o200k_base, by kind of text, and measures the speed of both.

    python bench/token_counts.py

Needs bpe-openai. The texts are made from a seed; prose, code and the OpenAPI document are this repository's.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

from made.token_texts import texts_by_kind

from memorybase.core.conversation import Record
from memorybase.core.conversation.view.token_counters import counter_named
from memorybase.core.conversation.view.token_estimate import estimated_tokens
from memorybase.core.conversation.view.tokens import TokenCounter

REPEATS = 5


def main() -> None:
    exact = counter_named("openai:o200k_base")
    print("| kind | characters | tokens | estimate / tokens | four characters a token |\n|---|---|---|---|---|")
    texts = texts_by_kind()
    for kind, text in texts.items():
        tokens = tokens_of(exact, text)
        by_length = math.ceil(len(text) / 4)
        print(f"| {kind} | {len(text)} | {tokens} | {estimated_tokens(text) / tokens:.2f} | {by_length / tokens:.2f} |")
    print(f"\nestimate: {speed(estimated_tokens, texts):.1f} million characters per second, median over the kinds")


def tokens_of(counter: TokenCounter, text: str) -> int:
    """The tokens of the text alone."""
    empty = Record(id="", seq=0, role="user", content="")
    return counter.count(empty.with_content(text)) - counter.count(empty)


def speed(count: Callable[[str], int], texts: dict[str, str]) -> float:
    """Million characters per second: the median over the texts."""
    speeds = []
    for text in texts.values():
        started = time.perf_counter()
        for _ in range(REPEATS):
            count(text)
        speeds.append(REPEATS * len(text) / (time.perf_counter() - started) / 1e6)
    return statistics.median(speeds)


if __name__ == "__main__":
    main()
