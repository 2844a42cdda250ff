"""Chroma's files without its server: what the contract of vector stores does not say."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from harness import ChromaServer
from harness.process import running

from memorybase.core.errors import VectorStoreUnavailable
from memorybase.core.foreground import Foreground
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.chroma_database import DATABASE
from memorybase.core.vectors.chroma_in_process import WRITE_BATCH, InProcessChroma
from memorybase.core.vectors.store import VectorRecord
from memorybase.stack import chroma_files

COUNT = 1_100  # Chroma saves the index after 1,000


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def store(directory: Path) -> Iterator[InProcessChroma]:
    with closing(InProcessChroma(directory, Foreground())) as made:
        yield made


def records(first: int, last: int) -> list[VectorRecord]:
    made = []
    for number in range(first, last):
        vector = np.random.default_rng(number).normal(size=32).astype(np.float32)
        made.append(VectorRecord(f"id-{number}", vector / np.linalg.norm(vector), f"text {number}", {"n": number}))
    return made


def open_files(directory: Path) -> list[str]:
    return [each.path for each in psutil.Process().open_files() if Path(each.path).is_relative_to(directory)]


@pytest.mark.slow
def test_a_server_that_was_killed_and_this_process_take_turns_on_the_same_files(
    store: InProcessChroma, tmp_path: Path
) -> None:
    server = ChromaServer(tmp_path)
    with running(server), closing(ChromaStore(server.url, timeout_seconds=60)) as over_http:
        ref = over_http.create_collection("the-collection", {"made": "by the server"})
        over_http.upsert(ref, records(0, COUNT))
        server.kill()

        assert [each.ref for each in store.list_collections()] == [ref]
        assert store.reached_ids(ref, records(0, COUNT)) == {f"id-{n}" for n in range(COUNT)}
        store.upsert(ref, records(COUNT, 2 * COUNT))
        store.close()

        server.start()
        assert over_http.count(ref) == 2 * COUNT
        assert over_http.reached_ids(ref, records(0, 2 * COUNT)) == {f"id-{n}" for n in range(2 * COUNT)}


def test_nothing_is_open_while_the_files_are_compacted(store: InProcessChroma, directory: Path) -> None:
    ref = store.create_collection("the-collection", {})
    store.upsert(ref, records(0, 5))
    assert open_files(directory)
    found: list[object] = []
    caller = threading.Thread(target=lambda: found.append(store.count(ref)))

    def compact() -> None:
        found.append(open_files(directory))
        caller.start()
        chroma_files.compact(directory)
        found.append("compacted")

    store.closed_during(compact)

    caller.join()
    assert found == [[], "compacted", 5]


def test_a_write_waits_for_a_gap_between_requests(directory: Path) -> None:
    waits: list[float] = []

    class Busy(Foreground):
        def wait_for_gap(self, seconds: float) -> bool:
            waits.append(seconds)
            return False  # never any

    with closing(InProcessChroma(directory, Busy())) as store:
        ref = store.create_collection("the-collection", {})
        store.upsert(ref, records(0, 2 * WRITE_BATCH + 1))
        assert len(waits) == 3
        assert store.count(ref) == 2 * WRITE_BATCH + 1


def test_its_database_has_a_write_ahead_log_which_a_close_ends(store: InProcessChroma, directory: Path) -> None:
    """Its size decides how long a request waits for a commit; files that are copied after a stop are whole."""
    store.upsert(store.create_collection("the-collection", {}), records(0, 5))
    assert (directory / f"{DATABASE}-wal").exists()
    store.closed_during(lambda: None)
    assert not (directory / f"{DATABASE}-wal").exists()


def test_no_write_follows_a_failed_one_before_the_files_are_opened_again(
    store: InProcessChroma, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one would wait for ever for the transaction that Chroma has left open."""
    from chromadb.api.rust import RustBindingsAPI
    from chromadb.errors import InternalError

    ref = store.create_collection("the-collection", {})
    store.upsert(ref, records(0, 5))
    reached: list[object] = []

    def fail(api: object, *_: object, **__: object) -> None:
        reached.append(api)
        raise InternalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(RustBindingsAPI, "_upsert", fail)
        patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
        for _ in range(3):
            with pytest.raises(VectorStoreUnavailable):
                store.upsert(ref, records(5, 10))
        with pytest.raises(VectorStoreUnavailable):
            store.create_collection("another", {})
        assert store.count(ref) == 5
    assert len(reached) == 1

    store.upsert(ref, records(5, 10))

    assert store.count(ref) == 10
    assert store._connected not in reached


def test_files_that_were_deleted_take_no_write_and_are_made_again(store: InProcessChroma, directory: Path) -> None:
    """With a write-ahead log SQLite goes on to write into a file that nobody can open any more."""
    ref = store.create_collection("the-collection", {})
    store.upsert(ref, records(0, 5))
    shutil.rmtree(directory)

    with pytest.raises(VectorStoreUnavailable):
        store.upsert(ref, records(5, 10))

    ref = store.create_collection("the-collection", {})
    store.upsert(ref, records(0, 5))
    assert store.count(ref) == 5
    assert (directory / DATABASE).exists()
