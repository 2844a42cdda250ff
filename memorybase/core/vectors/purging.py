"""Stores that keep deleted chunks in a log until they are asked to drop them.

Such a store has this method in addition to the protocol's; any other store keeps no such log.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from memorybase.core.vectors.collection_names import store_of
from memorybase.core.vectors.store import CollectionRef, VectorStore
from memorybase.core.vectors.stores import VectorStores, store_named


@runtime_checkable
class LoggingStore(Protocol):
    """A store that logs its writes."""

    def purge(self, ref: CollectionRef) -> None:
        """Drop the log of every write so far. Raises VectorStoreUnavailable, CollectionMissing."""


def keeps_log(vectors: VectorStore, ref: CollectionRef) -> bool:
    """Whether the store of this collection logs its writes."""
    name = store_of(ref.name)
    is_known = not isinstance(vectors, VectorStores) or name in vectors.names
    return is_known and isinstance(store_named(vectors, name), LoggingStore)


def purge(vectors: VectorStore, ref: CollectionRef) -> None:
    """Drop the collection's log, if its store has one. Raises VectorStoreUnavailable, CollectionMissing."""
    store = store_named(vectors, store_of(ref.name))
    if isinstance(store, LoggingStore):
        store.purge(ref)
