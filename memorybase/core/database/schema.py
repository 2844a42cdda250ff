"""Whether the tables are those that this version needs."""

from __future__ import annotations

from weakref import WeakSet

import sqlalchemy as sa

from memorybase.core.database.engine import Database, connection

# A database that has all migrations keeps them: it is asked once by each process.
_migrated: WeakSet[Database] = WeakSet()


def missing_since(database: Database) -> str | None:
    """The revision of the tables if they lack migrations of this version, `none` without tables; None if they lack
    none, or are of a newer version, which keeps this one working. Raises DatabaseUnavailable."""
    if database in _migrated:
        return None
    from memorybase.core.database import migrate  # loads Alembic

    with database.reading() as db:
        is_there = sa.inspect(connection(db)).has_table("alembic_version")
        revision = db.scalar(sa.text("SELECT version_num FROM alembic_version")) if is_there else None
    if revision is None:
        return "none"
    if revision != migrate.head() and not migrate.is_newer(revision):
        return str(revision)
    _migrated.add(database)
    return None
