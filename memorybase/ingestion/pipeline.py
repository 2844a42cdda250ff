"""Messages into a collection: chunk, embed, upsert, read back. No transaction is open here.

    prepare   read what the model is to see of each message, and take what vectors are stored elsewhere
    embed     a vector for every chunk that has none
    store     upsert, and read back

Each step takes the messages of any number of jobs together. What one message provokes is found by halving and ends as
that message's failure; what the environment does ends the jobs that it concerns, and each says so in its `error`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase import errors
from memorybase.embedding import Embedder, chunking
from memorybase.embedding.compatibility import check_writable
from memorybase.ingestion import vector_reuse
from memorybase.ingestion.advance import WriteResult
from memorybase.ingestion.claim import Claim
from memorybase.ingestion.lease import LeaseKeeper
from memorybase.ingestion.retry import describe
from memorybase.messages import message_text
from memorybase.queries.dead_letters import Failure
from memorybase.queries.ledger import Held
from memorybase.queries.sessions import CountedMessage
from memorybase.queries.token_vectors import TokensOf
from memorybase.services import Services
from memorybase.telemetry import get_logger
from memorybase.vectors import chunk_ids
from memorybase.vectors.store import CollectionRef, StoredVector, VectorRecord
from memorybase.vectors.visibility import write_records

log = get_logger(__name__)

SAME_COSINE = 0.9999  # two computations of one text's vector by one backend
SLICE_CHUNKS = 128  # embedded at once, then stored while the next are embedded
PROBE_TEXT = "The quick brown fox jumps over the lazy dog."


@dataclass(slots=True)
class MessageWork:
    """One message on its way into its job's collection; a vector for each chunk once it is embedded."""

    work: JobWork
    message: CountedMessage
    chunks: Sequence[chunking.Chunk] = ()
    vectors: dict[int, NDArray[np.float32]] = field(default_factory=dict)  # by chunk index
    tokens: bytes | None = None  # the packed token vectors of its first chunk
    failed: bool = False


@dataclass(slots=True)
class JobWork:
    """A claimed job: what it is to put into its collection, and what has come of it."""

    claim: Claim
    messages: Sequence[CountedMessage]
    cursor_id: UUID | None = None  # the last message of the range
    items: list[MessageWork] = field(default_factory=list)
    done: WriteResult = field(default_factory=WriteResult)
    started: bool = False  # something of it may be in the store
    error: Exception | None = None  # the environment's, or ClaimLost: the job cannot end now


def embedder_for(services: Services, claim: Claim) -> Embedder:
    """The embedder that the generation was made with; raises ModelUnavailable when its weights have changed."""
    embedder = services.embedders.get(claim.embedding_model)
    check_writable(embedder, claim.embedder, remedy="regenerate")
    return embedder


def write_messages(
    services: Services, claim: Claim, messages: Sequence[CountedMessage], keeper: LeaseKeeper
) -> WriteResult:
    """Put one job's messages into its collection under deterministic ids, in one go.

    Raises the environment's errors, and ClaimLost before a write that is no longer ours to make.
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
    """Cut the job's messages into chunks, and look for their vectors in other collections."""
    try:
        embedder = embedder_for(services, work.claim)
        items = [MessageWork(work, message) for message in work.messages]
        for item in items:
            _bisect([item], partial(_cut, services, embedder), lambda *_: probe(embedder))
        work.items = _going(items)
        found = vector_reuse.find_reusable(
            services, work.claim, embedder, [(item.message, item.chunks) for item in work.items]
        )
        by_id = {item.message.id: item for item in work.items}
        for (message_id, chunk), vector in found.vectors.items():
            by_id[message_id].vectors[chunk] = vector
        for message_id, packed in found.tokens.items():
            by_id[message_id].tokens = packed
    except Exception as error:  # noqa: BLE001 - whatever it is, this job waits and the others go on
        work.error = error


def _cut(services: Services, embedder: Embedder, items: Sequence[MessageWork]) -> None:
    for item in items:
        item.chunks = chunking.split_text(
            message_text(item.message.content),
            embedder.token_offsets,
            max_tokens=min(services.settings.chunk_tokens, embedder.max_tokens),
            overlap=services.settings.chunk_overlap,
        )


def mark_embedding_started(works: Sequence[JobWork], keeper: LeaseKeeper) -> None:
    """From here on a lost worker counts against these jobs; one whose claim is gone ends here."""
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
    """The items in portions of at least `SLICE_CHUNKS`, texts of like length together: less padding to embed."""
    items = [item for work in works for item in work.items]
    items.sort(key=lambda item: sum(len(chunk.text) for chunk in item.chunks))
    portion: list[MessageWork] = []
    chunks = 0
    for item in items:
        portion.append(item)
        chunks += len(item.chunks)
        if chunks >= SLICE_CHUNKS:
            yield portion
            portion, chunks = [], 0
    if portion:
        yield portion


# ---------------------------------------------------------------------------------------------------------------
# Embed


def embed(services: Services, items: Sequence[MessageWork]) -> None:
    """A vector for each chunk that has none."""
    by_model: defaultdict[str, list[MessageWork]] = defaultdict(list)
    for item in _going(items):
        by_model[item.work.claim.embedding_model].append(item)
    for model, alike in by_model.items():
        try:
            embedder = services.embedders.get(model)
            _bisect(alike, partial(_embed, embedder), lambda *_, it=embedder: probe(it))
        except Exception as error:  # noqa: BLE001 - the model's trouble: its jobs wait, the others go on
            _fail(alike, error)


def _embed(embedder: Embedder, items: Sequence[MessageWork]) -> None:
    lacking = [(item, chunk) for item in items for chunk in item.chunks if _lacks(item, chunk)]
    if not lacking:
        return
    # Another encoding than the generation's does not compare with what it has: such messages go without.
    firsts = [position for position, (item, chunk) in enumerate(lacking) if chunk.index == 0 and _keeps(item, embedder)]
    vectors, tokens = embedder.embed_with_tokens([chunk.text for _, chunk in lacking], firsts)
    for position, (item, chunk) in enumerate(lacking):
        item.vectors[chunk.index] = vectors[position]
        item.tokens = tokens.get(position, item.tokens)


def _keeps(item: MessageWork, embedder: Embedder) -> bool:
    # Asked of the embedder only where it matters: a model without a published projection fits its own first.
    encoding = item.work.claim.token_encoding
    return encoding is not None and encoding == embedder.token_encoding


def _lacks(item: MessageWork, chunk: chunking.Chunk) -> bool:
    if chunk.index not in item.vectors:
        return True
    return chunk.index == 0 and item.tokens is None and item.work.claim.token_encoding is not None


def probe(embedder: Embedder) -> NDArray[np.float32]:
    """A harmless text's vector; raises when it is the model that fails, and not a message."""
    vector: NDArray[np.float32] = embedder.embed([PROBE_TEXT])[0]
    return vector


# ---------------------------------------------------------------------------------------------------------------
# Store


def store(services: Services, items: Sequence[MessageWork], keeper: LeaseKeeper) -> None:
    """Upsert what is embedded, and read it back."""
    by_collection: defaultdict[CollectionRef, list[MessageWork]] = defaultdict(list)
    for item in _going(items):
        by_collection[item.work.claim.collection].append(item)
    for collection, alike in by_collection.items():
        try:
            _bisect(
                _going(alike),
                partial(_store, services, keeper, collection),
                lambda error, item: _confirm_message_fault(services, keeper, error, item),
            )
        except (errors.CollectionMissing, errors.DimensionMismatch) as error:
            _fail(alike, error)
        except Exception as error:  # noqa: BLE001 - the store's trouble is everybody's: one timeout is enough
            _fail(items, error)


def _store(services: Services, keeper: LeaseKeeper, collection: CollectionRef, items: Sequence[MessageWork]) -> None:
    _check_claims(keeper, items)
    records = [(item, record) for item in _going(items) for record in _records(item)]
    # Writing a record again is harmless to what is stored but not to Chroma's index: of 300 batches of which half was
    # there already, 3 left a point that no query reached any more. Writing the missing half alone left none.
    retried = [record.id for item, record in records if item.work.claim.retried]
    stored = services.vectors.fetch(collection, retried) if retried else {}
    lacking = [record for _, record in records if not _is_stored(record, stored.get(record.id))]
    if records:

        def still_ours(unreachable: Sequence[VectorRecord]) -> list[VectorRecord]:
            _check_claims(keeper, items)  # another worker may have claimed their jobs by now
            ours = {record.id for item, record in records if item.work.error is None}
            return [record for record in unreachable if record.id in ours]

        written = [record for _, record in records]
        write_records(services.vectors, collection, written, missing=lacking, before_rewrite=still_ours)
    for item in _going(items):
        message, done = item.message, item.work.done
        done.held.append(Held(message.id, message.version, len(item.chunks)))
        if item.tokens is not None:
            done.tokens.append(TokensOf(message.id, message.version, message.position, item.tokens))


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
    # A vector of another length is not comparable; then the write says what is wrong, and blames no message for it.
    return (
        stored is not None
        and stored.text == record.text
        and stored.vector.shape == record.vector.shape
        and float(stored.vector @ record.vector) > SAME_COSINE
    )


def _confirm_message_fault(services: Services, keeper: LeaseKeeper, error: Exception, item: MessageWork) -> None:
    """Make sure that it is the message and not the model or the store; raises the environment's error otherwise."""
    vector = probe(services.embedders.get(item.work.claim.embedding_model))
    if isinstance(error, errors.VectorRejected):
        _store_probe(services, keeper, item, vector)


def _store_probe(services: Services, keeper: LeaseKeeper, item: MessageWork, vector: NDArray[np.float32]) -> None:
    """A store that refuses this harmless record too refuses every one. Raises VectorStoreUnavailable.

    No message has a version 0, so the record takes no other's place, and no search shows it. What a crash leaves of it
    is of the session, and in no ledger: the audit of what the lost worker wrote takes it away.
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
        for chunk in chunk_ids.chunk_ids(claim.memory_base_id, entry.message_id, entry.version, entry.chunks)
    ]


# ---------------------------------------------------------------------------------------------------------------
# Find the message at fault


def _bisect(
    items: Sequence[MessageWork],
    step: Callable[[Sequence[MessageWork]], None],
    confirm_message_fault: Callable[[Exception, MessageWork], object],
) -> None:
    """Run `step` on all items; when it fails, halve them until the one that makes it fail is alone.

    `confirm_message_fault` first proves that a message is at fault; it raises the error of a failed model or store.
    """
    if not items:
        return
    try:
        step(items)
    except errors.EmbeddingFailed as error:
        culprit: Exception = error
    except errors.EnvironmentFailure:
        raise
    except Exception as error:  # noqa: BLE001 - whatever one message provokes must not stop the ones behind it
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


def _going(items: Iterable[MessageWork]) -> list[MessageWork]:
    """Those that nothing has stopped yet."""
    return [item for item in items if item.work.error is None and not item.failed]
