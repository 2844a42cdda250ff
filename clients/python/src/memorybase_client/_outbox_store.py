"""The outbox's file: SQLite, JSON in text columns, mode 0600. Several processes may use it at once."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakSet

from memorybase_client import file_lock

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
CREATE TABLE IF NOT EXISTS new_flows (target TEXT NOT NULL, flow_id TEXT NOT NULL, PRIMARY KEY (target, flow_id));
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
        self._connection: sqlite3.Connection | None = None
        _stores.add(self)
        with self._opened():
            pass

    def put(self, target: str, flow_id: str, body: bytes) -> int:
        """Store a capture; returns how many were lost: the oldest to make room, or itself if it can never fit."""
        with self._transaction() as db:
            return self._insert(db, target, flow_id, body)

    def _insert(self, db: sqlite3.Connection, target: str, flow_id: str, body: bytes) -> int:
        size, lost = len(body), 0
        if size > self._max_bytes:
            lost = 1
        else:
            db.execute(
                "INSERT INTO captures (target, flow_id, bytes, body) VALUES (?, ?, ?, ?)",
                (target, flow_id, size, body.decode()),
            )
            db.execute("UPDATE totals SET captures = captures + 1, bytes = bytes + ?", (size,))
        while self._is_over(db):
            (oldest,) = db.execute("SELECT min(id) FROM captures").fetchone()
            self._delete(db, oldest)
            lost += 1
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
        """Move the capture to the refused ones, with the server's reason; only the latest are kept."""
        with self._transaction() as db:
            db.execute(
                "INSERT INTO refused (target, flow_id, body, code, message)"
                " SELECT target, flow_id, body, ?, ? FROM captures WHERE id = ?",
                (code, message, capture_id),
            )
            self._delete(db, capture_id)
            db.execute("DELETE FROM refused WHERE id <= (SELECT max(id) FROM refused) - ?", (MAX_REFUSED,))

    def retry_refused(self, target: str) -> int:
        with self._transaction() as db:
            rows = db.execute("SELECT flow_id, body FROM refused WHERE target = ? ORDER BY id", (target,)).fetchall()
            db.execute("DELETE FROM refused WHERE target = ?", (target,))
            for flow_id, body in rows:
                self._insert(db, target, flow_id, body.encode())
        return len(rows)

    def refused(self, target: str) -> list[tuple[str, str, str, str, str]]:
        query = "SELECT flow_id, code, message, at, body FROM refused WHERE target = ? ORDER BY id"
        with self._opened() as db:
            return db.execute(query, (target,)).fetchall()

    def adopt(self, target: str) -> None:
        with self._transaction() as db:
            db.execute("UPDATE captures SET target = ?", (target,))
            db.execute("UPDATE refused SET target = ?", (target,))
            db.execute("UPDATE OR REPLACE new_flows SET target = ?", (target,))

    def add_new_flow(self, target: str, flow_id: str) -> None:
        """The flow is about to be created, and has no memory base yet."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO new_flows VALUES (?, ?)", (target, flow_id))

    def is_new_flow(self, target: str, flow_id: str) -> bool:
        return self._number("SELECT count(*) FROM new_flows WHERE target = ? AND flow_id = ?", target, flow_id) > 0

    def remove_new_flow(self, target: str, flow_id: str) -> None:
        with self._transaction() as db:
            db.execute("DELETE FROM new_flows WHERE target = ? AND flow_id = ?", (target, flow_id))

    def waiting(self, target: str) -> int:
        return self._number("SELECT count(*) FROM captures WHERE target = ?", target)

    def waiting_up_to(self, target: str, newest: int) -> int:
        return self._number("SELECT count(*) FROM captures WHERE target = ? AND id <= ?", target, newest)

    def newest(self, target: str) -> int:
        return self._number("SELECT coalesce(max(id), 0) FROM captures WHERE target = ?", target)

    def of_others(self, target: str) -> int:
        return self._number("SELECT count(*) FROM captures WHERE target <> ?", target)

    def lost(self) -> int:
        return self._number("SELECT lost FROM totals")

    def tidy(self) -> None:
        """Empty the write-ahead log, which has the text of what was delivered."""
        with self._opened() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Until the next use."""
        with _in_use:
            self.disconnect()

    def disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _delete(self, db: sqlite3.Connection, capture_id: int) -> None:
        row = db.execute("DELETE FROM captures WHERE id = ? RETURNING bytes", (capture_id,)).fetchone()
        if row is not None:
            db.execute("UPDATE totals SET captures = captures - 1, bytes = bytes - ?", row)

    def _row(self, query: str, *values: object) -> tuple[int, str, int, str] | None:
        with self._opened() as db:
            row: tuple[int, str, int, str] | None = db.execute(query, values).fetchone()
        return row

    def _number(self, query: str, *values: object) -> int:
        with self._opened() as db:
            return int(db.execute(query, values).fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._opened() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with _in_use:
            if self._connection is None:
                self._connection = _connect(self._path)
            yield self._connection


def _connect(path: Path) -> sqlite3.Connection:
    # Never open an existing file besides SQLite: closing it would release the locks of this process.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # SQLite gives its other files this mode
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        # No fsync at each capture: what was stored survives the process, not a power cut.
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")  # delivered messages leave no text behind
        db.executescript(_SCHEMA)
    except BaseException:
        db.close()
        raise
    return db


class SenderLock:
    """Held by the one process that sends what waits, so that it goes in order. The system releases it with the
    process."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "sender.lock"
        self._file: int | None = None
        _sender_locks.add(self)

    def take(self) -> bool:
        """Whether this process may send now."""
        with _in_use:
            if self._file is None:
                self._file = _locked(self._path)
            return self._file is not None

    def release(self) -> None:
        with _in_use:
            if self._file is not None:
                file_lock.release(self._file)
                self.forget()

    def forget(self) -> None:
        """The lock stays with the process that took it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _locked(path: Path) -> int | None:
    """The open file, or None if another process has locked it."""
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    if file_lock.take(file):
        return file
    os.close(file)
    return None


# A lock that a thread holds while its process is forked is held by the child for ever, in Python as in SQLite; and
# SQLite takes the files that the parent had open, with their locks, for the child's own. So no store is open over a
# fork.
_stores: WeakSet[Store] = WeakSet()
_sender_locks: WeakSet[SenderLock] = WeakSet()
_in_use = threading.Lock()


@contextmanager
def no_fork() -> Iterator[None]:
    """A fork of this process waits until this has ended."""
    with _in_use:
        yield


def _before_fork() -> None:
    _in_use.acquire()
    for store in list(_stores):
        store.disconnect()


def _in_child() -> None:
    for lock in list(_sender_locks):
        lock.forget()
    _in_use.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_use.release, after_in_child=_in_child)
