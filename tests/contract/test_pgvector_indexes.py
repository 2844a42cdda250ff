"""Large collections of the pgvector adapter: tables of their own with an index, and how collections move into them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa
from harness import wait_until
from harness.postgres import WAITING, PostgresServer
from harness.rows import each_row
from numpy.typing import NDArray
from structlog.testing import capture_logs

from memorybase.core.errors import CollectionMissing, VectorStoreUnavailable
from memorybase.core.vectors import pgvector, pgvector_indexes, pgvector_layout
from memorybase.core.vectors.pgvector import PgVectorStore
from memorybase.core.vectors.pgvector_indexes import Indexes, _Move
from memorybase.core.vectors.pgvector_values import encode, encode_all
from memorybase.core.vectors.store import EXPECTED_CHUNKS, CollectionRef, VectorRecord

DIMENSION = 8
ABOVE = 300
SCHEMA = pgvector_layout.SCHEMA
OWN_TABLES = f"SELECT relname FROM pg_stat_user_tables WHERE schemaname = '{SCHEMA}' AND relname LIKE 'collection\\_%'"


@pytest.fixture
def store(postgres_url: str) -> Iterator[PgVectorStore]:
    """A store of its own: indexes are built one at a time in a database."""
    with closing(PgVectorStore(postgres_url, index_above=ABOVE)) as store:
        yield store


@pytest.fixture
def other(postgres_url: str) -> Iterator[PgVectorStore]:
    """Another process."""
    with closing(PgVectorStore(postgres_url, index_above=ABOVE)) as store:
        yield store


@pytest.fixture
def ref(store: PgVectorStore) -> CollectionRef:
    return store.create_collection(f"mb-{uuid4()}-g1", {})


@pytest.fixture
def connection(postgres_url: str) -> Iterator[psycopg.Connection]:
    url = sa.make_url(postgres_url)
    with psycopg.connect(
        host=str(url.query["host"]), user=url.username, dbname=url.database, autocommit=True
    ) as connection:
        yield connection


def vectors(count: int, *, seed: int = 0) -> NDArray[np.float32]:
    found = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def records(count: int, *, seed: int = 0) -> list[VectorRecord]:
    return [
        VectorRecord(f"id{n:04}", vector, f"text {n}", {"session_id": f"s{n % 10}", "message_id": f"m{n}"})
        for n, vector in enumerate(vectors(count, seed=seed))
    ]


def own_tables(connection: psycopg.Connection) -> list[str]:
    return [row[0] for row in connection.execute(OWN_TABLES.encode())]


def memory_of_a_build(url: str, monkeypatch: pytest.MonkeyPatch, needed_mb: int, own_memory: str) -> str:
    """What `maintenance_work_mem` is while an index is built for a graph of this size, in sessions that begin with
    another one."""
    monkeypatch.setattr(pgvector_indexes, "LINK_BYTES", needed_mb * 1_000_000 // 10)
    seen: list[str] = []

    def look(connection: sa.Connection, _cursor: object, statement: str, *_: object) -> None:
        if "CREATE INDEX" in statement and "hnsw" in statement:
            seen.append(str(connection.exec_driver_sql("SHOW maintenance_work_mem").scalar()))

    of_sessions = sa.make_url(url).update_query_dict({"options": f"-c maintenance_work_mem={own_memory}"})
    with closing(PgVectorStore(of_sessions.render_as_string(hide_password=False))) as store:
        sa.event.listen(store._engine, "before_cursor_execute", look)
        ref = store.create_collection(f"mb-{uuid4()}-g1", {})
        store.upsert(ref, records(10))
        assert store.index(ref)
    (memory,) = seen
    return memory


def before_the_index(monkeypatch: pytest.MonkeyPatch, step: Callable[[], object]) -> None:
    """Run this once, after the copy and before the index is built."""
    create = pgvector_indexes._create_index
    steps = [step]

    def interrupted(move: _Move, rows: int) -> None:
        for each in [steps.pop()] if steps else []:
            each()
        create(move, rows)

    monkeypatch.setattr(pgvector_indexes, "_create_index", interrupted)


class TestSearch:
    def explain(self, store: PgVectorStore, ref: CollectionRef, statement: str, **parameters: object) -> str:
        collection = store._find(ref)
        place = {"number": collection.number, "home": collection.home, "wanted": 20, "ef_search": None, **parameters}
        settings = pgvector_layout.statements(collection).search_settings
        return "\n".join(row[0] for row in store._rows("explain", f"EXPLAIN {statement}", place, settings))

    def test_searches_use_the_index(self, store: PgVectorStore, ref: CollectionRef) -> None:
        given = records(500)
        store.upsert(ref, given)
        assert store.index(ref)
        on = pgvector_layout.statements(store._look_up(ref))
        store._known.clear()

        query = self.explain(store, ref, on.query(None, texts=True), vector=encode(given[0].vector), limit=10)
        reached = self.explain(
            store, ref, on.reached, ids=["id0000"], vectors=encode_all([given[0].vector]), distance=0.001, twins=10
        )

        for plan in (query, reached):
            assert "embedding_idx" in plan, plan

    def test_a_filter_keeps_the_index_out(self, store: PgVectorStore, ref: CollectionRef) -> None:
        given = records(2_000)
        store.upsert(ref, given)
        assert store.index(ref)
        on = pgvector_layout.statements(store._look_up(ref))
        store._known.clear()

        for condition in ("metadata -> 'rare' = 'true'::jsonb", "metadata -> 'message_id' <> '\"m1\"'::jsonb"):
            statement = on.query(condition, texts=True)
            plan = self.explain(store, ref, statement, vector=encode(given[0].vector), limit=10)
            assert "embedding_idx" not in plan, plan

    @pytest.mark.parametrize("where", [{"session_id": "s3"}, {"rare": True}, {"message_id": {"$ne": "m1"}}])
    def test_a_filter_selects_exactly(
        self, store: PgVectorStore, ref: CollectionRef, where: Mapping[str, object]
    ) -> None:
        given = [
            replace(each, metadata={**each.metadata, "rare": n % 50 == 0}) for n, each in enumerate(records(1_000))
        ]
        store.upsert(ref, given)
        wanted = vectors(1, seed=9)[0]
        before = [hit.id for hit in store.query(ref, wanted, 20, where)]
        assert store.index(ref)

        assert [hit.id for hit in store.query(ref, wanted, 20, where)] == before
        assert len(before) == 20

    def test_nearly_all_of_the_nearest_are_found(self, store: PgVectorStore, ref: CollectionRef) -> None:
        store.upsert(ref, records(1_500))
        queries = vectors(20, seed=9)
        exact = [{hit.id for hit in store.query(ref, query, 10)} for query in queries]
        assert store.index(ref)

        found = [{hit.id for hit in store.query(ref, query, 10)} for query in queries]

        assert sum(len(a & b) for a, b in zip(exact, found, strict=True)) >= 195

    @pytest.mark.slow
    def test_hits_are_in_order_and_may_be_more_than_one_scan_finds(
        self, store: PgVectorStore, ref: CollectionRef
    ) -> None:
        store.upsert(ref, records(3_000))
        assert store.index(ref)

        scores = [hit.score for hit in store.query(ref, vectors(1, seed=9)[0], 1_500)]

        assert len(scores) == 1_500
        assert scores == sorted(scores, reverse=True)

    def test_dead_rows_hide_no_results(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        wanted = vectors(1, seed=9)[0]
        store.upsert(ref, records(1_000))
        assert store.index(ref)
        (table,) = own_tables(connection)
        connection.execute(f"ALTER TABLE {SCHEMA}.{table} SET (autovacuum_enabled = false)".encode())
        store.delete(ref, [hit.id for hit in store.query(ref, wanted, 400)])

        assert len(store.query(ref, wanted, 10)) == 10

    def test_a_vector_without_direction_counts_as_reached(self, store: PgVectorStore, ref: CollectionRef) -> None:
        none = VectorRecord("none", np.zeros(DIMENSION, dtype=np.float32), "t", {"k": 1})
        store.upsert(ref, [*records(20), none])
        assert store.index(ref)

        assert store.reached_ids(ref, [none]) == {"none"}

    def test_what_the_index_does_not_hold_is_not_reached(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        given = records(50)
        store.upsert(ref, given)
        assert store.index(ref)
        (table,) = own_tables(connection)
        # Rows that were written while the index was not in use, as after damage.
        connection.execute(
            b"UPDATE pg_index SET indisready = false WHERE indexrelid = %s::regclass"
            % (f"'{SCHEMA}.{table}_embedding_idx'".encode())
        )
        store.upsert(ref, [VectorRecord("late", vectors(1, seed=5)[0], "t", {"k": 1})])
        connection.execute(
            b"UPDATE pg_index SET indisready = true WHERE indexrelid = %s::regclass"
            % (f"'{SCHEMA}.{table}_embedding_idx'".encode())
        )

        late = VectorRecord("late", vectors(1, seed=5)[0], "t", {"k": 1})
        assert store.reached_ids(ref, [given[7], late]) == {"id0007"}

    def test_what_little_effort_does_not_reach_is_searched_for_again(
        self, store: PgVectorStore, ref: CollectionRef, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given = records(3)
        store.upsert(ref, given)
        reached = store._reached

        def nothing_first(*args: Any, ef_search: int | None) -> set[str]:
            return set() if ef_search else reached(*args, ef_search=ef_search)

        monkeypatch.setattr(store, "_reached", nothing_first)

        assert store.reached_ids(ref, given) == {record.id for record in given}


class TestMove:
    def test_everything_moves(self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection) -> None:
        neighbour = store.create_collection(f"mb-{uuid4()}-g1", {})
        given = records(100)
        for each in (ref, neighbour):
            store.upsert(each, given)
        newest = store.newest_ids(ref, 5)

        assert store.index(ref)

        assert len(own_tables(connection)) == 1
        assert store.fetch(ref, ["id0003"])["id0003"].text == "text 3"
        assert set(store.newest_ids(ref, 5)) == set(newest)
        assert (store.count(ref), store.count(neighbour)) == (100, 100)
        rows = connection.execute(f"SELECT count(*) FROM {SCHEMA}.vectors_{DIMENSION}".encode()).fetchone()
        assert rows == (100,)

    def test_the_indexes_of_a_moved_collection_are_dense(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        store.upsert(ref, [replace(record, id=str(uuid4())) for record in records(3_000)])
        assert store.index(ref)
        (table,) = own_tables(connection)
        size = f"SELECT pg_relation_size('{SCHEMA}.{table}_pkey')".encode()
        moved = connection.execute(size).fetchone()
        connection.execute(f"REINDEX TABLE {SCHEMA}.{table}".encode())

        assert moved == connection.execute(size).fetchone()

    def test_changes_during_the_move_are_kept(
        self, store: PgVectorStore, other: PgVectorStore, ref: CollectionRef, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.upsert(ref, records(50))

        def change() -> None:
            other.upsert(ref, [VectorRecord("id0001", vectors(1, seed=3)[0], "changed", {"session_id": "s1"})])
            other.delete(ref, ["id0002"])
            other.upsert(ref, [VectorRecord("new", vectors(1, seed=4)[0], "new", {"session_id": "s1"})])

        before_the_index(monkeypatch, change)
        assert store.index(ref)

        assert store.stored_ids(ref, ["id0001", "id0002", "new"]) == {"id0001", "new"}
        assert store.fetch(ref, ["id0001"])["id0001"].text == "changed"
        assert store.count(ref) == 50
        assert store.newest_ids(ref, 1) == ["new"]

    @pytest.mark.parametrize("act", ["upsert", "delete"])
    def test_a_write_that_waits_for_the_move_is_kept(
        self,
        store: PgVectorStore,
        other: PgVectorStore,
        ref: CollectionRef,
        connection: psycopg.Connection,
        monkeypatch: pytest.MonkeyPatch,
        act: str,
    ) -> None:
        store.upsert(ref, records(10))
        changed = [VectorRecord("id0001", vectors(1, seed=3)[0], "changed", {"session_id": "s1"})]
        other.count(ref)
        upsert, delete = (lambda: other.upsert(ref, changed)), (lambda: other.delete(ref, ["id0001"]))
        last = _Move.run

        with ThreadPoolExecutor(1) as threads:
            writes = []

            def write_after(self: _Move, template: str, **parameters: object) -> sa.CursorResult[Any]:
                rows = last(self, template, **parameters)
                locked = b"SELECT count(*) FROM pg_locks WHERE mode = 'RowShareLock' AND relation = %s::regclass"
                holds = connection.execute(locked % f"'{SCHEMA}.collections'".encode()).fetchone()
                if template == pgvector_indexes._DELETE_GONE and holds != (0,):
                    call = upsert if act == "upsert" else delete
                    writes.append(threads.submit(call))
                    wait_until(lambda: connection.execute(WAITING).fetchone() == (1,), what="the write waits")
                return rows

            monkeypatch.setattr(_Move, "run", write_after)
            assert store.index(ref)
            assert len(writes) == 1
            writes[0].result()

        assert store.fetch(ref, ["id0001"]).keys() == ({"id0001"} if act == "upsert" else set())
        if act == "upsert":
            assert store.fetch(ref, ["id0001"])["id0001"].text == "changed"

    def test_another_process_finds_a_collection_that_moved(
        self, store: PgVectorStore, other: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        given = records(60)
        store.upsert(ref, given)
        calls: list[Callable[[], object]] = [
            lambda: other.count(ref) == 60,
            lambda: other.stored_ids(ref, ["id0001"]) == {"id0001"},
            lambda: other.reached_ids(ref, given[:2]) == {"id0000", "id0001"},
            lambda: other.query(ref, given[1].vector, 1)[0].id == "id0001",
            lambda: other.query(ref, given[1].vector, 1, {"session_id": "s1"})[0].id == "id0001",
            lambda: "id0001" in other.fetch(ref, ["id0001"]),
            lambda: [len(page) for page in other.iter_ids(ref)] == [60],
            lambda: len(other.newest_ids(ref, 3)) == 3,
            lambda: other.upsert(ref, given[:1]) is None,
            lambda: other.delete(ref, ["id0099"]) is None,
        ]
        # The first move leaves rows of nobody in the shared table, the later ones drop the table.
        for call in calls:
            known = other._find(ref)
            store._indexes.index(ref.id, anew=True)
            assert other._known.get(ref.id) == known
            assert call()
            assert other._find(ref).home == known.home + 1
        assert len(own_tables(connection)) == 1

    def test_a_write_does_not_overtake_the_move(
        self, store: PgVectorStore, other: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        """Else it would wait for ever while many write."""
        given = records(10)
        store.upsert(ref, given)
        collection = store._look_up(ref)
        late = [VectorRecord("late", vectors(1, seed=3)[0], "late", {"session_id": "s1"})]

        with ThreadPoolExecutor(2) as threads, other._engine.begin() as first:
            first.exec_driver_sql(
                pgvector_layout.statements(collection).upsert,
                {**pgvector._parameters(given[:1]), **pgvector._place(collection)},
            )
            moving = threads.submit(store.index, ref)
            wait_until(
                lambda: connection.execute(WAITING).fetchone() == (1,), what="the move waits for the first write"
            )
            writing = threads.submit(other.upsert, ref, late)
            wait_until(lambda: connection.execute(WAITING).fetchone() == (2,), what="the second write waits too")
            first.commit()
            assert moving.result()
            writing.result()

        assert store.count(ref) == 11

    def test_a_process_that_remembers_the_old_home_reads_the_new_one(
        self, store: PgVectorStore, other: PgVectorStore, ref: CollectionRef, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also while the rows in the old one are not yet deleted."""
        monkeypatch.setattr(Indexes, "_leave", lambda *_: None)
        given = records(10)
        store.upsert(ref, given)
        calls: list[Callable[[], object]] = [
            lambda: other.count(ref) == 9,
            lambda: other.stored_ids(ref, ["id0001"]) == set(),
            lambda: other.reached_ids(ref, given[1:2]) == set(),
            lambda: other.query(ref, given[1].vector, 1)[0].id != "id0001",
            lambda: other.query(ref, given[1].vector, 1, {"message_id": {"$ne": "x"}})[0].id != "id0001",
            lambda: other.fetch(ref, ["id0001"]) == {},
            lambda: "id0001" not in next(other.iter_ids(ref)),
            lambda: "id0001" not in other.newest_ids(ref, 10),
        ]
        for call in calls:
            store.upsert(ref, given)
            other._known.clear()
            other._find(ref)
            store._indexes.index(ref.id, anew=True)
            store.delete(ref, ["id0001"])
            assert call()

    def test_a_build_that_is_cut_off_leaves_nothing(
        self,
        store: PgVectorStore,
        other: PgVectorStore,
        ref: CollectionRef,
        connection: psycopg.Connection,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        store.upsert(ref, records(50))
        builds = b"pid <> pg_backend_pid() AND query LIKE '%CREATE INDEX%collection_%'"
        cut = b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE " + builds
        before_the_index(monkeypatch, lambda: connection.execute(cut))

        with pytest.raises(VectorStoreUnavailable):
            store.index(ref)
        assert own_tables(connection) == []
        assert other.count(ref) == 50

        wait_until(lambda: store.index(ref), 60, "the lock is free")
        assert other.count(ref) == 50
        assert len(own_tables(connection)) == 1

    def test_two_processes_build_one_index(
        self, store: PgVectorStore, other: PgVectorStore, ref: CollectionRef, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.upsert(ref, records(50))
        answers: list[bool] = []
        before_the_index(monkeypatch, lambda: answers.append(other.index(ref)))

        assert store.index(ref)
        assert answers == [False]
        assert other.index(ref)
        assert other._look_up(ref).home == 1

    def test_a_collection_that_is_deleted_meanwhile_leaves_nothing(
        self,
        store: PgVectorStore,
        other: PgVectorStore,
        ref: CollectionRef,
        connection: psycopg.Connection,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        store.upsert(ref, records(50))
        before_the_index(monkeypatch, lambda: other.delete_collection(ref.name))

        assert store.index(ref)

        assert own_tables(connection) == []
        with pytest.raises(CollectionMissing):
            store.count(ref)

    def test_a_collection_is_deleted_with_its_table(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        store.upsert(ref, records(5))
        assert store.index(ref)
        store.delete_collection(ref.name)

        assert own_tables(connection) == []

    def test_without_shared_memory_one_process_builds(
        self, store: PgVectorStore, ref: CollectionRef, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.upsert(ref, records(5))
        run = _Move.run
        failing = ["DO $$$$ BEGIN RAISE SQLSTATE '53100'; END $$$$"]  # a template, too

        def first_fails(self: _Move, template: str, **parameters: object) -> sa.CursorResult[Any]:
            is_first = template == pgvector_indexes._INDEX and failing
            return run(self, failing.pop() if is_first else template, **parameters)

        monkeypatch.setattr(_Move, "run", first_fails)
        with capture_logs() as logs:
            assert store.index(ref)

        assert [each["event"] for each in logs] == ["index_built_without_workers", "collection_indexed"]
        assert store._look_up(ref).indexed

    @each_row(
        ("own_memory", "needed_mb", "taken"),
        [("64MB", 1, "64MB"), ("64MB", 200, "201MB"), ("64MB", 900, "256MB"), ("300MB", 900, "300MB")],
    )
    def test_a_build_takes_what_its_graph_needs_and_the_server_can_spare(
        self, postgres_url: str, monkeypatch: pytest.MonkeyPatch, own_memory: str, needed_mb: int, taken: str
    ) -> None:
        assert memory_of_a_build(postgres_url, monkeypatch, needed_mb, own_memory) == taken

    @pytest.mark.slow
    def test_a_build_takes_half_of_large_shared_buffers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with closing(PostgresServer(shared_buffers="1GB")) as server:
            server.start()
            url = server.url(server.create_database())
            assert memory_of_a_build(url, monkeypatch, 900, "64MB") == "512MB"

    @pytest.mark.slow
    def test_memory_that_does_not_suffice_is_logged(
        self, store: PgVectorStore, ref: CollectionRef, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("USUAL_MEMORY_MB", "SPARE_MEMORY_MB"):
            monkeypatch.setattr(pgvector_indexes, name, 1)
        monkeypatch.setattr(pgvector_indexes, "_SPARE_MEMORY_MB", "SELECT 1")
        store.upsert(ref, records(3_000))
        with capture_logs() as logs:
            assert store.index(ref)

        assert [each["event"] for each in logs] == ["index_notice", "collection_indexed"]
        assert "maintenance_work_mem" in logs[0]["notice"]

    def test_vectors_too_long_for_an_index_stay(self, store: PgVectorStore, ref: CollectionRef) -> None:
        long = np.ones(pgvector_layout.MAX_INDEXED_DIMENSION + 1, dtype=np.float32)
        store.upsert(ref, [VectorRecord("a", long, "t", {"k": 1})])

        assert store.index(ref)
        assert store._look_up(ref).home == pgvector_layout.SHARED


class TestExpectedChunks:
    def test_what_will_be_large_starts_in_a_table_of_its_own(
        self, store: PgVectorStore, connection: psycopg.Connection
    ) -> None:
        ref = store.create_collection(f"mb-{uuid4()}-g2", {EXPECTED_CHUNKS: ABOVE + 1})
        store.upsert(ref, records(20))
        rows = f"SELECT count(*) FROM {SCHEMA}.vectors_{DIMENSION}".encode()

        assert connection.execute(rows).fetchone() == (0,)
        assert (store._find(ref).home, store._find(ref).indexed) == (1, False)
        assert store.query(ref, records(1)[0].vector, 1)[0].id == "id0000"
        assert store.index(ref)
        assert (store.count(ref), store._find(ref).indexed) == (20, True)


class TestMaintain:
    def test_what_has_grown_is_indexed(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        at_once = f"LIMIT {pgvector_indexes.COUNTED_AT_ONCE}"
        monkeypatch.setattr(pgvector_indexes, "_GROWN", pgvector_indexes._GROWN.replace(at_once, "LIMIT 1"))
        small, filling = (store.create_collection(f"mb-{uuid4()}-g1", {}) for _ in range(2))
        store.upsert(small, records(ABOVE))
        for each in (ref, filling):
            store.upsert(each, records(ABOVE + 1))

        assert store.maintain(leave={filling.id}) == 1
        assert [store._look_up(each).indexed for each in (small, ref, filling)] == [False, True, False]
        assert store.maintain(leave={filling.id}) == 0
        assert store.maintain() == 1
        assert len(own_tables(connection)) == 2

    def test_nothing_is_done_before_the_first_collection(self, postgres_url: str) -> None:
        with closing(PgVectorStore(postgres_url)) as store:
            assert store.maintain() == 0

    def test_large_deletions_are_followed_by_a_new_index(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection
    ) -> None:
        store.upsert(ref, records(2_000))
        assert store.index(ref)
        before = own_tables(connection)
        connection.execute(f"ALTER TABLE {SCHEMA}.{before[0]} SET (autovacuum_enabled = false)".encode())
        store.delete(ref, [each.id for each in records(600)])
        store.close()  # a connection that ends writes its statistics
        dead = f"SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = '{before[0]}'".encode()
        wait_until(lambda: connection.execute(dead).fetchone() == (600,), 30, "the statistics are written")

        assert store.maintain() == 1

        assert len(own_tables(connection)) == 1
        assert own_tables(connection) != before
        assert (store.count(ref), store.maintain()) == (1_400, 0)

    def test_what_moves_and_deletions_left_is_removed(
        self, store: PgVectorStore, ref: CollectionRef, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        deleted = store.create_collection(f"mb-{uuid4()}-g1", {})
        for each in (ref, deleted):
            store.upsert(each, records(20))
        monkeypatch.setattr(Indexes, "_leave", lambda *_: None)
        monkeypatch.setattr(Indexes, "drop_table", lambda *_: None)
        assert store.index(ref)
        assert store.index(deleted)
        store.delete_collection(deleted.name)
        monkeypatch.undo()

        store.maintain()

        assert len(own_tables(connection)) == 1
        rows = f"SELECT count(*) FROM {SCHEMA}.vectors_{DIMENSION}".encode()
        assert connection.execute(rows).fetchone() == (0,)
        assert store.count(ref) == 20
