"""In-memory doubles of the services around memorybase, which can fail on request.

A double and the real service pass the same contract tests (tests/contract).
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding import QueryTokens, token_vectors
from memorybase.core.embedding.token_vectors import MAX_TOKENS
from memorybase.core.errors import (
    CollectionMissing,
    DimensionMismatch,
    LockUnavailable,
    MemorybaseError,
    ModelUnavailable,
    TextRejected,
    VectorRejected,
    VectorStoreUnavailable,
)
from memorybase.core.services import Task
from memorybase.core.vectors.store import (
    COLLECTION_NAME,
    CollectionRef,
    MetadataValue,
    StoredCollection,
    StoredVector,
    VectorHit,
    VectorRecord,
    as_score,
    check_records,
    nearest,
)

if TYPE_CHECKING:
    from memorybase.core.services import JobMessage

P = ParamSpec("P")
T = TypeVar("T")

DRAIN_LIMIT = 10_000  # notifications; beyond it the handler enqueues itself forever


class Faults:
    """Errors to raise from the next calls, in order."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str | None, MemorybaseError]] = deque()

    def add(self, error: MemorybaseError, *, on: str | None, times: int) -> None:
        self._waiting.extend([(on, error)] * times)

    def raise_due(self, operation: str) -> None:
        for waiting in self._waiting:
            if waiting[0] in {None, operation}:
                self._waiting.remove(waiting)
                raise waiting[1]


@dataclass
class _Collection:
    ref: CollectionRef
    metadata: dict[str, MetadataValue]
    dimension: int | None = None
    records: dict[str, VectorRecord] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)


WRITES = frozenset({"create_collection", "delete_collection", "upsert", "delete", "check_writes"})


class InMemoryVectors:
    """A VectorStore in a dictionary that rejects what Chroma rejects and merges metadata as Chroma does."""

    def __init__(self) -> None:
        self.away = False  # every call raises VectorStoreUnavailable while this is set
        self.read_only = False  # every write does
        self.calls: Counter[str] = Counter()
        self.before_upsert: Callable[[CollectionRef, Sequence[VectorRecord]], object] | None = None
        self.after_upsert: Callable[[CollectionRef, Sequence[VectorRecord]], object] | None = None
        self._faults = Faults()
        self._guard = threading.RLock()
        self._collections: dict[str, _Collection] = {}

    # For tests.

    def fail_next(self, error: MemorybaseError, *, on: str | None = None, times: int = 1) -> None:
        """Raise this error from the next calls, of any operation or of `on`."""
        self._faults.add(error, on=on, times=times)

    def records(self, ref: CollectionRef) -> dict[str, VectorRecord]:
        """The collection's records, by id."""
        with self._guard:
            return dict(self._collection(ref).records)

    def names(self) -> list[str]:
        """The names of all collections."""
        with self._guard:
            return sorted(self._collections)

    def lose(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        """Remove these records, like a store that lost data."""
        with self._guard:
            for id_ in ids:
                del self._collection(ref).records[id_]

    def damage(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        """Keep these records without their vectors, like a damaged index."""
        with self._guard:
            self._collection(ref).damaged |= set(ids)

    def hide(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        """Keep these records, but return them from no query until deleted, like an index that cannot reach them."""
        with self._guard:
            self._collection(ref).hidden |= set(ids)

    def replace_collection(self, name: str) -> CollectionRef:
        """Delete the collection and create another of the same name."""
        self.delete_collection(name)
        return self.create_collection(name, {})

    # The VectorStore protocol.

    def create_collection(self, name: str, metadata: Mapping[str, MetadataValue]) -> CollectionRef:
        with self._call("create_collection"):
            if not COLLECTION_NAME.fullmatch(name):
                raise VectorRejected(reason="the collection's name")
            if name in self._collections:
                raise VectorRejected(reason="the collection exists")
            self._collections[name] = _Collection(CollectionRef(name, uuid4()), dict(metadata))
            return self._collections[name].ref

    def delete_collection(self, name: str) -> None:
        with self._call("delete_collection"):
            self._collections.pop(name, None)

    def collection_exists(self, ref: CollectionRef) -> bool:
        with self._call("collection_exists"):
            found = self._collections.get(ref.name)
            return found is not None and found.ref.id == ref.id

    def list_collections(self) -> list[StoredCollection]:
        with self._call("list_collections"):
            return [
                StoredCollection(collection.ref, dict(collection.metadata)) for collection in self._collections.values()
            ]

    def upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        if self.before_upsert is not None:
            self.before_upsert(ref, records)
        with self._call("upsert"):
            check_records(records)
            for record in records:
                _store(self._collection(ref), record)
        if self.after_upsert is not None:
            self.after_upsert(ref, records)

    def stored_ids(self, ref: CollectionRef, ids: Sequence[str], *, vectors: bool = True) -> set[str]:
        with self._call("stored_ids"):
            if not ids:
                return set()
            collection = self._collection(ref)
            return {id_ for id_ in ids if id_ in collection.records} - (collection.damaged if vectors else set())

    def reached_ids(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> set[str]:
        with self._call("reached_ids"):
            if not records:
                return set()
            collection = self._collection(ref)
            return {record.id for record in records if record.id in collection.records} - collection.hidden

    def fetch(self, ref: CollectionRef, ids: Sequence[str], *, texts: bool = True) -> dict[str, StoredVector]:
        with self._call("fetch"):
            collection = self._collection(ref)
            readable = {id_ for id_ in ids if id_ in collection.records} - collection.damaged
            found = {id_: collection.records[id_] for id_ in readable}
            return {id_: StoredVector(record.vector, record.text if texts else "") for id_, record in found.items()}

    def delete(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        with self._call("delete"):
            for id_ in ids:
                self._collection(ref).records.pop(id_, None)
                self._collection(ref).hidden.discard(id_)

    def iter_ids(self, ref: CollectionRef, *, session_id: str | None = None) -> Iterator[list[str]]:
        with self._call("iter_ids"):
            where = None if session_id is None else {"session_id": session_id}
            found = [record.id for record in self._collection(ref).records.values() if matches(record.metadata, where)]
        for start in range(0, len(found), 100):  # small pages, so that tests cross one
            yield found[start : start + 100]

    def newest_ids(self, ref: CollectionRef, limit: int) -> list[str]:
        with self._call("newest_ids"):
            return list(self._collection(ref).records)[-limit:]

    def count(self, ref: CollectionRef) -> int:
        with self._call("count"):
            return len(self._collection(ref).records)

    def query(
        self,
        ref: CollectionRef,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, Any] | None = None,
        *,
        texts: bool = True,
    ) -> list[VectorHit]:
        with self._call("query"):
            if limit < 1:
                return []
            collection = self._collection(ref)
            if not np.isfinite(vector).all():
                raise VectorRejected(reason="the vector is not finite")
            _check_dimension(collection, vector)
            hits = [
                VectorHit(
                    record.id,
                    as_score(_cosine_distance(record.vector, vector)),
                    record.text if texts else "",
                    dict(record.metadata) if texts else {},
                )
                for record in collection.records.values()
                if record.id not in collection.damaged | collection.hidden and matches(record.metadata, where)
            ]
            return sorted(hits, key=lambda hit: -hit.score)[:limit]

    def query_among(
        self,
        ref: CollectionRef,
        vector: NDArray[np.float32],
        ids: Sequence[str],
        limit: int,  # noqa: ARG002 - reads all
    ) -> list[VectorHit]:
        return nearest(self.fetch(ref, ids, texts=False), vector)

    def ping(self) -> None:
        with self._call("ping"):
            return

    def check_writes(self) -> None:
        with self._call("check_writes"):
            return

    def _call(self, operation: str) -> threading.RLock:
        """Count the call and raise a due error; returns the lock for the call."""
        with self._guard:
            self.calls[operation] += 1
            if self.away or (self.read_only and operation in WRITES):
                raise VectorStoreUnavailable(operation=operation, reason="away" if self.away else "read-only")
            self._faults.raise_due(operation)
        return self._guard

    def _collection(self, ref: CollectionRef) -> _Collection:
        for collection in self._collections.values():
            if collection.ref.id == ref.id:
                return collection
        raise CollectionMissing


def _store(collection: _Collection, record: VectorRecord) -> None:
    _check_dimension(collection, record.vector)
    collection.dimension = record.vector.size
    old = collection.records.get(record.id)
    merged = {**(old.metadata if old else {}), **record.metadata}
    vector = np.array(record.vector, dtype=np.float32)
    collection.records[record.id] = VectorRecord(record.id, vector, record.text, merged)
    collection.damaged.discard(record.id)


def _check_dimension(collection: _Collection, vector: NDArray[np.float32]) -> None:
    if collection.dimension not in {None, vector.size}:
        raise DimensionMismatch(expected=collection.dimension, got=vector.size)


def _cosine_distance(left: NDArray[np.float32], right: NDArray[np.float32]) -> float:
    norms = float(np.linalg.norm(left) * np.linalg.norm(right))
    return 1.0 - float(left @ right) / norms if norms else 1.0


def matches(metadata: Mapping[str, Any], where: Mapping[str, Any] | None) -> bool:
    """Whether this metadata passes Chroma's filter; raises VectorRejected for an unknown filter."""
    return all(_holds(metadata, key, wanted) for key, wanted in (where or {}).items())


def _holds(metadata: Mapping[str, Any], key: str, condition: Any) -> bool:
    if key == "$and":
        return all(matches(metadata, part) for part in condition)
    if key == "$or":
        return any(matches(metadata, part) for part in condition)
    (operator, operand), *more = (condition if isinstance(condition, Mapping) else {"$eq": condition}).items()
    if more or operator not in _OPERATORS:
        raise VectorRejected(reason="the filter")
    return _OPERATORS[operator](metadata.get(key), operand)


def _same(value: Any, operand: Any) -> bool:
    # In Chroma, True is not 1.
    return isinstance(value, bool) == isinstance(operand, bool) and bool(value == operand)


def _both_numbers(value: Any, operand: Any) -> bool:
    return isinstance(value, int | float) and isinstance(operand, int | float)


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": _same,
    "$ne": lambda value, operand: not _same(value, operand),
    "$in": lambda value, operand: any(_same(value, each) for each in operand),
    "$nin": lambda value, operand: not any(_same(value, each) for each in operand),
    "$gt": lambda value, operand: _both_numbers(value, operand) and value > operand,
    "$gte": lambda value, operand: _both_numbers(value, operand) and value >= operand,
    "$lt": lambda value, operand: _both_numbers(value, operand) and value < operand,
    "$lte": lambda value, operand: _both_numbers(value, operand) and value <= operand,
}


class InMemoryLocks:
    """SessionLocks in a dictionary; `ttl_seconds` is measured on the given clock."""

    def __init__(self, *, ttl_seconds: float = 45.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.away = False  # every call but release raises LockUnavailable while this is set
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._faults = Faults()
        self._guard = threading.Lock()
        self._held: dict[tuple[UUID, str], tuple[str, float]] = {}  # key to token and expiry

    def fail_next(self, error: MemorybaseError, *, on: str | None = None, times: int = 1) -> None:
        """Raise this error from the next acquire, extend or held."""
        self._faults.add(error, on=on, times=times)

    def expire(self, memory_base_id: UUID, session_id: str) -> None:
        """Expire the lock, as Redis does after its TTL."""
        with self._guard:
            self._held.pop((memory_base_id, session_id), None)

    def acquire(self, memory_base_id: UUID, session_id: str) -> InMemoryHeldLock | None:
        self._check("acquire")
        key, token = (memory_base_id, session_id), uuid4().hex
        with self._guard:
            if self._token_of(key) is not None:
                return None
            self._held[key] = (token, self._clock() + self._ttl_seconds)
        return InMemoryHeldLock(self, key, token)

    def free(self, memory_base_id: UUID, session_id: str) -> None:
        self.expire(memory_base_id, session_id)

    def held(self, memory_base_id: UUID, session_id: str) -> bool:
        self._check("held")
        with self._guard:
            return self._token_of((memory_base_id, session_id)) is not None

    def _check(self, operation: str) -> None:
        if self.away:
            raise LockUnavailable(operation=operation, reason="away")
        self._faults.raise_due(operation)

    def _token_of(self, key: tuple[UUID, str]) -> str | None:
        token, end = self._held.get(key, (None, 0.0))
        return token if self._clock() < end else None


class InMemoryHeldLock:
    """A held lock; extend returns False after it expired or another holder has it."""

    def __init__(self, locks: InMemoryLocks, key: tuple[UUID, str], token: str) -> None:
        self._locks = locks
        self._key = key
        self._token = token

    def extend(self) -> bool:
        locks = self._locks
        locks._check("extend")  # the two classes are one double
        with locks._guard:
            if locks._token_of(self._key) != self._token:
                return False
            locks._held[self._key] = (self._token, locks._clock() + locks._ttl_seconds)
            return True

    def release(self) -> None:
        locks = self._locks
        with locks._guard:
            if not locks.away and locks._token_of(self._key) == self._token:
                del locks._held[self._key]


class InMemoryQueue:
    """An IngestionQueue that keeps its notifications until a test drains them."""

    def __init__(self) -> None:
        self.away = False  # notifications are lost while this is set
        self.enqueued: list[JobMessage] = []  # every notification that arrived, drained or not
        # Of other tasks by name, until drained; None for a task without an argument.
        self.notified: defaultdict[str, list[UUID | None]] = defaultdict(list)
        self._waiting: deque[JobMessage] = deque()

    def enqueue(self, jobs: Sequence[JobMessage]) -> int:
        if self.away:
            return 0
        self.enqueued.extend(jobs)
        self._waiting.extend(jobs)
        return len(jobs)

    def notify(self, task: Task, ids: Sequence[UUID] = ()) -> int:
        if self.away:
            return 0
        arrived: Sequence[UUID | None] = ids if task.argument else [None]
        self.notified[task.name].extend(arrived)
        return len(arrived)

    def backlog(self) -> int | None:
        return None if self.away else len(self._waiting) + sum(map(len, self.notified.values()))

    def clear(self) -> None:
        """Lose what is waiting, like a broker that lost its file."""
        self._waiting.clear()
        self.notified.clear()

    def drain_task(self, task: Task, handler: Callable[[UUID], object]) -> int:
        """Handle each waiting notification of a task, and return their number."""
        ids = self.notified.pop(task.name, [])
        for id_ in ids:
            assert id_ is not None
            handler(id_)
        return len(ids)

    def drain(self, handler: Callable[[JobMessage], object]) -> int:
        """Handle each waiting notification in order, including those added meanwhile; returns how many."""
        handled = 0
        while self._waiting:
            if handled >= DRAIN_LIMIT:
                raise RuntimeError("the queue never empties: its handler enqueues another job each time")
            handler(self._waiting.popleft())
            handled += 1
        return handled


class FakeEmbedder:
    """A deterministic Embedder of hashed words: texts that share words are near each other."""

    dimension = 32

    def __init__(self, model: str = "fake", *, max_tokens: int = 254) -> None:
        self.model = model
        self.identity = f"fake/{model}/1"
        self.max_tokens = max_tokens
        self.calls = 0  # of embed and embed_query
        self.embedded: list[str] = []  # every text embedded, in order
        self.before_embed: Callable[[Sequence[str]], object] | None = None
        self._rejected: set[str] = set()
        self._failure: MemorybaseError | None = None

    def reject(self, text: str) -> None:
        """Raise TextRejected for every text that contains this text."""
        self._rejected.add(text)

    def fail_with(self, error: MemorybaseError | None) -> None:
        """Raise this error from every call, until None is set."""
        self._failure = error

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        if self.before_embed is not None:
            self.before_embed(texts)
        for text in texts:
            self._check(text)
        self._raise_failure()
        self.embedded.extend(texts)
        return np.array([self._vector(text) for text in texts], dtype=np.float32).reshape(len(texts), self.dimension)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    @property
    def token_encoding(self) -> str:
        return f"int2x{self.dimension}/{self.model}"

    def embed_with_tokens(
        self, texts: Sequence[str], tokens_of: Collection[int]
    ) -> tuple[NDArray[np.float32], dict[int, bytes]]:
        vectors = self.embed(texts)
        return vectors, {index: token_vectors.pack(self._tokens(texts[index])[:MAX_TOKENS]) for index in tokens_of}

    def embed_query_with_tokens(self, text: str, query: str) -> tuple[NDArray[np.float32], QueryTokens]:
        spans = [found.span() for found in re.finditer(r"\w+", query)]
        return self.embed_query(text), QueryTokens(self._tokens(query), spans)

    def _tokens(self, text: str) -> NDArray[np.float32]:
        words = re.findall(r"\w+", text.lower())
        vectors = [self._word_vector(word) for word in words]
        rows = np.array(vectors, dtype=np.float32).reshape(len(words), self.dimension)
        return np.asarray(rows / np.sqrt(self.dimension), dtype=np.float32)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        self._raise_failure()
        _encode(text)
        return [found.span() for found in re.finditer(r"\S+", text)]

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _check(self, text: str) -> None:
        _encode(text)
        if any(rejected in text for rejected in self._rejected):
            raise TextRejected(reason="rejected by the test")

    def _vector(self, text: str) -> NDArray[np.float32]:
        words = re.findall(r"\w+", text.lower()) or [text]
        summed = np.sum([self._word_vector(word) for word in words], axis=0)
        if not summed.any():  # two words can cancel out
            summed = self._word_vector(text)
        return np.asarray(summed / np.linalg.norm(summed), dtype=np.float32)

    def _word_vector(self, word: str) -> NDArray[np.float32]:
        digest = hashlib.blake2b(f"{self.model}\0{word}".encode(), digest_size=self.dimension // 8).digest()
        return np.unpackbits(np.frombuffer(digest, dtype=np.uint8)).astype(np.float32) * 2 - 1


def _encode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TextRejected(reason="a lone surrogate") from None


class FakeEmbedders:
    """A registry of FakeEmbedders, one per model; None is the default model."""

    def __init__(self, default: str = "fake") -> None:
        self.default = default
        self.missing: set[str] = set()  # models that raise ModelUnavailable
        self._loaded: dict[str, FakeEmbedder] = {}

    def get(self, model: str | None = None) -> FakeEmbedder:
        name = model or self.default
        if name in self.missing:
            raise ModelUnavailable(value=name)
        return self._loaded.setdefault(name, FakeEmbedder(name))

    def prepare(self) -> None:
        """It is."""

    def problem(self) -> str | None:
        return None


class AtOnce(Executor):
    """An executor that runs each call at once, in the caller's thread."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future
