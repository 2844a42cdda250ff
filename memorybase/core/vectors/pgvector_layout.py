"""The tables of the pgvector store, in a separate schema, and the statements on them.

Small collections with vectors of one dimension share a table: separate tables would cost 100 kB on disk each, and every
connection memory. A search reads the collection's rows and sorts them, so it misses nothing. A large collection has a
separate table with an HNSW index. `home` says where a collection is: 0 is the shared table, any other number is part of
the separate table's name. Every statement checks it in its own snapshot, because a collection may move while another
process remembers its old home.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from string import Template
from typing import NamedTuple

import sqlalchemy as sa

SCHEMA = "memorybase_vectors"
# A number that no other program uses on this database.
ADVISORY_LOCK = 0x6D62766563746F72
BUILD_LOCK = ADVISORY_LOCK + 1
TURN_LOCK = ADVISORY_LOCK + 2  # and a collection's number: shared by its writers, taken alone by its move
INDEXED_KEY = "session_id"  # an index answers filters on it
SHARED = 0  # the home of a collection in the shared table
MAX_INDEXED_DIMENSION = 4_000  # of a halfvec in an HNSW index
EF_SEARCH, EF_SEARCH_OF_LARGE, LARGE_ROWS, MAX_EF_SEARCH = 100, 200, 1_000_000, 1_000

EXTENSION_EXISTS = "SELECT 1 FROM pg_extension WHERE extname = 'vector'"
CREATE_EXTENSION = "CREATE EXTENSION vector"
SCHEMA_EXISTS = f"SELECT 1 FROM pg_namespace WHERE nspname = '{SCHEMA}'"  # noqa: S608 - constants
CREATE_COLLECTIONS = f"""
CREATE TABLE IF NOT EXISTS {SCHEMA}.collections (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    name text COLLATE "C" NOT NULL UNIQUE,
    metadata jsonb NOT NULL,
    dimension integer,
    home integer NOT NULL DEFAULT {SHARED},
    indexed boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
)"""

# Texts are bytes, because a text of PostgreSQL cannot have the character NUL. A vector stays next to its row (MAIN): a
# search reads all of them. In the shared table deletions and updates are vacuumed early, because searches read what is
# dead too. With an HNSW index a vacuum costs 4 ms a row, so the store builds a new table before.
_CREATE_VECTORS = """
CREATE TABLE $vectors (
    collection bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    added bigint $added,
    metadata jsonb NOT NULL,
    text bytea NOT NULL,
    embedding halfvec($dimension) STORAGE MAIN NOT NULL
) WITH (autovacuum_vacuum_scale_factor = $dead, autovacuum_analyze_scale_factor = 0.05)
"""
_CREATE_INDEXES = f"""
ALTER TABLE $vectors ADD PRIMARY KEY (collection, id);
CREATE INDEX ON $vectors (collection, (metadata ->> '{INDEXED_KEY}'));
CREATE INDEX ON $vectors (collection, added)
"""
# A write locks the collection's row against its deletion, which takes the vectors along, and against its move. Locks
# that share a row overtake one that waits to have it alone; advisory locks are granted in order.
_FOUND = f"""turn AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared({TURN_LOCK} + %(number)s)
), found AS MATERIALIZED (
    SELECT of_row.number FROM turn, $collections AS of_row
    WHERE of_row.number = %(number)s AND of_row.home = %(home)s FOR KEY SHARE OF of_row
)"""  # noqa: S608 - constants
# Sorted by id: two calls with the same ids in different orders would wait for each other. A repeated delivery changes
# nothing, and so writes nothing.
_UPSERT = """
WITH $found, written AS (
    INSERT INTO $vectors AS stored (collection, id, metadata, text, embedding)
    SELECT found.number, given.id, given.metadata::jsonb, given.text, given.embedding
    FROM found, unnest(%(ids)s::text[], %(metadata)s::text[], %(texts)b::bytea[], %(vectors)b::halfvec[])
        AS given (id, metadata, text, embedding)
    ORDER BY given.id
    ON CONFLICT (collection, id) DO UPDATE
    SET metadata = stored.metadata || excluded.metadata, text = excluded.text, embedding = excluded.embedding
    WHERE stored.embedding <> excluded.embedding OR stored.text <> excluded.text
        OR stored.metadata || excluded.metadata <> stored.metadata
)
SELECT count(*) FROM found
"""
_DELETE = """
WITH $found, deleted AS (
    DELETE FROM $vectors WHERE collection = (SELECT number FROM found) AND id IN (
        SELECT id FROM $vectors WHERE collection = (SELECT number FROM found) AND id = ANY(%(ids)s::text[])
        ORDER BY id FOR UPDATE
    )
)
SELECT count(*) FROM found
"""
_HERE = "EXISTS (SELECT FROM $collections WHERE number = %(number)s AND home = %(home)s)"
_FETCH = """
SELECT id, halfvec_send(embedding), $text FROM $vectors
WHERE collection = %(number)s AND id = ANY(%(ids)s::text[]) AND $here
"""
_STORED = "SELECT id FROM $vectors WHERE collection = %(number)s AND id = ANY(%(ids)s::text[]) AND $here"
# Without an index every stored vector is compared with a query's, so a query for the vector that is stored finds it.
_REACHED = """
SELECT stored.id FROM unnest(%(ids)s::text[], %(vectors)b::halfvec[]) AS given (id, embedding)
JOIN $vectors AS stored ON stored.collection = %(number)s AND stored.id = given.id
WHERE $here AND (stored.embedding = given.embedding OR stored.embedding <=> given.embedding < %(distance)s)
"""
# An index does not hold vectors without a direction.
_REACHED_BY_INDEX = f"""{_REACHED} AND (
    l2_norm(stored.embedding) = 0 OR (
        SELECT bool_or(near.id = given.id) OR count(*) FILTER (WHERE near.distance < %(distance)s) >= %(twins)s
        FROM (
            SELECT id, embedding <=> given.embedding AS distance FROM $vectors
            ORDER BY embedding <=> given.embedding LIMIT %(twins)s
        ) AS near
    )
)
"""  # noqa: S608 - constants
_PAGE = """
SELECT id FROM $vectors WHERE collection = %(number)s AND id > %(after)s AND $here AND $condition
ORDER BY id LIMIT %(limit)s
"""
_NEWEST = "SELECT id FROM $vectors WHERE collection = %(number)s AND $here ORDER BY added DESC LIMIT %(limit)s"
_COUNT = "SELECT count(*) FROM $vectors WHERE collection = %(number)s AND $here"
# "+ 0" keeps an HNSW index out: it would find too few of what a filter selects.
_QUERY = """
SELECT id, (embedding <=> %(vector)b::halfvec) + 0 AS distance, $columns FROM $vectors
WHERE collection = %(number)s AND $here AND $condition ORDER BY distance, id LIMIT %(limit)s
"""
# Relaxed: only nearly in order. "+ 0" again, since PostgreSQL believes the index.
_QUERY_BY_INDEX = """
WITH found AS MATERIALIZED (
    SELECT id, embedding <=> %(vector)b::halfvec AS distance, $columns FROM $vectors
    WHERE $here ORDER BY embedding <=> %(vector)b::halfvec LIMIT %(limit)s
)
SELECT * FROM found ORDER BY distance + 0, id
"""
# For this transaction. Iterative scans continue behind dead rows, which would take the places of results. The table has
# the rows of one collection, and so no other index than HNSW is of use.
_SEARCH_SETTINGS = f"""
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('enable_seqscan', 'off', true),
    set_config('hnsw.ef_search', least(coalesce(%(ef_search)s::int, greatest(%(wanted)s::int, (
        SELECT CASE WHEN reltuples >= {LARGE_ROWS} THEN {EF_SEARCH_OF_LARGE} ELSE {EF_SEARCH} END FROM pg_class
        WHERE oid = '$vectors'::regclass
    ))), {MAX_EF_SEARCH})::text, true)
"""  # noqa: S608
_DROP_ROWS = "DELETE FROM $vectors WHERE collection = %(number)s"

CREATE = f"""
INSERT INTO {SCHEMA}.collections (id, name, metadata, home)
VALUES (%(id)s, %(name)s, %(metadata)s::jsonb, %(home)s) ON CONFLICT (name) DO NOTHING RETURNING id
"""  # noqa: S608 - constants
FIND = f"SELECT number, dimension, home, indexed FROM {SCHEMA}.collections WHERE id = %(id)s"  # noqa: S608 - constants
FIND_BY_NAME = f"SELECT id FROM {SCHEMA}.collections WHERE name = %(name)s"  # noqa: S608
EXISTS = f"SELECT 1 FROM {SCHEMA}.collections WHERE id = %(id)s AND name = %(name)s"  # noqa: S608
DISK_BYTES = f"""
SELECT coalesce(sum(pg_total_relation_size(tables.oid)), 0)
FROM pg_class AS tables JOIN pg_namespace AS schemas ON schemas.oid = tables.relnamespace
WHERE schemas.nspname = '{SCHEMA}' AND tables.relkind = 'r'"""  # noqa: S608 - constants
LIST = f"SELECT id, name, metadata FROM {SCHEMA}.collections"  # noqa: S608
REMOVE = f"""
DELETE FROM {SCHEMA}.collections WHERE name = %(name)s RETURNING number, dimension, home, indexed
"""  # noqa: S608
SET_DIMENSION = f"""
UPDATE {SCHEMA}.collections SET dimension = %(dimension)s WHERE id = %(id)s AND dimension IS NULL
"""  # noqa: S608


class Collection(NamedTuple):
    """A row of the table of collections. Its home changes when it moves; an empty one has no dimension yet."""

    number: int
    dimension: int | None
    home: int
    indexed: bool


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements on one table."""

    upsert: str
    delete: str
    fetch: str
    fetch_without_texts: str
    stored: str
    reached: str
    newest: str
    count: str
    drop_rows: str
    search_settings: str
    table: str
    indexed: bool

    def page(self, condition: str) -> str:
        return fill(_PAGE, self.table, condition=condition)

    def query(self, condition: str | None, *, texts: bool) -> str:
        """The nearest records that meet a condition, or of all, for which an index is used if there is one."""
        columns = "text, metadata" if texts else "NULL, NULL"
        if self.indexed and condition is None:
            return fill(_QUERY_BY_INDEX, self.table, columns=columns)
        return fill(_QUERY, self.table, condition=condition or "true", columns=columns)


def statements(collection: Collection) -> Statements:
    """The statements on the collection's table. It must have a dimension."""
    return _statements(table_of(collection), collection.indexed)


@lru_cache(maxsize=1_000)
def _statements(table: str, indexed: bool) -> Statements:
    return Statements(
        upsert=fill(_UPSERT, table),
        delete=fill(_DELETE, table),
        fetch=fill(_FETCH, table, text="text"),
        fetch_without_texts=fill(_FETCH, table, text="NULL"),
        stored=fill(_STORED, table),
        reached=fill(_REACHED_BY_INDEX if indexed else _REACHED, table),
        newest=fill(_NEWEST, table),
        count=fill(_COUNT, table),
        drop_rows=fill(_DROP_ROWS, table),
        search_settings=fill(_SEARCH_SETTINGS, table),
        table=table,
        indexed=indexed,
    )


def lock_layout(connection: sa.Connection) -> None:
    """Let one connection at a time create tables, until its transaction ends."""
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": ADVISORY_LOCK})


def create_vectors(connection: sa.Connection, collection: Collection, *, indexes: bool = True) -> None:
    """Create the collection's table if there is none, and the shared one of its dimension. The first without `indexes`
    if many rows follow: create_indexes then takes less time and space."""
    shared = shared_table(collection.dimension)
    if _create(connection, shared, collection, "GENERATED ALWAYS AS IDENTITY", dead="0.05"):
        create_indexes(connection, shared)
    if collection.home != SHARED:
        added = f"NOT NULL DEFAULT nextval('{shared}_added_seq')"  # the order stays when the collection moves
        if _create(connection, table_of(collection), collection, added, dead="0.3") and indexes:
            create_indexes(connection, table_of(collection))


def _create(connection: sa.Connection, table: str, collection: Collection, added: str, *, dead: str) -> bool:
    if connection.exec_driver_sql("SELECT to_regclass(%(table)s)", {"table": table}).scalar() is not None:
        return False
    filled = fill(_CREATE_VECTORS, table, added=added, dead=dead, dimension=str(collection.dimension))
    connection.exec_driver_sql(filled)
    return True


def create_indexes(connection: sa.Connection, table: str) -> None:
    """Create a table's indexes but for that of its vectors."""
    for statement in fill(_CREATE_INDEXES, table).split(";"):
        connection.exec_driver_sql(statement)


def shared_table(dimension: int | None) -> str:
    return f"{SCHEMA}.vectors_{dimension}"


def table_of(collection: Collection) -> str:
    """The table that has the collection's rows."""
    if collection.home == SHARED:
        return shared_table(collection.dimension)
    return f"{SCHEMA}.collection_{collection.number}_{collection.home}"


def fill(template: str, table: str, **parts: str) -> str:
    """The statement on this table."""
    common = {"vectors": table, "collections": f"{SCHEMA}.collections"}
    common |= {"here": Template(_HERE).substitute(common), "found": Template(_FOUND).substitute(common)}
    return Template(template).substitute(common, **parts)
