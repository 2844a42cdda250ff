"""The tables of the pgvector store, which has a schema of its own, and the statements on them.

All collections with vectors of one dimension share a table: a table of its own would cost each small collection 100 kB
on disk and every connection memory. A search reads the collection's rows and sorts them, so it misses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from string import Template

import sqlalchemy as sa

SCHEMA = "memorybase_vectors"
# A number that no other program uses on this database.
ADVISORY_LOCK = 0x6D62766563746F72
# Filters on these keys are answered by an index: most searches within a session name its messages.
INDEXED_KEYS = ("message_id", "session_id")

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
    created_at timestamptz NOT NULL DEFAULT now()
)"""

# Texts are bytes, because a text of PostgreSQL cannot have the character NUL. A vector stays beside its row (MAIN): a
# search reads all of them. Deletions and updates are vacuumed early, because searches read what is dead too.
_CREATE_VECTORS = """
CREATE TABLE $vectors (
    collection bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    added bigint GENERATED ALWAYS AS IDENTITY,
    metadata jsonb NOT NULL,
    text bytea NOT NULL,
    embedding halfvec($dimension) STORAGE MAIN NOT NULL,
    PRIMARY KEY (collection, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX ON $vectors (collection, (metadata ->> 'message_id'));
CREATE INDEX ON $vectors (collection, (metadata ->> 'session_id'));
CREATE INDEX ON $vectors (collection, added)
"""
# The collection's row is locked against its deletion, which takes the vectors along. Sorted by id: two calls with the
# same ids in different orders would wait for each other. A repeated delivery changes nothing, and so writes nothing.
_UPSERT = """
WITH found AS MATERIALIZED (
    SELECT number FROM $collections WHERE number = %(number)s FOR KEY SHARE
), written AS (
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
DELETE FROM $vectors WHERE collection = %(number)s AND id IN (
    SELECT id FROM $vectors WHERE collection = %(number)s AND id = ANY(%(ids)s::text[]) ORDER BY id FOR UPDATE
)
"""
_FETCH = """
SELECT id, halfvec_send(embedding), $text FROM $vectors WHERE collection = %(number)s AND id = ANY(%(ids)s::text[])
"""
_STORED = "SELECT id FROM $vectors WHERE collection = %(number)s AND id = ANY(%(ids)s::text[])"
# Every stored vector is compared with a query's, so a query for the vector that is stored finds it.
_REACHED = """
SELECT stored.id FROM unnest(%(ids)s::text[], %(vectors)b::halfvec[]) AS given (id, embedding)
JOIN $vectors AS stored ON stored.collection = %(number)s AND stored.id = given.id
WHERE stored.embedding = given.embedding OR stored.embedding <=> given.embedding < %(distance)s
"""
_PAGE = """
SELECT id FROM $vectors WHERE collection = %(number)s AND id > %(after)s AND $condition ORDER BY id LIMIT %(limit)s
"""
_NEWEST = "SELECT id FROM $vectors WHERE collection = %(number)s ORDER BY added DESC LIMIT %(limit)s"
_COUNT = "SELECT count(*) FROM $vectors WHERE collection = %(number)s"
_QUERY = """
SELECT id, embedding <=> %(vector)b::halfvec AS distance, $columns FROM $vectors
WHERE collection = %(number)s AND $condition ORDER BY distance, id LIMIT %(limit)s
"""
_DROP_ROWS = "DELETE FROM $vectors WHERE collection = %(number)s"

CREATE = f"""
INSERT INTO {SCHEMA}.collections (id, name, metadata) VALUES (%(id)s, %(name)s, %(metadata)s::jsonb)
ON CONFLICT (name) DO NOTHING RETURNING id
"""  # noqa: S608 - constants
FIND = f"SELECT number, dimension FROM {SCHEMA}.collections WHERE id = %(id)s"  # noqa: S608 - constants
FIND_BY_NAME = f"SELECT id FROM {SCHEMA}.collections WHERE name = %(name)s"  # noqa: S608
EXISTS = f"SELECT 1 FROM {SCHEMA}.collections WHERE id = %(id)s AND name = %(name)s"  # noqa: S608
LIST = f"SELECT id, name, metadata FROM {SCHEMA}.collections"  # noqa: S608
REMOVE = f"DELETE FROM {SCHEMA}.collections WHERE name = %(name)s RETURNING number, dimension"  # noqa: S608
SET_DIMENSION = f"""
UPDATE {SCHEMA}.collections SET dimension = %(dimension)s WHERE id = %(id)s AND dimension IS NULL
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements on the table of one dimension."""

    upsert: str
    delete: str
    fetch: str
    fetch_without_texts: str
    stored: str
    reached: str
    newest: str
    count: str
    drop_rows: str
    dimension: int

    def page(self, condition: str) -> str:
        return _fill(_PAGE, self.dimension, condition=condition)

    def query(self, condition: str, *, texts: bool) -> str:
        return _fill(_QUERY, self.dimension, condition=condition, columns="text, metadata" if texts else "NULL, NULL")


@cache
def statements(dimension: int) -> Statements:
    """The statements for vectors of this dimension."""
    return Statements(
        upsert=_fill(_UPSERT, dimension),
        delete=_fill(_DELETE, dimension),
        fetch=_fill(_FETCH, dimension, text="text"),
        fetch_without_texts=_fill(_FETCH, dimension, text="NULL"),
        stored=_fill(_STORED, dimension),
        reached=_fill(_REACHED, dimension),
        newest=_fill(_NEWEST, dimension),
        count=_fill(_COUNT, dimension),
        drop_rows=_fill(_DROP_ROWS, dimension),
        dimension=dimension,
    )


def lock_layout(connection: sa.Connection) -> None:
    """Let one connection at a time create tables, until its transaction ends."""
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": ADVISORY_LOCK})


def create_vectors(connection: sa.Connection, dimension: int) -> None:
    """Create the table for vectors of this dimension if there is none."""
    table = _table(dimension)
    if connection.exec_driver_sql("SELECT to_regclass(%(table)s)", {"table": table}).scalar() is None:
        for statement in _fill(_CREATE_VECTORS, dimension).split(";"):
            connection.exec_driver_sql(statement)


def _table(dimension: int) -> str:
    return f"{SCHEMA}.vectors_{dimension}"


def _fill(template: str, dimension: int, **parts: str) -> str:
    return Template(template).substitute(
        parts, vectors=_table(dimension), collections=f"{SCHEMA}.collections", dimension=dimension
    )
