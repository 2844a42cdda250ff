"""Messages into a collection: chunk, embed, upsert, read back. No transaction is open here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memorybase import chunking, errors
from memorybase.embedding import Embedder
from memorybase.leases import Claim, Guard, Projection, describe
from memorybase.messages import message_text
from memorybase.queries.conversations import CountedMessage
from memorybase.queries.ledger import Failure, Held
from memorybase.reuse import Pieces, Place, Reuse
from memorybase.services import Services
from memorybase.telemetry import get_logger
from memorybase.vectors import StoredVector, VectorRecord

log = get_logger(__name__)

SAME_COSINE = 0.9999  # two computations of one text's vector by one backend
CANARY = "The quick brown fox jumps over the lazy dog."


def embedder_for(services: Services, claim: Claim) -> Embedder:
    """The embedder that the generation was made with; raises ModelUnavailable when its weights have changed."""
    embedder = services.embedders.get(claim.embedding_model)
    # The backend may differ, its vectors agree within a stated tolerance; model and revision may not.
    if embedder.identity.partition("/")[2] != claim.embedder.partition("/")[2]:
        raise errors.ModelUnavailable(
            f"The store was built with {claim.embedder}, this worker has {embedder.identity}: regenerate",
            field="embedding_model",
        )
    return embedder


def project(services: Services, claim: Claim, messages: Sequence[CountedMessage], guard: Guard) -> Projection:
    """Put messages into the claim's collection under deterministic ids.

    A message that cannot be embedded or stored ends up in `failures`, found by halving; raises the environment's
    errors, and ClaimLost before a write that is no longer ours to make.
    """
    projection = Projection()
    if messages:
        embedder = embedder_for(services, claim)
        guard.begin_embedding(len(messages))
        reuse = Reuse(services, claim, embedder, messages)
        _project(services, claim, embedder, reuse, messages, guard, projection)
    return projection


def _project(
    services: Services,
    claim: Claim,
    embedder: Embedder,
    reuse: Reuse,
    messages: Sequence[CountedMessage],
    guard: Guard,
    projection: Projection,
) -> None:
    try:
        projection.held += _write(services, claim, embedder, reuse, messages, guard)
    except errors.EnvironmentFailure as error:
        if not isinstance(error, errors.EmbeddingFailed):
            raise
        _blame(services, claim, embedder, reuse, messages, guard, projection, error)
    except errors.ClaimLost:
        raise
    except Exception as error:  # noqa: BLE001 - whatever one message provokes must not stop the ones behind it
        _blame(services, claim, embedder, reuse, messages, guard, projection, error)


def _blame(
    services: Services,
    claim: Claim,
    embedder: Embedder,
    reuse: Reuse,
    messages: Sequence[CountedMessage],
    guard: Guard,
    projection: Projection,
    error: Exception,
) -> None:
    """Halve until the one message stands alone; but first make sure that it is a message and not the model or store."""
    (vector,) = embedder.embed([CANARY])
    if isinstance(error, errors.VectorRejected):
        _store_a_canary(services, claim, messages[0], vector, guard)
    if len(messages) > 1:
        middle = len(messages) // 2
        _project(services, claim, embedder, reuse, messages[:middle], guard, projection)
        _project(services, claim, embedder, reuse, messages[middle:], guard, projection)
        return
    (message,) = messages
    code = error.code if isinstance(error, errors.MemorybaseError) else "unexpected"
    log.warning("message_failed", message_id=str(message.id), error_code=code, error_type=type(error).__name__)
    projection.failures.append(Failure(message.id, message.version, code, describe(error)))


def _store_a_canary(
    services: Services, claim: Claim, message: CountedMessage, vector: NDArray[np.float32], guard: Guard
) -> None:
    """A store that refuses this harmless record too refuses every one. Raises VectorStoreUnavailable.

    No message has a version 0, so the record takes no other's place, and no search shows it. What a crash leaves of it
    is of the session, and in no ledger: the audit of what the lost worker wrote takes it away.
    """
    chunk = chunking.chunk_id(claim.memory_base_id, message.id, 0, 0)
    guard.check()
    try:
        services.vectors.upsert(
            claim.collection,
            [VectorRecord(id=chunk, vector=vector, text=CANARY, metadata=_metadata(claim, message, 0))],
        )
    except errors.VectorRejected as refusal:
        raise errors.VectorStoreUnavailable("The vector store refuses every record") from refusal
    services.vectors.delete(claim.collection, [chunk])


def _write(
    services: Services,
    claim: Claim,
    embedder: Embedder,
    reuse: Reuse,
    messages: Sequence[CountedMessage],
    guard: Guard,
) -> list[Held]:
    pieces = [(message, chunk_message(services, embedder, message)) for message in messages]
    vectors = _vectors(embedder, reuse, pieces)
    if vectors:
        records = [
            VectorRecord(
                id=chunking.chunk_id(claim.memory_base_id, message.id, message.version, chunk.index),
                vector=vectors[message.id, chunk.index],
                text=chunk.text,
                metadata=_metadata(claim, message, chunk.index),
            )
            for message, chunks in pieces
            for chunk in chunks
        ]
        lacking = _not_stored_yet(services, claim, records)
        guard.check()
        services.vectors.upsert(claim.collection, lacking)
        read_back(services, claim, [record.id for record in records])
    return [Held(message.id, message.version, len(chunks)) for message, chunks in pieces]


def _vectors(embedder: Embedder, reuse: Reuse, pieces: Pieces) -> dict[Place, NDArray[np.float32]]:
    """A vector for every chunk: one that is stored elsewhere, or else embedded."""
    texts = {(message.id, chunk.index): chunk.text for message, chunks in pieces for chunk in chunks}
    found = reuse.look_up(pieces)
    lacking = [place for place in texts if place not in found]
    embedded = embedder.embed([texts[place] for place in lacking]) if lacking else ()
    vectors = found | dict(zip(lacking, embedded, strict=True))
    return {place: vectors[place] for place in texts}


def _not_stored_yet(services: Services, claim: Claim, records: list[VectorRecord]) -> list[VectorRecord]:
    """What an attempt before this one has not written.

    Writing a record again is harmless to what is stored but not to Chroma's index: of 300 batches of which half was
    there already, 3 left a point that no query reached any more. Writing the missing half alone left none.
    """
    if not claim.retried:
        return records
    stored = services.vectors.fetch(claim.collection, [record.id for record in records])
    return [record for record in records if not _is_stored(record, stored.get(record.id))]


def _is_stored(record: VectorRecord, stored: StoredVector | None) -> bool:
    # A vector of another length is not comparable; then the write says what is wrong, and blames no message for it.
    return (
        stored is not None
        and stored.text == record.text
        and stored.vector.shape == record.vector.shape
        and float(stored.vector @ record.vector) > SAME_COSINE
    )


def chunk_message(services: Services, embedder: Embedder, message: CountedMessage) -> list[chunking.Chunk]:
    return chunking.split_text(
        message_text(message.content),
        embedder.token_offsets,
        max_tokens=min(services.settings.chunk_tokens, embedder.max_tokens),
        overlap=services.settings.chunk_overlap,
    )


def read_back(services: Services, claim: Claim, ids: Sequence[str]) -> None:
    """An acknowledged write is believed once it can be read. Raises VectorStoreUnavailable."""
    missing = set(ids) - services.vectors.stored_ids(claim.collection, ids)
    if missing:
        raise errors.VectorStoreUnavailable(f"{len(missing)} of {len(ids)} chunks could not be read back")


def _metadata(claim: Claim, message: CountedMessage, chunk_index: int) -> dict[str, str | int | float | bool]:
    # The same keys always: an upsert merges, and a stale key would stay.
    return {
        "message_id": str(message.id),
        "session_id": claim.session_id,
        "run_id": str(message.run_id),
        "end_user_id": claim.end_user_id or "",
        "role": message.role,
        "seq": message.seq,
        "timestamp": message.timestamp.timestamp(),
        "chunk_index": chunk_index,
    }


def chunk_ids_of(claim: Claim, held: Sequence[Held]) -> list[str]:
    """The ids under which the collection holds these messages."""
    return [
        chunk
        for entry in held
        for chunk in chunking.chunk_ids(claim.memory_base_id, entry.message_id, entry.version, entry.chunks)
    ]
