"""The VectorStore protocol, its records and its hits.

Every call after creation uses the collection's UUID, never its name: a collection that was deleted and created again
under the same name is not ours, and writing into it would mix two generations. A name has a random part, so that it is
never used twice, not even after a backup of SQL was restored that does not know the collections created since.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase.core.errors import DimensionMismatch, VectorRejected

T = TypeVar("T")
MetadataValue: TypeAlias = str | int | float | bool

READ_BATCH = 256  # ids in one call that reads vectors
# A query may return any of many equal vectors, such as those of "ok": that many equal hits count as a find.
TWINS = 10
COLLECTION_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")  # what every store accepts
# The collection that checks read and write; its name is none of a memory base's or a knowledge base's.
CHECK_COLLECTION = "memorybase-check"
CHECK_ID = "check"
EXPECTED_CHUNKS = "expected_chunks"  # a key of the metadata: how many the collection will get
CHECK_SECONDS = 2.5  # of each request of a check, whose answer takes milliseconds


@dataclass(frozen=True, slots=True)
class CollectionRef:
    """One collection of the store; the name is for people, the id identifies it."""

    name: str
    id: UUID


@dataclass(frozen=True, slots=True)
class StoredCollection:
    """A collection as the store lists it, with the metadata that it was created with."""

    ref: CollectionRef
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """One chunk. Always send the same metadata keys: an upsert merges and does not clear stale ones."""

    id: str
    vector: NDArray[np.float32]
    text: str
    metadata: dict[str, MetadataValue]


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A chunk that a query found; the score is the cosine similarity, clipped to 0..1."""

    id: str
    score: float
    text: str
    metadata: dict[str, MetadataValue]


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A stored chunk. A store may have rounded the vector to half precision."""

    vector: NDArray[np.float32]
    text: str


class VectorStore(Protocol):
    """Collections of vectors in cosine space.

    Raises VectorStoreUnavailable if the store does not answer, CollectionMissing if no collection has the ref's id,
    DimensionMismatch, and VectorRejected for any other refusal. Only create_collection creates collections.
    """

    def create_collection(self, name: str, metadata: Mapping[str, MetadataValue]) -> CollectionRef:
        """Create an empty collection. Raises VectorRejected if there is one of this name: it may hold other chunks."""

    def delete_collection(self, name: str) -> None:
        """Delete the collection of this name if it exists."""

    def collection_exists(self, ref: CollectionRef) -> bool:
        """Whether a collection has this name and this id."""

    def list_collections(self) -> list[StoredCollection]:
        """Every collection of the store, also those of others; concurrent changes may or may not show."""

    def upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        """Write any number of records; after an error some may be stored."""

    def stored_ids(self, ref: CollectionRef, ids: Sequence[str], *, vectors: bool = True) -> set[str]:
        """The ids that can be read back together with their vector.

        Without vectors also those whose vector is lost, which takes a sixth of the time.
        """

    def reached_ids(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> set[str]:
        """The ids of stored records that a query for their own vector reaches, or that have `TWINS` equal ones."""

    def fetch(self, ref: CollectionRef, ids: Sequence[str], *, texts: bool = True) -> dict[str, StoredVector]:
        """The stored chunks with their vectors; ids that are missing or unreadable are left out."""

    def delete(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        """Delete these ids if they exist."""

    def iter_ids(self, ref: CollectionRef, *, session_id: str | None = None) -> Iterator[list[str]]:
        """Every id once, in pages; with a session id, those with that session in their metadata.

        Concurrent writes may or may not show, but never make another id appear twice or not at all.
        """

    def newest_ids(self, ref: CollectionRef, limit: int) -> list[str]:
        """The ids that were added last, in any order."""

    def count(self, ref: CollectionRef) -> int:
        """The number of records."""

    def query(
        self,
        ref: CollectionRef,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, Any] | None = None,
        *,
        texts: bool = True,
    ) -> list[VectorHit]:
        """The nearest records, best first. `where` maps metadata keys to values or operators such as {"$gte": 1}; all
        must hold.

        Without texts the hits have only an id and a score, which takes a third of the time.
        """

    def query_among(
        self, ref: CollectionRef, vector: NDArray[np.float32], ids: Sequence[str], limit: int
    ) -> list[VectorHit]:
        """The nearest of these records, best first, without texts; ids that are missing or unreadable are left out.

        More than `limit` only if they are all, where a store has to read all. All vectors have length one.
        """

    def ping(self) -> None:
        """Read a record of the store itself, if there is one, within a separate deadline."""

    def check_writes(self) -> None:
        """Write a record of the store itself and read it back, each within a separate deadline.

        A store that answers reads may refuse every write, for example after its disk was full.
        """


def nearest(stored: Mapping[str, StoredVector], vector: NDArray[np.float32]) -> list[VectorHit]:
    """These, the nearest first, without texts. All vectors have length one."""
    hits = [VectorHit(id_, as_score(1.0 - float(each.vector @ vector)), "", {}) for id_, each in stored.items()]
    return sorted(hits, key=lambda hit: -hit.score)


def as_score(distance: float) -> float:
    """Cosine similarity from cosine distance, clipped to 0..1."""
    return min(1.0, max(0.0, 1.0 - distance))


def check_records(records: Sequence[VectorRecord]) -> None:
    """Raise VectorRejected or DimensionMismatch for records that no store accepts, before any is written."""
    seen: set[str] = set()
    for record in records:
        _check_record(record)
        if record.id in seen:
            raise VectorRejected(reason="the id appears twice", record_id=ascii(record.id))
        if record.vector.size != records[0].vector.size:
            raise DimensionMismatch(expected=records[0].vector.size, got=record.vector.size)
        seen.add(record.id)


def _check_record(record: VectorRecord) -> None:
    if not record.id:
        raise VectorRejected(reason="the id is empty")
    if record.vector.ndim != 1 or not record.vector.size or not np.isfinite(record.vector).all():
        raise VectorRejected(reason="the vector is not finite", record_id=ascii(record.id))
    if not record.metadata:
        raise VectorRejected(reason="the metadata is empty", record_id=ascii(record.id))
    strings = (record.id, record.text, *record.metadata, *(v for v in record.metadata.values() if isinstance(v, str)))
    try:
        for string in strings:
            string.encode()
    except UnicodeEncodeError:
        raise VectorRejected(reason="a lone surrogate", record_id=ascii(record.id)) from None


def batches(items: Sequence[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
