"""Writes messages into a collection: chunk, embed, upsert, read back. No transaction is open here.

    add       read a job's messages, cut them into chunks, copy vectors that a collection already has
    begin     from then on a lost worker counts against the jobs
    slices    units to embed and store at once: many short messages, or a piece of a long one
    embed     compute a vector for every chunk that has none
    store     upsert, and read back

A batch has many jobs, and a slice of it messages of several. A message that makes a step fail is recorded as a failure,
and its job continues without it (`bisection`). A failure of the environment stops the jobs that it affects. A job that
is cut off within a long message, by a kill or because others wait, continues after the chunks that are stored.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase.core import errors, tracing
from memorybase.core.embedding import Embedder, chunking
from memorybase.core.embedding.compatibility import check_writable
from memorybase.core.ingestion import vector_reuse
from memorybase.core.ingestion.bisection import PROBE_TEXT, faulty, probe_model, probe_store
from memorybase.core.ingestion.claim import Claim
from memorybase.core.ingestion.lease import LeaseKeeper
from memorybase.core.ingestion.settlement import WriteResult, describe
from memorybase.core.messages import message_text
from memorybase.core.queries import dead_letters
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries.dead_letters import Failure
from memorybase.core.queries.jobs import Totals
from memorybase.core.queries.ledger import HeldMessage
from memorybase.core.queries.messages import CountedMessage
from memorybase.core.queries.token_vectors import MessageTokens
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.collection_names import store_of
from memorybase.core.vectors.store import CollectionRef, StoredVector, VectorRecord
from memorybase.core.vectors.stores import require_store
from memorybase.core.vectors.verified_writes import write_records

log = get_logger(__name__)

SAME_COSINE = 0.9999  # at least, between two computations of one text's vector by one backend
# Embedded at once, then stored while the next slice is embedded: about a second's work, since others may wait.
SLICE_CHUNKS = 128
SLICE_CHARS = 40_000
PIECE_CHUNKS = 32  # of a longer message, in one slice


class GaveWay(Exception):
    """Others wait: the job continues after them, behind the chunks that are stored."""

    def __init__(self, stored_chunks: int) -> None:
        super().__init__()
        self.stored_chunks = stored_chunks


@dataclass(slots=True)
class JobWork:
    """A claimed job with its messages and their result."""

    claim: Claim
    messages: Sequence[CountedMessage] = ()
    cursor_id: UUID | None = None  # the last message of the range
    items: list[MessageWork] = field(default_factory=list)
    done: WriteResult = field(default_factory=WriteResult)
    started: bool = False  # chunks may have been written to the store
    left: int = 0  # pieces to store
    ended: bool = False
    error: Exception | None = None  # an environment failure or ClaimLost: the job cannot end now

    def stop(self, error: Exception) -> None:
        """Leave the rest of the job undone. Its first error counts."""
        self.error = self.error or error

    def result(self) -> WriteResult:
        """The written messages. Raises the error that stopped the job, GaveWay if pieces are left."""
        if self.error is not None:
            raise self.error
        if self.left:
            raise GaveWay(self.stored_chunks)
        return self.done

    @property
    def stored_chunks(self) -> int:
        return sum(len(item.stored) for item in self.items)

    @property
    def totals(self) -> Totals:
        return Totals(len(self.messages), sum(len(item.chunks) for item in self.items))


@dataclass(slots=True)
class MessageWork:
    """One message of a job, with its chunks and their vectors."""

    job: JobWork
    message: CountedMessage
    chunks: Sequence[chunking.Chunk] = ()
    vectors: dict[int, NDArray[np.float32]] = field(default_factory=dict)  # by chunk index
    tokens: bytes | None = None  # the packed token vectors of its first chunk
    stored: set[int] = field(default_factory=set)  # the chunks that are in the collection, verified
    left: int = 0  # pieces to store
    failed: bool = False

    def fail(self, error: Exception) -> None:
        """Record the message's failure; the job continues without it."""
        if self.job.error is not None:
            return
        self.failed = True
        self.job.done.orphaned_chunks |= bool(self.stored)
        message = self.message
        code = error.code if isinstance(error, errors.MemorybaseError) else "unexpected"
        log.warning("message_failed", message_id=str(message.id), error_code=code, error_type=type(error).__name__)
        self.job.done.failures.append(Failure(message.id, message.version, code, describe(error)))

    def is_missing(self, chunk: chunking.Chunk) -> bool:
        """Whether the chunk has no vector yet, or no token vectors that it should have."""
        if chunk.index not in self.vectors:
            return True
        return chunk.index == 0 and self.tokens is None and self.job.claim.token_encoding is not None

    def pieces(self) -> list[Piece]:
        """Pieces that are not stored yet; one without chunks if all are, since the message is still to be recorded."""
        chunks = [chunk for chunk in self.chunks if chunk.index not in self.stored or self.is_missing(chunk)]
        starts = range(0, max(len(chunks), 1), PIECE_CHUNKS)
        found = [Piece(self, chunks[start : start + PIECE_CHUNKS]) for start in starts]
        self.left = len(found)
        self.job.left += len(found)
        return found


@dataclass(slots=True)
class Piece:
    """Consecutive chunks of a message, embedded and stored together."""

    item: MessageWork
    chunks: Sequence[chunking.Chunk]

    @property
    def job(self) -> JobWork:
        return self.item.job

    @property
    def failed(self) -> bool:
        return self.item.failed

    @property
    def size(self) -> int:
        """The characters to embed."""
        return sum(len(chunk.text) for chunk in self.chunks if self.item.is_missing(chunk))


Work = TypeVar("Work", MessageWork, Piece)


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
                from_seq=claim.job.from_seq,
                to_seq=claim.job.to_seq,
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
        job.items = sorted(_active(items), key=_length)  # texts of similar length in one slice: less padding to embed
        by_id = {item.message.id: item for item in job.items}
        found = vector_reuse.find_reusable(
            self._services, job.claim, embedder, [(item.message, item.chunks) for item in job.items]
        )
        for (message_id, chunk), vector in found.vectors.items():
            by_id[message_id].vectors[chunk] = vector
        # An attempt that was cut off may not have verified the last chunks that it wrote.
        kept = [(item, chunk.index) for item in job.items for chunk in item.chunks]
        kept = [(item, index) for item, index in kept if (item.message.id, index) in found.own]
        for item, index in kept[: job.claim.job.stored_chunks]:
            item.stored.add(index)
        for message_id, packed in found.tokens.items():
            by_id[message_id].tokens = packed

    def begin(self) -> None:
        """From now on a lost worker counts against these jobs. A job without its claim stops."""
        ready = [job for job in self.jobs if job.messages and job.error is None]
        try:
            held = self._keeper.begin_embedding([(job.claim, job.totals) for job in ready])
        except errors.DatabaseUnavailable as error:
            _stop(ready, error)
            return
        for job in ready:
            job.started = True
        _stop([job for job in ready if job.claim.key not in held], errors.ClaimLost())

    def slices(self, must_give_way: Callable[[], bool]) -> Iterator[list[Piece]]:
        """The pieces to embed at once, shorter messages first.

        As soon as others wait, jobs of long messages stop with GaveWay. They embed something first, so that each turn
        makes progress.
        """
        items = sorted((item for job in self.jobs for item in job.items), key=_length)
        slices = list(_slices([piece for item in items for piece in item.pieces()]))
        embedded = 0
        for number, pieces in enumerate(slices):
            rest = [piece for some in slices[number:] for piece in some] if embedded else []
            if any(_is_of_long_job(piece) for piece in rest) and must_give_way():
                yield from _slices(piece for piece in rest if not _is_of_long_job(piece))
                return
            embedded += sum(piece.size for piece in pieces)
            yield pieces

    def embed(self, pieces: Sequence[Piece]) -> None:
        """Compute a vector for every chunk that has none."""
        began = time.monotonic()
        for job in _jobs(pieces):
            job.done.times.embedding = job.done.times.embedding or began
        by_model: defaultdict[str, list[Piece]] = defaultdict(list)
        for piece in _active(pieces):
            by_model[piece.job.claim.embedding_model].append(piece)
        for model, group in by_model.items():
            try:
                embedder = self._services.embedders.get(model)
                with tracing.span("embed", parents=_traces(group), messages=len(group)):
                    for piece, fault in faulty(
                        group, partial(_embed, embedder), lambda *_, it=embedder: probe_model(it)
                    ):
                        piece.item.fail(fault)
            except Exception as error:  # noqa: BLE001 - the model failed: its jobs are postponed, the others continue
                _stop(_jobs(group), error)
        ended = time.monotonic()
        for job in _jobs(pieces):
            job.done.times.embedded = ended

    def store(self, pieces: Sequence[Piece]) -> list[JobWork]:
        """Upsert embedded pieces, and read them back. Returns the jobs that have no pieces left."""
        by_collection: defaultdict[CollectionRef, list[Piece]] = defaultdict(list)
        for piece in _active(pieces):
            by_collection[piece.job.claim.collection].append(piece)
        for collection, group in by_collection.items():
            of_store = store_of(collection.name)
            try:
                with tracing.memory_span(
                    "upsert_memory",
                    parents=_traces(group),
                    memory_base_id=str(group[0].job.claim.memory_base_id),
                    record_count=len({piece.item.message.id for piece in group}),
                    store=of_store,
                ):
                    for piece, fault in faulty(_active(group), partial(self._write, collection), self._confirm_fault):
                        piece.item.fail(fault)
            except (errors.CollectionMissing, errors.DimensionMismatch) as error:
                _stop(_jobs(group), error)
            except errors.VectorStoreUnavailable as error:  # for all jobs of this store: one timeout is enough
                _stop([job for job in _jobs(pieces) if store_of(job.claim.collection.name) == of_store], error)
            except Exception as error:  # noqa: BLE001 - what all jobs need failed
                _stop(_jobs(pieces), error)
        written = time.monotonic()
        for piece in pieces:
            piece.job.left -= 1
            piece.job.done.times.written = written
        return [job for job in _jobs(pieces) if not job.left]

    def _write(self, collection: CollectionRef, pieces: Sequence[Piece]) -> None:
        vectors = self._services.vectors
        self._check_claims(pieces)
        records = [(piece, record) for piece in _active(pieces) for record in _records(piece)]
        # Rewriting an existing record is safe for the stored data but not for Chroma's index: of 300 batches that were
        # half stored already, 3 left a point that no query reached. Writing only the missing half left none.
        retried = [record.id for piece, record in records if piece.job.claim.retried]
        stored = vectors.fetch(collection, retried) if retried else {}
        missing = [record for _, record in records if not _is_stored(record, stored.get(record.id))]
        if records:

            def still_ours(unreachable: Sequence[VectorRecord]) -> list[VectorRecord]:
                self._check_claims(pieces)  # another worker may have claimed their jobs by now
                ours = {record.id for piece, record in records if piece.job.error is None}
                return [record for record in unreachable if record.id in ours]

            written = [record for _, record in records]
            write_records(vectors, collection, written, missing=missing, before_rewrite=still_ours)
        for piece in _active(pieces):
            self._record_stored(piece)

    def _record_stored(self, piece: Piece) -> None:
        item, job = piece.item, piece.job
        item.left -= 1
        item.stored |= {chunk.index for chunk in piece.chunks}
        self._keeper.note_progress(job.claim, job.stored_chunks)
        if item.left:
            return
        message, done = item.message, job.done
        done.held.append(HeldMessage(message.id, message.version, len(item.chunks)))
        if item.tokens is not None:
            done.tokens.append(MessageTokens(message.id, message.version, message.position, item.tokens))

    def _check_claims(self, pieces: Sequence[Piece]) -> None:
        jobs = _jobs(pieces)
        held = self._keeper.check(job.claim for job in jobs)
        _stop([job for job in jobs if job.claim.key not in held], errors.ClaimLost())

    def _confirm_fault(self, error: Exception, piece: Piece) -> None:
        """Check that the model and the store work without this message. Raises EnvironmentFailure if they do not, and
        the error itself if no message can cause it."""
        if isinstance(error, errors.MemorybaseError) and not isinstance(error, errors.MessageFailure):
            raise error
        claim = piece.job.claim
        vector = probe_model(self._services.embedders.get(claim.embedding_model))
        self._check_claims([piece])
        if piece.job.error is None:
            # No message has version 0, so the record replaces none and no search shows it. If a crash leaves it behind,
            # the audit after the lost worker deletes it: it belongs to the session and is in no ledger.
            probe_store(self._services.vectors, claim.collection, _record(piece.item, 0, 0, vector, PROBE_TEXT))


def write_messages(
    services: Services,
    claim: Claim,
    messages: Sequence[CountedMessage],
    keeper: LeaseKeeper,
    must_give_way: Callable[[], bool],
) -> WriteResult:
    """Write one job's messages to its collection under deterministic ids.

    Raises EnvironmentFailure, GaveWay, and ClaimLost before a write under a lost claim.
    """
    batch = Batch(services, keeper)
    job = batch.add(claim, messages)
    batch.begin()
    for pieces in batch.slices(must_give_way):
        batch.embed(pieces)
        batch.store(pieces)
    return job.result()


def size_to_embed(items: Iterable[MessageWork]) -> int:
    """The characters of the chunks that have no vector yet."""
    return sum(len(chunk.text) for item in items for chunk in item.chunks if item.is_missing(chunk))


def _is_of_long_job(piece: Piece) -> bool:
    return not piece.failed and piece.job.totals.chunks > SLICE_CHUNKS


def _length(item: MessageWork) -> int:
    return sum(len(chunk.text) for chunk in item.chunks)


def _slices(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    found: list[Piece] = []
    chunks = characters = 0
    for piece in pieces:
        found.append(piece)
        chunks += len(piece.chunks)
        characters += piece.size
        if chunks >= SLICE_CHUNKS or characters >= SLICE_CHARS:
            yield found
            found, chunks, characters = [], 0, 0
    if found:
        yield found


def _split(chunker: chunking.Chunker, items: Sequence[MessageWork]) -> None:
    for item in items:
        item.chunks = chunker.split(message_text(item.message.content))


def _embed(embedder: Embedder, pieces: Sequence[Piece]) -> None:
    missing = [(piece.item, chunk) for piece in pieces for chunk in piece.chunks if piece.item.is_missing(chunk)]
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


def _records(piece: Piece) -> list[VectorRecord]:
    item = piece.item
    return [
        _record(item, item.message.version, chunk.index, item.vectors[chunk.index], chunk.text)
        for chunk in piece.chunks
    ]


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


def _traces(pieces: Iterable[Piece]) -> list[tracing.Span | None]:
    """The spans of the jobs of these pieces."""
    return [job.claim.span for job in _jobs(pieces)]


def _jobs(pieces: Iterable[Piece]) -> list[JobWork]:
    """The jobs of these pieces, each once."""
    return list({piece.job.claim.key: piece.job for piece in pieces}.values())


def _active(works: Iterable[Work]) -> list[Work]:
    """The jobs' works that have not failed and whose job has no error."""
    return [work for work in works if work.job.error is None and not work.failed]
