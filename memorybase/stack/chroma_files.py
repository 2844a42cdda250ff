"""Chroma's own directory: rewrite its database without what was deleted, and remove indexes that nothing uses."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import UUID

from memorybase.core import errors
from memorybase.core.vectors.chroma_database import DATABASE

POSTPONED = "compact-at-start"  # a file in the directory
# Chroma writes nothing meanwhile, and gives up after 5 s: 30 ms for each megabyte, on a busy machine.
LIVE_BYTES = 128 * 1024 * 1024
BUSY_SECONDS = 5.0
# A folder without a collection is kept for this long: a request may still be about to write there.
UNUSED_SECONDS = 60.0


def size(directory: Path) -> int:
    """The bytes of the database; 0 without one."""
    path = directory / DATABASE
    return path.stat().st_size if path.exists() else 0


def compact(directory: Path) -> None:
    """Compact now, or before Chroma starts again if it is too large for that. Raises EnvironmentFailure."""
    if size(directory) > LIVE_BYTES:
        (directory / POSTPONED).touch()
    elif size(directory):
        _compact(directory)


def compact_postponed(directory: Path, report: Callable[[str], object]) -> None:
    """Do postponed compactions before Chroma starts. A failure prevents no start: the next one tries again."""
    if not (directory / POSTPONED).exists():
        return
    report("removing what was deleted from Chroma's database")
    try:
        _compact(directory)
    except errors.EnvironmentFailure as error:
        report(f"note: {error.message}")
    else:
        (directory / POSTPONED).unlink(missing_ok=True)


def _compact(directory: Path) -> None:
    # Safe while Chroma runs: SQLite's lock makes each wait for the other.
    try:
        with closing(sqlite3.connect(directory / DATABASE, timeout=BUSY_SECONDS, isolation_level=None)) as db:
            # Deleted texts stay in the full-text index until its segments are merged.
            db.execute("INSERT INTO embedding_fulltext_search (embedding_fulltext_search) VALUES ('optimize')")
            db.execute("VACUUM")
            is_busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if is_busy:
                raise sqlite3.OperationalError("its write-ahead log is in use")
            used = {name for (name,) in db.execute("SELECT id FROM segments")}
    except sqlite3.Error as error:
        raise errors.EnvironmentFailure(f"Chroma's database was not compacted: {error}") from error
    for folder in directory.iterdir():
        if folder.name not in used and _is_unused_index(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_unused_index(folder: Path) -> bool:
    """Whether this is an index's folder to which nothing was written for a while."""
    try:
        UUID(folder.name)
        latest = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
    except (ValueError, OSError):
        return False
    return time.time() - latest > UNUSED_SECONDS
