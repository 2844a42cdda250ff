"""The contract of VectorStore: the same tests on Chroma, on pgvector and on their double."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from uuid import uuid4

import numpy as np
import pytest
from harness import chroma_cloud, wait_until
from harness.chroma_cloud import TOKEN
from harness.doubles import InMemoryVectors
from harness.rows import each_row
from numpy.typing import NDArray

from memorybase.core.errors import CollectionMissing, DimensionMismatch, VectorRejected
from memorybase.core.foreground import Foreground
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.chroma_in_process import InProcessChroma
from memorybase.core.vectors.chroma_limits import CLOUD
from memorybase.core.vectors.pgvector import PgVectorStore
from memorybase.core.vectors.shared import StoreElsewhere, share
from memorybase.core.vectors.store import TWINS, CollectionRef, MetadataValue, VectorRecord, VectorStore
from memorybase.core.vectors.stores import VectorStores
from memorybase.core.vectors.verified_writes import unreachable_ids

DIMENSION = 8


# Each promise on every kind of store. Of the other configurations of a kind, the fast suite makes only the tests with
# `on_every_store`: tests/unit/vectors/test_stores.py and test_pgvector_indexes.py have what is particular to them.
KINDS = ("memory", "shared", "chroma", "chroma in process", "pgvector")
OTHERS = ("several", "indexed pgvector")
CLOUD_PARAM = pytest.param("chroma-cloud", marks=pytest.mark.slow)

on_every_store = pytest.mark.parametrize("store", [*KINDS, *OTHERS, CLOUD_PARAM], indirect=True)


@pytest.fixture(params=[*KINDS, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS), CLOUD_PARAM])
def store(request: pytest.FixtureRequest) -> Iterator[VectorStore]:
    if request.param == "memory":
        yield InMemoryVectors()
        return
    if request.param == "shared":
        end = share(InMemoryVectors(), request.getfixturevalue("tmp_path"))
        yield StoreElsewhere(request.getfixturevalue("tmp_path"))
        end()
        return
    if request.param == "several":
        yield VectorStores({"chroma": InMemoryVectors(), "pgvector": InMemoryVectors()}, ("chroma",))
        return
    if request.param == "chroma-cloud":
        with chroma_cloud.cloud(request.getfixturevalue("chroma_url")) as cloud:
            place = {"tenant": cloud.tenant, "database": cloud.database}
            with closing(ChromaStore(cloud.url, timeout_seconds=20, token=TOKEN, is_cloud=True, **place)) as behind:
                yield behind
        return
    if request.param == "chroma in process":
        with closing(InProcessChroma(request.getfixturevalue("tmp_path") / "chroma", Foreground())) as here:
            yield here
        return
    store: ChromaStore | PgVectorStore
    if request.param == "chroma":
        store = ChromaStore(request.getfixturevalue("chroma_url"), timeout_seconds=20)
    else:
        kind = PgVectorStore if request.param == "pgvector" else IndexedPgVectorStore
        store = kind(request.getfixturevalue("pgvector_url"))
    yield store
    store.close()


class IndexedPgVectorStore(PgVectorStore):
    """Each collection moves into a table of its own with an index after its first records."""

    def upsert(self, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
        super().upsert(ref, records)
        wait_until(lambda: self.index(ref), 60, "no other process builds an index")


@pytest.fixture
def ref(store: VectorStore) -> CollectionRef:
    return store.create_collection(fresh_name(), {"generation": 1})


def fresh_name() -> str:
    return f"mb-{uuid4()}-g1"


def unit(*components: float) -> NDArray[np.float32]:
    vector = np.zeros(DIMENSION, dtype=np.float32)
    vector[: len(components)] = components
    return vector / np.float32(np.linalg.norm(vector))


def record(id_: str, *components: float, text: str = "text", **metadata: MetadataValue) -> VectorRecord:
    return VectorRecord(id_, unit(*(components or (1.0,))), text, {"session_id": "s1", **metadata})


class TestCreateCollection:
    def test_an_existing_name_is_refused(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record("a")])

        with pytest.raises(VectorRejected):
            store.create_collection(ref.name, {"generation": 2})
        assert store.count(ref) == 1

    def test_metadata_may_be_empty(self, store: VectorStore) -> None:
        assert store.collection_exists(store.create_collection(fresh_name(), {}))

    def test_an_invalid_name_is_rejected(self, store: VectorStore) -> None:
        with pytest.raises(VectorRejected):
            store.create_collection("two words", {})


class TestListCollections:
    def test_each_collection_has_its_metadata(self, store: VectorStore) -> None:
        made = {store.create_collection(fresh_name(), {"created_at": 1_700_000_000 + n, "x": "y"}): n for n in range(3)}
        bare = store.create_collection(fresh_name(), {})

        listed = {each.ref: each.metadata for each in store.list_collections()}

        assert made.keys() | {bare} <= listed.keys()
        for ref, n in made.items():
            assert (listed[ref]["created_at"], listed[ref]["x"]) == (1_700_000_000 + n, "y")
        assert listed[bare] == {}

    def test_a_deleted_collection_is_not_listed(self, store: VectorStore, ref: CollectionRef) -> None:
        store.delete_collection(ref.name)

        assert ref not in {each.ref for each in store.list_collections()}

    def test_several_pages_are_listed(self, store: VectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memorybase.core.vectors.chroma.COLLECTION_PAGE", 2)
        made = {store.create_collection(fresh_name(), {"n": n}) for n in range(5)}

        listed = [each.ref for each in store.list_collections()]

        assert made <= set(listed)
        assert len(listed) == len(set(listed))


class TestDeleteCollection:
    def test_deletes_by_name_and_a_missing_collection_is_no_error(self, store: VectorStore, ref: CollectionRef) -> None:
        store.delete_collection(ref.name)

        assert not store.collection_exists(ref)
        store.delete_collection(ref.name)


class TestCollectionExists:
    def test_name_and_id_must_both_match(self, store: VectorStore, ref: CollectionRef) -> None:
        assert store.collection_exists(ref)
        assert not store.collection_exists(CollectionRef(ref.name, uuid4()))
        assert not store.collection_exists(CollectionRef(fresh_name(), ref.id))


class TestCollectionMissing:
    """A worker never creates a missing collection."""

    @staticmethod
    def gone(store: VectorStore, *, replaced: bool) -> CollectionRef:
        ref = store.create_collection(fresh_name(), {"generation": 1})
        store.upsert(ref, [record("a")])
        store.delete_collection(ref.name)
        if replaced:
            store.create_collection(ref.name, {"generation": 1})
        return ref

    @on_every_store
    @each_row("replaced", [False, True], ids=["deleted", "replaced"])
    def test_every_call_raises(self, store: VectorStore, *, replaced: bool) -> None:
        gone = self.gone(store, replaced=replaced)
        calls: list[Callable[[], object]] = [
            lambda: store.upsert(gone, [record("a")]),
            lambda: store.stored_ids(gone, ["a"]),
            lambda: store.reached_ids(gone, [record("a")]),
            lambda: store.fetch(gone, ["a"]),
            lambda: store.delete(gone, ["a"]),
            lambda: list(store.iter_ids(gone)),
            lambda: store.newest_ids(gone, 1),
            lambda: store.count(gone),
            lambda: store.query(gone, unit(1), 1),
        ]
        for call in calls:
            with pytest.raises(CollectionMissing):
                call()

    @each_row("replaced", [False, True], ids=["deleted", "replaced"])
    def test_nothing_is_created_or_written(self, store: VectorStore, *, replaced: bool) -> None:
        gone = self.gone(store, replaced=replaced)
        with pytest.raises(CollectionMissing):
            store.upsert(gone, [record("b")])

        assert not store.collection_exists(gone)
        assert [store.count(each.ref) for each in store.list_collections() if each.ref.name == gone.name] in ([], [0])


def test_no_records_and_no_ids_find_and_change_nothing(store: VectorStore, ref: CollectionRef) -> None:
    for held in (0, 1):  # in an empty collection, and beside a record
        store.upsert(ref, [])
        store.delete(ref, [])
        assert store.count(ref) == held
        assert store.stored_ids(ref, []) == set()
        assert store.reached_ids(ref, []) == set()
        assert store.fetch(ref, []) == {}
        if not held:
            assert store.query(ref, unit(1), 5) == []
            assert list(store.iter_ids(ref)) == []
            store.upsert(ref, [record("a")])


class TestNewestIds:
    @on_every_store
    def test_the_ids_added_last(self, store: VectorStore, ref: CollectionRef) -> None:
        assert store.newest_ids(ref, 3) == []
        store.upsert(ref, [record(f"id{n}", 1, n) for n in range(10)])
        store.upsert(ref, [record("id0", 1, 5)])  # replaced, not added
        store.delete(ref, ["id9", "id3"])

        assert set(store.newest_ids(ref, 3)) == {"id8", "id7", "id6"}
        assert len(store.newest_ids(ref, 100)) == 8


class TestUpsert:
    def test_the_same_ids_again_change_nothing(self, store: VectorStore, ref: CollectionRef) -> None:
        records = [record(f"id{n}", 1, n) for n in range(10)]
        store.upsert(ref, records)
        store.upsert(ref, records)

        assert store.count(ref) == 10

    @on_every_store
    def test_replaces_text_and_vector_and_merges_metadata(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record("a", 1, text="old", version=1, stale=True)])
        store.upsert(ref, [record("a", 0, 1, text="new", version=2)])

        [hit] = store.query(ref, unit(0, 1), 10)
        assert hit.text == "new"
        assert hit.score == pytest.approx(1.0, abs=1e-6)
        assert hit.metadata == {"session_id": "s1", "version": 2, "stale": True}

    def test_any_number_of_records(self, store: VectorStore, ref: CollectionRef) -> None:
        ids = [f"id{n}" for n in range(777)]
        store.upsert(ref, [record(id_, 1, n) for n, id_ in enumerate(ids)])

        assert store.count(ref) == 777
        assert store.stored_ids(ref, ids) == set(ids)

    @each_row("text", ["", "a\0b", "line\nline", "日本語 🙂", "x" * 100_000])
    def test_texts_are_stored_unchanged(
        self, store: VectorStore, ref: CollectionRef, text: str, request: pytest.FixtureRequest
    ) -> None:
        if "chroma-cloud" in request.node.name:
            text = text[: CLOUD.document]
        store.upsert(ref, [record("a", text=text)])

        assert [hit.text for hit in store.query(ref, unit(1), 1)] == [text]

    def test_metadata_values_keep_their_type(self, store: VectorStore, ref: CollectionRef) -> None:
        metadata: dict[str, MetadataValue] = {"s": "1", "i": 2**40, "f": 0.5, "b": True}
        store.upsert(ref, [VectorRecord("a", unit(1), "text", metadata)])

        [hit] = store.query(ref, unit(1), 1)
        assert {key: (type(value), value) for key, value in hit.metadata.items()} == {
            key: (type(value), value) for key, value in metadata.items()
        }

    def test_another_dimension_is_a_mismatch(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record("a")])

        with pytest.raises(DimensionMismatch) as raised:
            store.upsert(ref, [VectorRecord("b", np.ones(DIMENSION + 1, dtype=np.float32), "text", {"k": 1})])
        assert raised.value.details == {"expected": DIMENSION, "got": DIMENSION + 1}
        with pytest.raises(DimensionMismatch):
            store.query(ref, np.ones(DIMENSION + 1, dtype=np.float32), 1)

    def test_two_dimensions_in_one_upsert_are_a_mismatch(self, store: VectorStore, ref: CollectionRef) -> None:
        odd = VectorRecord("b", np.ones(DIMENSION + 1, dtype=np.float32), "text", {"k": 1})

        with pytest.raises(DimensionMismatch):
            store.upsert(ref, [record("a"), odd])


BAD_RECORDS = {
    "not a number": VectorRecord("bad", np.full(DIMENSION, np.nan, dtype=np.float32), "text", {"k": 1}),
    "infinite": VectorRecord("bad", np.full(DIMENSION, np.inf, dtype=np.float32), "text", {"k": 1}),
    "no vector": VectorRecord("bad", np.zeros(0, dtype=np.float32), "text", {"k": 1}),
    "surrogate in text": VectorRecord("bad", unit(1), "\ud800", {"k": 1}),
    "surrogate in id": VectorRecord("\ud800", unit(1), "text", {"k": 1}),
    "surrogate in metadata": VectorRecord("bad", unit(1), "text", {"k": "\ud800"}),
    "surrogate in a key": VectorRecord("bad", unit(1), "text", {"\ud800": "v"}),
    "no id": VectorRecord("", unit(1), "text", {"k": 1}),
    "no metadata": VectorRecord("bad", unit(1), "text", {}),
}


class TestRejected:
    @each_row("bad", BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
    def test_a_bad_record_is_rejected_and_none_is_written(
        self, store: VectorStore, ref: CollectionRef, bad: VectorRecord
    ) -> None:
        with pytest.raises(VectorRejected):
            store.upsert(ref, [record("good"), bad])

        assert store.count(ref) == 0

    def test_an_id_twice_in_one_upsert_is_rejected(self, store: VectorStore, ref: CollectionRef) -> None:
        with pytest.raises(VectorRejected):
            store.upsert(ref, [record("a"), record("a")])

    def test_the_error_names_the_record_and_quotes_no_text(self, store: VectorStore, ref: CollectionRef) -> None:
        bad = VectorRecord("the-id", unit(1), "a secret \ud800", {"k": 1})

        with pytest.raises(VectorRejected) as raised:
            store.upsert(ref, [bad])
        error = raised.value
        assert error.details["record_id"] == "'the-id'"
        assert "secret" not in f"{error} {error.details}"
        assert error.__suppress_context__


class TestStoredIds:
    def test_only_stored_ids_are_returned(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record("a"), record("b")])

        assert store.stored_ids(ref, ["b", "missing", "a", "a"]) == {"a", "b"}
        assert store.stored_ids(ref, ["b", "missing", "a", "a"], vectors=False) == {"a", "b"}


class TestReachedIds:
    def test_ids_that_a_query_reaches_are_returned(self, store: VectorStore, ref: CollectionRef) -> None:
        stored = [record("a"), record("b")]
        store.upsert(ref, stored)

        assert store.reached_ids(ref, [*stored, record("missing")]) == {"a", "b"}

    def test_one_of_many_equal_vectors_counts_as_reached(self, store: VectorStore, ref: CollectionRef) -> None:
        alike = [record(f"id{number}") for number in range(3 * TWINS)]
        store.upsert(ref, alike)

        assert store.reached_ids(ref, alike) == {each.id for each in alike}

    def test_ids_without_a_readable_vector_are_unreachable(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record("a"), record("b")])

        assert unreachable_ids(store, ref, ["a", "missing", "b"]) == {"missing"}
        assert unreachable_ids(store, ref, []) == set()


class TestFetch:
    @on_every_store
    def test_stored_ids_are_returned_with_vector_and_text(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record("a", text="one"), record("b", text="two")])

        found = store.fetch(ref, ["b", "missing", "a", "a"])

        assert {id_: each.text for id_, each in found.items()} == {"a": "one", "b": "two"}
        stored = store.query(ref, found["a"].vector, 2)
        assert max(hit.score for hit in stored if hit.id == "a") == pytest.approx(1)

    def test_vectors_are_stored_unchanged_or_in_half_precision(self, store: VectorStore, ref: CollectionRef) -> None:
        vectors = np.random.default_rng(7).standard_normal((20, 3)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        records = [VectorRecord(f"r{position}", vector, "text", {"a": 1}) for position, vector in enumerate(vectors)]
        store.upsert(ref, records)
        found = store.fetch(ref, [record.id for record in records])
        precision = 2**-11 if isinstance(store, PgVectorStore) else 1e-6
        np.testing.assert_allclose([found[record.id].vector for record in records], vectors, rtol=precision, atol=1e-6)


class TestDelete:
    @on_every_store
    def test_only_the_given_ids_are_deleted(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record(id_) for id_ in "abc"])
        store.delete(ref, ["a", "never there", "c"])

        assert store.stored_ids(ref, list("abc")) == {"b"}


class TestIterIds:
    @on_every_store
    def test_every_id_once(self, store: VectorStore, ref: CollectionRef) -> None:
        ids = [f"id{n}" for n in range(250)]
        store.upsert(ref, [record(id_) for id_ in ids])

        assert sorted(id_ for page in store.iter_ids(ref) for id_ in page) == sorted(ids)

    def test_only_ids_of_the_session_are_listed(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record("a", session_id="user/7 ü"), record("b", session_id="other")])

        assert list(store.iter_ids(ref, session_id="user/7 ü")) == [["a"]]
        assert list(store.iter_ids(ref, session_id="nobody's")) == []


class TestQuery:
    @on_every_store
    def test_best_first_with_cosine_scores(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record("far", 0, 1), record("near", 1), record("between", 1, 1), record("opposite", -1)])

        hits = store.query(ref, unit(1), 10)
        assert [hit.id for hit in hits][:2] == ["near", "between"]
        assert [hit.score for hit in hits] == pytest.approx([1.0, 0.5**0.5, 0.0, 0.0], abs=1e-5)
        assert all(0.0 <= hit.score <= 1.0 for hit in hits)

    def test_length_does_not_matter(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [VectorRecord("a", unit(1, 1) * np.float32(3), "text", {"k": 1})])

        [hit] = store.query(ref, unit(1, 1), 1)
        assert hit.score == pytest.approx(1.0, abs=1e-5)

    @each_row(("limit", "found"), [(0, 0), (-1, 0), (2, 2), (1000, 3)])
    def test_limit(self, store: VectorStore, ref: CollectionRef, limit: int, found: int) -> None:
        store.upsert(ref, [record(id_) for id_ in "abc"])

        assert len(store.query(ref, unit(1), limit)) == found

    @on_every_store
    @each_row(
        ("where", "expected"),
        [
            ({}, "abc"),
            ({"role": "user"}, "ac"),
            ({"role": "user", "seq": 3}, "c"),
            ({"role": {"$in": ["user", "tool"]}}, "ac"),
            ({"role": {"$nin": ["user"]}}, "b"),
            ({"role": {"$ne": "user"}}, "b"),
            ({"only_b": {"$ne": 1}}, "ac"),
            ({"only_b": 1}, "b"),
            ({"only_b": True}, ""),
            ({"seq": {"$gte": 2}}, "bc"),
            ({"seq": {"$lt": 3}}, "ab"),
            ({"seq": "1"}, ""),
            ({"$or": [{"seq": 1}, {"seq": 3}]}, "ac"),
            ({"$and": [{"seq": {"$gt": 1}}, {"role": "user"}]}, "c"),
        ],
    )
    def test_where(self, store: VectorStore, ref: CollectionRef, where: dict[str, object], expected: str) -> None:
        store.upsert(
            ref,
            [
                record("a", role="user", seq=1),
                record("b", role="assistant", seq=2, only_b=1),
                record("c", role="user", seq=3),
            ],
        )

        assert "".join(sorted(hit.id for hit in store.query(ref, unit(1), 10, where))) == expected

    @on_every_store
    @each_row("number", [3, 100])  # Chroma reads the vectors of a few ids, and queries among many
    def test_among_ids(self, store: VectorStore, ref: CollectionRef, number: int) -> None:
        store.upsert(ref, [record(f"r{n}", 1, n) for n in range(number + 1)])
        among = [f"r{n}" for n in range(1, number + 1)]

        found = store.query_among(ref, unit(1), among, 2)
        assert [hit.id for hit in found] == among[: len(found)]
        assert len(found) in {2, number}
        assert [hit.score for hit in found[:2]] == pytest.approx([2**-0.5, 5**-0.5], abs=1e-3)
        assert [hit.id for hit in store.query_among(ref, unit(1), [*among, "missing"], 2)] == among
        assert store.query_among(ref, unit(1), ["missing"] * number, 2) == []

    def test_an_unknown_operator_is_rejected(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record("a")])

        with pytest.raises(VectorRejected):
            store.query(ref, unit(1), 10, {"seq": {"$roughly": 2}})

    def test_a_vector_with_nan_is_rejected(self, store: VectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, [record("a")])

        with pytest.raises(VectorRejected):
            store.query(ref, np.full(DIMENSION, np.nan, dtype=np.float32), 1)


def test_checks_need_no_preparation_and_may_be_repeated(store: VectorStore) -> None:
    store.ping()
    for _ in range(2):
        store.check_writes()
        store.ping()
