"""Copies of a SQLite database that is in use: its online backup."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from memorybase.core import errors

PAGES = 4_096  # copied at a time, 16 MB
BUSY_SECONDS = 10.0

OnProgress = Callable[[int, int], object]  # pages copied, pages in all


def copy_database(source: Path, target: Path, on_progress: OnProgress = lambda *_: None) -> None:
    """Copy the state at one moment while others read and write. Raises DatabaseUnavailable.

    `target` is a single file once `seal` was called.
    """
    with _translate_errors(source), _opened(source) as live, closing(sqlite3.connect(target)) as copy:
        # The open read transaction keeps the moment: without it each commit of another process would start the copy
        # again. Writers go on; what they write stays in the write-ahead log until the end.
        live.execute("BEGIN")
        live.execute("SELECT 1 FROM sqlite_schema").fetchone()
        live.backup(copy, pages=PAGES, progress=lambda _, left, total: on_progress(total - left, total))


def seal(path: Path) -> None:
    """Check a copy that nobody uses any more, and make it one file on the disk. Raises DatabaseUnavailable."""
    with _translate_errors(path), _opened(path) as copy:
        (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise errors.DatabaseUnavailable(f"The database is damaged: {found}")
        copy.execute("PRAGMA journal_mode = DELETE")  # no write-ahead log next to it
    sync(path)


def sync(path: Path) -> None:
    """Write a file or the names in a folder to the disk. Windows opens no folder, and syncs only what may be
    written."""
    if sys.platform == "win32" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a file that exists."""
    url = f"{path.resolve().as_uri()}?mode=rw"
    with closing(sqlite3.connect(url, uri=True, isolation_level=None, timeout=BUSY_SECONDS)) as connection:
        yield connection


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as exc:
        raise errors.DatabaseUnavailable(f"{path} cannot be copied: {exc}") from None
