"""The SQLite file of a Chroma on this machine, before Chroma opens it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

DATABASE = "chroma.sqlite3"


def write_ahead(directory: Path, *, on: bool = True) -> None:
    """Give it a write-ahead log, or take it away; it keeps what it has. With one a commit takes half as long, and
    searches do not wait for writes. Without one Chroma's server notices that its directory was deleted: it needs a new
    file for each commit. If this fails, Chroma says why when it opens the file."""
    with suppress(OSError, sqlite3.Error):
        directory.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(directory / DATABASE)) as db:
            db.execute(f"PRAGMA journal_mode = {'WAL' if on else 'DELETE'}")
