"""The same text is not embedded twice: vectors that another collection already holds of the very same messages.

A regenerate with the same model, and a second memory base of a flow, find theirs so. A vector is taken only where its
chunk's text is stored beside it, word for word. Whatever else comes back, or nothing, means that the chunk is embedded.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase import chunking, errors
from memorybase.embedding import Embedder
from memorybase.leases import Claim
from memorybase.queries import ledger
from memorybase.queries.conversations import CountedMessage
from memorybase.services import Services
from memorybase.telemetry import get_logger
from memorybase.vectors import CollectionRef

log = get_logger(__name__)

MAX_SOURCES = 3  # a flow may have many memory bases; the sessions that are furthest are asked
LENGTH_TOLERANCE = 1e-3  # an embedder's vectors have length 1; one that has not is a damaged one

Pieces = Sequence[tuple[CountedMessage, Sequence[chunking.Chunk]]]
Place = tuple[UUID, int]  # message and chunk


class Reuse:
    """What one job's messages have in other collections; each message is asked for once, however often it is tried."""

    def __init__(
        self, services: Services, claim: Claim, embedder: Embedder, messages: Sequence[CountedMessage]
    ) -> None:
        self._store = services.vectors
        self._dimension = embedder.dimension
        self._asked: set[UUID] = set()
        self._found: dict[Place, NDArray[np.float32]] = {}
        settings = services.settings
        with services.database.reading() as session:
            self._sources = ledger.sources(
                session,
                row_id=claim.row_id,
                embedder=embedder.identity,
                chunker=chunking.chunker_identity(
                    min(settings.chunk_tokens, embedder.max_tokens), settings.chunk_overlap
                ),
                versions={message.id: message.version for message in messages},
                limit=MAX_SOURCES,
            )

    def look_up(self, pieces: Pieces) -> dict[Place, NDArray[np.float32]]:
        """The vectors that are there, by message and chunk; never an error, since the others can be embedded."""
        new = [(message, chunks) for message, chunks in pieces if message.id not in self._asked]
        self._asked.update(message.id for message, _ in new)
        before = len(self._found)
        for source in list(self._sources):
            self._ask(source, new)
        if taken := len(self._found) - before:
            log.info("vectors_reused", chunks=taken)
        return self._found

    def _ask(self, source: ledger.Source, pieces: Pieces) -> None:
        lacking = {
            chunking.chunk_id(source.memory_base_id, message.id, message.version, chunk.index): (message.id, chunk)
            for message, chunks in pieces
            for chunk in chunks[: source.chunks.get(message.id, 0)]
            if (message.id, chunk.index) not in self._found
        }
        if not lacking or source not in self._sources:
            return
        try:
            stored = self._store.fetch(CollectionRef(source.collection_name, source.collection_id), list(lacking))
        except errors.CollectionMissing:
            self._sources.remove(source)
        except errors.MemorybaseError as error:
            # One wait is enough: the next source is in the same store.
            log.info("vectors_not_reused", error_code=error.code)
            self._sources.clear()
        else:
            for chunk_id, one in stored.items():
                message_id, chunk = lacking[chunk_id]
                if one.text == chunk.text and self._is_sound(one.vector):
                    self._found[message_id, chunk.index] = one.vector

    def _is_sound(self, vector: NDArray[np.float32]) -> bool:
        # What is not finite has no length near 1 either.
        return vector.shape == (self._dimension,) and bool(abs(np.linalg.norm(vector) - 1.0) < LENGTH_TOLERANCE)
