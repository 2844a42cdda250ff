"""A summary out of the conversation's own sentences: those nearest to all others, and far from each other.

Centrality is the mean similarity to all sentences; each choice is paid for by its likeness to what is chosen already
(maximal marginal relevance). The sentences stand in the order they were said, a line each, behind who said them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memorybase.conversation.view.tokens import estimated_tokens
from memorybase.embedding import Embedder
from memorybase.errors import TextRejected

MAX_SENTENCES = 256  # compared with each other at once; more are cut by halves
MAX_SENTENCE_CHARS = 300
MIN_SENTENCE_CHARS = 20
RELEVANCE = 0.7  # against novelty
DIGITS = 5  # of scores: what differs by less is a tie, and ties go to what was said first

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")


def extract(embedder: Embedder, previous: str | None, said: Sequence[tuple[str, str]], *, max_tokens: int) -> str:
    """The lines of the summary so far and of what was said since that say most, within so many estimated tokens."""
    new = [line for who, text in said for line in _lines(who, text)]
    kept = previous.splitlines() if previous else []
    while len(kept) + len(new) > MAX_SENTENCES and new:
        room = max(MAX_SENTENCES // 4, MAX_SENTENCES - len(kept))
        kept, new = _chosen(embedder, [*kept, *new[:room]], max_tokens), new[room:]
    return "\n".join(_chosen(embedder, [*kept, *new], max_tokens))


def _lines(who: str, text: str) -> list[str]:
    speaker = " ".join(who.split())
    return [f"{speaker}: {_cut(sentence)}" for sentence in _sentences(text)]


def _sentences(text: str) -> list[str]:
    """One line each; what is hardly a sentence, such as "Yes." or half of "Dr. Osei", stays with its neighbour."""
    sentences: list[str] = []
    for part in (" ".join(part.split()) for part in _SENTENCE_END.split(text)):
        if sentences and min(len(part), len(sentences[-1])) < MIN_SENTENCE_CHARS:
            sentences[-1] = f"{sentences[-1]} {part}".rstrip()
        elif part:
            sentences.append(part)
    return sentences


def _cut(sentence: str) -> str:
    return sentence if len(sentence) <= MAX_SENTENCE_CHARS else f"{sentence[:MAX_SENTENCE_CHARS]} [...]"


def _chosen(embedder: Embedder, lines: Sequence[str], max_tokens: int) -> list[str]:
    lines = list(dict.fromkeys(lines))
    if estimated_tokens("\n".join(lines)) <= max_tokens:
        return lines
    lines, vectors = _embedded(embedder, lines)
    indices = _by_relevance(vectors, [estimated_tokens(line) + 1 for line in lines], max_tokens)
    return [lines[index] for index in sorted(indices)]


def _embedded(embedder: Embedder, lines: list[str]) -> tuple[list[str], NDArray[np.float32]]:
    """Vectors of the lines, without those that the model cannot read."""
    try:
        return lines, embedder.embed(lines)
    except TextRejected:
        readable = [line for line in lines if _is_readable(embedder, line)]
        return readable, embedder.embed(readable)


def _is_readable(embedder: Embedder, line: str) -> bool:
    try:
        embedder.embed([line])
    except TextRejected:
        return False
    return True


def _by_relevance(vectors: NDArray[np.float32], costs: Sequence[int], max_tokens: int) -> list[int]:
    """Places, most relevant first, as many as fit; what is too long is passed over."""
    if not costs:
        return []
    likeness = vectors @ vectors.T
    central = RELEVANCE * likeness.mean(axis=1)
    nearest = np.zeros(len(costs), dtype=np.float32)
    chosen: list[int] = []
    left = max_tokens
    waiting = set(range(len(costs)))
    while waiting:
        scores = np.round(central - (1 - RELEVANCE) * nearest, DIGITS)
        index = min(waiting, key=lambda each: (-scores[each], each))
        waiting.discard(index)
        if costs[index] <= left:
            left -= costs[index]
            chosen.append(index)
            nearest = np.maximum(nearest, likeness[index])
    return chosen
