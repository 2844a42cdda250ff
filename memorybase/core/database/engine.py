"""Engine, transactions, callbacks after commit. Only this module commits."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm.exc import ObjectDeletedError, StaleDataError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from memorybase.core import errors, tracing
from memorybase.core.database import postgresql, statement_spans, violations
from memorybase.core.database.replica import Replica

AfterCommit = Callable[[], object]
BeforeCommit = Callable[[OrmSession], object]

# What the current request does in each of its write transactions on a database before they commit.
_before_commit: ContextVar[tuple[Database, BeforeCommit] | None] = ContextVar("before_commit", default=None)

# A writer that waits longer than this fails.
SQLITE_BUSY_MILLISECONDS = 10_000
# Between two attempts while another process writes. SQLite itself would sleep for up to 100 ms at a time.
SQLITE_POLL_SECONDS = 0.0005
# Memory-map reads, as much as SQLite allows: a search reads hundreds of scattered rows in a third of the time. Writes
# are not mapped.
SQLITE_MAPPED_BYTES = 0x7FFF0000


class Database:
    """One engine; `transaction()` writes and commits, `reading()` sees one snapshot and never writes."""

    sqlite_sync: ClassVar = {True: "FULL", False: "NORMAL"}  # by `durable`

    def __init__(self, url: str, *, pool_size: int = 10, read_url: str = "", trace_statements: bool = False) -> None:
        self.url = sa.make_url(url)
        self.engine = (_sqlite_engine if self.is_sqlite else postgresql.create_engine)(self.url, pool_size)
        self.replica = Replica(read_url, pool_size=pool_size) if read_url else None
        self._is_traced = trace_statements
        if trace_statements:
            for engine in (self.engine, *([self.replica.engine] if self.replica else [])):
                statement_spans.trace_statements(engine)
        self._writing = threading.Lock()  # SQLite has one writer: threads of this process wait here without polling

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def transaction(self, *, durable: bool = True, apart: bool = False, wait: bool = True) -> Iterator[OrmSession]:
        """A write transaction: commits at the end and then runs the callbacks, or rolls back on any error.

        Without `durable`, SQLite does not wait for the disk: a power cut may undo the commit until a durable one
        follows. Commits are never undone out of order. `apart`: it is not what the request does but bookkeeping for
        it, and `before_commit` does not hold. Without `wait`, raises DatabaseUnavailable at once where it would wait
        for another writer, and waits for no disk or standby: for bookkeeping of reads, which must not wait for it.
        """
        # On SQLite take the write lock at the start: under WAL a reader that starts to write fails at once.
        sync = self.sqlite_sync[durable and wait]
        options: dict[str, Any] = {"begin_immediate": sync, "wait": wait} if self.is_sqlite else {}
        with (
            self._span("transaction"),
            _translate_errors(),
            self._writer_lock(wait=wait),
            self.engine.connect() as opened,
            _session(opened, options) as db,
        ):
            if not (wait or self.is_sqlite):
                opened.exec_driver_sql(postgresql.WITHOUT_WAITING)
            yield db
            hook = _before_commit.get()
            if hook is not None and hook[0] is self and not apart:
                hook[1](db)
            db.flush()
            _commit(connection(db))
            callbacks = _callbacks(db)
        for callback in callbacks:
            callback()

    def wait_for_disk(self) -> None:
        """Make every earlier commit durable."""
        if self.is_sqlite:
            with self.transaction(apart=True) as db:  # a commit that writes nothing would not wait
                connection(db).exec_driver_sql("PRAGMA user_version = 0")

    def truncate_log(self) -> bool:
        """Empty SQLite's write-ahead log, which holds former content of pages; False while another process uses it."""
        if not self.is_sqlite:
            return True
        with _translate_errors(), self._writer_lock(wait=True), self.engine.connect() as opened:
            cursor = opened.connection.cursor()
            cursor.execute("PRAGMA busy_timeout = 0")  # or every other writer would wait for the slowest reader
            try:
                busy, _, _ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_MILLISECONDS}")
                cursor.close()
            return not busy

    def _span(self, name: str) -> AbstractContextManager[None]:
        # Spans cost a capture more than the rest of its trace, and mostly repeat the time of the span around them.
        return tracing.span(name, "client", is_leaf=True) if self._is_traced else nullcontext()

    @contextmanager
    def before_commit(self, hook: BeforeCommit) -> Iterator[None]:
        """Call the hook in every write transaction of this request, also in its threads, before it commits, except in
        those that are `apart`. What the hook writes is committed or rolled back with the transaction."""
        token = _before_commit.set((self, hook))
        try:
            yield
        finally:
            _before_commit.reset(token)

    @contextmanager
    def _writer_lock(self, *, wait: bool) -> Iterator[None]:
        if not self.is_sqlite:
            yield
            return
        if not self._writing.acquire(timeout=SQLITE_BUSY_MILLISECONDS / 1_000 if wait else 0):
            raise errors.DatabaseUnavailable("The database failed: another writer holds it for too long")
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def reading(self, *, snapshot: bool = True, on_replica: bool = False) -> Iterator[OrmSession]:
        """A read transaction on one snapshot.

        Without `snapshot` each statement sees what is committed by then. A single statement then takes one round trip
        to the server instead of three. `on_replica`: on the standby, if there is one that has replayed all that was
        committed before; only for what is shown, never for what decides.
        """
        options: dict[str, Any] = {"isolation_level": "AUTOCOMMIT"}
        if self.is_sqlite:
            options = {"begin": snapshot}
        elif snapshot:
            options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with (
            self._span("read"),
            _translate_errors(),
            self._read_connection(on_replica=on_replica) as opened,
            _session(opened, options) as db,
        ):
            yield db

    @contextmanager
    def _read_connection(self, *, on_replica: bool) -> Iterator[sa.Connection]:
        replica = self.replica if on_replica else None
        opened = None if replica is None else replica.connect(self.engine)
        if replica is None or opened is None:
            with self.engine.connect() as connection:
                yield connection
            return
        with opened:
            try:
                yield opened
            except sa.exc.DBAPIError:
                # The caller's repetition reads the primary: the standby may have ended, or cancelled a statement whose
                # rows it had to remove.
                replica.leave()
                raise

    def ping(self) -> None:
        """Raises DatabaseUnavailable."""
        with self.reading() as db:
            db.execute(sa.text("SELECT 1"))

    def missing_timeouts(self) -> list[str]:
        """Timeouts that PostgreSQL does not apply to our statements. Raises DatabaseUnavailable."""
        if self.is_sqlite:
            return []
        with self.reading() as db:
            return postgresql.missing_timeouts(connection(db))

    def memory(self) -> postgresql.Memory | None:
        """PostgreSQL's memory settings for this database; None on SQLite. Raises DatabaseUnavailable."""
        if self.is_sqlite:
            return None
        with self.reading() as db:
            return postgresql.memory(connection(db))

    def replica_bytes_behind(self) -> int | None:
        """Bytes that the standby is behind; None without one. Raises DatabaseUnavailable, also if it is no standby."""
        if self.replica is None:
            return None
        with _translate_errors():
            behind = self.replica.bytes_behind(self.engine)
        if behind is None:
            raise errors.DatabaseUnavailable("The server for reads is no standby")
        return behind

    def dispose(self) -> None:
        self.engine.dispose()
        if self.replica is not None:
            self.replica.engine.dispose()


@contextmanager
def _session(opened: sa.Connection, options: Mapping[str, Any]) -> Iterator[OrmSession]:
    """A session on the connection, in a transaction that is rolled back at the end unless it was committed."""
    opened.execution_options(**options).begin()
    with OrmSession(opened, expire_on_commit=False) as db:
        yield db


def connection(db: OrmSession) -> sa.Connection:
    """The session's connection. A statement on tables needs no session, which costs as much as a small statement."""
    if not isinstance(db.bind, sa.Connection):
        raise TypeError("the session is of no Database")
    return db.bind


def _commit(connection: sa.Connection) -> None:
    connection.commit()
    if postgresql.take_unconfirmed(connection):
        # An acknowledgement would be a promise that a failover breaks. Whoever repeats the call waits for the standby.
        raise errors.DatabaseUnavailable("The database failed: no standby has confirmed the commit")


def commit_without_disk(db: OrmSession) -> None:
    """On PostgreSQL, the commit waits for no disk or standby, and a crash may undo it. On SQLite `durable` decides."""
    if connection(db).dialect.name == "postgresql":
        connection(db).exec_driver_sql(postgresql.WITHOUT_DISK)


def created(db: OrmSession, **ids: object) -> None:
    """State the ids of what this transaction creates, for a hook before its commit."""
    created_ids(db).update(ids)


def created_ids(db: OrmSession) -> dict[str, object]:
    ids: dict[str, object] = db.info.setdefault("created", {})
    return ids


def after_commit(db: OrmSession, callback: AfterCommit) -> None:
    """Run the callback once the session's transaction has committed; drop it on rollback."""
    _callbacks(db).append(callback)


def _callbacks(db: OrmSession) -> list[AfterCommit]:
    callbacks: list[AfterCommit] = db.info.setdefault("after_commit", [])
    return callbacks


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise the driver's errors as ours, without the chain: PostgreSQL quotes whole rows, and so message text."""
    try:
        yield
    except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as exc:
        raise errors.DatabaseUnavailable(cause=_first_line(exc)) from None
    except sa.exc.IntegrityError as exc:
        raise violations.error_of(exc) from None
    except (StaleDataError, ObjectDeletedError):
        raise violations.Gone from None
    except sa.exc.DBAPIError as exc:
        if exc.connection_invalidated or type(exc) is sa.exc.DatabaseError:  # so SQLite says that a file is damaged
            raise errors.DatabaseUnavailable(cause=_first_line(exc)) from None
        raise errors.StatementRefused(f"The database refused a statement: {type(exc.orig).__name__}") from None


def _first_line(exc: sa.exc.SQLAlchemyError) -> str:
    cause = exc.orig if isinstance(exc, sa.exc.DBAPIError) and exc.orig is not None else exc
    return (str(cause).splitlines() or [type(cause).__name__])[0]


def _sqlite_engine(url: sa.URL, pool_size: int) -> sa.Engine:
    # Keep connections: closing the last one causes a checkpoint of the write-ahead log.
    engine = sa.create_engine(
        url,
        hide_parameters=True,
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=postgresql.MAX_OVERFLOW,
        connect_args={"check_same_thread": False},  # the pool gives a connection to one thread at a time
    )

    @sa.event.listens_for(engine, "connect")
    def _connect(connection: sqlite3.Connection, _record: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the driver must not begin transactions itself
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_MILLISECONDS}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute(f"PRAGMA mmap_size = {SQLITE_MAPPED_BYTES}")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA secure_delete = ON")  # not every build does: overwrite what is deleted with zeros
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        if sync := options.get("begin_immediate"):
            _begin_immediate(connection, sync=sync, wait=options.get("wait", True))
        elif options.get("begin", True):
            connection.exec_driver_sql("BEGIN")

    return engine


def _begin_immediate(connection: sa.Connection, *, sync: str, wait: bool) -> None:
    """Begin as soon as no other process writes; `sync` is SQLite's `synchronous` for this transaction."""
    deadline = time.monotonic() + (SQLITE_BUSY_MILLISECONDS / 1_000 if wait else 0)
    cursor = connection.connection.cursor()
    cursor.execute(f"PRAGMA synchronous = {sync}")
    cursor.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                cursor.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise sa.exc.OperationalError("BEGIN IMMEDIATE", None, error) from None
            else:
                return
            time.sleep(SQLITE_POLL_SECONDS)
    finally:
        cursor.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_MILLISECONDS}")
        cursor.close()
