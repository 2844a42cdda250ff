"""Rows as captures and finished jobs leave them: one large flow, in batches of a few thousand messages.

Sessions have unequal lengths. Three of ten are of an assistant, the others of two people. They are spread over 90 days,
and five belong to one person. One session in a hundred has two messages that no job has ingested yet. The person
`LEAVING` has the same ten sessions in every store, whatever its size, so that erasing somebody compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding import chunking
from memorybase.core.embedding.protocol import Embedder
from memorybase.core.ingestion.bisection import PROBE_TEXT
from memorybase.core.keyword_index import index
from memorybase.core.keyword_index.analyzer import analyzer, name_words, term_key
from memorybase.core.messages import message_fingerprint, normalise, text_bytes
from memorybase.core.models import (
    IngestionJob,
    LedgerEntry,
    Message,
    Run,
    Session,
    SessionProgress,
    Speaker,
    TokenVectors,
)
from memorybase.core.models.sessions import BLOCK
from memorybase.core.vectors.chunk_ids import chunk_id
from memorybase.core.vectors.store import VectorRecord
from scaling.texts import TOPICS, Turn, Vocabulary, turns

Row = dict[str, Any]

DAYS = 90
PIECE = 2_000  # messages of one session that are made at once
SESSIONS_OF_A_PERSON = 5
LEAVING, LEAVING_SESSIONS, LEAVING_MESSAGES = "leaving", 10, 20
JOB_MESSAGES = 50
LONG_SHARE = 0.3
# Parents before children, so that foreign keys hold at the end of each batch.
TABLES = (Session, Run, Message, Speaker, SessionProgress, LedgerEntry, TokenVectors, IngestionJob)
POSTING = np.dtype([("term", np.int64), ("position", np.int64), ("times", np.int16)])


@dataclass(frozen=True, slots=True)
class Target:
    """The flow and the memory base that the rows belong to."""

    user_id: UUID
    flow_id: UUID
    base_id: UUID
    embedder: Embedder
    chunker: chunking.Chunker


@dataclass(slots=True)
class Batch:
    """Rows by table, postings, and records of the vector store."""

    rows: dict[type[Any], list[Row]] = field(default_factory=dict)
    postings: list[tuple[int, int, int]] = field(default_factory=list)
    records: list[VectorRecord] = field(default_factory=list)

    def add(self, table: type[Any], **row: Any) -> None:
        self.rows.setdefault(table, []).append(row)

    def posting_array(self) -> NDArray[Any]:
        return np.array(self.postings, dtype=POSTING)


def session_lengths(rng: np.random.Generator, messages: int, sessions: int) -> list[int]:
    """Messages of each session, lognormal and at least two."""
    weights = rng.lognormal(0, 1, sessions)
    spare = messages - 2 * sessions
    lengths: list[int] = (2 + rng.multinomial(spare, weights / weights.sum())).tolist()
    return lengths


class RowMaker:
    """Makes the rows of every session, the same for the same target, seed and `now`."""

    def __init__(self, target: Target, vocabulary: Vocabulary, *, seed: int = 7, now: datetime | None = None) -> None:
        self._target = target
        self._vocabulary = vocabulary
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self._now = now or datetime.now(UTC)
        self._analyzer = analyzer("detect")
        self._keys: dict[str, int] = {}
        self._probe = normalise({"role": "user", "content": PROBE_TEXT}, user_id=target.user_id, where="messages")

    def batches(self, messages: int, sessions: int, *, leaving: bool, after: int = 0) -> Iterator[Batch]:
        """A flow's rows after those of so many sessions, with or without the person who leaves."""
        lengths = session_lengths(np.random.default_rng(self._seed), messages, sessions)
        lengths += [LEAVING_MESSAGES] * (LEAVING_SESSIONS if leaving else 0)
        batch = Batch()
        for number in range(after, len(lengths)):
            self._rng = np.random.default_rng([self._seed, number])  # so that a fill can go on with any session
            name, person = f"session-{number}", f"person-{number // SESSIONS_OF_A_PERSON}"
            if number >= sessions:
                name, person = f"leaving-{number - sessions}", LEAVING
            waits = number < sessions and number % 100 == 7
            yield from self._session(batch, name, person, lengths[number], waits=waits)
            if len(batch.rows[Message]) >= PIECE:
                yield batch
                batch = Batch()
        if batch.rows:
            yield batch

    def _session(
        self, batch: Batch, session_id: str, person: str, length: int, *, waits: bool = False
    ) -> Iterator[Batch]:
        """Add a session to the batch. Of a long one, earlier pieces are batches of their own."""
        rng, target = self._rng, self._target
        started = self._now - timedelta(seconds=float(rng.random()) * DAYS * 86_400)
        step = min(60.0, (self._now - started).total_seconds() / (length + 1))
        state = _Session(
            session_id,
            person,
            started,
            timedelta(seconds=step),
            int(rng.integers(2**62 // BLOCK)) * BLOCK,
            self._uuid(),
            self._uuid(),
            cursor=length - 2 if waits and length > 2 else length,
        )
        topic, long = int(rng.integers(TOPICS)), bool(rng.random() < LONG_SHARE)
        for first in range(0, length, PIECE):
            made = turns(self._vocabulary, rng, min(PIECE, length - first), topic, long=long)
            piece = batch if first + PIECE >= length else Batch()
            self._messages(piece, state, first, made)
            if piece is not batch:
                yield piece
        batch.add(
            Session,
            id=state.id,
            flow_id=target.flow_id,
            session_id=session_id,
            end_user_id=person,
            first_position=state.first_position,
            last_seq=length,
            documents=state.documents,
            terms=state.terms,
            packed_seq=length,
            passed_seq=length if state.cursor == length else 0,
            keyword_language="detect",
            created_at=started,
            last_captured_at=state.at(length),
            deleted_at=None,
            metadata={},
        )
        for name in sorted(state.names):
            batch.add(Speaker, flow_id=target.flow_id, name=name, session_uuid=state.id)
        self._progress(batch, state)

    def _progress(self, batch: Batch, state: _Session) -> None:
        target, synced = self._target, state.at(state.cursor) + timedelta(seconds=4)
        batch.add(
            SessionProgress,
            id=state.progress_id,
            memory_base_id=target.base_id,
            generation=1,
            flow_id=target.flow_id,
            session_id=state.session_id,
            session_uuid=state.id,
            start_seq=0,
            cursor_id=state.cursor_id,
            cursor_seq=state.cursor,
            target_seq=state.cursor,
            build_seq=0,
            total_processed=state.cursor,
            total_chunks=state.chunks,
            last_sync_at=synced,
            epoch=-(-state.cursor // JOB_MESSAGES),
            dirty=0,
            repaired=0,
        )
        for first in range(0, state.cursor, JOB_MESSAGES):
            last = min(first + JOB_MESSAGES, state.cursor)
            at = state.at(last)
            batch.add(
                IngestionJob,
                id=self._uuid(),
                memory_base_id=target.base_id,
                progress_id=state.progress_id,
                session_id=state.session_id,
                kind="ingest",
                state="done",
                generation=1,
                from_seq=first,
                to_seq=last,
                embedder=target.embedder.identity,
                chunker=target.chunker.identity,
                audit=False,
                total=last - first,
                processed=last - first,
                total_chunks=0,
                stored_chunks=0,
                epoch=1,
                attempts=1,
                outages=0,
                lost_workers=0,
                embedding_started=True,
                batched=False,
                run_alone=False,
                available_at=at,
                virtual_time=0,
                notify_count=1,
                notified_at=at,
                notify_at=at,
                created_at=at,
                started_at=at,
                embedding_at=at,
                embedded_at=at,
                written_at=at,
                finished_at=at + timedelta(seconds=4),
            )

    def _messages(self, batch: Batch, state: _Session, first: int, made: list[Turn]) -> None:
        pieces: list[tuple[UUID, int, Sequence[chunking.Chunk]]] = []
        for seq, turn in enumerate(made, first + 1):
            if seq % 2:
                state.run_id = self._uuid()
                batch.add(
                    Run,
                    id=state.run_id,
                    flow_id=self._target.flow_id,
                    session_uuid=state.id,
                    created_at=state.at(seq),
                )
            message_id = self._uuid()
            self._message(batch, state, seq, turn, message_id)
            if seq <= state.cursor:
                pieces.append((message_id, seq, self._target.chunker.split(turn.text)))
            if seq == state.cursor:
                state.cursor_id = message_id
        self._hold(batch, state, first, made, pieces)

    def _message(self, batch: Batch, state: _Session, seq: int, turn: Turn, message_id: UUID) -> None:
        document = self._analyzer.document(turn.text)
        position, at = state.first_position + seq, state.at(seq)
        batch.add(
            Message,
            id=message_id,
            flow_id=self._target.flow_id,
            session_uuid=state.id,
            run_id=state.run_id,
            seq=seq,
            position=position,
            role=turn.role,
            is_output=turn.role == "assistant",
            is_dialogue=True,
            content=turn.text,
            sender_name=turn.sender_name,
            files=[],
            metadata={},
            status="completed",
            version=1,
            text_bytes=text_bytes(turn.text),
            **index.columns(document),
            first_person=0,
            capitals=0,
            fingerprint=message_fingerprint(self._probe),
            timestamp=at,
            captured_at=at,
            muted=False,
            pinned=False,
        )
        state.names |= name_words(turn.sender_name) if turn.sender_name not in state.senders else set()
        state.senders.add(turn.sender_name)
        state.documents += bool(document.counts)
        state.terms += document.length
        keys = self._keys
        for term, times in document.counts.items():
            if term not in keys:
                keys[term] = term_key(self._target.flow_id, term)
            batch.postings.append((keys[term], position, times))

    def _hold(
        self,
        batch: Batch,
        state: _Session,
        first: int,
        made: list[Turn],
        pieces: list[tuple[UUID, int, Sequence[chunking.Chunk]]],
    ) -> None:
        """What a job writes of these messages: vectors, ledger and token vectors."""
        target, flat = self._target, [(*piece[:2], chunk) for piece in pieces for chunk in piece[2]]
        texts = [chunk.text for _, _, chunk in flat]
        firsts = [number for number, (_, _, chunk) in enumerate(flat) if chunk.index == 0]
        vectors, tokens = target.embedder.embed_with_tokens(texts, firsts)
        for number, (message_id, seq, chunk) in enumerate(flat):
            metadata: dict[str, str | int | float | bool] = {
                "message_id": str(message_id),
                "session_id": state.session_id,
                "run_id": str(message_id),
                "end_user_id": state.person,
                "role": made[seq - first - 1].role,
                "seq": seq,
                "timestamp": state.at(seq).timestamp(),
                "chunk_index": chunk.index,
            }
            key = chunk_id(target.base_id, message_id, 1, chunk.index)
            batch.records.append(VectorRecord(key, vectors[number], chunk.text, metadata))
        held = {"progress_id": state.progress_id, "memory_base_id": target.base_id, "generation": 1, "version": 1}
        packed = {flat[number][0]: vectors_of for number, vectors_of in tokens.items()}
        for message_id, seq, chunks in pieces:
            state.chunks += len(chunks)
            batch.add(
                LedgerEntry,
                **held,
                message_id=message_id,
                chunks=len(chunks),
                ingested_at=state.at(seq) + timedelta(seconds=4),
            )
            if message_id in packed:
                batch.add(
                    TokenVectors,
                    **held,
                    message_id=message_id,
                    position=state.first_position + seq,
                    vectors=packed[message_id],
                )

    def _uuid(self) -> UUID:
        return UUID(bytes=self._rng.bytes(16), version=4)


@dataclass(slots=True)
class _Session:
    """What is known of a session while its messages are made."""

    session_id: str
    person: str
    started: datetime
    step: timedelta
    first_position: int
    id: UUID
    progress_id: UUID
    cursor: int
    run_id: UUID | None = None
    cursor_id: UUID | None = None
    documents: int = 0
    terms: int = 0
    chunks: int = 0
    names: set[str] = field(default_factory=set)
    senders: set[str | None] = field(default_factory=lambda: {None})

    def at(self, seq: int) -> datetime:
        return self.started + self.step * seq
