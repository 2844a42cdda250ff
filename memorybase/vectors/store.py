"""The VectorStore protocol, its records and its hits.

Every call after creation goes by the collection's UUID, never by its name: a collection that somebody deleted and made
anew under the same name is not ours, and writing into it would mix two generations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memorybase.errors import DimensionMismatch, VectorRejected

T = TypeVar("T")
MetadataValue: TypeAlias = str | int | float | bool

READ_BATCH = 256  # ids a call when vectors come along
TWINS = 10  # equal vectors, such as those of "ok", hide each other; who looks for one finds as good


@dataclass(frozen=True, slots=True)
class CollectionRef:
    """One collection of the store; the name is for people, the id decides."""

    name: str
    id: UUID


@dataclass(frozen=True, slots=True)
class StoredCollection:
    """A collection as the store lists it, with the metadata of its creation."""

    ref: CollectionRef
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """One chunk. Send the same metadata keys each time: an upsert merges, it does not clear stale ones."""

    id: str
    vector: NDArray[np.float32]
    text: str
    metadata: dict[str, MetadataValue]


@dataclass(frozen=True, slots=True)
class VectorHit:
    """One found chunk; the score is the cosine similarity, clipped to 0..1."""

    id: str
    score: float
    text: str
    metadata: dict[str, MetadataValue]


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A chunk as it is stored."""

    vector: NDArray[np.float32]
    text: str


class VectorStore(Protocol):
    """Collections of vectors in cosine space.

    Raises VectorStoreUnavailable when it does not answer, CollectionMissing when no collection has the ref's id,
    DimensionMismatch, and VectorRejected for what it refuses otherwise. Only create_collection creates one.
    """

    def create_collection(self, name: str, metadata: Mapping[str, MetadataValue]) -> CollectionRef:
        """The collection of that name, made if need be."""

    def delete_collection(self, name: str) -> None:
        """Remove the collection of that name; one already gone is fine."""

    def collection_exists(self, ref: CollectionRef) -> bool:
        """Whether a collection has both this name and this id."""

    def list_collections(self) -> list[StoredCollection]:
        """Every collection of the store, whoever made it; one made or deleted meanwhile may or may not show."""

    def upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        """Write any number of records; after an error some of them may be stored."""

    def stored_ids(self, ref: CollectionRef, ids: Sequence[str]) -> set[str]:
        """Which of these can be read back together with their vector."""

    def reached_ids(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> set[str]:
        """Which of these stored records a query for their own vector comes upon, if not upon `TWINS` just like them."""

    def fetch(self, ref: CollectionRef, ids: Sequence[str], *, texts: bool = True) -> dict[str, StoredVector]:
        """These with their vectors; what is not stored, or cannot be read back, is left out."""

    def delete(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        """Remove these; those already gone are fine."""

    def iter_ids(self, ref: CollectionRef, *, session_id: str | None = None) -> Iterator[list[str]]:
        """Every id in pages, each once, with a session id those whose metadata names that session.

        Writes meanwhile may or may not show; they make no other id appear twice or not at all.
        """

    def count(self, ref: CollectionRef) -> int:
        """How many records there are."""

    def query(
        self,
        ref: CollectionRef,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, Any] | None = None,
        *,
        texts: bool = True,
    ) -> list[VectorHit]:
        """The nearest records, best first. `where` is Chroma's filter; several keys in it must all hold.

        Without texts the hits have an id and a score alone, in a third of the time.
        """

    def ping(self) -> None:
        """Return when the store answers."""


def as_score(distance: float) -> float:
    """Cosine similarity from cosine distance, clipped to 0..1."""
    return min(1.0, max(0.0, 1.0 - distance))


def check_records(records: Sequence[VectorRecord]) -> None:
    """Raise for what no store takes, VectorRejected with the record's id: then none of them is written."""
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
        raise VectorRejected(reason="the vector is not a finite one", record_id=ascii(record.id))
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
