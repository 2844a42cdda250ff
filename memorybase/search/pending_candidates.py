"""Candidates among pending messages, which no store holds yet: embedded during the search."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memorybase import errors
from memorybase.embedding.chunking import chunker_for
from memorybase.messages import message_text
from memorybase.queries.search import PendingMessage, Target
from memorybase.search.request import SearchRequest, passes
from memorybase.search.stored_candidates import Candidate
from memorybase.services import Services
from memorybase.vectors.search import SCORE_DIGITS

if TYPE_CHECKING:
    from memorybase.embedding import Embedder

PENDING_CHUNKS = 128
PENDING_CHUNKS_PER_MESSAGE = 4
PENDING_CHARS_PER_MESSAGE = 8_000  # enough for the chunks above in most languages, and cheap to tokenize
CACHED_TEXTS = 2_048


def nearest_pending(
    services: Services,
    target: Target,
    embedder: Embedder,
    vector: NDArray[np.float32],
    pending: Sequence[PendingMessage],
    request: SearchRequest,
) -> list[Candidate]:
    passing = [message for message in pending if passes(message.facts, request)]
    if not passing:
        return []
    texts = [message_text(message.content)[:PENDING_CHARS_PER_MESSAGE] for message in passing]
    embedded = _pending_vectors.embed(services, embedder, texts)
    candidates: list[Candidate] = []
    for message, text in zip(passing, texts, strict=True):
        chunks = embedded.get(text)
        if not chunks:
            continue
        scores = chunks.vectors @ vector
        best = int(np.argmax(scores))
        score = round(min(1.0, max(0.0, float(scores[best]))), SCORE_DIGITS)
        facts = message.facts
        candidates.append(Candidate(target, facts.id, facts.version, score, chunks.texts[best], best, "pending", facts))
    return [candidate for candidate in candidates if candidate.score >= (request.min_score or 0)]


@dataclass(frozen=True, slots=True)
class _EmbeddedText:
    """A text's chunks and their vectors, row by row."""

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]

    def __bool__(self) -> bool:
        return bool(self.texts)


class _PendingVectors:
    """A cache of pending texts and their vectors; it drops the least recently used."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._guard = threading.Lock()
        self._cached: OrderedDict[tuple[str, str, bytes], _EmbeddedText] = OrderedDict()

    def embed(self, services: Services, embedder: Embedder, texts: Sequence[str]) -> dict[str, _EmbeddedText]:
        """By text, up to the bound on chunks; a text that the model rejects has no chunks."""
        chunker = chunker_for(services.settings, embedder)
        keys = {text: (embedder.identity, chunker.identity, hashlib.sha256(text.encode()).digest()) for text in texts}
        with self._guard:
            cached = {text: self._cached[key] for text, key in keys.items() if key in self._cached}
        split: dict[str, Sequence[str]] = {}
        chunks_left = PENDING_CHUNKS
        for text in keys:
            if chunks_left <= 0:  # skip cached texts too, so that the result does not depend on the cache
                break
            if text in cached:
                split[text] = cached[text].texts
            else:
                split[text] = [chunk.text for chunk in chunker.split(text)[:PENDING_CHUNKS_PER_MESSAGE]]
            chunks_left -= len(split[text])
        fresh = _embed_each(embedder, {text: pieces for text, pieces in split.items() if text not in cached})
        selected = {text: cached[text] if text in cached else fresh[text] for text in split}
        with self._guard:
            for text, embedded in selected.items():
                self._cached[keys[text]] = embedded
                self._cached.move_to_end(keys[text])
            while len(self._cached) > self._capacity:
                self._cached.popitem(last=False)
        return selected


_pending_vectors = _PendingVectors(CACHED_TEXTS)


def _embed_each(embedder: Embedder, split: Mapping[str, Sequence[str]]) -> dict[str, _EmbeddedText]:
    """One batch for all; if the model rejects it, text by text, so that one bad message hides no other."""
    chunks = [chunk for pieces in split.values() for chunk in pieces]
    if not chunks:
        return {text: _EmbeddedText((), _no_vectors(embedder)) for text in split}
    try:
        vectors = embedder.embed(chunks)
    except (errors.MessageFailure, errors.EmbeddingFailed):  # it has just embedded the query, so a message is at fault
        if len(split) == 1:
            return {text: _EmbeddedText((), _no_vectors(embedder)) for text in split}
        return {k: v for text, pieces in split.items() for k, v in _embed_each(embedder, {text: pieces}).items()}
    embedded: dict[str, _EmbeddedText] = {}
    start = 0
    for text, pieces in split.items():
        embedded[text] = _EmbeddedText(tuple(pieces), vectors[start : start + len(pieces)].copy())
        start += len(pieces)
    return embedded


def _no_vectors(embedder: Embedder) -> NDArray[np.float32]:
    return np.empty((0, embedder.dimension), dtype=np.float32)
