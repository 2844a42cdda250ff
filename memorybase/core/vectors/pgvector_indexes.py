"""Separate tables with an HNSW index for large collections of the pgvector store.

One transaction copies a collection into a new table, builds the index, copies what changed meanwhile and makes the new
table the collection's home. Until it commits nobody sees any of it, so whatever ends it loses nothing. Searches and
writes continue in the old home; writes wait only during the last changes. The same transaction serves a collection that
has grown, one that was filled for a regenerate, and one whose table has many dead rows.
"""

from __future__ import annotations

from collections.abc import Collection as AnyCollection
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
import sqlalchemy as sa

from memorybase.core.errors import CollectionMissing, VectorStoreUnavailable
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors import pgvector_layout as layout
from memorybase.core.vectors.pgvector_layout import MAX_INDEXED_DIMENSION, SCHEMA, SHARED, Collection
from memorybase.core.vectors.pgvector_values import sqlstate, translated_errors

log = get_logger(__name__)

OLDEST_VERSION = (0, 8)  # of pgvector: iterative scans
M, EF_CONSTRUCTION = 12, 100
LINK_BYTES = 650  # of a vector in the graph besides its components, generously
USUAL_MEMORY_MB = 64  # of a build; PostgreSQL's own default
SPARE_MEMORY_MB = 256  # that every server has
CATCH_UP_ROUNDS = 5
FEW_CHANGES = 200  # copied while writers wait, in about half a second
LEFTOVER_BATCH = 5_000
COUNTED_AT_ONCE = 200  # collections, in one statement
DEAD_SHARE = 0.15  # of the living: beyond it a new table costs less than a vacuum
INSUFFICIENT_RESOURCES = "53"  # the class of SQLSTATEs: disk, shared memory

_VERSION = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%(lock)s)"
_SNAPSHOT = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"
_COLUMNS = "collection, id, added, metadata, text, embedding"
_COPY = "INSERT INTO $vectors ($columns) SELECT $columns FROM $old WHERE collection = %(number)s"
_INDEX = f"""
CREATE INDEX ON $vectors USING hnsw (embedding halfvec_cosine_ops) WITH (m = {M}, ef_construction = {EF_CONSTRUCTION})
"""
# As much as its operator allows, or half of shared_buffers, which should be a quarter of the machine's memory.
_SPARE_MEMORY_MB = """
SELECT greatest(
    pg_size_bytes(current_setting('maintenance_work_mem')), pg_size_bytes(current_setting('shared_buffers')) / 2
) / 1048576
"""
# Rows of transactions that had not ended when the copy began. An old row may look new once numbers of transactions
# repeat, which only copies it again.
_COPY_CHANGED = """
INSERT INTO $vectors AS stored ($columns) SELECT $columns FROM $old AS changed
WHERE changed.collection = %(number)s AND age(changed.xmin) <= age(%(since)s::xid8::xid)
ON CONFLICT (collection, id) DO UPDATE
SET added = excluded.added, metadata = excluded.metadata, text = excluded.text, embedding = excluded.embedding
WHERE stored.embedding <> excluded.embedding OR stored.text <> excluded.text OR stored.metadata <> excluded.metadata
"""
_DELETE_GONE = """
DELETE FROM $vectors AS stored WHERE NOT EXISTS (
    SELECT FROM $old AS old WHERE old.collection = %(number)s AND old.id = stored.id
)
"""
_TURN = f"SELECT pg_advisory_xact_lock({layout.TURN_LOCK} + %(number)s)"
_LOCK = f"SELECT home FROM {SCHEMA}.collections WHERE number = %(number)s FOR UPDATE"  # noqa: S608
_MOVE = f"UPDATE {SCHEMA}.collections SET home = %(home)s, indexed = true WHERE number = %(number)s"  # noqa: S608
_SHARED_TABLES = f"""
SELECT DISTINCT dimension FROM {SCHEMA}.collections WHERE dimension <= {MAX_INDEXED_DIMENSION}
"""  # noqa: S608
# Pages: all collections in one statement would exceed its time-out.
_GROWN = f"""
SELECT each.number, each.id, (
    SELECT count(*) FROM (SELECT FROM $vectors WHERE collection = each.number LIMIT %(above)s + 1) AS counted
) > %(above)s
FROM {SCHEMA}.collections AS each
WHERE each.home = {SHARED} AND each.dimension = %(dimension)s AND each.number > %(after)s
ORDER BY each.number LIMIT {COUNTED_AT_ONCE}
"""  # noqa: S608
_OWN_TABLES = f"""
SELECT each.id FROM {SCHEMA}.collections AS each JOIN pg_stat_user_tables AS of_table
    ON of_table.schemaname = '{SCHEMA}' AND of_table.relname = 'collection_' || each.number || '_' || each.home
WHERE each.home <> {SHARED} AND each.dimension <= {MAX_INDEXED_DIMENSION} AND CASE WHEN each.indexed
    THEN of_table.n_dead_tup > %(least)s AND of_table.n_dead_tup > {DEAD_SHARE} * of_table.n_live_tup
    ELSE of_table.n_live_tup > %(above)s END
"""  # noqa: S608
_LEFT_TABLES = f"""
SELECT relname FROM pg_class WHERE relnamespace = '{SCHEMA}'::regnamespace AND relkind = 'r'
    AND relname ~ '^collection_[0-9]+_[0-9]+$' AND relname NOT IN (
        SELECT 'collection_' || number || '_' || home FROM {SCHEMA}.collections
    )
"""  # noqa: S608
_MOVED = f"SELECT number, dimension, home, indexed FROM {SCHEMA}.collections WHERE home <> {SHARED}"  # noqa: S608
_DELETE_LEFT_ROWS = """
DELETE FROM $vectors WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM $vectors WHERE collection = %(number)s LIMIT %(limit)s
))
"""


class _Gone(Exception):
    """The collection was deleted while its new table was being filled."""


class Indexes:
    """Builds one index at a time in a database, whatever the number of processes: it takes memory and processors."""

    def __init__(self, engine: sa.Engine, *, above: int) -> None:
        self._engine = engine
        self._single = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._above = above

    def index(self, collection_id: UUID, *, anew: bool = False) -> bool:
        """Move the collection into a new table with an index, if it has none or `anew`; False while another process
        builds one."""
        try:
            with translated_errors("index"), self._engine.begin() as connection:
                if not connection.exec_driver_sql(_TRY_LOCK, {"lock": layout.BUILD_LOCK}).scalar():
                    return False
                found = connection.exec_driver_sql(layout.FIND, {"id": collection_id}).first()
                old = Collection(*found) if found else None
                if old is None or (old.indexed and not anew) or not _can_have_index(connection, old):
                    return True
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                move = _Move(connection, old, old._replace(home=old.home + 1))
                layout.create_vectors(connection, move.new, indexes=False)
                since = move.snapshot()
                rows = move.run(_COPY).rowcount
                layout.create_indexes(connection, layout.table_of(move.new))
                _create_index(move, rows)
                move.catch_up(since)
        except (_Gone, CollectionMissing):
            return True
        log.info("collection_indexed", number=old.number, home=move.new.home, rows=rows)
        self._leave(old)
        return True

    def maintain(self, leave: AnyCollection[UUID]) -> int:
        """Index what has grown and what has many dead rows, except `leave`; delete what moves left. Returns how many
        were built."""
        try:
            self._clean_up()
            due = [each for each in self._due() if each not in leave]
        except CollectionMissing:  # no collection was ever created
            return 0
        return sum(self.index(each, anew=True) for each in due)

    def drop_table(self, collection: Collection) -> None:
        """Drop the own table of a collection that was deleted or has moved. `maintain` does it if that fails."""
        if collection.home != SHARED:
            self._drop(layout.table_of(collection))

    def _due(self) -> list[UUID]:
        due: list[UUID] = []
        with translated_errors("maintain"), self._single.connect() as connection:
            if not _has_iterative_scans(connection):
                return due
            for dimension in connection.exec_driver_sql(_SHARED_TABLES).scalars().all():
                due += self._grown(connection, dimension)
            # A few dead rows are no reason to copy thousands.
            bounds = {"above": self._above, "least": self._above // 10}
            due += connection.exec_driver_sql(_OWN_TABLES, bounds).scalars()
        return due

    def _grown(self, connection: sa.Connection, dimension: int) -> Iterator[UUID]:
        """The collections that have outgrown the shared table of a dimension."""
        statement, after = layout.fill(_GROWN, layout.shared_table(dimension)), -1
        bounds = {"dimension": dimension, "above": self._above}
        while page := connection.exec_driver_sql(statement, {**bounds, "after": after}).all():
            yield from (id_ for _, id_, has_grown in page if has_grown)
            after = page[-1][0]

    def _clean_up(self) -> None:
        """Delete what is left of moves and deletions whose process ended in between."""
        with translated_errors("maintain"), self._single.connect() as connection:
            tables = connection.exec_driver_sql(_LEFT_TABLES).scalars().all()
            moved = [Collection(*row) for row in connection.exec_driver_sql(_MOVED)]
        for table in tables:
            self._drop(f"{SCHEMA}.{table}")
        for collection in moved:
            if collection.dimension is not None:
                self._delete_shared_rows(collection)

    def _leave(self, old: Collection) -> None:
        """Free the old home. `maintain` does it if that fails."""
        if old.home == SHARED:
            with suppress(VectorStoreUnavailable):
                self._delete_shared_rows(old)
        self.drop_table(old)

    def _delete_shared_rows(self, collection: Collection) -> None:
        statement = layout.fill(_DELETE_LEFT_ROWS, layout.shared_table(collection.dimension))
        parameters = {"number": collection.number, "limit": LEFTOVER_BATCH}
        with translated_errors("maintain"), self._single.connect() as connection:
            while connection.exec_driver_sql(statement, parameters).rowcount:
                pass

    def _drop(self, table: str) -> None:
        # Searches that began before hold it; others would queue behind this one.
        with suppress(VectorStoreUnavailable), translated_errors("drop_table"), self._engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL lock_timeout = '1s'")
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {table}")


class _Move(NamedTuple):
    """A collection that moves into its next table, within the transaction of a connection."""

    connection: sa.Connection
    old: Collection
    new: Collection

    def run(self, template: str, **parameters: Any) -> sa.CursorResult[Any]:
        statement = layout.fill(template, layout.table_of(self.new), old=layout.table_of(self.old), columns=_COLUMNS)
        return self.connection.exec_driver_sql(
            statement, {"number": self.old.number, "home": self.new.home, **parameters}
        )

    def snapshot(self) -> str:
        return str(self.run(_SNAPSHOT).scalar())

    def catch_up(self, since: str) -> None:
        """Copy what changed since this snapshot, and make the new table the collection's home."""
        for _ in range(CATCH_UP_ROUNDS):
            before, since = since, self.snapshot()
            if self._copy_changes(before) <= FEW_CHANGES:
                break
        # Writers take both locks, so that nothing changes from here to the commit.
        self.run(_TURN)
        if self.run(_LOCK).scalar() != self.old.home:
            raise _Gone
        self._copy_changes(since)
        self.run(_MOVE)

    def _copy_changes(self, since: str) -> int:
        return self.run(_COPY_CHANGED, since=since).rowcount + self.run(_DELETE_GONE).rowcount


def _create_index(move: _Move, rows: int) -> None:
    """Build the index of the new table in the memory that it needs, at most in what the server can spare."""
    needed = rows * (2 * (move.old.dimension or 0) + LINK_BYTES) // 1_000_000 + 1
    spare: int = move.run(_SPARE_MEMORY_MB).scalar_one()
    memory = max(USUAL_MEMORY_MB, min(needed, max(SPARE_MEMORY_MB, spare)))
    move.run(f"SET LOCAL maintenance_work_mem = '{memory}MB'")
    try:
        with _logged_notices(move.connection, needed_mb=needed, memory_mb=memory), move.connection.begin_nested():
            move.run(_INDEX)
    except sa.exc.DBAPIError as error:
        if not sqlstate(error).startswith(INSUFFICIENT_RESOURCES):
            raise
        # Parallel workers share memory in /dev/shm, of which a container may have 64 MB.
        log.warning("index_built_without_workers", number=move.old.number, reason=type(error.orig).__name__)
        move.run("SET LOCAL max_parallel_maintenance_workers = 0")
        move.run(_INDEX)
    move.run("ANALYZE $vectors")


@contextmanager
def _logged_notices(connection: sa.Connection, **values: int) -> Iterator[None]:
    """Log the server's notices: pgvector says so when the graph does not fit into memory, and then takes four times as
    long."""
    driver: psycopg.Connection = connection.connection.driver_connection  # type: ignore[assignment]

    def handle(notice: psycopg.errors.Diagnostic) -> None:
        log.warning("index_notice", notice=notice.message_primary, **values)

    driver.add_notice_handler(handle)
    try:
        yield
    finally:
        driver.remove_notice_handler(handle)


def _can_have_index(connection: sa.Connection, collection: Collection) -> bool:
    is_small = collection.dimension is not None and collection.dimension <= MAX_INDEXED_DIMENSION
    return is_small and _has_iterative_scans(connection)


def _has_iterative_scans(connection: sa.Connection) -> bool:
    version = connection.exec_driver_sql(_VERSION).scalar()
    return version is not None and tuple(int(part) for part in str(version).split(".")[:2]) >= OLDEST_VERSION
