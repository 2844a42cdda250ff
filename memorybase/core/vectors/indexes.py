"""Indexes that are built when a collection is large, in stores that search small collections without one.

Such a store has these methods in addition to the protocol's, and finds the chunks of a session by an index whatever the
size; any other store indexes each record's vector as it is written, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable
from uuid import UUID

from memorybase.core.vectors.collection_names import store_of
from memorybase.core.vectors.store import CollectionRef, VectorStore
from memorybase.core.vectors.stores import VectorStores, store_named


@runtime_checkable
class IndexingStore(Protocol):
    """A store that builds indexes afterwards. Raises VectorStoreUnavailable."""

    def needs_index(self, chunks: int) -> bool:
        """Whether a collection of this number of chunks is large enough for an index."""

    def index(self, ref: CollectionRef) -> bool:
        """Index the collection unless it is indexed or deleted; False while another index is being built."""

    def maintain(self, *, leave: Collection[UUID] = ()) -> int:
        """Build the indexes that are due, except of the collections with these ids, and return their number."""


def needs_index(vectors: VectorStore, ref: CollectionRef, chunks: int) -> bool:
    """Whether this collection, with this number of chunks, must be indexed before it is searched."""
    store = store_named(vectors, store_of(ref.name))
    return isinstance(store, IndexingStore) and store.needs_index(chunks)


def index(vectors: VectorStore, ref: CollectionRef) -> bool:
    """Index the collection if its store does so afterwards; False while another index is being built.

    Raises VectorStoreUnavailable, and CollectionMissing if the store is not configured.
    """
    store = store_named(vectors, store_of(ref.name))
    return not isinstance(store, IndexingStore) or store.index(ref)


def finds_sessions(vectors: VectorStore, ref: CollectionRef) -> bool:
    """Whether an index of this collection's store finds the chunks of a session, and a search in them is exact."""
    return isinstance(store_named(vectors, store_of(ref.name)), IndexingStore)


def maintain(vectors: VectorStore, *, leave: Collection[UUID]) -> int:
    """Build the indexes that are due in every store, except of the collections with these ids, and return their
    number."""
    stores = vectors.all() if isinstance(vectors, VectorStores) else [vectors]
    return sum(store.maintain(leave=leave) for store in stores if isinstance(store, IndexingStore))
