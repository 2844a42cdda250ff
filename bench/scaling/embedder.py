"""Vectors for made texts: 200 topics of 20 subtopics each, and noise. An embedder that costs hardly anything.

The weights, and the fall of the spectrum as i^-0.45, give the cosines of real sentence vectors: two texts at random 0,
the nearest of many thousands .64, the tenth .56.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding import QueryTokens
from memorybase.core.embedding.token_vectors import MAX_TOKENS, PER_BYTE
from scaling.texts import TOPICS, Vocabulary

Floats = NDArray[np.float32]

DIMENSION = 384
TOKEN_DIMENSION = 128
SUBTOPICS = 20
NOISE = 16_384  # vectors; the sum of any two is a text's noise
TOPIC_WEIGHT, SUBTOPIC_WEIGHT, NOISE_WEIGHT = 0.55, 0.45, 0.70
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\S+")


class MadeEmbedder:
    """An Embedder whose vectors depend on a text's topic, on its words, and on nothing else."""

    model = "made"
    identity = "made/topics/1"
    dimension = DIMENSION
    max_tokens = 254
    token_encoding = f"int2x{TOKEN_DIMENSION}/made"

    def __init__(self, vocabulary: Vocabulary) -> None:
        rng = np.random.default_rng(17)
        self._topic_of = vocabulary.topic_of
        self._topics = _directions(rng, TOPICS)
        self._subtopics = _directions(rng, TOPICS * SUBTOPICS)
        self._noise = _directions(rng, NOISE)
        self._packed: bytes = rng.bytes(1 << 20)

    def embed(self, texts: Sequence[str]) -> Floats:
        numbers = np.array([self._numbers(text) for text in texts]).reshape(len(texts), 4).T
        topic, subtopic, left, right = numbers
        vectors = TOPIC_WEIGHT * self._topics[topic] + SUBTOPIC_WEIGHT * self._subtopics[subtopic]
        vectors += NOISE_WEIGHT / np.sqrt(2) * (self._noise[left] + self._noise[right])
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def embed_query(self, text: str) -> Floats:
        vector: Floats = self.embed([text])[0]
        return vector

    def embed_with_tokens(self, texts: Sequence[str], tokens_of: Collection[int]) -> tuple[Floats, dict[int, bytes]]:
        return self.embed(texts), {index: self._tokens(texts[index]) for index in tokens_of}

    def embed_query_with_tokens(self, text: str, query: str) -> tuple[Floats, QueryTokens]:
        spans = [found.span() for found in _WORD.finditer(query)]
        vectors = self._noise[: len(spans), :TOKEN_DIMENSION]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return self.embed_query(text), QueryTokens(vectors / lengths, spans)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in _TOKEN.finditer(text)]

    def _numbers(self, text: str) -> tuple[int, int, int, int]:
        """A text's topic, its subtopic, and two vectors of noise."""
        words = [word for word in _WORD.findall(text.lower()) if word in self._topic_of]
        digest = int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
        topics = Counter(self._topic_of[word] for word in words).most_common(1)
        topic = topics[0][0] if topics else digest % TOPICS
        subtopic = topic * SUBTOPICS + (len(words[0]) * 7 + ord(words[0][0]) if words else digest) % SUBTOPICS
        return topic, subtopic, digest % NOISE, digest // NOISE % NOISE

    def _tokens(self, text: str) -> bytes:
        """As many packed token vectors as the text has words; their numbers mean nothing."""
        size = min(text.count(" ") + 1, MAX_TOKENS) * TOKEN_DIMENSION // PER_BYTE
        start = len(text) * 7_919 % (len(self._packed) - size)
        return self._packed[start : start + size]


class MadeEmbedders:
    """The registry of this one."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._embedder = MadeEmbedder(vocabulary)

    def get(self, model: str | None = None) -> MadeEmbedder:
        del model
        return self._embedder

    def prepare(self) -> None:
        """It needs no files."""

    def problem(self) -> str | None:
        return None


def _directions(rng: np.random.Generator, count: int) -> Floats:
    """Vectors of length 1 whose later numbers are smaller."""
    spectrum = (np.arange(DIMENSION) + 1.0) ** -0.45
    drawn = rng.standard_normal((count, DIMENSION)).astype(np.float32) * spectrum.astype(np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)
