"""A vector store that does not answer: calls to it fail at once, until it answers again."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import pytest
from harness.doubles import InMemoryVectors
from harness.waiting import wait_until

from memorybase.core.errors import MemorybaseError, VectorRejected, VectorStoreUnavailable
from memorybase.core.vectors import guarded_store
from memorybase.core.vectors.guarded_store import GuardedStore
from memorybase.core.vectors.store import CollectionRef, VectorRecord

RECORD = VectorRecord("a", np.ones(4, dtype=np.float32), "text", {"session_id": "s"})


@pytest.fixture
def store() -> InMemoryVectors:
    return InMemoryVectors()


@pytest.fixture
def ref(store: InMemoryVectors) -> CollectionRef:
    return store.create_collection(f"mb-{uuid4()}-g1", {})


@pytest.fixture
def guarded(store: InMemoryVectors, monkeypatch: pytest.MonkeyPatch) -> Iterator[GuardedStore]:
    monkeypatch.setattr(guarded_store, "QUIET_SECONDS", 3_600.0)  # however slow the machine is
    guarded = GuardedStore("chroma", store, retry_seconds=0.01)
    yield guarded
    guarded.close()


def write(guarded: GuardedStore, ref: CollectionRef) -> None:
    with guarded.call() as store:
        store.upsert(ref, [RECORD])


def test_a_call_fails_at_once_after_another_found_the_store_away(
    guarded: GuardedStore, store: InMemoryVectors, ref: CollectionRef
) -> None:
    write(guarded, ref)
    store.away = True
    with pytest.raises(VectorStoreUnavailable, match="chroma: ") as raised:
        write(guarded, ref)
    assert raised.value.details["store"] == "chroma"
    reached = store.calls["upsert"]

    for _ in range(3):
        with pytest.raises(VectorStoreUnavailable, match="chroma does not answer"):
            write(guarded, ref)
    assert store.calls["upsert"] == reached


def test_an_error_of_one_collection_does_not_close_the_store(
    guarded: GuardedStore, store: InMemoryVectors, ref: CollectionRef
) -> None:
    store.fail_next(VectorStoreUnavailable(status=500), on="upsert")
    with pytest.raises(VectorStoreUnavailable):
        write(guarded, ref)

    write(guarded, ref)


def test_a_quiet_store_is_pinged_before_a_call(
    guarded: GuardedStore, store: InMemoryVectors, ref: CollectionRef
) -> None:
    store.away = True
    with pytest.raises(VectorStoreUnavailable):
        write(guarded, ref)

    assert store.calls["upsert"] == 0
    assert store.calls["ping"] > 0


def test_a_store_that_answered_lately_is_not_pinged(
    guarded: GuardedStore, store: InMemoryVectors, ref: CollectionRef
) -> None:
    for _ in range(3):
        write(guarded, ref)

    assert store.calls["ping"] == 1


@pytest.mark.parametrize("on_its_way", [[], [VectorRejected(reason="of a proxy", record_id="")]])
def test_calls_pass_once_the_store_is_back(
    guarded: GuardedStore, store: InMemoryVectors, ref: CollectionRef, on_its_way: list[MemorybaseError]
) -> None:
    store.away = True
    with pytest.raises(VectorStoreUnavailable):
        write(guarded, ref)
    for error in on_its_way:
        store.fail_next(error, on="ping")
    store.away = False

    def answers() -> bool:
        try:
            guarded.require()
        except VectorStoreUnavailable:
            return False
        return True

    wait_until(answers, 30, "the store counts as back")
    write(guarded, ref)
