"""A summary of the conversation's own sentences: those most similar to all others, and not to each other.

A sentence's centrality is its mean similarity to all sentences; its similarity to chosen ones is subtracted (maximal
marginal relevance). The summary keeps chronological order, one "speaker: sentence" per line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memorybase.core.conversation.view.token_estimate import estimated_tokens
from memorybase.core.embedding import Embedder
from memorybase.core.errors import TextRejected

MAX_SENTENCES = 256  # compared with each other at once; more are summarized in steps
MAX_SENTENCE_CHARS = 300
MIN_SENTENCE_CHARS = 20
RELEVANCE = 0.7  # against novelty
DIGITS = 5  # of scores; smaller differences are ties, and the earlier sentence wins

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")


def extract(embedder: Embedder, previous: str | None, spoken: Sequence[tuple[str, str]], *, max_tokens: int) -> str:
    """The most relevant lines of the previous summary and of the new (speaker, text) pairs, within estimated tokens."""
    new = [line for speaker, text in spoken for line in _lines(speaker, text)]
    kept = previous.splitlines() if previous else []
    while len(kept) + len(new) > MAX_SENTENCES and new:
        room = max(MAX_SENTENCES // 4, MAX_SENTENCES - len(kept))
        kept, new = _chosen(embedder, [*kept, *new[:room]], max_tokens), new[room:]
    return "\n".join(_chosen(embedder, [*kept, *new], max_tokens))


def _lines(speaker: str, text: str) -> list[str]:
    name = " ".join(speaker.split())
    return [f"{name}: {_truncated(sentence)}" for sentence in _sentences(text)]


def _sentences(text: str) -> list[str]:
    """Sentences of one line; short ones, such as "Yes." or half of "Dr. Osei", are joined to their neighbour."""
    sentences: list[str] = []
    for part in (" ".join(part.split()) for part in _SENTENCE_END.split(text)):
        if sentences and min(len(part), len(sentences[-1])) < MIN_SENTENCE_CHARS:
            sentences[-1] = f"{sentences[-1]} {part}".rstrip()
        elif part:
            sentences.append(part)
    return sentences


def _truncated(sentence: str) -> str:
    return sentence if len(sentence) <= MAX_SENTENCE_CHARS else f"{sentence[:MAX_SENTENCE_CHARS]} [...]"


def _chosen(embedder: Embedder, lines: Sequence[str], max_tokens: int) -> list[str]:
    lines = list(dict.fromkeys(lines))
    if estimated_tokens("\n".join(lines)) <= max_tokens:
        return lines
    lines, vectors = _embedded(embedder, lines)
    indices = _by_relevance(vectors, [estimated_tokens(line) + 1 for line in lines], max_tokens)
    return [lines[index] for index in sorted(indices)]


def _embedded(embedder: Embedder, lines: list[str]) -> tuple[list[str], NDArray[np.float32]]:
    """The lines that the model accepts, and their vectors."""
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
    """Indices, most relevant first, as many as fit; lines that do not fit are skipped."""
    if not costs:
        return []
    similarity = vectors @ vectors.T
    central = RELEVANCE * similarity.mean(axis=1)
    nearest = np.zeros(len(costs), dtype=np.float32)
    chosen: list[int] = []
    tokens_left = max_tokens
    waiting = set(range(len(costs)))
    while waiting:
        scores = np.round(central - (1 - RELEVANCE) * nearest, DIGITS)
        index = min(waiting, key=lambda candidate: (-scores[candidate], candidate))
        waiting.discard(index)
        if costs[index] <= tokens_left:
            tokens_left -= costs[index]
            chosen.append(index)
            nearest = np.maximum(nearest, similarity[index])
    return chosen
