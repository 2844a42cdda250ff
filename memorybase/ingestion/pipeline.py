"""Messages into a collection: chunk, embed, upsert, read back. No transaction is open here.

    add       read a job's messages, cut them into chunks, copy vectors that another collection already has
    begin     from here on a lost worker counts against the jobs
    embed     compute a vector for every chunk that has none
    store     upsert, and read back

A batch has many jobs, and a slice of it messages of several. A message that makes a step fail is recorded as a failure,
and its job goes on without it (`bisection`). A failure of the environment stops the jobs that it affects.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
from memorybase.ingestion.bisection import PROBE_TEXT, faulty, probe_model, probe_store
from memorybase.ingestion.claim import Claim
from memorybase.ingestion.lease import LeaseKeeper
from memorybase.ingestion.retry import describe
from memorybase.messages import message_text
from memorybase.queries import dead_letters
from memorybase.queries import messages as message_queries
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


@dataclass(slots=True)
class JobWork:
    """A claimed job with its messages and their result."""

    claim: Claim
    messages: Sequence[CountedMessage] = ()
    cursor_id: UUID | None = None  # the last message of the range
    items: list[MessageWork] = field(default_factory=list)
    done: WriteResult = field(default_factory=WriteResult)
    started: bool = False  # chunks may have been written to the store
    error: Exception | None = None  # an environment failure or ClaimLost: the job cannot end now

    def stop(self, error: Exception) -> None:
        """Leave the rest of the job undone. Its first error counts."""
        self.error = self.error or error

    def result(self) -> WriteResult:
        """What was written. Raises the error that stopped the job."""
        if self.error is not None:
            raise self.error
        return self.done


@dataclass(slots=True)
class MessageWork:
    """One message of a job, with its chunks and their vectors."""

    job: JobWork
    message: CountedMessage
    chunks: Sequence[chunking.Chunk] = ()
    vectors: dict[int, NDArray[np.float32]] = field(default_factory=dict)  # by chunk index
    tokens: bytes | None = None  # the packed token vectors of its first chunk
    failed: bool = False

    def fail(self, error: Exception) -> None:
        """Record that the job goes on without this message."""
        if self.job.error is not None:
            return
        self.failed = True
        message = self.message
        code = error.code if isinstance(error, errors.MemorybaseError) else "unexpected"
        log.warning("message_failed", message_id=str(message.id), error_code=code, error_type=type(error).__name__)
        self.job.done.failures.append(Failure(message.id, message.version, code, describe(error)))

    def is_missing(self, chunk: chunking.Chunk) -> bool:
        """Whether the chunk has no vector yet, or no token vectors that it should have."""
        if chunk.index not in self.vectors:
            return True
        return chunk.index == 0 and self.tokens is None and self.job.claim.token_encoding is not None


class Batch:
    """Jobs whose messages are embedded and stored together; a thread may store one slice while the next is embedded."""

    def __init__(self, services: Services, keeper: LeaseKeeper) -> None:
        self.jobs: list[JobWork] = []
        self._services = services
        self._keeper = keeper

    def add(self, claim: Claim, messages: Sequence[CountedMessage] | None = None) -> JobWork:
        """Add a job that writes these messages; without any given those of its range, without settled dead letters."""
        job = JobWork(claim)
        self.jobs.append(job)
        try:
            job.messages = self._read(job) if messages is None else messages
            if job.messages:
                self._prepare(job)
        except Exception as error:  # noqa: BLE001 - this job is postponed; the other jobs continue
            job.stop(error)
        return job

    def _read(self, job: JobWork) -> Sequence[CountedMessage]:
        claim = job.claim
        with self._services.database.reading() as db:
            messages = message_queries.fetch_range(
                db,
                flow_id=claim.flow_id,
                session_id=claim.session_id,
                capture=claim.capture,
                from_seq=claim.from_seq,
                to_seq=claim.to_seq,
            )
            settled = dead_letters.settled_dead_letters(db, claim.progress_id, [message.id for message in messages])
        job.cursor_id = messages[-1].id if messages else None
        return [message for message in messages if (message.id, message.version) not in settled]

    def _prepare(self, job: JobWork) -> None:
        """Cut the messages into chunks, and copy vectors from other collections."""
        # Before the work, and before `embed`: what cannot be stored is not computed.
        require_store(self._services.vectors, job.claim.collection.name)
        embedder = self._services.embedders.get(job.claim.embedding_model)
        check_writable(embedder, job.claim.embedder, remedy="regenerate")
        # As the generation was chunked, even if the settings have changed since.
        chunker = chunking.Chunker.of(job.claim.chunker, embedder)
        items = [MessageWork(job, message) for message in job.messages]
        for item, error in faulty(items, partial(_split, chunker), lambda *_: probe_model(embedder)):
            item.fail(error)
        job.items = _active(items)
        by_id = {item.message.id: item for item in job.items}
        found = vector_reuse.find_reusable(
            self._services, job.claim, embedder, [(item.message, item.chunks) for item in job.items]
        )
        for (message_id, chunk), vector in found.vectors.items():
            by_id[message_id].vectors[chunk] = vector
        for message_id, packed in found.tokens.items():
            by_id[message_id].tokens = packed

    def begin(self) -> None:
        """From here on a lost worker counts against these jobs. A job without its claim stops."""
        ready = [job for job in self.jobs if job.messages and job.error is None]
        try:
            held = self._keeper.begin_embedding([(job.claim, len(job.messages)) for job in ready])
        except errors.DatabaseUnavailable as error:
            _stop(ready, error)
            return
        for job in ready:
            job.started = True
        _stop([job for job in ready if job.claim.key not in held], errors.ClaimLost())

    def slices(self) -> Iterator[list[MessageWork]]:
        """At least `SLICE_CHUNKS` chunks each, with texts of similar length in one slice: less padding to embed."""
        items = [item for job in self.jobs for item in job.items]
        items.sort(key=lambda item: sum(len(chunk.text) for chunk in item.chunks))
        found: list[MessageWork] = []
        chunks = 0
        for item in items:
            found.append(item)
            chunks += len(item.chunks)
            if chunks >= SLICE_CHUNKS:
                yield found
                found, chunks = [], 0
        if found:
            yield found

    def embed(self, items: Sequence[MessageWork]) -> None:
        """Compute a vector for every chunk that has none."""
        began = time.monotonic()
        for job in _jobs(items):
            job.done.times.embedding = job.done.times.embedding or began
        by_model: defaultdict[str, list[MessageWork]] = defaultdict(list)
        for item in _active(items):
            by_model[item.job.claim.embedding_model].append(item)
        for model, group in by_model.items():
            try:
                embedder = self._services.embedders.get(model)
                with tracing.span("embed", parents=_traces(group), messages=len(group)):
                    for item, fault in faulty(
                        group, partial(_embed, embedder), lambda *_, it=embedder: probe_model(it)
                    ):
                        item.fail(fault)
            except Exception as error:  # noqa: BLE001 - the model failed: its jobs are postponed, the others continue
                _stop(_jobs(group), error)
        ended = time.monotonic()
        for job in _jobs(items):
            job.done.times.embedded = ended

    def store(self, items: Sequence[MessageWork]) -> None:
        """Upsert embedded messages, and read them back."""
        by_collection: defaultdict[CollectionRef, list[MessageWork]] = defaultdict(list)
        for item in _active(items):
            by_collection[item.job.claim.collection].append(item)
        for collection, group in by_collection.items():
            of_store = store_of(collection.name)
            try:
                with tracing.span("store", parents=_traces(group), messages=len(group), store=of_store):
                    for item, fault in faulty(_active(group), partial(self._write, collection), self._confirm_fault):
                        item.fail(fault)
            except (errors.CollectionMissing, errors.DimensionMismatch) as error:
                _stop(_jobs(group), error)
            except errors.VectorStoreUnavailable as error:  # for all jobs of this store: one timeout is enough
                _stop([job for job in _jobs(items) if store_of(job.claim.collection.name) == of_store], error)
            except Exception as error:  # noqa: BLE001 - what all jobs need failed
                _stop(_jobs(items), error)
        written = time.monotonic()
        for job in _jobs(items):
            job.done.times.written = written

    def _write(self, collection: CollectionRef, items: Sequence[MessageWork]) -> None:
        vectors = self._services.vectors
        self._check_claims(items)
        records = [(item, record) for item in _active(items) for record in _records(item)]
        # Rewriting an existing record is safe for the stored data but not for Chroma's index: of 300 batches that were
        # half stored already, 3 left a point that no query reached. Writing only the missing half left none.
        retried = [record.id for item, record in records if item.job.claim.retried]
        stored = vectors.fetch(collection, retried) if retried else {}
        missing = [record for _, record in records if not _is_stored(record, stored.get(record.id))]
        if records:

            def still_ours(unreachable: Sequence[VectorRecord]) -> list[VectorRecord]:
                self._check_claims(items)  # another worker may have claimed their jobs by now
                ours = {record.id for item, record in records if item.job.error is None}
                return [record for record in unreachable if record.id in ours]

            written = [record for _, record in records]
            write_records(vectors, collection, written, missing=missing, before_rewrite=still_ours)
        for item in _active(items):
            message, done = item.message, item.job.done
            done.held.append(HeldMessage(message.id, message.version, len(item.chunks)))
            if item.tokens is not None:
                done.tokens.append(MessageTokens(message.id, message.version, message.position, item.tokens))

    def _check_claims(self, items: Sequence[MessageWork]) -> None:
        jobs = _jobs(items)
        held = self._keeper.check(job.claim for job in jobs)
        _stop([job for job in jobs if job.claim.key not in held], errors.ClaimLost())

    def _confirm_fault(self, error: Exception, item: MessageWork) -> None:
        """Check that the model and the store work without this message. Raises EnvironmentFailure if they do not, and
        the error itself if no message can cause it."""
        if isinstance(error, errors.MemorybaseError) and not isinstance(error, errors.MessageFailure):
            raise error
        claim = item.job.claim
        vector = probe_model(self._services.embedders.get(claim.embedding_model))
        self._check_claims([item])
        if item.job.error is None:
            # No message has version 0, so the record replaces none and no search shows it. If a crash leaves it behind,
            # the audit after the lost worker deletes it: it belongs to the session and is in no ledger.
            probe_store(self._services.vectors, claim.collection, _record(item, 0, 0, vector, PROBE_TEXT))


def write_messages(
    services: Services, claim: Claim, messages: Sequence[CountedMessage], keeper: LeaseKeeper
) -> WriteResult:
    """Write one job's messages to its collection under deterministic ids.

    Raises EnvironmentFailure, and ClaimLost before a write under a lost claim.
    """
    batch = Batch(services, keeper)
    job = batch.add(claim, messages)
    batch.begin()
    for items in batch.slices():
        batch.embed(items)
        batch.store(items)
    return job.result()


def size_to_embed(items: Iterable[MessageWork]) -> int:
    """The characters of the chunks that have no vector yet."""
    return sum(len(chunk.text) for item in items for chunk in item.chunks if item.is_missing(chunk))


def _split(chunker: chunking.Chunker, items: Sequence[MessageWork]) -> None:
    for item in items:
        item.chunks = chunker.split(message_text(item.message.content))


def _embed(embedder: Embedder, items: Sequence[MessageWork]) -> None:
    missing = [(item, chunk) for item in items for chunk in item.chunks if item.is_missing(chunk)]
    if not missing:
        return
    firsts = [i for i, (item, chunk) in enumerate(missing) if chunk.index == 0 and _stores_tokens(item, embedder)]
    vectors, tokens = embedder.embed_with_tokens([chunk.text for _, chunk in missing], firsts)
    for i, (item, chunk) in enumerate(missing):
        item.vectors[chunk.index] = vectors[i]
        if chunk.index == 0 and item.job.claim.token_encoding is not None:
            # Another encoding than the generation's cannot be compared. Empty, they are nothing for a repair to add.
            item.tokens = tokens.get(i, item.tokens or b"")


def _stores_tokens(item: MessageWork, embedder: Embedder) -> bool:
    # Read the embedder's encoding last: a model without a published projection fits its own first.
    encoding = item.job.claim.token_encoding
    return encoding is not None and encoding == embedder.token_encoding


def _records(item: MessageWork) -> list[VectorRecord]:
    version = item.message.version
    return [_record(item, version, chunk.index, item.vectors[chunk.index], chunk.text) for chunk in item.chunks]


def _record(item: MessageWork, version: int, index: int, vector: NDArray[np.float32], text: str) -> VectorRecord:
    claim, message = item.job.claim, item.message
    return VectorRecord(
        id=chunk_ids.chunk_id(claim.memory_base_id, message.id, version, index),
        vector=vector,
        text=text,
        # Always the same keys: an upsert merges, and would keep a stale key.
        metadata={
            "message_id": str(message.id),
            "session_id": claim.session_id,
            "run_id": str(message.run_id),
            "end_user_id": claim.end_user_id or "",
            "role": message.role,
            "seq": message.seq,
            "timestamp": message.timestamp.timestamp(),
            "chunk_index": index,
        },
    )


def _is_stored(record: VectorRecord, stored: StoredVector | None) -> bool:
    # A vector of another dimension counts as missing: its write raises DimensionMismatch, which no message causes.
    return (
        stored is not None
        and stored.text == record.text
        and stored.vector.shape == record.vector.shape
        and float(stored.vector @ record.vector) > SAME_COSINE
    )


def _stop(jobs: Iterable[JobWork], error: Exception) -> None:
    for job in jobs:
        job.stop(error)


def _traces(items: Iterable[MessageWork]) -> list[tracing.Span | None]:
    """The spans of the jobs of these items."""
    return [job.claim.span for job in _jobs(items)]


def _jobs(items: Iterable[MessageWork]) -> list[JobWork]:
    """The jobs of these items, each once."""
    return list({item.job.claim.key: item.job for item in items}.values())


def _active(items: Iterable[MessageWork]) -> list[MessageWork]:
    """The items that have not failed and that belong to a job without an error."""
    return [item for item in items if item.job.error is None and not item.failed]
