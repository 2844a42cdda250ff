"""All vector stores as one: the end of a collection's name says which store has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorybase.errors import CollectionMissing
from memorybase.settings import VectorStoreName
from memorybase.telemetry import get_logger
from memorybase.vectors.collection_names import store_of
from memorybase.vectors.store import (
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
    """The configured stores. `checked` are those that must work; another is asked for its own collections alone."""

    def __init__(self, stores: Mapping[VectorStoreName, VectorStore], checked: Sequence[VectorStoreName]) -> None:
        self._stores = dict(stores)
        self._checked = [self._stores[name] for name in checked]

    def store(self, name: VectorStoreName) -> VectorStore:
        """The store of this name. Raises CollectionMissing if it is not configured: nothing of it can be read."""
        if name not in self._stores:
            raise CollectionMissing(f"The collection is in {name}, for which no URL is set. Set it, or regenerate.")
        return self._stores[name]

    def create_collection(self, name: str, metadata: Mapping[str, MetadataValue]) -> CollectionRef:
        return self._of(name).create_collection(name, metadata)

    def delete_collection(self, name: str) -> None:
        if store_of(name) not in self._stores:
            log.warning("collection_left", collection=name)
            return
        self._of(name).delete_collection(name)

    def collection_exists(self, ref: CollectionRef) -> bool:
        return store_of(ref.name) in self._stores and self._of(ref.name).collection_exists(ref)

    def list_collections(self) -> list[StoredCollection]:
        return [collection for store in self._stores.values() for collection in store.list_collections()]

    def upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        self._of(ref.name).upsert(ref, records)

    def stored_ids(self, ref: CollectionRef, ids: Sequence[str]) -> set[str]:
        return self._of(ref.name).stored_ids(ref, ids)

    def reached_ids(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> set[str]:
        return self._of(ref.name).reached_ids(ref, records)

    def fetch(self, ref: CollectionRef, ids: Sequence[str], *, texts: bool = True) -> dict[str, StoredVector]:
        return self._of(ref.name).fetch(ref, ids, texts=texts)

    def delete(self, ref: CollectionRef, ids: Sequence[str]) -> None:
        self._of(ref.name).delete(ref, ids)

    def iter_ids(self, ref: CollectionRef, *, session_id: str | None = None) -> Iterator[list[str]]:
        yield from self._of(ref.name).iter_ids(ref, session_id=session_id)

    def newest_ids(self, ref: CollectionRef, limit: int) -> list[str]:
        return self._of(ref.name).newest_ids(ref, limit)

    def count(self, ref: CollectionRef) -> int:
        return self._of(ref.name).count(ref)

    def query(
        self,
        ref: CollectionRef,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, Any] | None = None,
        *,
        texts: bool = True,
    ) -> list[VectorHit]:
        return self._of(ref.name).query(ref, vector, limit, where, texts=texts)

    def ping(self) -> None:
        for store in self._checked:
            store.ping()

    def check_writes(self) -> None:
        for store in self._checked:
            store.check_writes()

    def close(self) -> None:
        """Close the connections of all stores; a later call opens new ones."""
        for store in self._stores.values():
            # The protocol has no close(): the domain never calls it.
            if close := getattr(store, "close", None):
                close()

    def _of(self, name: str) -> VectorStore:
        return self.store(store_of(name))


def store_named(vectors: VectorStore, name: VectorStoreName) -> VectorStore:
    """One store of several, or the only one."""
    return vectors.store(name) if isinstance(vectors, VectorStores) else vectors
