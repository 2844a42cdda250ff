"""The same text is not embedded twice: vectors that another collection already holds of the very same messages.

A regenerate with the same model, and a second memory base of a flow, find theirs so. A vector is taken only where its
chunk's text is stored beside it, word for word. Whatever else comes back, or nothing, means that the chunk is embedded.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase import errors
from memorybase.embedding import Embedder, chunking
from memorybase.ingestion.claim import Claim
from memorybase.queries import ledger, token_vectors
from memorybase.queries.sessions import CountedMessage
from memorybase.services import Services
from memorybase.telemetry import get_logger
from memorybase.vectors import chunk_ids
from memorybase.vectors.store import CollectionRef

log = get_logger(__name__)

MAX_SOURCES = 3  # a flow may have many memory bases; the sessions that are furthest are asked
LENGTH_TOLERANCE = 1e-3  # an embedder's vectors have length 1; one that has not is a damaged one

Pieces = Sequence[tuple[CountedMessage, Sequence[chunking.Chunk]]]
ChunkKey = tuple[UUID, int]  # message and chunk


class Reused(NamedTuple):
    """What is stored elsewhere: vectors by message and chunk, packed token vectors by message."""

    vectors: dict[ChunkKey, NDArray[np.float32]]
    tokens: dict[UUID, bytes]


def find_reusable(services: Services, claim: Claim, embedder: Embedder, pieces: Pieces) -> Reused:
    """What other generations hold of the very same messages. The store's errors are none here: what it does not give
    can be embedded."""
    settings = services.settings
    versions = {message.id: message.version for message, _ in pieces}
    with services.database.reading() as db:
        sources = ledger.sources(
            db,
            progress_id=claim.progress_id,
            embedder=embedder.identity,
            chunker=chunking.chunker_identity(min(settings.chunk_tokens, embedder.max_tokens), settings.chunk_overlap),
            versions=versions,
            limit=MAX_SOURCES,
        )
        tokens: dict[UUID, bytes] = {}
        if sources and claim.token_encoding is not None:
            tokens = token_vectors.of_other_generations(
                db,
                progress_id=claim.progress_id,
                embedder=embedder.identity,
                encoding=claim.token_encoding,
                versions=versions,
            )
    found: dict[ChunkKey, NDArray[np.float32]] = {}
    for source in sources:
        try:
            found |= _read_source(services, source, embedder.dimension, pieces, found.keys())
        except errors.CollectionMissing:
            continue
        except errors.MemorybaseError as error:
            # One wait is enough: the next source is in the same store.
            log.info("vectors_not_reused", error_code=error.code)
            break
    if found:
        log.info("vectors_reused", chunks=len(found))
    return Reused(found, tokens)


def _read_source(
    services: Services, source: ledger.Source, dimension: int, pieces: Pieces, known: Container[ChunkKey]
) -> dict[ChunkKey, NDArray[np.float32]]:
    lacking = {
        chunk_ids.chunk_id(source.memory_base_id, message.id, message.version, chunk.index): (message.id, chunk)
        for message, chunks in pieces
        for chunk in chunks[: source.chunks.get(message.id, 0)]
        if (message.id, chunk.index) not in known
    }
    if not lacking:
        return {}
    stored = services.vectors.fetch(CollectionRef(source.collection_name, source.collection_id), list(lacking))
    taken = {}
    for chunk_id, one in stored.items():
        message_id, chunk = lacking[chunk_id]
        if one.text == chunk.text and _is_sound(one.vector, dimension):
            taken[message_id, chunk.index] = one.vector
    return taken


def _is_sound(vector: NDArray[np.float32], dimension: int) -> bool:
    # What is not finite has no length near 1 either.
    return vector.shape == (dimension,) and bool(abs(np.linalg.norm(vector) - 1.0) < LENGTH_TOLERANCE)
