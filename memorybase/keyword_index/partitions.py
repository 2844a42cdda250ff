"""The keyword index of a large PostgreSQL database in hash partitions, made while captures and searches go on.

A copy is filled page by page while a trigger repeats every write in it; then it takes the table's place. A search reads
one partition for each of its terms. A partition is vacuumed and reindexed by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database.engine import Database

MOST = 256
PAGE = 50_000  # rows in one transaction
LEAST_PAGE = 500
LOCK_SECONDS = 1  # everybody else queues behind the lock meanwhile
LOCK_TRIES = 30
PAUSE_SECONDS = 0.5

# What is PostgreSQL's own state for a lock that somebody else has.
_LOCKED = "55P03"

_BEGIN = (
    "CREATE TABLE postings_copy (LIKE postings INCLUDING DEFAULTS) PARTITION BY HASH (term)",
    "ALTER TABLE postings_copy ADD CONSTRAINT pk_postings_copy PRIMARY KEY (term, position)",
    "CREATE INDEX ix_postings_copy_position ON postings_copy (position)",
)
_MIRROR = (
    """
    CREATE FUNCTION mirror_posting() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            DELETE FROM postings_copy WHERE term = OLD.term AND position = OLD.position;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO postings_copy (term, position, times) VALUES (NEW.term, NEW.position, NEW.times);
        END IF;
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER mirror_posting AFTER INSERT OR UPDATE OR DELETE ON postings
    FOR EACH ROW EXECUTE FUNCTION mirror_posting()
    """,
)
# A row that is locked is being deleted: with NOWAIT the page is read again later, so that nobody waits for another.
# One that is deleted after the page was read is deleted from the copy, by the trigger.
_COPY_PAGE = sa.text(
    """
    WITH page AS MATERIALIZED (
        SELECT term, position, times FROM postings WHERE (term, position) > (:term, :position)
        ORDER BY term, position LIMIT :size FOR SHARE NOWAIT
    ), copied AS (
        INSERT INTO postings_copy (term, position, times) SELECT term, position, times FROM page ON CONFLICT DO NOTHING
    )
    SELECT term, position, (SELECT count(*) FROM page) FROM page ORDER BY term DESC, position DESC LIMIT 1
    """
)
_SWITCH = (
    "DROP TABLE postings",
    "DROP FUNCTION mirror_posting",
    "ALTER TABLE postings_copy RENAME TO postings",
    "ALTER TABLE postings RENAME CONSTRAINT pk_postings_copy TO pk_postings",
    "ALTER INDEX ix_postings_copy_position RENAME TO ix_postings_position",
)
_ABANDON = (
    "DROP TRIGGER IF EXISTS mirror_posting ON postings",
    "DROP FUNCTION IF EXISTS mirror_posting",
    "DROP TABLE IF EXISTS postings_copy",
)


def existing(database: Database) -> int:
    """How many partitions the keyword index has; 0: it is one table. Raises InvalidRequest on SQLite."""
    if database.is_sqlite:
        raise errors.InvalidRequest("Only PostgreSQL has partitions, and this database is SQLite")
    with database.reading() as db:
        return _partitions(db, "postings")


def estimated_rows(database: Database) -> int:
    """The rows of the table by PostgreSQL's statistics."""
    with database.reading() as db:
        return max(0, int(db.scalar(sa.text("SELECT reltuples FROM pg_class WHERE oid = 'postings'::regclass")) or 0))


def partition(database: Database, number: int, *, page: int = PAGE) -> Iterator[int]:
    """Divide the table into partitions; yields how many rows each step read. Goes on with what was interrupted.

    Raises InvalidRequest; DatabaseUnavailable if transactions keep the table for longer than LOCK_TRIES.
    """
    if not 2 <= number <= MOST:
        raise errors.InvalidRequest(f"partitions must be 2 to {MOST} (got {number})")
    if found := existing(database):
        raise errors.InvalidRequest(f"The keyword index has {found} partitions already")
    return _steps(database, number, page)


def abandon(database: Database) -> None:
    """End what was interrupted: the copy and its trigger are dropped. Raises InvalidRequest on SQLite."""
    existing(database)
    with _changing_the_table(database) as db:
        _run(db, _ABANDON)


def _partitions(db: OrmSession, table: str) -> int:
    statement = sa.text("SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass(:table)")
    return int(db.scalar(statement, {"table": table}) or 0)


def _steps(database: Database, number: int, page: int) -> Iterator[int]:
    _begin(database, number)
    yield from _copy(database, page)
    with database.transaction(durable=False) as db:  # autovacuum gives the partitions statistics, but not the whole
        _run(db, ("SET LOCAL statement_timeout = 0", "ANALYZE postings_copy"))
    _switch(database)


def _begin(database: Database, number: int) -> None:
    with _changing_the_table(database) as db:
        if begun := _partitions(db, "postings_copy"):
            if begun != number:
                raise errors.InvalidRequest(
                    f"partitions must be {begun}, as when it was interrupted, or abandon that first (got {number})"
                )
            return
        _run(db, _BEGIN)
        for part in range(number):
            name = f"postings_p{part}"
            values = f"WITH (MODULUS {number}, REMAINDER {part})"
            db.execute(sa.text(f"CREATE TABLE {name} PARTITION OF postings_copy FOR VALUES {values}"))
        _run(db, _MIRROR)


def _copy(database: Database, most: int) -> Iterator[int]:
    after = {"term": -(2**63), "position": -(2**63)}
    size = most
    while True:
        with database.transaction(durable=False) as db:
            page = _page(db, {**after, "size": size})
        if page is None:
            size = max(LEAST_PAGE, size // 2)
            time.sleep(PAUSE_SECONDS)
            continue
        if not page:
            return
        after = {"term": page[0], "position": page[1]}
        size = min(most, size * 2)
        yield page[2]


def _page(db: OrmSession, wanted: dict[str, int]) -> tuple[int, int, int] | tuple[()] | None:
    """The last key of the page and its rows; empty after the last one, None if one of its rows is locked."""
    try:
        with db.begin_nested():
            row = db.execute(_COPY_PAGE, wanted).one_or_none()
    except sa.exc.OperationalError as exc:
        if _is_locked(exc):
            return None
        raise
    return () if row is None else (row[0], row[1], row[2])


def _switch(database: Database) -> None:
    with _changing_the_table(database) as db:
        if not _partitions(db, "postings"):  # another process was faster
            _run(db, _SWITCH)


def _run(db: OrmSession, statements: tuple[str, ...]) -> None:
    for statement in statements:
        db.execute(sa.text(statement))


@contextmanager
def _changing_the_table(database: Database) -> Iterator[OrmSession]:
    """A transaction that nobody else reads or writes the table in."""
    with database.transaction() as db:
        for _ in range(LOCK_TRIES):
            if _takes_lock(db):
                yield db
                return
            time.sleep(PAUSE_SECONDS)
        raise errors.DatabaseUnavailable("Other transactions keep the keyword index: try again later")


def _takes_lock(db: OrmSession) -> bool:
    try:
        with db.begin_nested():
            _run(db, (f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'", "LOCK TABLE postings IN ACCESS EXCLUSIVE MODE"))
    except sa.exc.OperationalError as exc:
        if _is_locked(exc):
            return False
        raise
    return True


def _is_locked(exc: sa.exc.OperationalError) -> bool:
    return getattr(exc.orig, "sqlstate", None) == _LOCKED
