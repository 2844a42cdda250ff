"""Is ingestion running, and does every component answer? For metrics, `memorybase doctor` and readiness."""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deadlines, errors
from memorybase.core.database import clock, schema
from memorybase.core.extension import Gauge
from memorybase.core.queries import heartbeats, jobs, statistics
from memorybase.core.queries.statistics import LongJob
from memorybase.core.queries.store_health import store_problem
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.core.vector_stores import VECTOR_STORES, VectorStoreName
from memorybase.core.vectors.stores import store_named

# A component that takes longer to answer counts as unavailable.
CHECK_SECONDS = 3.0

# Workers take jobs within seconds; a job that is due for this long is stuck. One that an outage postponed is retried
# within a lease; after this long it is no short outage.
STUCK_AFTER = timedelta(minutes=1)

# A page asks every two seconds: more are not counted.
DUE_COUNTED = 10_000
RATE_OVER, RATE_AT_LEAST_OVER = timedelta(minutes=1), timedelta(seconds=5)

# This many processes of one kind lost within this time, and none that lives for longer than STEADY: they keep crashing,
# each after its first heartbeats, which alone would look alive.
CRASHES = 3
CRASHES_WITHIN = timedelta(minutes=2)
STEADY = timedelta(seconds=15)

# A separate pool: hanging checks must not occupy the threads of requests.
threads = ThreadPoolExecutor(max_workers=20, thread_name_prefix="health")


@dataclass(frozen=True, slots=True)
class Liveness:
    """Processes of one kind: how many are alive, and the age of the latest heartbeat."""

    alive: int
    age_seconds: float | None


@dataclass(frozen=True, slots=True)
class Part:
    """A component of the stack. `problem` is None if `ok`.

    A service has a latency. Workers and sweepers have a count, and the age of the latest heartbeat.
    """

    name: str
    ok: bool
    problem: str | None = None
    latency_seconds: float | None = None
    alive: int | None = None
    age_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Backlog:
    """Messages that are due, at most DUE_COUNTED, and how long they take at the rate since the first ingestion of the
    last minute; None without one."""

    messages: int
    seconds_left: float | None

    @property
    def is_capped(self) -> bool:
        return self.messages >= DUE_COUNTED


@dataclass(frozen=True, slots=True)
class Vitals:
    """Counts stop at 100,000. Ages are in seconds on the database's clock; None if there is nothing to measure."""

    pending_sessions: int
    pending_messages: int
    oldest_pending_seconds: float | None
    oldest_uningested_seconds: float | None
    jobs_queued: int
    jobs_running: int
    jobs_queued_high: int
    jobs_queued_normal: int
    jobs_queued_low: int
    oldest_job_seconds: float | None
    stuck_jobs: int
    retried_jobs: int
    jobs_without_progress: int
    queue_stalled: bool
    dead_letters: int
    mismatched_memory_bases: int
    missing_chunks: int
    oldest_comparison_seconds: float | None
    worker: Liveness
    sweeper: Liveness
    longest_job: LongJob | None = None
    of_features: tuple[Gauge, ...] = ()


def read_vitals(services: Services) -> Vitals:
    """Read everything from one snapshot. Raises DatabaseUnavailable."""
    with services.database.reading() as db:
        now = clock.now(db)
        due = statistics.due(db)
        waiting = due.oldest, statistics.oldest_below_threshold(db)
        compared = statistics.comparisons(db)
        active = statistics.active_jobs(db, now - STUCK_AFTER)
        stale = timedelta(seconds=deadlines.HEARTBEAT_STALE_SECONDS)
        by_kind = {row.kind: Liveness(row.alive, _age(now, row.last)) for row in statistics.heartbeats(db, now - stale)}
        return Vitals(
            pending_sessions=due.sessions,
            pending_messages=due.messages,
            oldest_pending_seconds=_age(now, due.oldest),
            oldest_uningested_seconds=_age(now, min(filter(None, waiting), default=None)),
            jobs_queued=active.queued,
            jobs_running=active.running,
            jobs_queued_high=active.queued_high,
            jobs_queued_normal=active.queued - active.queued_high - active.queued_low,
            jobs_queued_low=active.queued_low,
            oldest_job_seconds=_age(now, active.oldest),
            stuck_jobs=active.stuck,
            retried_jobs=active.retried,
            jobs_without_progress=active.without_progress,
            queue_stalled=_is_stalled(db, active, now),
            dead_letters=statistics.dead_letters(db),
            mismatched_memory_bases=compared.differing,
            missing_chunks=compared.missing,
            oldest_comparison_seconds=_age(now, compared.oldest),
            worker=by_kind.get("worker", Liveness(0, None)),
            sweeper=by_kind.get("sweeper", Liveness(0, None)),
            longest_job=statistics.longest_job(db),
            of_features=tuple(gauge for hooks in services.hooks for gauge in hooks.gauges(db, services)),
        )


def part_names(settings: Settings) -> tuple[str, ...]:
    """The components that must work."""
    broker = ("broker",) if settings.broker_url else ()
    queues = () if settings.one_process else ("redis", *broker)
    return ("database", *queues, *settings.vector_stores_in_use, "worker", "sweeper")


def check_parts(services: Services) -> list[Part]:
    """Check every component at once. One that does not answer in time is not ok. Raises no MemorybaseError."""
    names = part_names(services.settings)
    checks: list[Future[Part]] = [
        threads.submit(contextvars.copy_context().run, check_part, services, name) for name in names
    ]
    wait_for(checks, timeout=CHECK_SECONDS)
    timed_out = f"No answer within {CHECK_SECONDS:g} s"
    return [
        Part(name, ok=False, problem=timed_out) if check.cancel() or not check.done() else check.result()
        for name, check in zip(names, checks, strict=True)
    ]


def liveness(services: Services, kind: str) -> Liveness:
    """The live processes of one kind. Raises NotReady if there is none or they keep crashing; DatabaseUnavailable."""
    with services.database.reading() as db:
        now = clock.now(db)
        stale = timedelta(seconds=deadlines.HEARTBEAT_STALE_SECONDS)
        row = {row.kind: row for row in statistics.heartbeats(db, now - stale)}.get(kind)
        recent = heartbeats.since(db, kind, now - CRASHES_WITHIN)
    if row is None:
        raise errors.NotReady(f"no {kind} is running")
    age = max((now - row.last).total_seconds(), 0.0)
    if not row.alive:
        raise errors.NotReady(f"no heartbeat from a {kind} for {age:.0f} s")
    silent = timedelta(seconds=3 * deadlines.HEARTBEAT_SECONDS)
    lost = sum(latest < now - silent for _, latest in recent)
    if lost >= CRASHES and not any(latest - first >= STEADY and latest >= now - silent for first, latest in recent):
        raise errors.NotReady(f"{lost} {kind}s were lost in the last two minutes, each soon after its start")
    return Liveness(row.alive, age)


def oldest_pending_seconds(services: Services, user_id: UUID) -> float | None:
    """Age of the user's oldest message with pending ingestion; None without one. Raises DatabaseUnavailable.

    Messages below their threshold do not count.
    """
    with services.database.reading() as db:
        return _age(clock.now(db), statistics.oldest_due(db, user_id))


def backlog(services: Services, user_id: UUID) -> Backlog:
    """The user's due messages, and the time that they take. Raises DatabaseUnavailable."""
    with services.database.reading() as db:
        due = statistics.due_messages(db, user_id, at_most=DUE_COUNTED)
        if not due:
            return Backlog(0, None)
        now = clock.now(db)
        ingested, first = statistics.ingested_since(db, user_id, now - RATE_OVER)
    if first is None:
        return Backlog(due, None)
    return Backlog(due, due / ingested * max(now - first, RATE_AT_LEAST_OVER).total_seconds())


def check_vector_store(services: Services, store: VectorStoreName) -> None:
    """Read from a vector store, and see what checks and workers experience. Raises VectorStoreUnavailable.

    Without a database only the read decides.
    """
    store_named(services.vectors, store).ping()
    problem = None
    with contextlib.suppress(errors.DatabaseUnavailable), services.database.reading() as db:
        problem = store_problem(db, clock.now(db), store)
    if problem is not None:
        raise errors.VectorStoreUnavailable(f"The vector store answers but does not work: {problem}")


def check_part(services: Services, name: str) -> Part:
    """Check one component, as long as that takes. Raises no MemorybaseError."""
    started = time.monotonic()
    try:
        if name in {"worker", "sweeper"}:
            processes = liveness(services, name)
            return Part(name, ok=True, alive=processes.alive, age_seconds=processes.age_seconds)
        _PINGS[name](services)
    except errors.MemorybaseError as error:
        alive = 0 if isinstance(error, errors.NotReady) else None
        return Part(name, ok=False, problem=error.message, alive=alive)
    return Part(name, ok=True, latency_seconds=time.monotonic() - started)


def _ping_broker(services: Services) -> None:
    if services.queue.backlog() is None:
        raise errors.QueueUnavailable


def _ping_redis(services: Services) -> None:
    if services.settings.broker_url:
        services.locks.held(uuid4(), "health")
    else:
        _ping_broker(services)


def _ping_database(services: Services) -> None:
    """Check the database and its tables: a new version without its tables must not replace a working old one."""
    services.database.ping()
    revision = schema.missing_since(services.database)
    if revision is not None:
        text = f"The tables are at revision {revision}, which is older than this version. Run `memorybase migrate`."
        raise errors.DatabaseUnavailable(text)


_PINGS: dict[str, Callable[[Services], None]] = {
    "database": _ping_database,
    "redis": _ping_redis,
    "broker": _ping_broker,
    **{store: partial(check_vector_store, store=store) for store in VECTOR_STORES},
}


def why_degraded(services: Services) -> str | None:
    """Why the queue counts as stalled; None if it does not. Raises DatabaseUnavailable."""
    with services.database.reading() as db:
        now = clock.now(db)
        active = statistics.active_jobs(db, now - STUCK_AFTER)
        is_stalled = _is_stalled(db, active, now)
    if not is_stalled:
        return None
    return f"{active.stuck + active.retried} jobs are due for more than a minute, and none has ended in that time"


def _is_stalled(db: OrmSession, active: statistics.Jobs, now: datetime) -> bool:
    """Whether jobs are overdue and no session's position advances: jobs that start again and again are no progress.

    In a long queue jobs wait for a minute too; while others end, it is not stalled. A job that takes minutes stalls
    those that wait for it.
    """
    if not active.retried and not active.stuck:
        return False
    last = jobs.last_done(db, now)
    return last is None or last <= now - STUCK_AFTER


def _age(now: datetime, moment: datetime | None) -> float | None:
    return None if moment is None else max((now - moment).total_seconds(), 0.0)
