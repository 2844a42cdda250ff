"""The rules for revisions of the schema (CONTRIBUTING.md), checked by running them on an empty database."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

import migrations
from memorybase.core import errors
from memorybase.core.database import migrate

NewDatabase = Callable[[], str]  # the URL of a database without tables

_CHANGES_NOTHING = re.compile(r"\s*(SELECT|PRAGMA|SET|SHOW|EXPLAIN)\b", re.IGNORECASE)
_BUILD = re.compile(r"CREATE (?:UNIQUE )?INDEX CONCURRENTLY (?:IF NOT EXISTS )?\"?(\w+)", re.IGNORECASE)
_BESIDE_A_BUILD = re.compile(
    r"DROP INDEX CONCURRENTLY IF EXISTS|ALTER INDEX \S+ RENAME|UPDATE alembic_version", re.IGNORECASE
)
_COPY = re.compile(r"INSERT INTO _alembic_tmp_(\w+)")  # how Alembic alters a table of SQLite
# A table with a row for each flow, user or process may be scanned.
SMALL = frozenset({"alembic_version", "api_keys", "audit_chain", "heartbeats", "memory_bases", "users"})
# Locks that keep other transactions from writing to the table.
_BLOCKING = ("ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock")


# What CONTRIBUTING.md shows.
BUILD = """
is_postgresql = op.get_context().dialect.name == "postgresql"
if not is_postgresql:
    op.create_index("ix_runs_new", "runs", ["created_at"])
else:
    with op.get_context().autocommit_block():
        op.execute("SET lock_timeout = '60s'")
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_runs_new")
        op.create_index("ix_runs_new", "runs", ["created_at"], postgresql_concurrently=True)
"""
COLUMN = 'op.add_column("runs", sa.Column("new", sa.Integer(), server_default="0", nullable=False))\n'

_SAMPLE = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "{name}", "{before}", None, None


def upgrade() -> None:
{body}
"""


class CutOff(Exception):
    """The migrator is gone."""


@dataclass(frozen=True)
class Revision:
    """A revision and the one before it; None: an empty database."""

    name: str
    before: str | None


def all_revisions() -> list[Revision]:
    """Oldest first."""
    scripts = ScriptDirectory.from_config(migrate._config()).walk_revisions()
    return [Revision(each.revision, each.down_revision) for each in scripts][::-1]  # type: ignore[arg-type]


def add_revision(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> Revision:
    """A revision after the newest, with this code as its upgrade, written into an empty folder."""
    config = migrate._config()
    own = Path(migrations.__file__).parent / "versions"
    revision = write_revision(folder, "9001", migrate.head(), body)
    config.set_main_option("version_locations", os.pathsep.join(map(str, (own, folder))))
    monkeypatch.setattr(migrate, "_config", lambda: config)
    return revision


def write_revision(folder: Path, name: str, before: str, body: str) -> Revision:
    """A file of this revision, with this code as its upgrade."""
    text = _SAMPLE.format(name=name, before=before, body=textwrap.indent(body, "    "))
    (folder / f"{name}_sample.py").write_text(text)
    return Revision(name, before)


def faults(revision: Revision, new_database: NewDatabase, *, cuts: int | None = None) -> list[str]:
    """What the revision does against the rules. `cuts`: after how many of its statements it is cut off; None: all."""
    url = _database_before(revision, new_database)
    watch = _watch_of(url)
    with _after_each_change(watch.look):
        migrate.upgrade(url, revision.name)
    found = [*_faults_of_builds(watch.statements), *watch.faults]
    found += _faults_after_cuts(revision, new_database, watch.statements, schema_of(url), cuts)
    return [f"{revision.name}: {fault}" for fault in found]


def _database_before(revision: Revision, new_database: NewDatabase) -> str:
    url = new_database()
    if revision.before is not None:
        migrate.upgrade(url, revision.before)
    return url


def _faults_of_builds(statements: Sequence[str]) -> list[str]:
    builds = [each for each in statements if _BUILD.match(each)]
    others = [each for each in statements if not (_BUILD.match(each) or _BESIDE_A_BUILD.match(each))]
    if not builds or (len(builds) == 1 and not others):
        return []
    return [f"a concurrent build must stand alone: {(others or builds[1:])[0]}"]


def _faults_after_cuts(
    revision: Revision, new_database: NewDatabase, statements: Sequence[str], whole: object, cuts: int | None
) -> Iterator[str]:
    url = _database_before(revision, new_database)
    untouched = schema_of(url)
    for number in _spread(len(statements), cuts):
        _cut_off(url, revision, number)
        if schema_of(url) == untouched:  # rolled back: the second run is the first again
            continue
        try:
            migrate.upgrade(url, revision.name)
            if schema_of(url) != whole:
                yield f"run again after {statements[number]!r} it makes another schema"
        except (sa.exc.DBAPIError, errors.DatabaseUnavailable) as error:
            yield f"cannot be run again after {statements[number]!r}: {str(error).splitlines()[0]}"
        url = _database_before(revision, new_database)


def _spread(count: int, cuts: int | None) -> list[int]:
    if cuts is None or cuts >= count:
        return list(range(count))
    return sorted({round(step * (count - 1) / (cuts - 1)) for step in range(cuts)})


def _cut_off(url: str, revision: Revision, number: int) -> None:
    """Run the revision up to this statement. A concurrent build that is cut off leaves an invalid index."""
    seen: list[str] = []

    def look(connection: sa.Connection, statement: str) -> None:
        seen.append(statement)
        if len(seen) > number:
            if build := _BUILD.match(statement):
                change = f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{build[1]}'::regclass"
                connection.connection.cursor().execute(change)
            raise CutOff

    with _after_each_change(look):
        try:
            migrate.upgrade(url, revision.name)
        except CutOff:
            return
    raise AssertionError(f"revision {revision.name} has no statement {number}")


@contextmanager
def _after_each_change(look: Callable[[sa.Connection, str], None]) -> Iterator[None]:
    """Call it after each statement of a migration that may change something."""

    def listener(connection: sa.Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if not _CHANGES_NOTHING.match(statement):
            look(connection, statement)

    sa.event.listen(sa.Engine, "after_cursor_execute", listener)
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, "after_cursor_execute", listener)


class _Watch:
    """The statements of a revision, and those that rewrite or scan a large table that was there before."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.faults: list[str] = []

    def look(self, connection: sa.Connection, statement: str) -> None:
        self.statements.append(statement)
        copied = _COPY.match(statement) if connection.dialect.name == "sqlite" else None
        if copied is not None and copied[1] not in SMALL:
            self.faults.append(f"copies {copied[1]}: {statement}")


class _PostgresWatch(_Watch):
    def __init__(self, url: str) -> None:
        super().__init__()
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            self.files = self._read(connection, _FILES)
        engine.dispose()
        self.scans: dict[str, int] = {}

    def look(self, connection: sa.Connection, statement: str) -> None:
        super().look(connection, statement)
        files, scans, locked = (self._read(connection, query) for query in (_FILES, _SCANS, _LOCKS))
        for table in self.files.keys() - SMALL:
            if files.get(table, self.files[table]) != self.files[table]:
                self.faults.append(f"rewrites {table}: {statement}")
            is_change = statement.lstrip().upper().startswith(("UPDATE", "DELETE"))
            if scans.get(table, 0) > self.scans.get(table, 0) and (table in locked or is_change):
                self.faults.append(f"scans {table} while others wait: {statement}")
        self.files |= {table: file for table, file in files.items() if table in self.files}
        self.scans = scans

    def _read(self, connection: sa.Connection, query: str) -> dict[str, int]:
        cursor = connection.connection.cursor()
        cursor.execute(query)
        return dict(cursor.fetchall())


_FILES = (
    "SELECT relname, relfilenode::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
)
_SCANS = "SELECT relname, seq_scan FROM pg_stat_xact_user_tables"
_LOCKS = f"""SELECT relation::regclass::text, 1 FROM pg_locks
    WHERE pid = pg_backend_pid() AND locktype = 'relation' AND mode IN {_BLOCKING}"""


def _watch_of(url: str) -> _Watch:
    return _Watch() if url.startswith("sqlite") else _PostgresWatch(url)


_SCHEMA_OF_SQLITE = "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2"
_SCHEMA_OF_POSTGRESQL = """
    SELECT 'column', c.relname || '.' || a.attname,
           concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage,
                     pg_get_expr(d.adbin, d.adrelid))
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid) || indisvalid
      FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE c.relnamespace = 'public'::regnamespace
    UNION ALL SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
      FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'function', proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    ORDER BY 1, 2"""


def schema_of(url: str) -> list[tuple[Any, ...]]:
    """Everything that a migration makes, and the revision."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        is_sqlite = connection.dialect.name == "sqlite"
        found = connection.exec_driver_sql(_SCHEMA_OF_SQLITE if is_sqlite else _SCHEMA_OF_POSTGRESQL).all()
        rows = [tuple(each) for each in found]
        tables = sa.inspect(connection).get_table_names()
        for table in {"alembic_version", "audit_chain"} & set(tables):
            rows += [(table, *map(str, row)) for row in connection.exec_driver_sql(f"SELECT * FROM {table}")]
    engine.dispose()
    return rows
