"""The faults that the doubles can simulate (their contracts are in tests/contract), and what the search for faults
looks at."""

from __future__ import annotations

import socket
from uuid import uuid4

import numpy as np
import pytest
from chaos.invariants import OF_A_BASE
from harness.doubles import FakeEmbedder, FakeEmbedders, InMemoryLocks, InMemoryQueue, InMemoryVectors
from harness.rows import each_row
from hypothesis import given
from hypothesis import strategies as st

from memorybase.errors import (
    EmbeddingFailed,
    LockUnavailable,
    ModelUnavailable,
    TextRejected,
    VectorStoreUnavailable,
)
from memorybase.models import Base
from memorybase.services import JobMessage
from memorybase.vectors.store import CollectionRef, VectorRecord


def record(id_: str) -> VectorRecord:
    return VectorRecord(id_, np.ones(4, dtype=np.float32), "text", {"session_id": "s1"})


class TestInMemoryVectors:
    @pytest.fixture
    def vectors(self) -> InMemoryVectors:
        return InMemoryVectors()

    @pytest.fixture
    def ref(self, vectors: InMemoryVectors) -> CollectionRef:
        return vectors.create_collection("mb-1-g1-0a1b2c3d", {})

    def test_fail_next_hits_the_named_operation_once(self, vectors: InMemoryVectors, ref: CollectionRef) -> None:
        vectors.fail_next(VectorStoreUnavailable(), on="upsert")
        vectors.ping()

        with pytest.raises(VectorStoreUnavailable):
            vectors.upsert(ref, [record("a")])
        vectors.upsert(ref, [record("a")])

    def test_fail_next_several_times(self, vectors: InMemoryVectors) -> None:
        vectors.fail_next(VectorStoreUnavailable(), times=2)

        for _ in range(2):
            with pytest.raises(VectorStoreUnavailable):
                vectors.ping()
        vectors.ping()

    def test_away_until_it_is_back(self, vectors: InMemoryVectors, ref: CollectionRef) -> None:
        vectors.away = True
        with pytest.raises(VectorStoreUnavailable):
            vectors.count(ref)

        vectors.away = False
        assert vectors.count(ref) == 0

    def test_hooks_run_before_and_after_the_write(self, vectors: InMemoryVectors, ref: CollectionRef) -> None:
        counts = []
        vectors.before_upsert = vectors.after_upsert = lambda ref, _: counts.append(vectors.count(ref))
        vectors.upsert(ref, [record("a")])

        assert counts == [0, 1]

    def test_a_write_that_the_caller_saw_fail_may_be_stored(self, vectors: InMemoryVectors, ref: CollectionRef) -> None:
        def lose_the_answer(*_: object) -> None:
            raise VectorStoreUnavailable

        vectors.after_upsert = lose_the_answer
        with pytest.raises(VectorStoreUnavailable):
            vectors.upsert(ref, [record("a")])
        assert vectors.stored_ids(ref, ["a"]) == {"a"}

    def test_damaged_records_are_counted_and_not_readable(self, vectors: InMemoryVectors, ref: CollectionRef) -> None:
        vectors.upsert(ref, [record("a"), record("b")])
        vectors.damage(ref, ["a"])

        assert vectors.count(ref) == 2
        assert vectors.stored_ids(ref, ["a", "b"]) == {"b"}
        vectors.upsert(ref, [record("a")])
        assert vectors.stored_ids(ref, ["a", "b"]) == {"a", "b"}

    def test_lost_records_are_missing(self, vectors: InMemoryVectors, ref: CollectionRef) -> None:
        vectors.upsert(ref, [record("a"), record("b")])
        vectors.lose(ref, ["a"])

        assert list(vectors.records(ref)) == ["b"]

    def test_a_replaced_collection_is_another(self, vectors: InMemoryVectors, ref: CollectionRef) -> None:
        other = vectors.replace_collection(ref.name)

        assert vectors.names() == [ref.name]
        assert other.id != ref.id


class TestInMemoryLocks:
    def test_faults(self) -> None:
        locks = InMemoryLocks()
        lock = locks.acquire(uuid4(), "s1")
        assert lock is not None
        locks.fail_next(LockUnavailable(), on="extend")
        with pytest.raises(LockUnavailable):
            lock.extend()

        locks.away = True
        with pytest.raises(LockUnavailable):
            locks.held(uuid4(), "s1")
        lock.release()

    def test_time_is_the_given_clock_s(self) -> None:
        now = [0.0]
        locks, base = InMemoryLocks(ttl_seconds=10, clock=lambda: now[0]), uuid4()
        assert locks.acquire(base, "s1") is not None
        now[0] = 9.9
        assert locks.held(base, "s1")

        now[0] = 10.0
        assert not locks.held(base, "s1")


def job(seq: int) -> JobMessage:
    return JobMessage(uuid4(), uuid4(), "s1", "ingest", 1, seq, seq + 1, None, "fake", "none")


class TestInMemoryQueue:
    def test_drain_hands_over_in_order_with_what_the_handler_adds(self) -> None:
        queue, seen = InMemoryQueue(), []
        first, second = job(0), job(1)

        def handle(each: JobMessage) -> None:
            seen.append(each)
            if each is first:
                queue.enqueue([second])

        assert queue.enqueue([first]) == 1
        assert queue.backlog() == 1
        assert queue.drain(handle) == 2
        assert seen == queue.enqueued == [first, second]
        assert queue.backlog() == 0

    def test_notifications_are_lost_during_an_outage(self) -> None:
        queue = InMemoryQueue()
        queue.away = True

        assert queue.enqueue([job(0)]) == 0
        assert queue.backlog() is None
        assert queue.enqueued == []

    def test_clear_loses_what_waits(self) -> None:
        queue = InMemoryQueue()
        queue.enqueue([job(0)])
        queue.clear()

        assert queue.drain(lambda _: None) == 0

    def test_a_handler_that_never_ends_is_reported(self) -> None:
        queue = InMemoryQueue()
        queue.enqueue([job(0)])

        with pytest.raises(RuntimeError, match="never empties"):
            queue.drain(lambda each: queue.enqueue([each]))


class TestFakeEmbedder:
    def test_texts_that_share_words_are_near(self) -> None:
        embedder = FakeEmbedder()
        cat, cats, tax = embedder.embed(
            ["the cat sleeps on the sofa", "our cat sleeps on a sofa", "annual income declaration form"]
        )

        assert float(cat @ cats) > 0.5 > float(cat @ tax)

    @given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=5))
    def test_vectors_have_length_one_and_never_change(self, texts: list[str]) -> None:
        vectors = FakeEmbedder().embed(texts)

        assert vectors.shape == (len(texts), FakeEmbedder.dimension)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert np.array_equal(vectors, FakeEmbedder().embed(texts))

    @given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
    def test_offsets_are_the_words(self, text: str) -> None:
        assert [text[start:end] for start, end in FakeEmbedder().token_offsets(text)] == text.split()

    def test_a_query_is_embedded_like_a_text(self) -> None:
        embedder = FakeEmbedder()

        assert np.array_equal(embedder.embed_query("one two"), embedder.embed(["one two"])[0])
        assert embedder.calls == 2
        assert embedder.embedded == ["one two", "one two"]

    def test_models_differ(self) -> None:
        one, other = FakeEmbedder("one"), FakeEmbedder("other")

        assert one.identity != other.identity
        assert not np.allclose(one.embed_query("word"), other.embed_query("word"))

    def test_a_rejected_text_fails_its_batch_alone(self) -> None:
        embedder = FakeEmbedder()
        embedder.reject("poison")

        with pytest.raises(TextRejected):
            embedder.embed(["fine", "a poisoned text"])
        assert len(embedder.embed(["fine"])) == 1

    @each_row("call", ["embed_query", "token_offsets"])
    def test_a_lone_surrogate_is_rejected(self, call: str) -> None:
        with pytest.raises(TextRejected):
            getattr(FakeEmbedder(), call)("\ud800")

    def test_fail_with_holds_until_it_is_reset(self) -> None:
        embedder = FakeEmbedder()
        embedder.fail_with(EmbeddingFailed())
        with pytest.raises(EmbeddingFailed):
            embedder.embed(["any"])

        embedder.fail_with(None)
        assert len(embedder.embed(["any"])) == 1

    def test_a_hook_sees_the_batch_first(self) -> None:
        embedder = FakeEmbedder()
        seen: list[object] = []
        embedder.before_embed = seen.append
        embedder.embed(["a", "b"])

        assert seen == [["a", "b"]]


class TestFakeEmbedders:
    def test_one_embedder_a_model(self) -> None:
        embedders = FakeEmbedders()

        assert embedders.get() is embedders.get("fake")
        assert embedders.get("other").model == "other"

    def test_a_missing_model(self) -> None:
        embedders = FakeEmbedders()
        embedders.missing.add("other")

        with pytest.raises(ModelUnavailable):
            embedders.get("other")


def test_unit_tests_have_no_network() -> None:
    with socket.socket() as connection, pytest.raises(AssertionError, match="opened a connection"):
        connection.connect(("127.0.0.1", 9))


def test_the_search_for_faults_looks_at_every_table_of_a_memory_base() -> None:
    tables = {name for name, table in Base.metadata.tables.items() if "memory_base_id" in table.columns}
    outliving = {"retention_passes"}  # receipts of what was deleted
    assert OF_A_BASE.keys() == (tables - outliving) | {"memory_bases"}
