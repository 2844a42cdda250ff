"""Naive searches for comparison: plain BM25 and plain vector search."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding import Embedder
from memorybase.core.embedding.chunking import split_text
from memorybase.core.messages import message_text

K1, B = 1.2, 0.75


class PlainBm25:
    """BM25 over lower-case words, no stems, no stop words (Robertson and Zaragoza, 2009)."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self._ids = [message["id"] for message in messages]
        self._words = [Counter(_words(message_text(message["content"]))) for message in messages]
        self._lengths = [sum(words.values()) for words in self._words]
        self._mean = sum(self._lengths) / max(1, len(self._lengths)) or 1.0
        self._held = Counter(word for words in self._words for word in words)

    def ranked(self, query: str) -> list[str]:
        scores = np.zeros(len(self._ids))
        for word in _words(query):
            message_count = self._held[word]
            rarity = math.log(1 + (len(self._ids) - message_count + 0.5) / (message_count + 0.5))
            for index, words in enumerate(self._words):
                if times := words[word]:
                    damping = K1 * (1 - B + B * self._lengths[index] / self._mean)
                    scores[index] += rarity * times * (K1 + 1) / (times + damping)
        return [self._ids[index] for index in np.argsort(-scores, kind="stable") if scores[index] > 0]


class PlainVectors:
    """Cosine of the whole query and a message's best chunk."""

    def __init__(self, messages: Sequence[Mapping[str, Any]], embedder: Embedder) -> None:
        self._embedder = embedder
        pieces = [
            (message["id"], chunk.text)
            for message in messages
            for chunk in split_text(
                message_text(message["content"]), embedder.token_offsets, max_tokens=embedder.max_tokens, overlap=32
            )
        ]
        self._ids = [id_ for id_, _ in pieces]
        self._vectors: NDArray[np.float32] = embedder.embed([text for _, text in pieces])

    def ranked(self, query: str) -> list[str]:
        cosines = self._vectors @ self._embedder.embed_query(query)
        return list(dict.fromkeys(self._ids[index] for index in np.argsort(-cosines, kind="stable")))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
