"""Statements that both dialects spell alike but import apart."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session as OrmSession


def insert(db: OrmSession, table: type[Any]) -> postgresql.Insert:
    """An INSERT with ON CONFLICT for the session's dialect."""
    return insert_into(db.get_bind().dialect.name, table)


def insert_into(dialect: str, table: type[Any] | sa.Table) -> postgresql.Insert:
    """The same for a dialect by its name, for statements that are built once."""
    # Same methods, same meaning; the two classes share no base that has them.
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)  # type: ignore[return-value]


def core(table: type[Any]) -> sa.Table:
    """The table without its mapped class: writing to it takes a third of the time."""
    found: sa.Table = table.__table__
    return found


def insert_unless_there(
    db: OrmSession, table: type[Any], values: Mapping[str, Any], *unique: str, where: sa.TextClause | None = None
) -> bool:
    """Insert a row, by its columns' names, unless one with the same `unique` columns (`where` true) is there; whether
    it was inserted."""
    statement = _insert_unless_there(db.get_bind().dialect.name, core(table), unique, where)
    return rows_affected(db, statement, values) == 1


@lru_cache
def _insert_unless_there(
    dialect: str, table: sa.Table, unique: tuple[str, ...], where: sa.TextClause | None
) -> sa.Executable:
    unless = insert_into(dialect, table).on_conflict_do_nothing(index_elements=unique, index_where=where)
    return unless.execution_options(preserve_rowcount=True)  # which no database owes of an INSERT


def rows_affected(db: OrmSession, statement: sa.Executable, parameters: Mapping[str, Any] | None = None) -> int:
    """Execute an INSERT, UPDATE or DELETE; how many rows it wrote."""
    return cast("sa.CursorResult[Any]", db.execute(statement, parameters)).rowcount


def new_id(db: OrmSession) -> sa.ColumnElement[Any]:
    """A random UUID, another one for each row that an INSERT ... SELECT makes."""
    if db.get_bind().dialect.name == "sqlite":
        return sa.func.lower(sa.func.hex(sa.func.randomblob(16)))
    return sa.func.gen_random_uuid()
