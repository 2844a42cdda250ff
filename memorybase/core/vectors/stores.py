"""The vector stores as one: the end of a collection's name says which store has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorybase.core.errors import CollectionMissing
from memorybase.core.telemetry import get_logger
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors.collection_names import store_of
from memorybase.core.vectors.guarded_store import GuardedStore
from memorybase.core.vectors.store import (
    CollectionRef,
    MetadataValue,
    StoredCollection,
    StoredVector,
    VectorHit,
    VectorRecord,
    VectorStore,
)

log = get_logger(__name__)


class VectorStores:
    """The stores that have a URL, by name. `checked` are those that must work; others are asked for their own
    collections.

    Calls to a store that does not answer fail at once.
    """

    def __init__(self, stores: Mapping[VectorStoreName, VectorStore], checked: Sequence[VectorStoreName]) -> None:
        self._stores = dict(stores)
        self._guarded = {name: GuardedStore(name, store) for name, store in stores.items()}
        self._checked = [self._stores[name] for name in checked]

    @property
    def names(self) -> tuple[VectorStoreName, ...]:
        """The names of all stores."""
        return tuple(self._stores)

    def store(self, name: VectorStoreName) -> VectorStore:
        """The store of this name. Raises CollectionMissing if it has no URL: nothing of it can be read."""
        if name not in self._stores:
            raise CollectionMissing(f"The collection is in {name}, for which no URL is set. Set it, or regenerate.")
        return self._stores[name]

    def require(self, name: str) -> None:
        """Raises VectorStoreUnavailable if the store of the collection of this name is known not to answer."""
        if guarded := self._guarded.get(store_of(name)):
            guarded.require()

    def all(self) -> list[VectorStore]:
        """Every store."""
        return list(self._stores.values())

    def create_collection(self, name: str, metadata: Mapping[str, MetadataValue]) -> CollectionRef:
        with self._of(name) as store:
            return store.create_collection(name, metadata)

    def delete_collection(self, name: str) -> None:
        if store_of(name) not in self._stores:
            log.warning("collection_left", collection=name)
            return
        with self._of(name) as store:
            store.delete_collection(name)

    def collection_exists(self, ref: CollectionRef) -> bool:
        if store_of(ref.name) not in self._stores:
            return False
        with self._of(ref.name) as store:
            return store.collection_exists(ref)

    def list_collections(self) -> list[StoredCollection]:
        return [collection for name in self._stores for collection in self.list_collections_of(name)]

    def list_collections_of(self, name: VectorStoreName) -> list[StoredCollection]:
        """Every collection of one store."""
        with self._on(name) as store:
            return store.list_collections()

    def upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        with self._of(ref.name) as store:
            store.upsert(ref, records)

    def stored_ids(self, ref: CollectionRef, ids: Sequence[str], *, vectors: bool = True) -> set[str]:
        with self._of(ref.name) as store:
            return store.stored_ids(ref, ids, vectors=vectors)

    def reached_ids(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> set[str]:
        with self._of(ref.name) as store:
            return store.reached_ids(ref, records)

    def fetch(self, ref: CollectionRef, ids: Sequence[str], *, texts: bool = True) -> dict[str, StoredVector]:
        with self._of(ref.name) as store:
            return store.fetch(ref, ids, texts=texts)

    def delete(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        with self._of(ref.name) as store:
            store.delete(ref, ids)

    def iter_ids(self, ref: CollectionRef, *, session_id: str | None = None) -> Iterator[list[str]]:
        with self._of(ref.name) as store:
            yield from store.iter_ids(ref, session_id=session_id)

    def newest_ids(self, ref: CollectionRef, limit: int) -> list[str]:
        with self._of(ref.name) as store:
            return store.newest_ids(ref, limit)

    def count(self, ref: CollectionRef) -> int:
        with self._of(ref.name) as store:
            return store.count(ref)

    def query(
        self,
        ref: CollectionRef,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, Any] | None = None,
        *,
        texts: bool = True,
    ) -> list[VectorHit]:
        with self._of(ref.name) as store:
            return store.query(ref, vector, limit, where, texts=texts)

    def query_among(
        self, ref: CollectionRef, vector: NDArray[np.float32], ids: Sequence[str], limit: int
    ) -> list[VectorHit]:
        with self._of(ref.name) as store:
            return store.query_among(ref, vector, ids, limit)

    def ping(self) -> None:
        for store in self._checked:
            store.ping()

    def check_writes(self) -> None:
        for store in self._checked:
            store.check_writes()

    def close(self) -> None:
        """Close the connections of all stores; a later call opens new ones."""
        for guarded in self._guarded.values():
            guarded.close()
        for store in self._stores.values():
            # The protocol has no close(): the domain never calls it.
            if close := getattr(store, "close", None):
                close()

    @contextmanager
    def _of(self, name: str) -> Iterator[VectorStore]:
        """The store that has the collection of this name, for one call."""
        with self._on(store_of(name)) as store:
            yield store

    @contextmanager
    def _on(self, name: VectorStoreName) -> Iterator[VectorStore]:
        self.store(name)
        with self._guarded[name].call() as guarded:
            yield guarded


def store_named(vectors: VectorStore, name: VectorStoreName) -> VectorStore:
    """One store of several, or the only one."""
    return vectors.store(name) if isinstance(vectors, VectorStores) else vectors


def require_store(vectors: VectorStore, collection: str) -> None:
    """Raises VectorStoreUnavailable if the store of this collection is known not to answer."""
    if isinstance(vectors, VectorStores):
        vectors.require(collection)


def store_names(vectors: VectorStore) -> tuple[VectorStoreName, ...]:
    """The names of all stores; the only one, a test's, counts as Chroma."""
    return vectors.names if isinstance(vectors, VectorStores) else ("chroma",)


def list_collections_of(vectors: VectorStore, name: VectorStoreName) -> list[StoredCollection]:
    """Every collection of one store, also those of other databases."""
    return vectors.list_collections_of(name) if isinstance(vectors, VectorStores) else vectors.list_collections()
