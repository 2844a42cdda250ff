"""Several vector stores as one: each call reaches the store that has the collection."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest
from harness.doubles import InMemoryVectors

from memorybase.errors import CollectionMissing, VectorStoreUnavailable
from memorybase.vectors import collection_names
from memorybase.vectors.store import CollectionRef, VectorRecord
from memorybase.vectors.stores import VectorStores, store_named

VECTOR = np.ones(4, dtype=np.float32)


@pytest.fixture
def chroma() -> InMemoryVectors:
    return InMemoryVectors()


@pytest.fixture
def pgvector() -> InMemoryVectors:
    return InMemoryVectors()


@pytest.fixture
def stores(chroma: InMemoryVectors, pgvector: InMemoryVectors) -> VectorStores:
    return VectorStores({"chroma": chroma, "pgvector": pgvector}, ("pgvector",))


def test_the_name_says_which_store_has_a_collection() -> None:
    base = uuid4()
    for name in (collection_names.of_generation(base, 3, "pgvector"), f"mb-{base}-g3-0a1b2c3d.pgvector"):
        assert collection_names.store_of(name) == "pgvector"
        assert collection_names.owner(name) == collection_names.Owner(base, None)
    for name in (collection_names.of_generation(base, 3, "chroma"), f"mb-{base}-g3"):
        assert collection_names.store_of(name) == "chroma"
        assert collection_names.owner(name) == collection_names.Owner(base, None)
    for store in ("chroma", "pgvector"):
        name = collection_names.of_knowledge_base(base, store)  # type: ignore[arg-type]
        assert (collection_names.store_of(name), collection_names.owner(name)) == (store, (None, base))
    assert collection_names.owner(f"mb-{base}-g3-0a1b2c3d.other") is None


def test_each_collection_is_in_the_store_of_its_name(
    stores: VectorStores, chroma: InMemoryVectors, pgvector: InMemoryVectors
) -> None:
    refs = [stores.create_collection(name, {}) for name in ("base-one", "base-two.pgvector")]
    for ref in refs:
        stores.upsert(ref, [VectorRecord("a", VECTOR, "text", {"session_id": "s"})])

    assert (chroma.names(), pgvector.names()) == (["base-one"], ["base-two.pgvector"])
    assert {each.ref for each in stores.list_collections()} == set(refs)
    for ref in refs:
        assert stores.collection_exists(ref)
        assert stores.count(ref) == 1
        assert [hit.id for hit in stores.query(ref, VECTOR, 1)] == ["a"]
    stores.delete_collection("base-two.pgvector")
    assert (chroma.names(), pgvector.names()) == (["base-one"], [])


def test_only_the_stores_that_must_work_are_checked(
    stores: VectorStores, chroma: InMemoryVectors, pgvector: InMemoryVectors
) -> None:
    chroma.away = True
    stores.ping()
    stores.check_writes()
    pgvector.read_only = True

    with pytest.raises(VectorStoreUnavailable):
        stores.check_writes()
    assert not chroma.calls


def test_collections_of_a_store_without_a_url_are_missing(pgvector: InMemoryVectors) -> None:
    stores = VectorStores({"pgvector": pgvector}, ("pgvector",))
    ref = CollectionRef("base-one", uuid4())

    with pytest.raises(CollectionMissing, match="chroma"):
        stores.count(ref)
    assert not stores.collection_exists(ref)
    stores.delete_collection(ref.name)


def test_the_only_store_is_not_asked_again_while_it_is_away(chroma: InMemoryVectors) -> None:
    stores = VectorStores({"chroma": chroma}, ("chroma",))
    ref = stores.create_collection("base-one", {})
    chroma.away = True
    for _ in range(3):
        with pytest.raises(VectorStoreUnavailable):
            stores.count(ref)
    stores.close()
    assert chroma.calls["count"] <= 1


def test_one_store_of_several_has_a_name(stores: VectorStores, pgvector: InMemoryVectors) -> None:
    assert store_named(stores, "pgvector") is pgvector
    assert store_named(pgvector, "chroma") is pgvector
