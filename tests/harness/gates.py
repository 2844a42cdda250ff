"""Gates: whoever makes a named change, or calls a named function, waits in the middle of it until the gate opens.

In PostgreSQL a trigger waits for an advisory lock. SQLite has neither, so the process takes part: its triggers call a
function of `at_start/sitecustomize.py`, which waits for the lock on a file. While it waits, nobody else can write.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import psycopg

from harness.constants import AT_START
from harness.postgres import USER, PostgresServer

RELEASE = "memorybase.core.locks.ProcessHeldLock.release"
NOTIFY = "memorybase.core.process_queue.ProcessQueue.enqueue"
INGEST = "memorybase.core.ingestion.job_runner.run_jobs"
ADVANCE = "memorybase.core.ingestion.job_runner.advance"
UPSERT = "memorybase.core.vectors.chroma_in_process.InProcessChroma.upsert"
FUNCTIONS = (RELEASE, NOTIFY, INGEST, ADVANCE, UPSERT)  # that a gate can be before
BLOCKED_SECONDS = 60.0  # that a change of the triggers waits for writers

_numbers = itertools.count(4_711)  # of the advisory locks that the triggers wait for


@dataclass(frozen=True, slots=True)
class Change:
    """Of which table, and which of its changes: SQL over the rows OLD and NEW."""

    table: str
    when: str
    event: str = "UPDATE"

    def of(self, base: str) -> Change:
        """The same in this memory base alone: an audit of another one may come at any time."""
        column = "id" if self.table == "memory_bases" else "memory_base_id"
        # SQLite keeps ids without hyphens, and PostgreSQL reads both forms.
        return replace(self, when=f"({self.when}) AND NEW.{column} = '{base.replace('-', '')}'")


class Gate(Protocol):
    """Shut until `open()`."""

    def reached(self) -> bool:
        """Whether somebody waits, or has waited."""

    def open(self) -> None:
        """Let everybody through."""


class FileGate:
    """Before a function of a process with the environment of `with_gates`."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(exist_ok=True)
        self._path = folder / name
        self._file = self._path.open("wb")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def reached(self) -> bool:
        return self._path.exists() and self._path.stat().st_size > 0

    def open(self) -> None:
        self._path.unlink(missing_ok=True)
        self._file.close()


class SqliteGate(FileGate):
    """In the middle of a change in such a process."""

    def __init__(self, folder: Path, database: Path, change: Change) -> None:
        self._name, self._database = f"gate_{next(_numbers)}", database
        super().__init__(folder, self._name)
        self._execute(
            f"CREATE TRIGGER {self._name} BEFORE {change.event} ON {change.table} FOR EACH ROW WHEN ({change.when})"
            f" BEGIN SELECT pass_gate('{self._name}'); END"
        )

    def open(self) -> None:
        super().open()
        self._execute(f"DROP TRIGGER IF EXISTS {self._name}")

    def _execute(self, statement: str) -> None:
        with closing(sqlite3.connect(self._database, timeout=BLOCKED_SECONDS)) as connection, connection:
            connection.execute(statement)


def with_gates(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment of a process that waits at the gates in this folder."""
    path = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), str(AT_START))))
    return {**environment, "PYTHONPATH": path, "TEST_GATES": str(folder), "TEST_GATED": json.dumps(FUNCTIONS)}


class PostgresGate:
    """In the middle of a change, whoever makes it."""

    def __init__(self, connection: psycopg.Connection, change: Change) -> None:
        self._connection = connection
        self._table = change.table
        self._number = next(_numbers)
        self._name = f"gate_{self._number}"
        self._execute(f"SELECT pg_advisory_lock({self._number})")
        self._execute(
            f"CREATE FUNCTION {self._name}() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS"
            f" $$BEGIN PERFORM pg_advisory_xact_lock({self._number}); RETURN COALESCE(NEW, OLD); END$$"
        )
        self._execute(
            f"CREATE TRIGGER {self._name} BEFORE {change.event} ON {change.table} FOR EACH ROW WHEN ({change.when})"
            f" EXECUTE FUNCTION {self._name}()"
        )

    def reached(self) -> bool:
        waiting = (
            "SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
            f" WHERE datname = current_database() AND locktype = 'advisory' AND objid = {self._number} AND NOT granted"
        )
        return self._execute(waiting).fetchone() is not None

    def open(self) -> None:
        self._execute(f"SELECT pg_advisory_unlock({self._number})")
        self._execute(f"DROP TRIGGER IF EXISTS {self._name} ON {self._table}")

    def _execute(self, statement: str) -> psycopg.Cursor[tuple[object, ...]]:
        return self._connection.execute(statement.encode())


@contextmanager
def gate(postgres: PostgresServer, dbname: str, change: Change) -> Iterator[Gate]:
    """In PostgreSQL."""
    with (
        psycopg.connect(host=str(postgres.directory), user=USER, dbname=dbname, autocommit=True) as connection,
        opened_at_the_end(PostgresGate(connection, change)) as held,
    ):
        yield held


@contextmanager
def opened_at_the_end(held: Gate) -> Iterator[Gate]:
    """Whatever happens, those who wait go on when the block ends."""
    try:
        yield held
    finally:
        held.open()
