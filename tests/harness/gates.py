"""Gates in PostgreSQL: whoever makes a named change waits in the middle of it until the gate opens."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import psycopg

from harness.postgres import USER, PostgresServer

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
        return replace(self, when=f"({self.when}) AND NEW.{column} = '{base}'")


class Gate:
    """Whoever makes the change waits until the gate opens."""

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
    """Shut until `open()`; whatever happens, those who wait go on when the block ends."""
    with psycopg.connect(host=str(postgres.directory), user=USER, dbname=dbname, autocommit=True) as connection:
        held = Gate(connection, change)
        try:
            yield held
        finally:
            held.open()
