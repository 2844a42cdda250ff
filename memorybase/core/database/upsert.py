"""INSERT ... ON CONFLICT for SQLite and PostgreSQL, and how many rows a statement wrote."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import engine


def insert(db: OrmSession, table: type[Any]) -> postgresql.Insert:
    """An INSERT with ON CONFLICT for the session's dialect."""
    return insert_into(db.get_bind().dialect.name, table)


def insert_into(dialect: str, table: type[Any] | sa.Table) -> postgresql.Insert:
    """An INSERT with ON CONFLICT for a dialect by name, for statements that are built once."""
    # Both classes have the same methods but no common base class with them.
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)  # type: ignore[return-value]


def core(table: type[Any]) -> sa.Table:
    """The table without its mapped class: writing takes a third of the time."""
    found: sa.Table = table.__table__
    return found


def insert_if_absent(
    db: OrmSession, table: type[Any], values: Mapping[str, Any], *unique: str, where: sa.TextClause | None = None
) -> bool:
    """Insert a row unless one with the same `unique` columns (and `where` true) exists. Returns whether it was
    inserted."""
    connection = engine.connection(db)
    statement = _insert_if_absent(connection.dialect.name, core(table), unique, where)
    return connection.execute(statement, values).rowcount == 1


@lru_cache
def _insert_if_absent(
    dialect: str, table: sa.Table, unique: tuple[str, ...], where: sa.TextClause | None
) -> sa.Executable:
    statement = insert_into(dialect, table).on_conflict_do_nothing(index_elements=unique, index_where=where)
    return statement.execution_options(preserve_rowcount=True)  # not read by default after an INSERT


def rows_affected(db: OrmSession, statement: sa.Executable, parameters: Mapping[str, Any] | None = None) -> int:
    """Execute an INSERT, UPDATE or DELETE, and return the number of rows that it wrote."""
    return cast("sa.CursorResult[Any]", db.execute(statement, parameters)).rowcount


def new_id(dialect: str) -> sa.ColumnElement[Any]:
    """A random UUID, a new one for each row of an INSERT ... SELECT."""
    if dialect == "sqlite":
        return sa.func.lower(sa.func.hex(sa.func.randomblob(16)))
    return sa.func.gen_random_uuid()
