"""The statements that divide the keyword index of a PostgreSQL database: see `keyword_index/partitions.py`."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

# PostgreSQL's state for a lock that somebody else has.
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
            INSERT INTO postings_copy (term, position, times, packed)
            VALUES (NEW.term, NEW.position, NEW.times, NEW.packed);
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
        SELECT term, position, times, packed FROM postings WHERE (term, position) > (:term, :position)
        ORDER BY term, position LIMIT :size FOR SHARE NOWAIT
    ), copied AS (
        INSERT INTO postings_copy (term, position, times, packed) SELECT term, position, times, packed FROM page
        ON CONFLICT DO NOTHING
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


def partitions(db: OrmSession, table: str) -> int:
    """Number of partitions of the table; 0 if it is one table, or there is none."""
    statement = sa.text("SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass(:table)")
    return int(db.scalar(statement, {"table": table}) or 0)


def estimated_rows(db: OrmSession) -> int:
    """The rows of the index by PostgreSQL's statistics."""
    return max(0, int(db.scalar(sa.text("SELECT reltuples FROM pg_class WHERE oid = 'postings'::regclass")) or 0))


def begin(db: OrmSession, number: int) -> None:
    """Make the empty copy with its partitions, and the trigger that repeats every write in it."""
    _run(db, _BEGIN)
    for part in range(number):
        name = f"postings_p{part}"
        values = f"WITH (MODULUS {number}, REMAINDER {part})"
        db.execute(sa.text(f"CREATE TABLE {name} PARTITION OF postings_copy FOR VALUES {values}"))
    _run(db, _MIRROR)


def copy_page(db: OrmSession, wanted: dict[str, int]) -> tuple[int, int, int] | tuple[()] | None:
    """The last key of the page and its rows; empty after the last one, None if one of its rows is locked."""
    try:
        with db.begin_nested():
            row = db.execute(_COPY_PAGE, wanted).one_or_none()
    except sa.exc.OperationalError as exc:
        if _is_locked(exc):
            return None
        raise
    return () if row is None else (row[0], row[1], row[2])


def analyze(db: OrmSession) -> None:
    """Give the copy statistics: autovacuum gives them to the partitions, but not to the whole."""
    _run(db, ("SET LOCAL statement_timeout = 0", "ANALYZE postings_copy"))


def switch(db: OrmSession) -> None:
    """Put the copy in the table's place."""
    _run(db, _SWITCH)


def abandon(db: OrmSession) -> None:
    """Drop the copy and its trigger, if there are any."""
    _run(db, _ABANDON)


def lock(db: OrmSession, seconds: int) -> bool:
    """Lock the table for this transaction alone; False if others hold it longer than `seconds`."""
    try:
        with db.begin_nested():
            _run(db, (f"SET LOCAL lock_timeout = '{seconds}s'", "LOCK TABLE postings IN ACCESS EXCLUSIVE MODE"))
    except sa.exc.OperationalError as exc:
        if _is_locked(exc):
            return False
        raise
    return True


def _run(db: OrmSession, statements: tuple[str, ...]) -> None:
    for statement in statements:
        db.execute(sa.text(statement))


def _is_locked(exc: sa.exc.OperationalError) -> bool:
    return getattr(exc.orig, "sqlstate", None) == _LOCKED
