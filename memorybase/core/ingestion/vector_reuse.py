"""Reuse vectors: copy those that a collection already has of the same messages, instead of embedding again.

This serves a regenerate with the same model, a second memory base of a flow, and a job that continues where an earlier
attempt was cut off. A vector is copied only if the stored text of its chunk is identical; otherwise the chunk is
embedded. After a restore, vectors of the backup are copied too.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase.core import errors
from memorybase.core.embedding import Embedder, chunking
from memorybase.core.embedding.compatibility import reusable_identity
from memorybase.core.ingestion.claim import Claim
from memorybase.core.queries import ledger, token_vectors
from memorybase.core.queries.messages import CountedMessage
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.collection_names import store_of
from memorybase.core.vectors.index_damage import has_length_one
from memorybase.core.vectors.saved import find_saved
from memorybase.core.vectors.store import CollectionRef

log = get_logger(__name__)

MAX_SOURCES = 3  # a flow may have many memory bases; the ones furthest ahead are read

Pieces = Sequence[tuple[CountedMessage, Sequence[chunking.Chunk]]]
ChunkKey = tuple[UUID, int]  # message and chunk


class ReusedVectors(NamedTuple):
    """Vectors by message and chunk, packed token vectors by message. `own`: those that the job's collection has
    already."""

    vectors: dict[ChunkKey, NDArray[np.float32]]
    tokens: dict[UUID, bytes]
    own: set[ChunkKey]


def find_reusable(services: Services, claim: Claim, embedder: Embedder, pieces: Pieces) -> ReusedVectors:
    """Vectors that earlier attempts and other generations have of the same messages. Never fails on the store: chunks
    can be embedded."""
    identity = reusable_identity(embedder, claim.embedder)
    sources, tokens = _look_up(services, claim, identity, {message.id: message.version for message, _ in pieces})
    found: dict[ChunkKey, NDArray[np.float32]] = {}
    own: set[ChunkKey] = set()
    away: set[str] = set()
    if claim.continues:
        sources = [_own_chunks(claim, pieces), *sources]
    for source in sources:
        store = store_of(source.collection_name)
        if store in away:
            continue
        try:
            found |= _read_source(services, source, embedder.dimension, pieces, found.keys())
            if source.collection_id == claim.collection.id:
                own = set(found)
        except errors.CollectionMissing:
            continue
        except errors.MemorybaseError as error:
            # Another source in this store would cost another timeout.
            log.info("vectors_not_reused", error_code=error.code)
            away.add(store)
    found |= _read_saved(services, identity, embedder.dimension, pieces, found.keys())
    if found:
        log.info("vectors_reused", chunks=len(found))
    return ReusedVectors(found, tokens, own)


def _look_up(
    services: Services, claim: Claim, identity: str, versions: Mapping[UUID, int]
) -> tuple[list[ledger.ChunkCollection], dict[UUID, bytes]]:
    """Other generations that hold these messages, and the token vectors that they have of them."""
    with services.database.reading() as db:
        sources = ledger.sources(
            db,
            progress_id=claim.progress_id,
            embedder=identity,
            chunker=claim.chunker,
            versions=versions,
            limit=MAX_SOURCES,
        )
        if not sources or claim.token_encoding is None:
            return sources, {}
        tokens = token_vectors.of_other_generations(
            db,
            progress_id=claim.progress_id,
            embedder=identity,
            encoding=claim.token_encoding,
            versions=versions,
        )
    return sources, tokens


def _own_chunks(claim: Claim, pieces: Pieces) -> ledger.ChunkCollection:
    """The job's collection, as if it had all chunks: those that it has are found."""
    chunks = {message.id: len(split) for message, split in pieces}
    return ledger.ChunkCollection(claim.memory_base_id, claim.collection.name, claim.collection.id, chunks)


def _read_source(
    services: Services, source: ledger.ChunkCollection, dimension: int, pieces: Pieces, known: Container[ChunkKey]
) -> dict[ChunkKey, NDArray[np.float32]]:
    needed = {
        chunk_ids.chunk_id(source.memory_base_id, message.id, message.version, chunk.index): (message.id, chunk)
        for message, chunks in pieces
        for chunk in chunks[: source.chunks.get(message.id, 0)]
        if (message.id, chunk.index) not in known
    }
    if not needed:
        return {}
    stored = services.vectors.fetch(CollectionRef(source.collection_name, source.collection_id), list(needed))
    vectors = {}
    for chunk_id, record in stored.items():
        message_id, chunk = needed[chunk_id]
        if record.text == chunk.text and _is_valid(record.vector, dimension):
            vectors[message_id, chunk.index] = record.vector
    return vectors


def _read_saved(
    services: Services, identity: str, dimension: int, pieces: Pieces, known: Container[ChunkKey]
) -> dict[ChunkKey, NDArray[np.float32]]:
    """Vectors that a restored backup has of these texts."""
    texts = {
        (message.id, chunk.index): chunk.text
        for message, chunks in pieces
        for chunk in chunks
        if (message.id, chunk.index) not in known
    }
    saved = find_saved(services.settings.restored_dir, identity, dimension, list(texts.values()))
    return {key: saved[text] for key, text in texts.items() if text in saved}


def _is_valid(vector: NDArray[np.float32], dimension: int) -> bool:
    return vector.shape == (dimension,) and has_length_one(vector)
