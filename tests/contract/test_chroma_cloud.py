"""Chroma Cloud, by a stand-in that wants the token and enforces the quotas in front of a real Chroma."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import pytest
from harness import chroma_cloud
from harness.chroma_cloud import TOKEN, Cloud

from memorybase import wiring
from memorybase.core.errors import VectorRejected, VectorStoreUnavailable
from memorybase.core.settings import Settings
from memorybase.core.vectors import collection_names
from memorybase.core.vectors.store import CollectionRef, MetadataValue, VectorRecord
from memorybase.core.vectors.stores import VectorStores, store_named

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(7)


@pytest.fixture
def cloud(chroma_url: str) -> Iterator[Cloud]:
    with chroma_cloud.cloud(chroma_url) as running:
        yield running
        assert running.refused == []  # nothing that the adapter sent was over a quota


def connect(cloud: Cloud, *, host: str = "127.0.0.1", **changes: str) -> VectorStores:
    """`host`: of Chroma Cloud; by default where the stand-in listens."""
    settings = {
        "chroma_url": cloud.url,
        "chroma_token": TOKEN,
        "chroma_tenant": cloud.tenant,
        "chroma_database": cloud.database,
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("memorybase.core.settings.CHROMA_CLOUD", host)
        services = wiring.build(Settings.model_validate(settings | changes))
    assert isinstance(services.vectors, VectorStores)
    return services.vectors


@pytest.fixture
def store(cloud: Cloud) -> Iterator[VectorStores]:
    vectors = connect(cloud)
    yield vectors
    vectors.close()


@pytest.fixture
def ref(store: VectorStores) -> CollectionRef:
    return store.create_collection(collection_names.of_generation(uuid4(), 1, "chroma"), {"embedder": "m" * 400})


def record(number: int, text: str = "text", id_: str = "", **metadata: MetadataValue) -> VectorRecord:
    vector = RNG.normal(size=8).astype(np.float32)
    return VectorRecord(id_ or f"id{number}", vector, text, {"session_id": "s", **metadata})


def test_every_call_keeps_to_the_number_of_records(store: VectorStores, ref: CollectionRef) -> None:
    records = [record(number) for number in range(700)]
    ids = [each.id for each in records]
    store.upsert(ref, records)

    assert store.stored_ids(ref, ids) == {*ids}
    assert len(store.reached_ids(ref, records[:100])) == 100
    assert {id_ for page in store.iter_ids(ref) for id_ in page} == {*ids}
    assert store.newest_ids(ref, 500) == ids[-300:]
    assert len(store.query(ref, records[0].vector, 400)) == 300
    assert [each.ref for each in store.list_collections()] == [ref]
    store.delete(ref, ids[:650])
    assert store.count(ref) == 50


def test_a_long_text_is_cut_between_two_characters(store: VectorStores, ref: CollectionRef, cloud: Cloud) -> None:
    text = "x" + "\N{SNOWMAN}" * 6_000
    store.upsert(ref, [record(1, text)])

    stored = store.fetch(ref, ["id1"])["id1"].text
    assert text.startswith(stored)
    assert len(stored.encode()) == 16_384
    assert cloud.documents == [stored]


def test_a_record_that_no_request_may_hold_is_refused_before_it_is_sent(
    store: VectorStores, ref: CollectionRef
) -> None:
    refused = {
        "the id": record(1, id_="i" * 129),
        "a metadata key": record(1, **{"k" * 37: 1}),
        "a metadata value": record(1, value="\N{SNOWMAN}" * 1_366),
        "the number of metadata keys": record(1, **{f"k{number}": number for number in range(32)}),
        "the vector's dimension": VectorRecord("a", np.ones(4_097, dtype=np.float32), "", {"session_id": "s"}),
    }

    for reason, each in refused.items():
        with pytest.raises(VectorRejected) as raised:
            store.upsert(ref, [record(0), each] if each.vector.size == 8 else [each])
        assert str(raised.value.details["reason"]).startswith(reason)
    with pytest.raises(VectorRejected):
        store.query(ref, record(0).vector, 1, {f"k{number}": number for number in range(9)})
    assert store.count(ref) == 0


def test_checks_work_in_the_tenant(store: VectorStores) -> None:
    chroma = store_named(store, "chroma")
    chroma.ping()
    chroma.check_writes()
    chroma.ping()


@pytest.mark.parametrize("changes", [{"chroma_token": "other"}, {"host": "elsewhere"}])
def test_without_the_token_the_store_is_unavailable(cloud: Cloud, changes: dict[str, str]) -> None:
    vectors = connect(cloud, **changes)

    with pytest.raises(VectorStoreUnavailable) as raised:
        vectors.list_collections()
    vectors.close()
    assert raised.value.details["status"] == 401
    assert TOKEN not in repr(raised.value.details) + raised.value.message


def test_limits_are_off_by_default(chroma_url: str) -> None:
    vectors = wiring.build(Settings(chroma_url=chroma_url)).vectors
    ref = vectors.create_collection(collection_names.of_generation(uuid4(), 1, "chroma"), {})
    text = "\N{SNOWMAN}" * 6_000
    vectors.upsert(ref, [record(1, text)])

    assert vectors.fetch(ref, ["id1"])["id1"].text == text
    assert isinstance(vectors, VectorStores)
    vectors.close()
