"""Reads on a standby that has replayed everything that was committed before the read began.

The primary says how far its log goes, and the standby whether it has replayed that. So a caller reads its own writes,
and those of workers, in whichever process they were made, and processes need not tell each other anything. If the
standby is behind or unreachable, the primary is read instead for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import sqlalchemy as sa

from memorybase.core import metrics
from memorybase.core.circuit import Circuit
from memorybase.core.database import postgresql

# A standby that streams is milliseconds behind; waiting for it costs less than reading the primary.
WAIT_SECONDS = 0.05
POLL_SECONDS = 0.002
BEHIND_SECONDS = 1.0  # until a standby that was behind is tried again
AWAY_SECONDS = 5.0  # the same for one that did not answer: trying costs a connection's timeout

_POSITION = "SELECT pg_current_wal_flush_lsn()::text"
# A server that is no standby any more, or follows nobody, may have another history, whose positions say nothing.
_HAS_REPLAYED = """
SELECT pg_is_in_recovery() AND EXISTS (SELECT FROM pg_stat_wal_receiver)
    AND pg_last_wal_replay_lsn() >= CAST(%(position)s AS pg_lsn)
"""
_BYTES_BEHIND = "SELECT CAST(%(position)s AS pg_lsn) - pg_last_wal_replay_lsn() WHERE pg_is_in_recovery()"


# Shared by the reads within `shared_position`: the end of the primary's log at the first of them.
_POSITIONS: ContextVar[list[str] | None] = ContextVar("positions", default=None)


@contextmanager
def shared_position() -> Iterator[None]:
    """The primary is asked once for all reads of this block, which see at least what was committed when it began."""
    token = _POSITIONS.set([])
    try:
        yield
    finally:
        _POSITIONS.reset(token)


def position(primary: sa.Engine) -> str:
    """The end of the primary's log on its disk: every acknowledged commit is before it."""
    with primary.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        found: str = connection.exec_driver_sql(_POSITION).scalar_one()
        return found


class Replica:
    """A standby for reads; `connect` returns None while it cannot be used."""

    def __init__(self, url: str, *, pool_size: int) -> None:
        self.engine = postgresql.create_engine(sa.make_url(url), pool_size, target="prefer-standby")
        self._circuit = Circuit(AWAY_SECONDS)

    def connect(self, primary: sa.Engine) -> sa.Connection | None:
        """A connection that sees all that is committed on the primary by now. Raises SQLAlchemy's errors of the
        primary, not the standby's."""
        if self._circuit.is_paused:
            metrics.REPLICA_READS.labels("skipped").inc()
            return None
        target = _position_to_reach(primary)
        try:
            if (connection := self._caught_up(target)) is not None:
                metrics.REPLICA_READS.labels("replica").inc()
                return connection
        except sa.exc.SQLAlchemyError:
            self.leave(AWAY_SECONDS)
            metrics.REPLICA_READS.labels("away").inc()
            return None
        self.leave(BEHIND_SECONDS)
        metrics.REPLICA_READS.labels("behind").inc()
        return None

    def leave(self, seconds: float = AWAY_SECONDS) -> None:
        """Read the primary for this time."""
        self._circuit.failed(seconds)

    def bytes_behind(self, primary: sa.Engine) -> int | None:
        """Bytes of the primary's log that the standby has not replayed; None if it is no standby. Raises SQLAlchemy's
        errors."""
        target = position(primary)
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            behind = connection.exec_driver_sql(_BYTES_BEHIND, {"position": target}).scalar()
        return None if behind is None else max(int(behind), 0)

    def _caught_up(self, target: str) -> sa.Connection | None:
        connection = self.engine.connect()
        try:
            # Before the transaction: its snapshot would be older than the answer.
            connection.execution_options(isolation_level="AUTOCOMMIT")
            if _wait(lambda: connection.exec_driver_sql(_HAS_REPLAYED, {"position": target}).scalar() is True):
                connection.rollback()  # sends nothing; SQLAlchemy forgets that a statement ran
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        return None


def _position_to_reach(primary: sa.Engine) -> str:
    shared = _POSITIONS.get()
    if shared is None:
        return position(primary)
    if not shared:
        shared.append(position(primary))
    return shared[0]


def _wait(is_true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
