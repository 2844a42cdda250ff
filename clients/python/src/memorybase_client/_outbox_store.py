"""The outbox's file: SQLite, JSON in text columns, mode 0600. Several processes may use it at once."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

BUSY_SECONDS = 5.0
MAX_REFUSED = 1_000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS captures (
    id INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL, flow_id TEXT NOT NULL, bytes INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS captures_of_target ON captures (target, id);
CREATE TABLE IF NOT EXISTS refused (
    id INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL, flow_id TEXT NOT NULL, code TEXT NOT NULL,
    message TEXT NOT NULL, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS totals (
    id INTEGER PRIMARY KEY CHECK (id = 0), captures INTEGER NOT NULL, bytes INTEGER NOT NULL, lost INTEGER NOT NULL
);
INSERT OR IGNORE INTO totals VALUES (0, 0, 0, 0);
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A capture on disk. Its repr shows no text."""

    id: int
    flow_id: str
    attempts: int
    body: str

    def __repr__(self) -> str:
        return f"Waiting({self.id})"


class Store:
    """The captures of all processes that share a directory, oldest first."""

    def __init__(self, directory: Path, *, max_captures: int, max_bytes: int) -> None:
        self._path = directory / "outbox.db"
        self._max_captures = max_captures
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._connection = _connect(self._path, BUSY_SECONDS)
        with self._lock:
            # No fsync at each capture: what was stored survives the process, not a power cut.
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA secure_delete = ON")  # delivered messages leave no text behind
            self._connection.executescript(_SCHEMA)

    def put(self, target: str, flow_id: str, body: bytes) -> int:
        """Store a capture; returns how many of the oldest were deleted to make room."""
        size = len(body)
        with self._transaction() as db:
            db.execute("INSERT INTO captures (target, flow_id, bytes, body) VALUES (?, ?, ?, ?)",
                       (target, flow_id, size, body.decode()))  # fmt: skip
            db.execute("UPDATE totals SET captures = captures + 1, bytes = bytes + ?", (size,))
            lost = 0
            while self._is_over(db):
                (oldest,) = db.execute("SELECT min(id) FROM captures").fetchone()
                self._delete(db, oldest)
                lost += 1
            if lost:
                db.execute("UPDATE totals SET lost = lost + ?", (lost,))
        return lost

    def _is_over(self, db: sqlite3.Connection) -> bool:
        captures, size = db.execute("SELECT captures, bytes FROM totals").fetchone()
        return bool(captures > self._max_captures or size > self._max_bytes)

    def oldest(self, target: str) -> Waiting | None:
        query = "SELECT id, flow_id, attempts, body FROM captures WHERE target = ? ORDER BY id LIMIT 1"
        row = self._row(query, target)
        return None if row is None else Waiting(*row)

    def remove(self, capture_id: int) -> None:
        """The server has it. Another process may have deleted it to make room."""
        with self._transaction() as db:
            self._delete(db, capture_id)

    def attempted(self, capture_id: int) -> None:
        with self._transaction() as db:
            db.execute("UPDATE captures SET attempts = attempts + 1 WHERE id = ?", (capture_id,))

    def refuse(self, capture_id: int, code: str, message: str) -> None:
        """Keep it aside with the server's reason, beside the latest others."""
        with self._transaction() as db:
            db.execute("INSERT INTO refused (target, flow_id, body, code, message)"
                       " SELECT target, flow_id, body, ?, ? FROM captures WHERE id = ?",
                       (code, message, capture_id))  # fmt: skip
            self._delete(db, capture_id)
            db.execute("DELETE FROM refused WHERE id <= (SELECT max(id) FROM refused) - ?", (MAX_REFUSED,))

    def retry_refused(self, target: str) -> int:
        with self._transaction() as db:
            rows = db.execute("SELECT flow_id, body FROM refused WHERE target = ? ORDER BY id", (target,)).fetchall()
            db.execute("DELETE FROM refused WHERE target = ?", (target,))
        for flow_id, body in rows:
            self.put(target, flow_id, body.encode())
        return len(rows)

    def refused(self, target: str) -> list[tuple[str, str, str, str, str]]:
        query = "SELECT flow_id, code, message, at, body FROM refused WHERE target = ? ORDER BY id"
        with self._lock:
            return self._connection.execute(query, (target,)).fetchall()

    def adopt(self, target: str) -> None:
        with self._transaction() as db:
            db.execute("UPDATE captures SET target = ?", (target,))
            db.execute("UPDATE refused SET target = ?", (target,))

    def waiting(self, target: str) -> int:
        return self._number("SELECT count(*) FROM captures WHERE target = ?", target)

    def of_others(self, target: str) -> int:
        return self._number("SELECT count(*) FROM captures WHERE target <> ?", target)

    def lost(self) -> int:
        return self._number("SELECT lost FROM totals")

    def tidy(self) -> None:
        """Empty the write-ahead log, which has the text of what was delivered."""
        with self._lock:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _delete(self, db: sqlite3.Connection, capture_id: int) -> None:
        row = db.execute("DELETE FROM captures WHERE id = ? RETURNING bytes", (capture_id,)).fetchone()
        if row is not None:
            db.execute("UPDATE totals SET captures = captures - 1, bytes = bytes - ?", row)

    def _row(self, query: str, *values: object) -> tuple[int, str, int, str] | None:
        with self._lock:
            row: tuple[int, str, int, str] | None = self._connection.execute(query, values).fetchone()
        return row

    def _number(self, query: str, *values: object) -> int:
        with self._lock:
            return int(self._connection.execute(query, values).fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


class SenderLock:
    """Held by the one process that sends what waits, so that it goes in order. The system releases it with the process:
    SQLite's own lock of an empty file works alike on every platform."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "sender.lock"
        self._connection: sqlite3.Connection | None = None

    def take(self) -> bool:
        """Whether this process may send now."""
        if self._connection is None:
            connection = _connect(self._path, 0.0)
            try:
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                connection.close()
                return False
            self._connection = connection
        return True

    def release(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    # Never open an existing file beside SQLite: closing it would release the locks of this process.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # SQLite gives its other files this mode
    return sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
