"""Split long lists and deletes: databases limit the parameters of a statement, and long statements hold locks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from memorybase.core.database.upsert import rows_affected

T = TypeVar("T")

IDS_A_QUERY = 500


def pages(values: Iterable[T], size: int = IDS_A_QUERY) -> Iterator[list[T]]:
    """The values in lists of at most `size`, which fit into one statement as parameters."""
    items = list(values)
    return (items[start : start + size] for start in range(0, len(items), size))


class _Numbers(sa.TypeDecorator[list[int]]):
    """A list of numbers as one parameter."""

    impl = sa.JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        array = postgresql.ARRAY(sa.BigInteger()) if dialect.name == "postgresql" else sa.JSON()
        return dialect.type_descriptor(array)


class _IsAmong(FunctionElement[Any]):
    name = "is_among"
    inherit_cache = True
    type = sa.types.NullType()  # for a boolean, SQLAlchemy adds "= 1" on SQLite, which prevents the use of an index


@compiles(_IsAmong)
def _as_array(element: _IsAmong, compiler: SQLCompiler, **options: Any) -> str:
    column, numbers = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY ({numbers})"


@compiles(_IsAmong, "sqlite")
def _as_json(element: _IsAmong, compiler: SQLCompiler, **options: Any) -> str:
    column, numbers = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({numbers}))"  # noqa: S608 - both are compiled SQL


def is_among(column: Any, name: str, numbers: Sequence[int] | None = None) -> sa.ColumnElement[bool]:
    """Whether an integer column is in these numbers, or in the list that is given as the parameter `name`.

    One parameter for hundreds of numbers: building an IN with one parameter each takes longer than running it.
    """
    given = None if numbers is None else list(numbers)
    return _IsAmong(column, sa.bindparam(name, given, _Numbers(), required=numbers is None))


def delete_some(db: OrmSession, table: type[Any], which: sa.ColumnElement[bool], *, limit: int) -> bool:
    """Delete up to `limit` of these rows; False if there are none left."""
    # Another process may have deleted the same page first: then nothing was deleted here, and more rows may be left.
    return delete_page(db, table, which, limit=limit) > 0 or db.scalar(sa.select(sa.exists().where(which))) is True


def delete_page(db: OrmSession, table: type[Any], which: sa.ColumnElement[bool], *, limit: int) -> int:
    """Delete up to `limit` of these rows, and return their number."""
    key = sa.inspect(table).primary_key
    page = sa.select(*key).where(which).limit(limit)
    delete = sa.delete(table).where(sa.tuple_(*key).in_(page)).execution_options(synchronize_session=False)
    return rows_affected(db, delete)
