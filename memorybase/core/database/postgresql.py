"""The engine for PostgreSQL: a cut link is an error within seconds, a commit that no standby confirms too.

Each default gives way to the same parameter in the URL. `pooler=transaction` in it says that PgBouncer or another
pooler stands in between: nothing may depend on the session then.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

if TYPE_CHECKING:
    import psycopg  # else loaded by SQLAlchemy, for whoever connects to PostgreSQL

STATEMENT_TIMEOUT_MILLISECONDS = 30_000
LOCK_TIMEOUT_MILLISECONDS = 10_000
MAX_OVERFLOW = 20  # connections beyond the pool, under load
PING_AFTER_SECONDS = 1.0  # a connection idle for less is not pinged; no server restarts faster

# Without these a connection whose link is cut waits for ever. A host that does not answer costs every new connection
# the timeout, before the next host is tried.
CONNECTION_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 2,  # seconds, the least that libpq knows
    "tcp_user_timeout": 3_000,  # milliseconds for data that nobody acknowledges
    "keepalives_idle": 2,  # seconds until an idle connection is probed
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "application_name": "memorybase",
}
TIMEOUTS = {  # milliseconds
    "statement_timeout": STATEMENT_TIMEOUT_MILLISECONDS,
    "lock_timeout": LOCK_TIMEOUT_MILLISECONDS,
    "idle_in_transaction_session_timeout": STATEMENT_TIMEOUT_MILLISECONDS,
}
# For one transaction. A lock_timeout of 0 would mean none.
WITHOUT_DISK = "SET LOCAL synchronous_commit = off"
WITHOUT_WAITING = "SELECT set_config('lock_timeout', '1', true), set_config('synchronous_commit', 'off', true)"
DEFAULT_SHARED_BUFFERS = 128 * 2**20
# The system's cache makes up for a smaller shared_buffers until a database is larger than this.
LARGE_DATABASE = 2 * 2**30
# Parameters of a URL that the driver does not know; settings.py checks their values.
OWN_PARAMETERS = ("pooler", "prepared_statements")
# SQLSTATEs of a write on a standby: the write itself, or the beginning of its transaction.
REFUSED_BY_STANDBY = frozenset({"25006", "0A000"})

# The server's function that warns of a commit that no standby confirmed. The warning has no SQLSTATE of its own, and
# its text is translated.
_WAIT_FOR_STANDBY = "SyncRepWaitForLSN"
_UNCONFIRMED = "unconfirmed"


class Memory(NamedTuple):
    """A server's shared_buffers and the size of a database in it, in bytes."""

    shared_buffers: int
    database: int

    @property
    def is_too_small(self) -> bool:
        """Whether nobody has given the server memory, though the database needs it."""
        return self.shared_buffers <= DEFAULT_SHARED_BUFFERS and self.database > LARGE_DATABASE


def create_engine(url: sa.URL, pool_size: int, *, target: str = "read-write") -> sa.Engine:
    """An engine that replaces broken connections before use; `target` is sought if the URL has several hosts."""
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(
        url.difference_update_query(OWN_PARAMETERS),
        hide_parameters=True,
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=MAX_OVERFLOW,
        pool_timeout=10,
        connect_args=connect_arguments(url, target),
    )
    sa.event.listen(engine, "connect", _note_unconfirmed_commits)
    sa.event.listen(engine, "handle_error", _leave_standby)
    _ping_idle_connections(engine)
    return engine


def take_unconfirmed(connection: sa.Connection) -> bool:
    """Whether the server warned that a commit on this connection may not have reached its standby."""
    return connection.info.pop(_UNCONFIRMED, None) is not None


def is_pooled(url: sa.URL) -> bool:
    """Whether a pooler hands the server's connections from client to client after each transaction."""
    return "pooler" in url.query


def missing_timeouts(connection: sa.Connection) -> list[str]:
    """Timeouts of ours that connections lack, as behind a pooler."""
    names = ", ".join(f"'{name}'" for name in TIMEOUTS)
    found = connection.exec_driver_sql(f"SELECT name FROM pg_settings WHERE setting = '0' AND name IN ({names})")  # noqa: S608 - constants
    return sorted(row.name for row in found)


def memory(connection: sa.Connection) -> Memory:
    """The server's memory settings for the pages of this database."""
    sizes = "pg_size_bytes(current_setting('shared_buffers')), pg_database_size(current_database())"
    return Memory(*connection.exec_driver_sql(f"SELECT {sizes}").one())


def connect_arguments(url: sa.URL, target: str = "read-write") -> dict[str, Any]:
    """Arguments that the URL does not have itself; SQLAlchemy lets these win over the URL."""
    arguments = {name: value for name, value in CONNECTION_DEFAULTS.items() if name not in url.query}
    if _has_several_hosts(url) and "target_session_attrs" not in url.query:
        arguments["target_session_attrs"] = target
    if url.query.get("prepared_statements") == "off":
        arguments["prepare_threshold"] = None
    if is_pooled(url):
        return arguments  # a pooler refuses options, or ignores them
    given = url.query.get("options", "")
    options = [f"-c {name}={value}" for name, value in {**TIMEOUTS, "timezone": "UTC"}.items()]
    return arguments | {"options": " ".join([*options, *([given] if isinstance(given, str) else given)]).strip()}


def _has_several_hosts(url: sa.URL) -> bool:
    hosts = url.query.get("host", ())
    return "," in (url.host or "") or "," in hosts or (not isinstance(hosts, str) and len(hosts) > 1)


def _note_unconfirmed_commits(connection: psycopg.Connection[Any], record: ConnectionPoolEntry) -> None:
    """If the wait for a synchronous standby is cancelled, COMMIT succeeds, with no more than a warning."""

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        if diagnostic.source_function == _WAIT_FOR_STANDBY:
            record.info[_UNCONFIRMED] = True

    connection.add_notice_handler(note)


def _leave_standby(context: sa.engine.ExceptionContext) -> None:
    """Replace the connections if a write finds that they lead to a standby, as after a demotion behind one name."""
    if getattr(context.original_exception, "sqlstate", None) in REFUSED_BY_STANDBY and context.connection is not None:
        connection = context.connection.connection.driver_connection
        if connection is not None and connection.info.parameter_status("in_hot_standby") == "on":
            context.is_disconnect = True


def _ping_idle_connections(engine: sa.Engine) -> None:
    """Like the pool's pre_ping, but not for a connection used a moment ago: a ping is a round trip."""

    @sa.event.listens_for(engine, "checkin")
    def _returned(_connection: object, record: ConnectionPoolEntry) -> None:
        record.info["returned"] = time.monotonic()

    @sa.event.listens_for(engine, "checkout")
    def _taken(connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
        returned = record.info.get("returned")  # None for a new connection
        if returned is not None and time.monotonic() - returned > PING_AFTER_SECONDS:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error:
                raise sa.exc.InvalidatePoolError from None  # the pool replaces all its connections
