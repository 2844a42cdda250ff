"""Is ingestion running, and does every component answer? For metrics, `memorybase doctor` and readiness."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memorybase import errors
from memorybase.database import clock
from memorybase.operations import queries
from memorybase.services import Services

# A component that takes longer to answer counts as unavailable.
CHECK_SECONDS = 3.0
PART_NAMES = ("database", "redis", "chroma", "worker", "sweeper")

# Workers take jobs within seconds; a job that is due for this long is stuck.
STUCK_AFTER = timedelta(minutes=1)

# A separate pool: hanging checks must not occupy the threads of requests.
_threads = ThreadPoolExecutor(max_workers=20, thread_name_prefix="health")


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
class Vitals:
    """Counts stop at 100,000. Ages are in seconds on the database's clock; None if there is nothing to measure."""

    pending_sessions: int
    pending_messages: int
    oldest_pending_seconds: float | None
    jobs_queued: int
    jobs_running: int
    oldest_job_seconds: float | None
    stuck_jobs: int
    queue_stalled: bool
    dead_letters: int
    mismatched_memory_bases: int
    worker: Liveness
    sweeper: Liveness


def read_vitals(services: Services) -> Vitals:
    """Read everything from one snapshot. Raises DatabaseUnavailable."""
    with services.database.reading() as db:
        now = clock.now(db)
        pending = queries.pending(db)
        jobs = queries.active_jobs(db, now - STUCK_AFTER)
        stale = timedelta(seconds=services.settings.heartbeat_stale_seconds)
        by_kind = {row.kind: Liveness(row.alive, _age(now, row.last)) for row in queries.heartbeats(db, now - stale)}
        return Vitals(
            pending_sessions=pending.sessions,
            pending_messages=pending.messages,
            oldest_pending_seconds=_age(now, pending.oldest),
            jobs_queued=jobs.queued,
            jobs_running=jobs.running,
            oldest_job_seconds=_age(now, jobs.oldest),
            stuck_jobs=jobs.stuck,
            queue_stalled=_is_stalled(jobs.stuck, queries.last_started(db), now),
            dead_letters=queries.dead_letters(db),
            mismatched_memory_bases=queries.mismatched_bases(db),
            worker=by_kind.get("worker", Liveness(0, None)),
            sweeper=by_kind.get("sweeper", Liveness(0, None)),
        )


def check_parts(services: Services) -> list[Part]:
    """Check every component at once. One that does not answer in time is not ok. Raises no MemorybaseError."""
    checks: list[Future[Part]] = [
        _threads.submit(contextvars.copy_context().run, _check_part, services, name) for name in PART_NAMES
    ]
    wait_for(checks, timeout=CHECK_SECONDS)
    timed_out = f"No answer within {CHECK_SECONDS:g} s"
    return [
        Part(name, ok=False, problem=timed_out) if check.cancel() or not check.done() else check.result()
        for name, check in zip(PART_NAMES, checks, strict=True)
    ]


def liveness(services: Services, kind: str) -> Liveness:
    """The live processes of one kind. Raises NotReady if there is none, and DatabaseUnavailable."""
    with services.database.reading() as db:
        now = clock.now(db)
        stale = timedelta(seconds=services.settings.heartbeat_stale_seconds)
        row = {row.kind: row for row in queries.heartbeats(db, now - stale)}.get(kind)
    if row is None:
        raise errors.NotReady(f"no {kind} is running")
    age = max((now - row.last).total_seconds(), 0.0)
    if not row.alive:
        raise errors.NotReady(f"no heartbeat from a {kind} for {age:.0f} s")
    return Liveness(row.alive, age)


def oldest_pending_seconds(services: Services, user_id: UUID) -> float | None:
    """Age of the user's oldest message with pending ingestion; None without one. Raises DatabaseUnavailable.

    Messages below their threshold do not count.
    """
    with services.database.reading() as db:
        return _age(clock.now(db), queries.oldest_pending(db, user_id))


def _check_part(services: Services, name: str) -> Part:
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


def _ping_redis(services: Services) -> None:
    if services.queue.backlog() is None:
        raise errors.QueueUnavailable


_PINGS: dict[str, Callable[[Services], None]] = {
    "database": lambda services: services.database.ping(),
    "redis": _ping_redis,
    "chroma": lambda services: services.vectors.ping(),
}


def why_degraded(services: Services) -> str | None:
    """Why the queue counts as stalled; None if it does not. Raises DatabaseUnavailable."""
    with services.database.reading() as db:
        now = clock.now(db)
        stuck = queries.active_jobs(db, now - STUCK_AFTER).stuck
        is_stalled = _is_stalled(stuck, queries.last_started(db), now)
    return f"{stuck} jobs are due for more than a minute, and no job was started in that time" if is_stalled else None


def _is_stalled(stuck: int, last_started: datetime | None, now: datetime) -> bool:
    # In a long queue jobs wait for a minute too; while workers take jobs, it is not stalled.
    return stuck > 0 and (last_started is None or last_started <= now - STUCK_AFTER)


def _age(now: datetime, moment: datetime | None) -> float | None:
    return None if moment is None else max((now - moment).total_seconds(), 0.0)
