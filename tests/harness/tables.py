"""Databases that have the tables of the models already: made once in each process, then copied."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from memorybase.database import Database
from memorybase.models import Base


def make_tables(database: Database) -> None:
    """Bring an empty database the tables; one that has them is left alone."""
    if database.is_sqlite:
        path = Path(str(database.url.database))
        if not path.exists():
            path.write_bytes(_sqlite_file())
    elif not sa.inspect(database.engine).has_table("users"):
        Base.metadata.create_all(database.engine)


def wait_for_no_disk(database: Database) -> None:
    """For tests, of which none survives a power cut."""
    if database.is_sqlite:
        database.dispose()
        sa.event.listen(database.engine, "connect", lambda driver, _: driver.execute("PRAGMA synchronous = OFF"))


@cache
def _sqlite_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tables.db")
        database = Database(f"sqlite:///{path}")
        Base.metadata.create_all(database.engine)
        database.dispose()
        return path.read_bytes()
