"""Embeds texts during a search: the query, and pending messages. Both are cached."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from cachetools import LRUCache, cached
from numpy.typing import NDArray

from memorybase.core import errors
from memorybase.core.cache import Cache
from memorybase.core.embedding import QueryTokens
from memorybase.core.embedding.chunking import chunker_for
from memorybase.core.embedding.compatibility import check_searchable
from memorybase.core.queries.search import Target
from memorybase.core.services import Services

if TYPE_CHECKING:
    from memorybase.core.embedding import Embedder

CACHED_QUERIES = 256
PENDING_CHUNKS = 128  # of one memory base, embedded in a search
PENDING_CHUNKS_PER_MESSAGE = 4
CACHED_PENDING_TEXTS = 2_048


class Embedded(NamedTuple):
    """The query, embedded by one model."""

    embedder: Embedder
    vector: NDArray[np.float32]
    tokens: QueryTokens | None  # of the full query, names included


def embed_query(services: Services, query: str, full_query: str | None, targets: Sequence[Target]) -> list[Embedded]:
    """The query for each target, embedded by the target's model; tokens are of the full query, if there is one."""
    by_model: dict[str, Embedded] = {}
    embedded: list[Embedded] = []
    for target in targets:
        embedder = services.embedders.get(target.embedding_model)
        check_searchable(embedder, target.embedder, remedy="regenerate")
        if embedder.model not in by_model:
            tokens_of = full_query if target.token_encoding is not None else None
            by_model[embedder.model] = Embedded(embedder, *vectors_of(embedder, query, tokens_of))
        embedded.append(by_model[embedder.model])
    return embedded


# A question asked again with other settings, or of several flows at once, is embedded once.
@cached(LRUCache(CACHED_QUERIES), condition=threading.Condition())
def vectors_of(
    embedder: Embedder, query: str, full_query: str | None
) -> tuple[NDArray[np.float32], QueryTokens | None]:
    """The query's vector, and the tokens of the full query if there is one. Raises InvalidRequest."""
    try:
        if full_query is None:
            return embedder.embed_query(query), None
        return embedder.embed_query_with_tokens(query, full_query)
    except errors.TextRejected as exc:
        raise errors.InvalidRequest("The embedding model cannot encode this query", field="query") from exc


@dataclass(frozen=True, slots=True)
class _EmbeddedText:
    """A text's chunks and their vectors, row by row."""

    texts: tuple[str, ...]
    vectors: NDArray[np.float32]

    def __bool__(self) -> bool:
        return bool(self.texts)


class _PendingVectors:
    """A cache of pending texts and their vectors."""

    def __init__(self, capacity: int) -> None:
        self._cached: Cache[tuple[str, str, bytes], _EmbeddedText] = Cache(capacity)

    def embed(self, services: Services, embedder: Embedder, texts: Sequence[str]) -> dict[str, _EmbeddedText]:
        """The embedded texts, up to the bound on chunks; a text that the model rejects has no chunks."""
        chunker = chunker_for(services.settings, embedder)
        keys = {text: (embedder.identity, chunker.identity, hashlib.sha256(text.encode()).digest()) for text in texts}
        found = {text: self._cached.get(key) for text, key in keys.items()}
        cached = {text: embedded for text, embedded in found.items() if embedded is not None}
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
        for text, embedded in selected.items():
            self._cached.put(keys[text], embedded)
        return selected


pending_vectors = _PendingVectors(CACHED_PENDING_TEXTS)


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
