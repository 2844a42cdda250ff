"""Messages into a collection: chunk, embed, upsert, read back. No transaction is open here.

    prepare   cut messages into chunks, and copy vectors that another collection already has
    embed     compute a vector for every chunk that has none
    store     upsert, and read back

Each step handles the messages of many jobs at once. A message that makes a step fail is found by bisection and recorded
as a failure. An environment failure is set as the `error` of each job that it affects.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase import errors, tracing
from memorybase.embedding import Embedder, chunking
from memorybase.embedding.compatibility import check_writable
from memorybase.ingestion import vector_reuse
from memorybase.ingestion.advance import WriteResult
from memorybase.ingestion.claim import Claim
from memorybase.ingestion.lease import LeaseKeeper
from memorybase.ingestion.retry import describe
from memorybase.messages import message_text
from memorybase.queries.dead_letters import Failure
from memorybase.queries.ledger import HeldMessage
from memorybase.queries.messages import CountedMessage
from memorybase.queries.token_vectors import MessageTokens
from memorybase.services import Services
from memorybase.telemetry import get_logger
from memorybase.vectors import chunk_ids
from memorybase.vectors.collection_names import store_of
from memorybase.vectors.store import CollectionRef, StoredVector, VectorRecord
from memorybase.vectors.stores import require_store
from memorybase.vectors.verified_writes import write_records

log = get_logger(__name__)

SAME_COSINE = 0.9999  # at least, between two computations of one text's vector by one backend
SLICE_CHUNKS = 128  # embedded at once, then stored while the next slice is embedded
PROBE_TEXT = "The quick brown fox jumps over the lazy dog."


@dataclass(slots=True)
class MessageWork:
    """One message of a job, with its chunks and their vectors."""

    work: JobWork
    message: CountedMessage
    chunks: Sequence[chunking.Chunk] = ()
    vectors: dict[int, NDArray[np.float32]] = field(default_factory=dict)  # by chunk index
    tokens: bytes | None = None  # the packed token vectors of its first chunk
    failed: bool = False


@dataclass(slots=True)
class JobWork:
    """A claimed job with its messages and their result."""

    claim: Claim
    messages: Sequence[CountedMessage]
    cursor_id: UUID | None = None  # the last message of the range
    items: list[MessageWork] = field(default_factory=list)
    done: WriteResult = field(default_factory=WriteResult)
    started: bool = False  # chunks may have been written to the store
    error: Exception | None = None  # an environment failure or ClaimLost: the job cannot end now


def embedder_for(services: Services, claim: Claim) -> Embedder:
    """The generation's embedder. Raises ModelUnavailable if the model's weights have changed."""
    embedder = services.embedders.get(claim.embedding_model)
    check_writable(embedder, claim.embedder, remedy="regenerate")
    return embedder


def write_messages(
    services: Services, claim: Claim, messages: Sequence[CountedMessage], keeper: LeaseKeeper
) -> WriteResult:
    """Write one job's messages to its collection under deterministic ids.

    Raises EnvironmentFailure, and ClaimLost before a write under a lost claim.
    """
    work = JobWork(claim, messages)
    if messages:
        prepare(services, work)
        mark_embedding_started([work], keeper)
        for items in slices([work]):
            embed(services, items)
            store(services, items, keeper)
    if work.error is not None:
        raise work.error
    return work.done


# ---------------------------------------------------------------------------------------------------------------
# Prepare


def prepare(services: Services, work: JobWork) -> None:
    """Cut the job's messages into chunks, and copy vectors from other collections."""
    try:
        # Before the work, and before `embed`: what cannot be stored is not computed.
        require_store(services.vectors, work.claim.collection.name)
        embedder = embedder_for(services, work.claim)
        # As the generation was chunked, even if the settings have changed since.
        chunker = chunking.Chunker.of(work.claim.chunker, embedder)
        items = [MessageWork(work, message) for message in work.messages]
        for item in items:
            _bisect([item], partial(_split, chunker), lambda *_: probe(embedder))
        work.items = _active(items)
        found = vector_reuse.find_reusable(
            services, work.claim, embedder, [(item.message, item.chunks) for item in work.items]
        )
        by_id = {item.message.id: item for item in work.items}
        for (message_id, chunk), vector in found.vectors.items():
            by_id[message_id].vectors[chunk] = vector
        for message_id, packed in found.tokens.items():
            by_id[message_id].tokens = packed
    except Exception as error:  # noqa: BLE001 - this job is postponed; the other jobs continue
        work.error = error


def _split(chunker: chunking.Chunker, items: Sequence[MessageWork]) -> None:
    for item in items:
        item.chunks = chunker.split(message_text(item.message.content))


def mark_embedding_started(works: Sequence[JobWork], keeper: LeaseKeeper) -> None:
    """From here on a lost worker counts against these jobs. A job without its claim gets the error ClaimLost."""
    ready = [work for work in works if work.error is None]
    if not ready:
        return
    try:
        held = keeper.mark_embedding_started([(work.claim, len(work.messages)) for work in ready])
    except errors.DatabaseUnavailable as error:
        for work in ready:
            work.error = error
        return
    for work in ready:
        work.started = True
        if work.claim.key not in held:
            work.error = errors.ClaimLost()


def slices(works: Iterable[JobWork]) -> Iterator[list[MessageWork]]:
    """Batches of at least `SLICE_CHUNKS` chunks, with texts of similar length in one batch: less padding to embed."""
    items = [item for work in works for item in work.items]
    items.sort(key=lambda item: sum(len(chunk.text) for chunk in item.chunks))
    batch: list[MessageWork] = []
    chunks = 0
    for item in items:
        batch.append(item)
        chunks += len(item.chunks)
        if chunks >= SLICE_CHUNKS:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


# ---------------------------------------------------------------------------------------------------------------
# Embed


def embed(services: Services, items: Sequence[MessageWork]) -> None:
    """Compute a vector for every chunk that has none."""
    began = time.monotonic()
    for job in _jobs(items):
        job.done.times.embedding = job.done.times.embedding or began
    by_model: defaultdict[str, list[MessageWork]] = defaultdict(list)
    for item in _active(items):
        by_model[item.work.claim.embedding_model].append(item)
    for model, group in by_model.items():
        try:
            embedder = services.embedders.get(model)
            with tracing.span("embed", parents=_traces(group), messages=len(group)):
                _bisect(group, partial(_embed, embedder), lambda *_, it=embedder: probe(it))
        except Exception as error:  # noqa: BLE001 - the model failed: its jobs are postponed, the others continue
            _fail(group, error)
    ended = time.monotonic()
    for job in _jobs(items):
        job.done.times.embedded = ended


def _embed(embedder: Embedder, items: Sequence[MessageWork]) -> None:
    missing = [(item, chunk) for item in items for chunk in item.chunks if _is_missing(item, chunk)]
    if not missing:
        return
    # Token vectors of another encoding than the generation's cannot be compared: such messages get none.
    firsts = [i for i, (item, chunk) in enumerate(missing) if chunk.index == 0 and _stores_tokens(item, embedder)]
    vectors, tokens = embedder.embed_with_tokens([chunk.text for _, chunk in missing], firsts)
    for i, (item, chunk) in enumerate(missing):
        item.vectors[chunk.index] = vectors[i]
        item.tokens = tokens.get(i, item.tokens)


def _stores_tokens(item: MessageWork, embedder: Embedder) -> bool:
    # Read the embedder's encoding last: a model without a published projection fits its own first.
    encoding = item.work.claim.token_encoding
    return encoding is not None and encoding == embedder.token_encoding


def _is_missing(item: MessageWork, chunk: chunking.Chunk) -> bool:
    if chunk.index not in item.vectors:
        return True
    return chunk.index == 0 and item.tokens is None and item.work.claim.token_encoding is not None


def size_to_embed(items: Sequence[MessageWork]) -> int:
    """The characters of the chunks that have no vector yet."""
    return sum(len(chunk.text) for item in items for chunk in item.chunks if _is_missing(item, chunk))


def probe(embedder: Embedder) -> NDArray[np.float32]:
    """The vector of a harmless text. Raises if the model fails on every text."""
    vector: NDArray[np.float32] = embedder.embed([PROBE_TEXT])[0]
    return vector


# ---------------------------------------------------------------------------------------------------------------
# Store


def store(services: Services, items: Sequence[MessageWork], keeper: LeaseKeeper) -> None:
    """Upsert embedded messages, and read them back."""
    by_collection: defaultdict[CollectionRef, list[MessageWork]] = defaultdict(list)
    for item in _active(items):
        by_collection[item.work.claim.collection].append(item)
    for collection, group in by_collection.items():
        of_store = store_of(collection.name)
        try:
            with tracing.span("store", parents=_traces(group), messages=len(group), store=of_store):
                _bisect(
                    _active(group),
                    partial(_store, services, keeper, collection),
                    lambda error, item: _confirm_message_fault(services, keeper, error, item),
                )
        except (errors.CollectionMissing, errors.DimensionMismatch) as error:
            _fail(group, error)
        except errors.VectorStoreUnavailable as error:  # for all jobs of this store: one timeout is enough
            _fail([item for item in items if store_of(item.work.claim.collection.name) == of_store], error)
        except Exception as error:  # noqa: BLE001 - what all jobs need failed
            _fail(items, error)
    written = time.monotonic()
    for job in _jobs(items):
        job.done.times.written = written


def _store(services: Services, keeper: LeaseKeeper, collection: CollectionRef, items: Sequence[MessageWork]) -> None:
    _check_claims(keeper, items)
    records = [(item, record) for item in _active(items) for record in _records(item)]
    # Rewriting an existing record is safe for the stored data but not for Chroma's index: of 300 batches that were half
    # stored already, 3 left a point that no query reached. Writing only the missing half left none.
    retried = [record.id for item, record in records if item.work.claim.retried]
    stored = services.vectors.fetch(collection, retried) if retried else {}
    missing = [record for _, record in records if not _is_stored(record, stored.get(record.id))]
    if records:

        def still_ours(unreachable: Sequence[VectorRecord]) -> list[VectorRecord]:
            _check_claims(keeper, items)  # another worker may have claimed their jobs by now
            ours = {record.id for item, record in records if item.work.error is None}
            return [record for record in unreachable if record.id in ours]

        written = [record for _, record in records]
        write_records(services.vectors, collection, written, missing=missing, before_rewrite=still_ours)
    for item in _active(items):
        message, done = item.message, item.work.done
        done.held.append(HeldMessage(message.id, message.version, len(item.chunks)))
        if item.tokens is not None:
            done.tokens.append(MessageTokens(message.id, message.version, message.position, item.tokens))


def _check_claims(keeper: LeaseKeeper, items: Sequence[MessageWork]) -> None:
    held = keeper.check(item.work.claim for item in items)
    _fail([item for item in items if item.work.claim.key not in held], errors.ClaimLost())


def _records(item: MessageWork) -> list[VectorRecord]:
    return [
        VectorRecord(
            id=chunk_ids.chunk_id(item.work.claim.memory_base_id, item.message.id, item.message.version, chunk.index),
            vector=item.vectors[chunk.index],
            text=chunk.text,
            metadata=_metadata(item.work.claim, item.message, chunk.index),
        )
        for chunk in item.chunks
    ]


def _is_stored(record: VectorRecord, stored: StoredVector | None) -> bool:
    # A vector of another dimension counts as missing: its write raises DimensionMismatch, which no message causes.
    return (
        stored is not None
        and stored.text == record.text
        and stored.vector.shape == record.vector.shape
        and float(stored.vector @ record.vector) > SAME_COSINE
    )


def _confirm_message_fault(services: Services, keeper: LeaseKeeper, error: Exception, item: MessageWork) -> None:
    """Check that the model and the store work without this message. Raises EnvironmentFailure if they do not, and the
    error itself if no message can cause it."""
    if isinstance(error, errors.MemorybaseError) and not isinstance(error, errors.MessageFailure):
        raise error
    vector = probe(services.embedders.get(item.work.claim.embedding_model))
    _store_probe(services, keeper, item, vector)


def _store_probe(services: Services, keeper: LeaseKeeper, item: MessageWork, vector: NDArray[np.float32]) -> None:
    """Write a harmless record and delete it again. Raises VectorStoreUnavailable if the store refuses it too.

    No message has version 0, so the record replaces none and no search shows it. If a crash leaves it behind, the audit
    after the lost worker deletes it: it belongs to the session and is in no ledger.
    """
    claim = item.work.claim
    chunk = chunk_ids.chunk_id(claim.memory_base_id, item.message.id, 0, 0)
    _check_claims(keeper, [item])
    if item.work.error is not None:
        return
    try:
        services.vectors.upsert(
            claim.collection,
            [VectorRecord(id=chunk, vector=vector, text=PROBE_TEXT, metadata=_metadata(claim, item.message, 0))],
        )
    except errors.VectorRejected as refusal:
        raise errors.VectorStoreUnavailable("The vector store refuses every record") from refusal
    services.vectors.delete(claim.collection, [chunk])


def _metadata(claim: Claim, message: CountedMessage, chunk_index: int) -> dict[str, str | int | float | bool]:
    # Always the same keys: an upsert merges, and would keep a stale key.
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


def chunk_ids_of(claim: Claim, held: Sequence[HeldMessage]) -> list[str]:
    """The ids of these messages' chunks in the collection."""
    return [
        chunk
        for entry in held
        for chunk in chunk_ids.chunk_ids(claim.memory_base_id, entry.message_id, entry.version, entry.chunks)
    ]


# ---------------------------------------------------------------------------------------------------------------
# Find the message at fault


def _bisect(
    items: Sequence[MessageWork],
    step: Callable[[Sequence[MessageWork]], None],
    confirm_message_fault: Callable[[Exception, MessageWork], object],
) -> None:
    """Run `step` on all items; if it fails, halve them until each failing item is alone, and record its failure.

    `confirm_message_fault` first raises if the model or the store has failed.
    """
    if not items:
        return
    try:
        step(items)
    except errors.EmbeddingFailed as error:
        culprit: Exception = error
    except errors.EnvironmentFailure:
        raise
    except Exception as error:  # noqa: BLE001 - one message must not block the messages behind it
        culprit = error
    else:
        return
    confirm_message_fault(culprit, items[0])
    if len(items) == 1:
        _record_failure(items[0], culprit)
        return
    middle = len(items) // 2
    _bisect(items[:middle], step, confirm_message_fault)
    _bisect(items[middle:], step, confirm_message_fault)


def _record_failure(item: MessageWork, error: Exception) -> None:
    if item.work.error is not None:
        return
    item.failed = True
    message = item.message
    code = error.code if isinstance(error, errors.MemorybaseError) else "unexpected"
    log.warning("message_failed", message_id=str(message.id), error_code=code, error_type=type(error).__name__)
    item.work.done.failures.append(Failure(message.id, message.version, code, describe(error)))


def _fail(items: Iterable[MessageWork], error: Exception) -> None:
    for item in items:
        item.work.error = item.work.error or error


def _traces(items: Iterable[MessageWork]) -> list[tracing.Span | None]:
    """The spans of the jobs of these items."""
    return [job.claim.span for job in _jobs(items)]


def _jobs(items: Iterable[MessageWork]) -> list[JobWork]:
    """The jobs of these items, each once."""
    return list({item.work.claim.key: item.work for item in items}.values())


def _active(items: Iterable[MessageWork]) -> list[MessageWork]:
    """The items that have not failed and that belong to a job without an error."""
    return [item for item in items if item.work.error is None and not item.failed]
