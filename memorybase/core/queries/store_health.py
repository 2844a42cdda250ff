"""Whether a vector store takes writes, by what the sweeper's checks and the workers experience.

A store that answers may hang or refuse every write. The sweeper writes a test record every `CHECK_EVERY` and, after a
success, the store's heartbeat. Workers leave the error of each attempt in their jobs.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deadlines, errors
from memorybase.core.models import Generation, Heartbeat, IngestionJob
from memorybase.core.queries import heartbeats, jobs
from memorybase.core.queries.planner_hints import IS_ACTIVE_BY_INDEX
from memorybase.core.settings import Settings
from memorybase.core.vector_stores import VECTOR_STORES, VectorStoreName

STORE = "vector store"  # the kind of its heartbeat
CHECK_TURN = "turn:vector store"
CHECK_EVERY = timedelta(seconds=10)
# Three failed checks: one may be late on a busy machine.
CHECKS_FAIL_AFTER = timedelta(seconds=30)
# A job that the store failed this often is no accident; the pauses between its attempts add up to seconds.
REPEATED_OUTAGES = 3
NO_PROGRESS = timedelta(seconds=30)
COUNT_TO = 1_000


def heartbeat_of(store: VectorStoreName) -> str:
    """The name of a store's heartbeat."""
    return STORE + VECTOR_STORES[store].suffix


def store_problem(db: OrmSession, now: datetime, store: VectorStoreName) -> str | None:
    """Why the store counts as failing although it may answer; None if nothing speaks against it."""
    return _failed_checks(db, now, store) or _failed_jobs(db, now, store)


def failing_stores(db: OrmSession, settings: Settings, now: datetime) -> set[VectorStoreName]:
    """The stores that count as failing."""
    return {store for store in settings.vector_stores_in_use if store_problem(db, now, store) is not None}


def _failed_checks(db: OrmSession, now: datetime, store: VectorStoreName) -> str | None:
    last = db.scalar(sa.select(Heartbeat.beat_at).where(Heartbeat.name == heartbeat_of(store)))
    if last is None or now - last <= CHECKS_FAIL_AFTER:
        return None
    # Without a sweeper nobody checks.
    if not heartbeats.is_alive(db, "sweeper", now - timedelta(seconds=deadlines.HEARTBEAT_STALE_SECONDS)):
        return None
    return f"no test write has succeeded for {(now - last).total_seconds():.0f} s"


def is_in(store: VectorStoreName) -> sa.ColumnElement[bool]:
    """Whether the store has a generation's collection."""
    name = Generation.collection_name
    return name.endswith(VECTOR_STORES[store].suffix) if VECTOR_STORES[store].suffix else ~name.contains(".")


def _failed_jobs(db: OrmSession, now: datetime, store: VectorStoreName) -> str | None:
    failing = (
        sa.select(IngestionJob.id)
        .join(
            Generation,
            (Generation.memory_base_id == IngestionJob.memory_base_id)
            & (Generation.generation == IngestionJob.generation),
        )
        .where(
            is_in(store),
            IS_ACTIVE_BY_INDEX,
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
