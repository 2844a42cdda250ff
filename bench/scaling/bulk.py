"""Rows into an empty database: secondary indexes are dropped, and built again once the rows are there.

A fill that is cut off goes on with another loader: what was loaded up to the last whole session is committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, repeat
from typing import Any

import numpy as np
import psycopg
import sqlalchemy as sa
from psycopg.types.json import Jsonb

from memorybase.core.database.upsert import core
from memorybase.core.models import Posting, Session
from memorybase.core.queries import posting_blocks
from scaling.rows import POSTING, TABLES, Batch

PAGE = 100_000  # postings in one call
# A batch's postings until the end: in the order of their key they are written once.
KEPT = sa.Table("made_postings", sa.MetaData(), sa.Column("postings", sa.LargeBinary, nullable=False))


class Loader:
    """Loads batches. Commits one that ends a session, with those before it."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._is_sqlite = connection.dialect.name == "sqlite"

    def load(self, batch: Batch) -> None:
        self._connection.execute(sa.insert(KEPT), {"postings": batch.posting_array().tobytes()})
        for table in TABLES:
            if rows := batch.rows.get(table):
                if self._is_sqlite:
                    self._connection.execute(sa.insert(core(table)), rows)
                else:
                    _copy_rows(_cursor(self._connection), core(table), rows)
        if Session in batch.rows:
            self._connection.commit()

    def finish(self) -> None:
        """Write the postings, packed as they are an hour after the last capture."""
        kept = self._connection.scalars(sa.select(KEPT.c.postings)).all()
        # None if only the indexes were not built yet.
        postings = np.concatenate([np.empty(0, POSTING), *(np.frombuffer(each, dtype=POSTING) for each in kept)])
        self._connection.execute(sa.delete(KEPT))
        postings = postings[np.lexsort((postings["position"], postings["term"]))]
        blocks = posting_blocks.key(postings["position"])
        begins = np.flatnonzero((np.diff(postings["term"], prepend=0) != 0) | (np.diff(blocks, prepend=0) != 0))
        sizes = np.diff(begins, append=len(postings))
        single = postings[begins[sizes == 1]]
        rows = zip(*(single[name].tolist() for name in single.dtype.names), repeat(None), strict=False)
        _write_postings(self._connection, rows)
        packed = (
            (
                int(postings["term"][first]),
                int(blocks[first]),
                0,
                posting_blocks.pack(postings[["position", "times"]][first : first + size].tolist()),
            )
            for first, size in zip(begins[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True)
        )
        _write_postings(self._connection, packed)
        KEPT.drop(self._connection)
        self._connection.commit()


@contextmanager
def loading(url: sa.URL) -> Iterator[Loader]:
    """A loader on a connection that checks no foreign keys and does not wait for the disk. Leaves the indexes and the
    postings to the next one if the fill is cut off."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        if url.get_backend_name() == "sqlite":
            for pragma in ("foreign_keys=OFF", "synchronous=NORMAL", "cache_size=-200000", "temp_store=FILE"):
                connection.exec_driver_sql(f"PRAGMA {pragma}")
        else:
            connection.exec_driver_sql("SET session_replication_role = replica")
            connection.exec_driver_sql("SET synchronous_commit = off")
            connection.exec_driver_sql("SET maintenance_work_mem = '256MB'")
        connection.commit()
        indexes = [index for table in (*TABLES, Posting) for index in sorted(core(table).indexes, key=_name)]
        for index in indexes:
            index.drop(connection, checkfirst=True)
        KEPT.create(connection, checkfirst=True)
        connection.commit()
        loader = Loader(connection)
        yield loader
        loader.finish()
        for index in indexes:
            index.create(connection)
            connection.commit()
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        # What autovacuum does meanwhile; nothing gives SQLite statistics.
        is_sqlite = engine.dialect.name == "sqlite"
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)" if is_sqlite else "VACUUM ANALYZE")
    engine.dispose()


def _name(index: sa.Index) -> str:
    return str(index.name)


def _cursor(connection: sa.Connection) -> psycopg.Cursor[Any]:
    cursor: psycopg.Cursor[Any] = connection.connection.driver_connection.cursor()  # type: ignore[union-attr]
    return cursor


def _copy_rows(cursor: psycopg.Cursor[Any], table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    names = list(rows[0])
    is_json = [isinstance(table.c[name].type, sa.JSON) for name in names]
    listed = ", ".join(f'"{name}"' for name in names)
    with cursor.copy(f"COPY {table.name} ({listed}) FROM STDIN".encode()) as copy:
        for row in rows:
            pairs = zip(row.values(), is_json, strict=True)
            copy.write_row([Jsonb(value) if wrapped and value is not None else value for value, wrapped in pairs])


def _write_postings(connection: sa.Connection, rows: Iterator[tuple[int, int, int, str | None]]) -> None:
    if connection.dialect.name == "sqlite":
        insert = "INSERT INTO postings (term, position, times, packed) VALUES (?, ?, ?, ?)"
        while page := list(islice(rows, PAGE)):
            connection.exec_driver_sql(insert, page)
        return
    with _cursor(connection).copy(b"COPY postings (term, position, times, packed) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
