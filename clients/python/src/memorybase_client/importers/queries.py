"""Rows of another system's table, one at a time. The source is only read: a SQLite file is opened read-only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from memorybase_client import errors
from memorybase_client.importers.records import RawRecord, Report, Table

try:
    import sqlalchemy as sa
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import NullPool
except ModuleNotFoundError as exc:
    raise errors.InvalidRequest("A database needs the extra `importers` of memorybase-client", field="FILE") from exc

ROWS_AT_ONCE = 500

_POSTGRESQL = ("postgres", "postgresql", "postgresql+psycopg2", "postgresql+asyncpg")  # the driver here is psycopg


def tables_of(source: str) -> set[str]:
    """The names of the database's tables. Raises InvalidRequest if it cannot be read."""
    engine, shown = _engine(source)
    try:
        return set(sa.inspect(engine).get_table_names())
    except SQLAlchemyError as exc:
        raise errors.InvalidRequest(f"{shown} cannot be read: {str(exc).partition(chr(10))[0]}") from exc
    finally:
        engine.dispose()


def read_rows(source: str, table: Table, report: Report) -> Iterator[RawRecord]:
    """The rows of a table as JSON values. Raises InvalidRequest if it cannot be read at all."""
    engine, shown = _engine(source)
    started = False
    try:
        with engine.connect() as connection:
            columns = _columns(connection, table.name, shown)
            names = _flow_names(connection, table.flows) if table.flows else {}
            statement = _select(table.name, columns, [name for name in table.order if name in columns])
            streaming = connection.execution_options(stream_results=True, yield_per=ROWS_AT_ONCE)
            with streaming.execute(statement) as result:  # an import that stops early closes the cursor too
                for number, row in enumerate(result.mappings(), start=1):
                    started = True
                    value = {name: _value(each) for name, each in row.items()}
                    place = f"{table.name}.id={value['id']}" if "id" in value else f"{table.name} row {number}"
                    yield RawRecord(place, {**value, "flow_name": names.get(str(value.get("flow_id")))}, table.name)
    except (SQLAlchemyError, ImportError) as exc:
        reason = str(getattr(exc, "orig", None) or exc).strip().partition("\n")[0]
        if not started:
            raise errors.InvalidRequest(f"{shown} cannot be read: {reason}") from exc
        report.end_early(f"{shown} could not be read to the end: {reason}")
    finally:
        engine.dispose()


def _engine(source: str) -> tuple[sa.Engine, str]:
    """An engine, and the source as it may be shown: without a password."""
    if "://" not in source:
        return _sqlite(Path(source)), source
    try:
        url = sa.make_url(source)
        if url.get_backend_name() == "sqlite" and url.database:
            return _sqlite(Path(url.database)), url.database
        if url.drivername in _POSTGRESQL:
            url = url.set(drivername="postgresql+psycopg")
        return sa.create_engine(url, poolclass=NullPool, hide_parameters=True), url.render_as_string()
    except (SQLAlchemyError, ImportError, ValueError) as exc:
        scheme = source.partition("://")[0]
        text = "must be a file, or a SQLAlchemy URL whose driver is installed: sqlite or postgresql"
        raise errors.InvalidRequest(f"FILE {text}", field="FILE", value=f"{scheme}://...") from exc


def _sqlite(path: Path) -> sa.Engine:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30)
        connection.text_factory = lambda raw: raw.decode(errors="replace")
        return connection

    return sa.create_engine("sqlite://", creator=connect, poolclass=NullPool)


def _columns(connection: sa.Connection, table: str, shown: str) -> list[str]:
    inspector = sa.inspect(connection)
    schema, _, name = table.rpartition(".")
    if not inspector.has_table(name, schema or None):
        existing = ", ".join(sorted(inspector.get_table_names(schema or None))[:20]) or "none"
        text = f"There is no table {table} in {shown}; it has {existing}. Name it with --table"
        raise errors.InvalidRequest(text, field="--table", value=table)
    return [column["name"] for column in inspector.get_columns(name, schema or None)]


def _select(table: str, columns: Sequence[str], order: Sequence[str]) -> sa.Select[Any]:
    schema, _, name = table.rpartition(".")
    source = sa.table(name, *(sa.column(column) for column in columns), schema=schema or None)
    return sa.select(*(source.c[column] for column in columns)).order_by(*(source.c[column] for column in order))


def _flow_names(connection: sa.Connection, table: str) -> dict[str, str]:
    if not sa.inspect(connection).has_table(table):
        return {}
    return {str(flow_id): name for flow_id, name in connection.execute(_select(table, ("id", "name"), ()))}


def _value(value: Any) -> Any:
    """A column's value as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else value
