"""Is the work getting done, and is every part there? What the metrics, the doctor and the readiness check say."""

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
from memorybase.operations import queries as doctor
from memorybase.services import Services

# A part that takes longer than this to answer is not there, whatever it says then.
CHECK_SECONDS = 3.0
PART_NAMES = ("database", "redis", "chroma", "worker", "sweeper")

# Jobs are taken within seconds; one that is due for this long waits for something that does not come.
STUCK_AFTER = timedelta(minutes=1)

# Threads of their own: hanging checks must not take those that requests need.
_threads = ThreadPoolExecutor(max_workers=20, thread_name_prefix="vitals")


@dataclass(frozen=True, slots=True)
class Liveness:
    """Processes of one kind: how many live, and how long ago the last one said so."""

    alive: int
    age_seconds: float | None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the stack. `problem` is what is wrong in words, None where `ok`. `latency_seconds`: how long it took to
    answer. Of processes instead how many live, and how long ago the last one said so."""

    name: str
    ok: bool
    problem: str | None = None
    latency_seconds: float | None = None
    alive: int | None = None
    age_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Vitals:
    """Counts end at 100,000. Ages are in seconds on the database's clock; None where there is nothing to be old."""

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
    """Read all of it from one snapshot. Raises DatabaseUnavailable."""
    with services.database.reading() as db:
        now = clock.now(db)
        pending = doctor.pending(db)
        jobs = doctor.active_jobs(db, now - STUCK_AFTER)
        stale = timedelta(seconds=services.settings.heartbeat_stale_seconds)
        by_kind = {each.kind: Liveness(each.living, _age(now, each.last)) for each in doctor.alive(db, now - stale)}
        return Vitals(
            pending_sessions=pending.sessions,
            pending_messages=pending.messages,
            oldest_pending_seconds=_age(now, pending.oldest),
            jobs_queued=jobs.queued,
            jobs_running=jobs.running,
            oldest_job_seconds=_age(now, jobs.oldest),
            stuck_jobs=jobs.stuck,
            queue_stalled=_stands(jobs.stuck, doctor.last_started(db), now),
            dead_letters=doctor.dead_letters(db),
            mismatched_memory_bases=doctor.mismatched_bases(db),
            worker=by_kind.get("worker", Liveness(0, None)),
            sweeper=by_kind.get("sweeper", Liveness(0, None)),
        )


def check_parts(services: Services) -> list[Part]:
    """Every part, asked all at once; whichever does not answer in time is not ok. Raises nothing of ours."""
    asked: list[Future[Part]] = [
        _threads.submit(contextvars.copy_context().run, _examined, services, name) for name in PART_NAMES
    ]
    wait_for(asked, timeout=CHECK_SECONDS)
    late = f"No answer within {CHECK_SECONDS:g} s"
    return [
        Part(name, ok=False, problem=late) if each.cancel() or not each.done() else each.result()
        for name, each in zip(PART_NAMES, asked, strict=True)
    ]


def liveness(services: Services, kind: str) -> Liveness:
    """The living processes of one kind. Raises NotReady, saying since when there is none, and DatabaseUnavailable."""
    with services.database.reading() as db:
        now = clock.now(db)
        stale = timedelta(seconds=services.settings.heartbeat_stale_seconds)
        seen = {each.kind: each for each in doctor.alive(db, now - stale)}.get(kind)
    if seen is None:
        raise errors.NotReady(f"no {kind} is running")
    age = max((now - seen.last).total_seconds(), 0.0)
    if not seen.living:
        raise errors.NotReady(f"no sign of life from a {kind} for {age:.0f} s")
    return Liveness(seen.living, age)


def oldest_pending_seconds(services: Services, user_id: UUID) -> float | None:
    """How long the oldest message of the user's is owed to a memory base; None while nothing is. Messages that wait for
    their threshold are owed nothing. Raises DatabaseUnavailable."""
    with services.database.reading() as db:
        return _age(clock.now(db), doctor.oldest_pending(db, user_id))


def _examined(services: Services, name: str) -> Part:
    begun = time.monotonic()
    try:
        if name in {"worker", "sweeper"}:
            seen = liveness(services, name)
            return Part(name, ok=True, alive=seen.alive, age_seconds=seen.age_seconds)
        _PINGS[name](services)
    except errors.MemorybaseError as error:
        alive = 0 if isinstance(error, errors.NotReady) else None
        return Part(name, ok=False, problem=error.message, alive=alive)
    return Part(name, ok=True, latency_seconds=time.monotonic() - begun)


def _ping_redis(services: Services) -> None:
    if services.queue.backlog() is None:
        raise errors.QueueUnavailable


_PINGS: dict[str, Callable[[Services], None]] = {
    "database": lambda services: services.database.ping(),
    "redis": _ping_redis,
    "chroma": lambda services: services.vectors.ping(),
}


def why_degraded(services: Services) -> str | None:
    """Why the queue counts as standing still; None while it moves. Raises DatabaseUnavailable."""
    with services.database.reading() as db:
        now = clock.now(db)
        stuck = doctor.active_jobs(db, now - STUCK_AFTER).stuck
        stands = _stands(stuck, doctor.last_started(db), now)
    return f"{stuck} jobs are due for more than a minute, and no job was begun in that time" if stands else None


def _stands(stuck: int, last_started: datetime | None, now: datetime) -> bool:
    # A long queue has jobs that wait for a minute; while workers go on taking jobs, it moves.
    return stuck > 0 and (last_started is None or last_started <= now - STUCK_AFTER)


def _age(now: datetime, moment: datetime | None) -> float | None:
    return None if moment is None else max((now - moment).total_seconds(), 0.0)
