"""Whether a vector store takes writes, by what the sweeper's checks and the workers experience.

A store that answers may hang or refuse every write. The sweeper writes a test record every `CHECK_EVERY` and, after a
success, the store's heartbeat. Workers leave the error of each attempt in their jobs.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.models import IS_ACTIVE, Generation, Heartbeat, IngestionJob
from memorybase.queries import heartbeats, jobs
from memorybase.settings import Settings
from memorybase.vectors.collection_names import UNNAMED, suffix_of

STORE = "vector store"  # the kind of its heartbeat
CHECK_TURN = "turn:vector store"
CHECK_EVERY = timedelta(seconds=10)
# Three failed checks: one may be late on a busy machine.
CHECKS_FAIL_AFTER = timedelta(seconds=30)
# A job that the store failed this often is no accident; the pauses between its attempts add up to seconds.
REPEATED_OUTAGES = 3
NO_PROGRESS = timedelta(seconds=30)
COUNT_TO = 1_000


def heartbeat_of(server: str) -> str:
    """The name of a server's heartbeat."""
    return STORE + suffix_of(server)


def store_problem(db: OrmSession, settings: Settings, now: datetime, server: str) -> str | None:
    """Why the server counts as failing although it may answer; None if nothing speaks against it."""
    return _failed_checks(db, settings, now, server) or _failed_jobs(db, now, server)


def failing_stores(db: OrmSession, settings: Settings, now: datetime) -> set[str]:
    """The servers that count as failing."""
    return {server for server in settings.vector_servers if store_problem(db, settings, now, server) is not None}


def _failed_checks(db: OrmSession, settings: Settings, now: datetime, server: str) -> str | None:
    last = db.scalar(sa.select(Heartbeat.beat_at).where(Heartbeat.name == heartbeat_of(server)))
    if last is None or now - last <= CHECKS_FAIL_AFTER:
        return None
    # Without a sweeper nobody checks.
    if not heartbeats.is_alive(db, "sweeper", now - timedelta(seconds=settings.heartbeat_stale_seconds)):
        return None
    return f"no test write has succeeded for {(now - last).total_seconds():.0f} s"


def is_in(server: str) -> sa.ColumnElement[bool]:
    """Whether the server has a generation's collection."""
    name = Generation.collection_name
    return ~name.contains(".") if server == UNNAMED else name.endswith(suffix_of(server))


def _failed_jobs(db: OrmSession, now: datetime, server: str) -> str | None:
    failing = (
        sa.select(IngestionJob.id)
        .join(
            Generation,
            (Generation.memory_base_id == IngestionJob.memory_base_id)
            & (Generation.generation == IngestionJob.generation),
        )
        .where(
            is_in(server),
            IS_ACTIVE,
            IngestionJob.session_id >= "",  # makes SQLite use the index on active jobs
            IngestionJob.error_code == errors.VectorStoreUnavailable.code,
            IngestionJob.outages >= REPEATED_OUTAGES,
        )
        .limit(COUNT_TO)
    )
    count = db.scalar(sa.select(sa.func.count()).select_from(failing.subquery()))
    if not count:
        return None
    last = jobs.last_done(db, now)
    if last is not None and now - last <= NO_PROGRESS:
        return None  # the store works for others
    return f"it fails {count} {'job' if count == 1 else 'jobs'} repeatedly, and none has ended since"
