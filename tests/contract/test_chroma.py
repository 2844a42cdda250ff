"""The Chroma adapter alone: a server that is down, frozen, restarted, damaged, or not a Chroma server."""

from __future__ import annotations

import json
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import httpx
import numpy as np
import pytest
from harness import ChromaServer
from harness.rows import each_row

from memorybase.core.errors import (
    CollectionMissing,
    DimensionMismatch,
    MemorybaseError,
    VectorRejected,
    VectorStoreUnavailable,
)
from memorybase.core.vectors import chroma
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.store import CollectionRef, StoredVector, VectorRecord

TIMEOUT = 0.3  # of a server that never answers

MakeStore = Callable[..., ChromaStore]


@pytest.fixture
def make_store() -> Iterator[MakeStore]:
    made: list[ChromaStore] = []

    def make(url: str, *, timeout_seconds: float = 20.0, token: str | None = None) -> ChromaStore:
        made.append(ChromaStore(url, timeout_seconds=timeout_seconds, token=token))
        return made[-1]

    yield make
    for store in made:
        store.close()


def fresh_name() -> str:
    return f"mb-{uuid4()}-g1"


def records(count: int, start: int = 0) -> list[VectorRecord]:
    random = np.random.default_rng(start)
    return [
        VectorRecord(f"id{n}", random.normal(size=4).astype(np.float32), f"text {n}", {"session_id": "s1"})
        for n in range(start, start + count)
    ]


@pytest.mark.parametrize("count", [3, 1_200], ids=["never saved", "saved"])
def test_a_purge_drops_deleted_texts_from_the_log(own_chroma: ChromaServer, make_store: MakeStore, count: int) -> None:
    store = make_store(own_chroma.url)
    ref, other = (store.create_collection(fresh_name(), {}) for _ in range(2))
    for each in (ref, other):
        store.upsert(each, records(count))
    store.delete(ref, ["id0", "id1"])
    kept = {record.id for record in records(count)} - {"id0", "id1"}

    def logged(collection: CollectionRef) -> list[str]:
        with closing(sqlite3.connect(own_chroma.data / "chroma.sqlite3")) as db:
            rows = db.execute("SELECT id FROM embeddings_queue WHERE topic LIKE ?", (f"%{collection.id}",))
            return [row[0] for row in rows]

    store.purge(ref)
    assert [each for each in logged(ref) if not each.startswith("purge")] == []
    assert logged(other) != []
    assert {each for page in store.iter_ids(ref) for each in page} == kept
    assert store.reached_ids(ref, records(3)) == {"id2"}
    own_chroma.kill()
    own_chroma.start()
    assert store.stored_ids(ref, ["id0", "id2"]) == {"id2"}
    store.purge(store.create_collection(fresh_name(), {}))  # an empty one has nothing to drop


class TestAway:
    def test_a_store_is_created_without_a_server_and_connects_later(
        self, own_chroma: ChromaServer, make_store: MakeStore
    ) -> None:
        own_chroma.kill()
        store = make_store(own_chroma.url)

        with pytest.raises(VectorStoreUnavailable):
            store.ping()
        own_chroma.start()
        store.ping()

    def test_a_ref_outlives_a_restart(self, own_chroma: ChromaServer, make_store: MakeStore) -> None:
        store = make_store(own_chroma.url)
        ref = store.create_collection(fresh_name(), {})
        store.upsert(ref, records(20))
        own_chroma.kill()

        with pytest.raises(VectorStoreUnavailable):
            store.upsert(ref, records(1))
        own_chroma.start()
        assert store.stored_ids(ref, ["id0", "id19"]) == {"id0", "id19"}
        store.upsert(ref, records(20))
        assert store.count(ref) == 20

    def test_every_call_raises(self, own_chroma: ChromaServer, make_store: MakeStore) -> None:
        store = make_store(own_chroma.url)
        ref = store.create_collection(fresh_name(), {})
        own_chroma.stop()
        calls: dict[str, Callable[[], object]] = {
            "create_collection": lambda: store.create_collection("abc", {}),
            "delete_collection": lambda: store.delete_collection("abc"),
            "collection_exists": lambda: store.collection_exists(ref),
            "upsert": lambda: store.upsert(ref, records(1)),
            "stored_ids": lambda: store.stored_ids(ref, ["id0"]),
            "reached_ids": lambda: store.reached_ids(ref, records(1)),
            "delete": lambda: store.delete(ref, ["id0"]),
            "iter_ids": lambda: list(store.iter_ids(ref)),
            "count": lambda: store.count(ref),
            "newest_ids": lambda: store.newest_ids(ref, 1),
            "query": lambda: store.query(ref, np.ones(4, dtype=np.float32), 1),
            "ping": store.ping,
        }

        for name, call in calls.items():
            with pytest.raises(VectorStoreUnavailable) as raised:
                call()
            assert raised.value.details["operation"] == name

    def test_an_invalid_url_is_unavailable(self, make_store: MakeStore) -> None:
        with pytest.raises(VectorStoreUnavailable):
            make_store("http://[not-a-host").ping()


def test_among_many_ids_no_vector_is_read_unless_the_collection_is_far_larger(
    own_chroma: ChromaServer, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store(own_chroma.url)
    ref = store.create_collection(fresh_name(), {})
    given = [replace(each, vector=each.vector / np.linalg.norm(each.vector)) for each in records(150)]
    store.upsert(ref, given)
    read: list[int] = []
    fetch = store.fetch

    def noted(ref: CollectionRef, ids: Sequence[str], *, texts: bool = True) -> dict[str, StoredVector]:
        read.append(len(ids))
        return fetch(ref, ids, texts=texts)

    monkeypatch.setattr(store, "fetch", noted)
    among = [f"id{n}" for n in range(100)]
    wanted = given[7].vector

    found = store.query_among(ref, wanted, among, 1)
    monkeypatch.setattr(chroma, "SEARCHED_PER_READ", 1)
    assert [hit.id for hit in found] == ["id7"]
    read_all = store.query_among(ref, wanted, among, 1)
    assert read_all[0].id == "id7"
    assert len(read_all) == 100, "nobody has to read them again for more"
    assert read == [100]  # by the second


class LowLimit(ChromaServer):
    """Started with few open files allowed, as a shell does; more are permitted."""

    def popen_options(self) -> dict[str, Any]:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))}


def test_the_server_opens_as_many_files_as_it_may(tmp_path: Path) -> None:
    """It keeps four open for each collection in use."""
    server = LowLimit(tmp_path)
    server.start()
    try:
        soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    finally:
        server.close()

    assert soft == hard > 256


class TestSilent:
    """Chroma's client waits forever unless a private attribute is set; a new version may break this."""

    @pytest.fixture
    def silent_url(self) -> Iterator[str]:
        """A server that takes connections and never answers."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"

    def test_a_call_gives_up_after_the_timeout(self, silent_url: str, make_store: MakeStore) -> None:
        ref = CollectionRef(fresh_name(), uuid4())
        with pytest.raises(VectorStoreUnavailable) as raised:
            make_store(silent_url, timeout_seconds=TIMEOUT).upsert(ref, records(1))
        assert raised.value.details == {"operation": "upsert", "reason": "ReadTimeout"}

    def test_the_first_call_gives_up_too(self, silent_url: str, make_store: MakeStore) -> None:
        with pytest.raises(VectorStoreUnavailable) as raised:
            make_store(silent_url, timeout_seconds=TIMEOUT).create_collection(fresh_name(), {})
        assert raised.value.details["reason"] == "ReadTimeout"


@pytest.mark.slow  # it freezes a process
class TestFrozen:
    def test_a_call_gives_up_and_a_thawed_server_answers(self, own_chroma: ChromaServer, make_store: MakeStore) -> None:
        patient = make_store(own_chroma.url)
        ref = patient.create_collection(fresh_name(), {})
        patient.upsert(ref, records(1))
        own_chroma.freeze()

        with pytest.raises(VectorStoreUnavailable) as raised:
            make_store(own_chroma.url, timeout_seconds=TIMEOUT).upsert(ref, records(1))
        assert raised.value.details == {"operation": "upsert", "reason": "ReadTimeout"}
        own_chroma.thaw()
        assert patient.stored_ids(ref, ["id0"]) == {"id0"}


class TestRefusedWrites:
    def test_a_store_that_answers_and_refuses_writes_fails_the_check(
        self, own_chroma: ChromaServer, make_store: MakeStore
    ) -> None:
        """Its directory is deleted. A ping is answered nevertheless while a connection to the file is open."""
        store = make_store(own_chroma.url)
        store.upsert(store.create_collection(fresh_name(), {}), records(1))
        store.check_writes()
        shutil.rmtree(own_chroma.data)

        with pytest.raises(VectorStoreUnavailable):
            store.check_writes()

    @pytest.mark.slow
    def test_a_check_does_not_wait_as_long_as_a_job_does(self, own_chroma: ChromaServer, make_store: MakeStore) -> None:
        store = make_store(own_chroma.url, timeout_seconds=600)
        store.check_writes()
        own_chroma.freeze()

        for check in (store.ping, store.check_writes):
            with pytest.raises(VectorStoreUnavailable) as raised:
                check()
            assert raised.value.details["reason"] == "ReadTimeout"

    def test_checks_go_on_after_a_store_was_emptied(self, own_chroma: ChromaServer, make_store: MakeStore) -> None:
        store = make_store(own_chroma.url)
        store.check_writes()
        own_chroma.kill()
        shutil.rmtree(own_chroma.data)
        own_chroma.start()

        store.ping()
        store.check_writes()


class TestClose:
    def test_a_later_call_connects_again(self, chroma_url: str, make_store: MakeStore) -> None:
        store = make_store(chroma_url)
        store.ping()
        store.close()

        store.ping()


class TestIterIds:
    @pytest.fixture(autouse=True)
    def _small_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(chroma, "ID_PAGE", 10)

    @each_row("count", [9, 10, 11, 19, 20, 95])
    def test_pages_hold_every_id_once(self, chroma_url: str, make_store: MakeStore, count: int) -> None:
        store = make_store(chroma_url)
        ref = store.create_collection(fresh_name(), {})
        store.upsert(ref, records(count))

        listed = [id_ for page in store.iter_ids(ref) for id_ in page]
        assert listed == [record.id for record in records(count)]

    def test_concurrent_deletions_hide_no_other_id(self, chroma_url: str, make_store: MakeStore) -> None:
        store = make_store(chroma_url)
        ref = store.create_collection(fresh_name(), {})
        store.upsert(ref, records(95))
        listed: list[str] = []

        for number, page in enumerate(store.iter_ids(ref)):
            listed += page
            if number < 3:  # listed ids and others
                store.delete(ref, [*page[:7], f"id{90 + number}"])
        assert len(listed) == len(set(listed))
        assert {f"id{n}" for n in range(95)} - set(listed) == {"id90", "id91", "id92"}

    def test_the_iteration_ends_if_the_collection_is_emptied(self, chroma_url: str, make_store: MakeStore) -> None:
        store = make_store(chroma_url)
        ref = store.create_collection(fresh_name(), {})
        store.upsert(ref, records(30))
        pages = store.iter_ids(ref)
        next(pages)
        store.delete(ref, [record.id for record in records(30)])

        assert list(pages) == []

    def test_a_page_far_into_a_long_list_may_take_longer(
        self, chroma_url: str, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(chroma, "LONG_LIST", 15)
        store = make_store(chroma_url)
        ref = store.create_collection(fresh_name(), {})
        store.upsert(ref, records(30))
        deadlines: dict[int, float] = {}
        send = httpx.HTTPTransport.handle_request

        def recorded(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
            if request.url.path.endswith("/get"):
                deadlines[json.loads(request.content)["offset"]] = request.extensions["timeout"]["read"]
            return send(transport, request)

        monkeypatch.setattr(httpx.HTTPTransport, "handle_request", recorded)
        assert {id_ for page in store.iter_ids(ref) for id_ in page} == {f"id{n}" for n in range(30)}
        assert deadlines == {0: 20, 9: 20, 18: chroma.LONG_LIST_SECONDS, 27: chroma.LONG_LIST_SECONDS}
        assert store.newest_ids(ref, 2) == ["id28", "id29"]
        assert deadlines[28] == chroma.LONG_LIST_SECONDS


class TestDamage:
    """Chroma lists and counts records without vectors in its index; only reading the vectors reveals it."""

    COUNT = 1100  # Chroma writes the index to files after the first thousand

    @pytest.fixture
    def ref(self, own_chroma: ChromaServer, make_store: MakeStore) -> CollectionRef:
        store = make_store(own_chroma.url)
        ref = store.create_collection(fresh_name(), {})
        store.upsert(ref, records(self.COUNT))
        return ref

    @staticmethod
    def index_directory(server: ChromaServer) -> Path:
        [directory] = [path for path in server.data.iterdir() if path.is_dir()]
        return directory

    @pytest.mark.slow
    def test_a_torn_index_file_shows_the_lost_ids(
        self, own_chroma: ChromaServer, make_store: MakeStore, ref: CollectionRef
    ) -> None:
        own_chroma.stop()
        file = self.index_directory(own_chroma) / "data_level0.bin"
        with file.open("r+b") as opened:
            opened.truncate(file.stat().st_size // 2)
        own_chroma.start()
        store = make_store(own_chroma.url)
        ids = [record.id for record in records(self.COUNT)]

        assert store.count(ref) == self.COUNT
        stored = store.stored_ids(ref, ids)
        assert set() < stored < set(ids)
        # Writing the lost records again repairs the index.
        store.upsert(ref, [record for record in records(self.COUNT) if record.id not in stored])
        assert store.stored_ids(ref, ids) == set(ids)

    @pytest.mark.slow
    def test_a_lost_index_shows_every_id_lost(
        self, own_chroma: ChromaServer, make_store: MakeStore, ref: CollectionRef
    ) -> None:
        own_chroma.stop()
        shutil.rmtree(self.index_directory(own_chroma))
        own_chroma.start()
        store = make_store(own_chroma.url)

        assert store.count(ref) == self.COUNT
        assert store.stored_ids(ref, [f"id{n}" for n in range(300)]) == set()
        assert len(store.stored_ids(ref, [f"id{n}" for n in range(2_000)], vectors=False)) == self.COUNT


class Answer(BaseHTTPRequestHandler):
    """Another server, or a proxy, at Chroma's address."""

    status = 200
    body = ""
    seen: dict[str, str]

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        type(self).seen = {name.lower(): value for name, value in self.headers.items()}
        payload = self.body.encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = do_DELETE = answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def answering() -> Iterator[Callable[[int, str], tuple[str, type[Answer]]]]:
    servers: list[tuple[ThreadingHTTPServer, Thread]] = []

    def start(status: int, body: str) -> tuple[str, type[Answer]]:
        handler = type("Handler", (Answer,), {"status": status, "body": body, "seen": {}})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = False
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}", handler

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.socket.close()


def chroma_error(name: str, message: str) -> str:
    return f'{{"error": "{name}", "message": "{message}"}}'


@each_row(
    ("status", "body", "expected"),
    [
        (500, chroma_error("InternalError", "database is locked"), VectorStoreUnavailable),
        (502, "<html>bad gateway</html>", VectorStoreUnavailable),
        (503, "", VectorStoreUnavailable),
        (401, chroma_error("AuthError", "unauthorized"), VectorStoreUnavailable),
        (403, chroma_error("AuthError", "forbidden"), VectorStoreUnavailable),
        (429, chroma_error("RateLimitError", "slow down"), VectorStoreUnavailable),
        (404, "no such page", VectorStoreUnavailable),
        (302, "", VectorStoreUnavailable),
        (200, "<html>welcome</html>", VectorStoreUnavailable),
        (200, "{}", VectorStoreUnavailable),
        (404, chroma_error("NotFoundError", "Collection [x] does not exist."), CollectionMissing),
        (
            400,
            chroma_error("InvalidArgumentError", "Collection expecting embedding with dimension of 4, got 8"),
            DimensionMismatch,
        ),
        (400, chroma_error("InvalidArgumentError", "a secret text"), VectorRejected),
        (413, "Payload too large", VectorRejected),
        (422, chroma_error("ChromaError", "a secret text"), VectorRejected),
    ],
)
def test_every_error_response_becomes_one_of_our_errors(
    answering: Callable[[int, str], tuple[str, type[Answer]]],
    make_store: MakeStore,
    status: int,
    body: str,
    expected: type[MemorybaseError],
) -> None:
    store = make_store(answering(status, body)[0])

    with pytest.raises(MemorybaseError) as raised:
        store.stored_ids(CollectionRef("name", uuid4()), ["a"])
    assert type(raised.value) is expected
    assert "secret" not in f"{raised.value} {raised.value.details}"


def test_requests_have_the_token(
    answering: Callable[[int, str], tuple[str, type[Answer]]], make_store: MakeStore
) -> None:
    url, handler = answering(404, chroma_error("NotFoundError", "no such collection"))
    make_store(url, token="the-token").ping()

    assert handler.seen["authorization"] == "Bearer the-token"


def test_a_connection_closed_without_a_response_is_unavailable(make_store: MakeStore) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closer = Thread(target=lambda: listener.accept()[0].close())  # noqa: PLW0108  # accepts in the thread
        closer.start()

        with pytest.raises(VectorStoreUnavailable):
            make_store(f"http://127.0.0.1:{listener.getsockname()[1]}").ping()
        closer.join()


FIRST_USE = """
import sys, threading
from uuid import uuid4
import httpx
import numpy as np
from memorybase.core import errors
from memorybase.core.vectors import chroma
from memorybase.core.vectors.store import CollectionRef

asked = threading.Semaphore(0)

class Watched:
    def __init__(self):
        self.lock = threading.Lock()
    def __enter__(self):
        asked.release()
        self.lock.acquire()
    def __exit__(self, *_):
        self.lock.release()

watched = chroma._loading = Watched()
store = chroma.ChromaStore("http://127.0.0.1:9", timeout_seconds=5)
reasons = []

def call(function, *arguments):
    try:
        function(*arguments)
    except errors.VectorStoreUnavailable as error:
        reasons.append(error.details["reason"])

calls = [
    threading.Thread(target=call, args=(store.create_collection, "some-name", {"a": 1})),
    threading.Thread(target=call, args=(store.query, CollectionRef("some-name", uuid4()), np.ones(3), 3)),
]
watched.lock.acquire()
for each in calls:
    each.start()
for each in calls:
    assert asked.acquire(timeout=30), "a call did not wait for its turn to import"
assert "chromadb" not in sys.modules
watched.lock.release()
for each in calls:
    each.join()
assert reasons == ["ConnectError"] * 2, reasons
"""


@pytest.mark.slow
def test_concurrent_first_calls_import_chromadb_one_at_a_time() -> None:
    """Without the lock, a few in a hundred runs fail with an import error."""
    ended = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
