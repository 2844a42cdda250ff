"""Databases that have this version's tables: the migrations make them once in each process, then they are copied or
lent."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import psycopg
import sqlalchemy as sa

from harness.waiting import PATIENCE, wait_until
from memorybase.core.database import migrate
from memorybase.core.database.engine import Database
from memorybase.core.database.postgresql import OWN_PARAMETERS


def make_sqlite(path: Path) -> None:
    """A SQLite file with the tables; one that is there is left alone."""
    if not path.exists():
        path.write_bytes(_sqlite_file())


class LentDatabase(Database):
    """A database that has the tables and waits for no disk: no test survives a power cut.

    An engine compiles each statement once, 1 ms a time, so one that no test uses any more serves the next.
    """

    sqlite_sync: ClassVar = {True: "OFF", False: "OFF"}

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.lent = True
        self._own_engine = self.engine  # a test may put another one in its place
        self._opened: list[psycopg.Connection] = []
        sa.event.listen(self.engine, "do_connect", self._direct)
        sa.event.listen(self.engine, "checkout", self._refuse_after_its_test)
        if not self.is_sqlite:
            sa.event.listen(self.engine, "connect", lambda connection, _: self._opened.append(connection))

    def _direct(self, dialect: sa.Dialect, _record: Any, args: list[Any], options: dict[str, Any]) -> None:
        self._refuse_after_its_test()
        args[:], more = dialect.create_connect_args(self.url.difference_update_query(OWN_PARAMETERS))
        options.update(more)

    def _refuse_after_its_test(self, *_: Any) -> None:
        if not self.lent:  # to a thread that outlived its test; its connection would be of the next test's pool
            raise self.engine.dialect.loaded_dbapi.OperationalError("no test uses this database")

    def close(self) -> None:
        """Every connection. A thread that outlives its test gives its own back first: closed under it, it would take
        the process along; and let go of open, it is a warning in whatever test comes next."""
        pool = self._own_engine.pool
        assert isinstance(pool, sa.QueuePool)
        # Before the pool is disposed of, which forgets how many are out.
        wait_until(lambda: pool.checkedout() == 0, PATIENCE, "the test's threads give back their connections")
        self.dispose()
        self._own_engine.dispose()
        for connection in self._opened:
            connection.close()
        self._opened.clear()


_idle: dict[str, list[LentDatabase]] = {"sqlite": [], "postgresql": []}


def lend(url: str) -> LentDatabase:
    """The database at this URL: a SQLite file, made where there is none, or a copy of PostgresServer.template."""
    at = sa.make_url(url)
    if at.get_backend_name() == "sqlite":
        make_sqlite(Path(str(at.database)))  # first: to connect makes an empty file
    idle = _idle[at.get_backend_name()]
    database = idle.pop() if idle else LentDatabase(url)
    database.url = at
    database.lent = True
    return database


def give_back(database: Database) -> None:
    """For a test that is over."""
    assert isinstance(database, LentDatabase)
    database.lent = False
    database.close()
    _idle[database.url.get_backend_name()].append(database)


@cache
def _sqlite_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tables.db")
        migrate.upgrade(f"sqlite:///{path}")
        return path.read_bytes()
