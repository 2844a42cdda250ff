"""The pgvector adapter alone: what PostgreSQL refuses, concurrent writers and deletions, a server that is down."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from uuid import uuid4

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa
from harness import PostgresServer, wait_until
from harness.postgres import WAITING
from harness.rows import each_row

from memorybase.core.database import migrate
from memorybase.core.errors import CollectionMissing, VectorRejected, VectorStoreUnavailable
from memorybase.core.vectors import pgvector
from memorybase.core.vectors.pgvector import PgVectorStore, condition
from memorybase.core.vectors.pgvector_layout import SCHEMA, statements
from memorybase.core.vectors.pgvector_values import encode
from memorybase.core.vectors.store import CollectionRef, VectorRecord

DIMENSION = 4
TABLE = f"{SCHEMA}.vectors_{DIMENSION}"


@pytest.fixture
def store(pgvector_url: str) -> Iterator[PgVectorStore]:
    with closing(PgVectorStore(pgvector_url)) as store:
        yield store


@pytest.fixture
def ref(store: PgVectorStore) -> CollectionRef:
    return store.create_collection(fresh_name(), {"generation": 1})


@pytest.fixture
def connection(pgvector_url: str) -> Iterator[psycopg.Connection]:
    url = sa.make_url(pgvector_url)
    with psycopg.connect(host=str(url.query["host"]), user=url.username, dbname=url.database) as connection:
        yield connection


def fresh_name() -> str:
    return f"mb-{uuid4()}-g1"


def records(count: int, *, seed: int = 0) -> list[VectorRecord]:
    random = np.random.default_rng(seed)
    return [
        VectorRecord(
            f"id{n:04}", random.normal(size=DIMENSION).astype(np.float32), "text", {"session_id": "s1", "message_id": n}
        )
        for n in range(count)
    ]


class TestUpsert:
    def test_a_repeated_delivery_writes_nothing(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        written = f"SELECT id, ctid::text, xmin::text FROM {TABLE} ORDER BY id"
        store.upsert(ref, records(20))
        before = connection.execute(written.encode()).fetchall()
        store.upsert(ref, records(20))

        assert connection.execute(written.encode()).fetchall() == before

    def test_opposite_orders_do_not_deadlock(self, store: PgVectorStore, ref: CollectionRef) -> None:
        def write(turn: int) -> None:
            for seed in range(10):
                store.upsert(ref, records(1_000, seed=2 * seed + turn)[:: 1 if turn else -1])

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(write, range(2)))

        assert store.count(ref) == 1_000

    def test_vectors_that_half_precision_cannot_hold_are_rejected(
        self, store: PgVectorStore, ref: CollectionRef
    ) -> None:
        store.upsert(ref, records(1))
        large = np.full(DIMENSION, 70_000, dtype=np.float32)

        with pytest.raises(VectorRejected):
            store.upsert(ref, [VectorRecord("large", large, "text", {"k": 1})])
        with pytest.raises(VectorRejected):
            store.query(ref, large, 1)

    @each_row("id_", ["a\0b", "".join(str(n) for n in range(10_000))], ids=["NUL", "too long"])
    def test_an_id_that_postgresql_refuses_is_rejected(
        self, store: PgVectorStore, ref: CollectionRef, id_: str
    ) -> None:
        with pytest.raises(VectorRejected):
            store.upsert(ref, [VectorRecord(id_, np.ones(DIMENSION, dtype=np.float32), "secret", {"k": 1})])

        assert store.count(ref) == 0


class TestDeletion:
    def test_the_vectors_are_deleted_with_their_collection(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        store.upsert(ref, records(5))
        number = store._find(ref).number
        store.delete_collection(ref.name)

        assert rows_of(connection, number) == 0

    def test_an_upsert_during_the_deletion_writes_nothing(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        store.upsert(ref, records(1))
        number = store._find(ref).number
        connection.execute(f"DELETE FROM {SCHEMA}.collections WHERE number = {number}".encode())
        connection.execute(f"DELETE FROM {TABLE} WHERE collection = {number}".encode())

        with ThreadPoolExecutor(1) as threads:
            writing = threads.submit(store.upsert, ref, records(3))
            wait_until(lambda: connection.execute(WAITING).fetchone() == (1,), what="the upsert waits for the lock")
            connection.commit()
            with pytest.raises(CollectionMissing):
                writing.result()

        assert rows_of(connection, number) == 0

    def test_another_store_notices_a_deleted_collection(
        self, store: PgVectorStore, ref: CollectionRef, pgvector_url: str
    ) -> None:
        store.upsert(ref, records(3))
        with closing(PgVectorStore(pgvector_url)) as other:
            other.delete_collection(ref.name)

        for call in (lambda: store.query(ref, np.ones(DIMENSION, dtype=np.float32), 1), lambda: store.count(ref)):
            with pytest.raises(CollectionMissing):
                call()


def rows_of(connection: psycopg.Connection, number: int) -> int:
    (rows,) = connection.execute(f"SELECT count(*) FROM {TABLE} WHERE collection = {number}".encode()).fetchone() or (
        0,
    )
    return int(rows)


class TestQuery:
    def test_a_filter_on_a_session_is_answered_by_an_index(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        key = "session_id"
        vectors = np.random.default_rng(1).normal(size=(3_000, DIMENSION)).astype(np.float32)
        store.upsert(
            ref, [VectorRecord(f"r{n}", vector, "t", {key: f"k{n % 100}"}) for n, vector in enumerate(vectors)]
        )
        connection.execute(f"ANALYZE {TABLE}".encode())
        connection.commit()

        hits = store.query(ref, vectors[7], 10, {key: "k7"})
        parameters: dict[str, object] = {"vector": encode(vectors[7]), "limit": 10}
        statement = statements(store._find(ref)).query(condition({key: {"$in": ["k7", "k8"]}}, parameters), texts=True)
        parameters |= {"number": store._find(ref).number, "home": 0}
        plan = [row[0] for row in store._rows("explain", f"EXPLAIN {statement}", parameters)]

        assert [hit.id for hit in hits][:1] == ["r7"]
        assert {hit.metadata[key] for hit in hits} == {"k7"}
        assert [line for line in plan if "Index Cond" in line and key in line], plan

    def test_every_nearest_record_is_found(self, store: PgVectorStore, ref: CollectionRef) -> None:
        vectors = np.random.default_rng(2).normal(size=(2_000, DIMENSION)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        store.upsert(ref, [VectorRecord(f"r{n}", vector, "t", {"k": 1}) for n, vector in enumerate(vectors)])
        exact = np.sort(vectors @ vectors[0])[::-1][:50]

        scores = [hit.score for hit in store.query(ref, vectors[0], 50)]

        np.testing.assert_allclose(scores, np.clip(exact, 0, 1), atol=5e-4)


class TestReachedIds:
    def test_a_record_that_was_replaced_meanwhile_is_not_reached(
        self, store: PgVectorStore, ref: CollectionRef
    ) -> None:
        store.upsert(ref, records(3))
        store.upsert(ref, records(3, seed=1)[:1])

        assert store.reached_ids(ref, records(3)) == {"id0001", "id0002"}


def test_pages_of_ids_neither_repeat_nor_miss_while_others_are_written(
    store: PgVectorStore, ref: CollectionRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pgvector, "ID_PAGE", 10)
    store.upsert(ref, records(35))
    seen: list[str] = []
    for page in store.iter_ids(ref):
        seen += page
        store.delete(ref, page[:5])
        store.upsert(ref, [VectorRecord("id00000", np.ones(DIMENSION, dtype=np.float32), "t", {"k": 1})])

    assert len(seen) == len(set(seen))
    assert {each.id for each in records(35)} <= set(seen)


class TestLayout:
    def test_an_empty_database_has_no_collections(self, postgres_url: str) -> None:
        with closing(PgVectorStore(postgres_url)) as store:
            store.ping()
            assert store.list_collections() == []
            store.delete_collection(fresh_name())
            assert not store.collection_exists(CollectionRef(fresh_name(), uuid4()))
            with pytest.raises(CollectionMissing):
                store.count(CollectionRef(fresh_name(), uuid4()))

    def test_several_processes_may_create_the_tables(self, postgres_url: str) -> None:
        stores = [PgVectorStore(postgres_url) for _ in range(6)]

        def start(store: PgVectorStore) -> None:
            store.upsert(store.create_collection(fresh_name(), {}), records(1))
            store.check_writes()

        with ThreadPoolExecutor(len(stores)) as threads:
            list(threads.map(start, stores))

        assert len(stores[0].list_collections()) == len(stores) + 1
        for store in stores:
            store.close()

    def test_the_migrations_leave_the_stores_tables_alone(self, ready_postgres_url: str) -> None:
        with closing(PgVectorStore(ready_postgres_url)) as store:
            ref = store.create_collection(fresh_name(), {})
            store.upsert(ref, records(1))

            assert migrate.check(ready_postgres_url) == []
            migrate.upgrade(ready_postgres_url)
            assert store.count(ref) == 1

    def test_a_role_that_may_not_create_the_extension_is_told_what_to_do(
        self, postgres_server: PostgresServer, postgres_url: str
    ) -> None:
        role = f"role_{uuid4().hex}"
        database = str(sa.make_url(postgres_url).database)
        postgres_server.execute(f"CREATE ROLE {role} LOGIN")
        postgres_server.execute(f'GRANT CREATE ON DATABASE "{database}" TO {role}')
        url = sa.make_url(postgres_url).set(username=role).render_as_string()

        with closing(PgVectorStore(url)) as store:
            with pytest.raises(VectorStoreUnavailable, match="CREATE EXTENSION vector"):
                store.create_collection(fresh_name(), {})
            postgres_server.execute("CREATE EXTENSION vector", database)
            store.upsert(store.create_collection(fresh_name(), {}), records(1))


class TestAway:
    def test_every_call_says_that_the_store_is_unavailable(self) -> None:
        ref = CollectionRef(fresh_name(), uuid4())
        with closing(PgVectorStore("postgresql+psycopg://nobody@127.0.0.1:1/none")) as store:
            for call in (
                store.ping,
                store.check_writes,
                store.list_collections,
                lambda: store.create_collection(fresh_name(), {}),
                lambda: store.delete_collection(ref.name),
                lambda: store.upsert(ref, records(1)),
                lambda: store.fetch(ref, ["a"]),
                lambda: store.query(ref, np.ones(DIMENSION, dtype=np.float32), 1),
            ):
                with pytest.raises(VectorStoreUnavailable) as raised:
                    call()
                assert raised.value.details["reason"] == "OperationalError"

    @pytest.mark.slow
    def test_calls_reconnect_after_a_restart(self, own_postgres: PostgresServer) -> None:
        with closing(PgVectorStore(own_postgres.url(own_postgres.create_database()))) as store:
            ref = store.create_collection(fresh_name(), {})
            store.upsert(ref, records(3))
            own_postgres.crash()
            with pytest.raises(VectorStoreUnavailable):
                store.count(ref)
            own_postgres.start()

            wait_until(lambda: answers(store), 10, "the store answers")
            assert store.count(ref) == 3

    def test_a_check_ends_while_another_holds_its_record(
        self, store: PgVectorStore, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.check_writes()
        monkeypatch.setattr(pgvector, "CHECK_SECONDS", 0.05)
        connection.execute(f"LOCK TABLE {SCHEMA}.collections".encode())

        with pytest.raises(VectorStoreUnavailable) as raised:
            store.ping()
        assert raised.value.details["reason"] == "QueryCanceled"


def answers(store: PgVectorStore) -> bool:
    try:
        store.ping()
    except VectorStoreUnavailable:
        return False
    return True
