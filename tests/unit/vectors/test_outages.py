"""One server of several that does not answer: calls to it fail at once, until it answers again."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import pytest
from harness.waiting import wait_until

from memorybase.errors import VectorStoreUnavailable
from memorybase.testing import InMemoryVectors
from memorybase.vectors import outages
from memorybase.vectors.outages import GuardedServer
from memorybase.vectors.store import CollectionRef, VectorRecord

RECORD = VectorRecord("a", np.ones(4, dtype=np.float32), "text", {"session_id": "s"})


@pytest.fixture
def store() -> InMemoryVectors:
    return InMemoryVectors()


@pytest.fixture
def ref(store: InMemoryVectors) -> CollectionRef:
    return store.create_collection(f"mb-{uuid4()}-g1", {})


@pytest.fixture
def east(store: InMemoryVectors, monkeypatch: pytest.MonkeyPatch) -> Iterator[GuardedServer]:
    monkeypatch.setattr(outages, "QUIET_SECONDS", 3_600.0)  # however slow the machine is
    guarded = GuardedServer("chroma-east", store, retry_seconds=0.01)
    yield guarded
    guarded.close()


def write(server: GuardedServer, ref: CollectionRef) -> None:
    with server.call() as store:
        store.upsert(ref, [RECORD])


def test_a_call_fails_at_once_after_another_found_the_server_away(
    east: GuardedServer, store: InMemoryVectors, ref: CollectionRef
) -> None:
    write(east, ref)
    store.away = True
    with pytest.raises(VectorStoreUnavailable, match="chroma-east: ") as raised:
        write(east, ref)
    assert raised.value.details["server"] == "chroma-east"
    reached = store.calls["upsert"]

    for _ in range(3):
        with pytest.raises(VectorStoreUnavailable, match="chroma-east does not answer"):
            write(east, ref)
    assert store.calls["upsert"] == reached


def test_an_error_of_one_collection_does_not_close_the_server(
    east: GuardedServer, store: InMemoryVectors, ref: CollectionRef
) -> None:
    store.fail_next(VectorStoreUnavailable(status=500), on="upsert")
    with pytest.raises(VectorStoreUnavailable):
        write(east, ref)

    write(east, ref)


def test_a_quiet_server_is_pinged_before_a_call(
    east: GuardedServer, store: InMemoryVectors, ref: CollectionRef
) -> None:
    store.away = True
    with pytest.raises(VectorStoreUnavailable):
        write(east, ref)

    assert store.calls["upsert"] == 0
    assert store.calls["ping"] > 0


def test_a_server_that_answered_lately_is_not_pinged(
    east: GuardedServer, store: InMemoryVectors, ref: CollectionRef
) -> None:
    for _ in range(3):
        write(east, ref)

    assert store.calls["ping"] == 1


def test_calls_pass_once_the_server_is_back(east: GuardedServer, store: InMemoryVectors, ref: CollectionRef) -> None:
    store.away = True
    with pytest.raises(VectorStoreUnavailable):
        write(east, ref)
    store.away = False

    def answers() -> bool:
        try:
            east.require()
        except VectorStoreUnavailable:
            return False
        return True

    wait_until(answers, 30, "the server counts as back")
    write(east, ref)
