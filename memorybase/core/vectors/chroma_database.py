"""The SQLite file of a Chroma on this machine, before Chroma opens it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

DATABASE = "chroma.sqlite3"


def write_ahead(directory: Path) -> None:
    """Give it a write-ahead log, which it keeps: a commit takes half as long, and searches do not wait for writes. If
    that fails, Chroma says why when it opens the file."""
    directory.mkdir(parents=True, exist_ok=True)
    with suppress(sqlite3.Error), closing(sqlite3.connect(directory / DATABASE)) as db:
        db.execute("PRAGMA journal_mode = WAL")
