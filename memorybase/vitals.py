"""Is the work getting done? The numbers behind the metrics, the doctor and the readiness check, all users together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from memorybase.queries import clock, doctor
from memorybase.services import Services

# Jobs are taken within seconds; one that is due for this long waits for something that does not come.
STUCK_AFTER = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Pulse:
    """Processes of one kind: how many live, and how long ago the last one said so."""

    alive: int
    age_seconds: float | None


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
    queue_stands: bool
    dead_letters: int
    mismatched_memory_bases: int
    worker: Pulse
    sweeper: Pulse


def take(services: Services) -> Vitals:
    """Read all of it from one snapshot. Raises DatabaseUnavailable."""
    with services.database.reading() as session:
        now = clock.now(session)
        owed = doctor.owed(session)
        jobs = doctor.active_jobs(session, now - STUCK_AFTER)
        stale = timedelta(seconds=services.settings.heartbeat_stale_seconds)
        pulses = {each.kind: Pulse(each.living, _age(now, each.last)) for each in doctor.alive(session, now - stale)}
        return Vitals(
            pending_sessions=owed.sessions,
            pending_messages=owed.messages,
            oldest_pending_seconds=_age(now, owed.oldest),
            jobs_queued=jobs.queued,
            jobs_running=jobs.running,
            oldest_job_seconds=_age(now, jobs.oldest),
            stuck_jobs=jobs.stuck,
            queue_stands=_stands(jobs.stuck, doctor.last_begun(session), now),
            dead_letters=doctor.dead_letters(session),
            mismatched_memory_bases=doctor.mismatched_bases(session),
            worker=pulses.get("worker", Pulse(0, None)),
            sweeper=pulses.get("sweeper", Pulse(0, None)),
        )


def why_degraded(services: Services) -> str | None:
    """Why the queue counts as standing still; None while it moves. Raises DatabaseUnavailable."""
    with services.database.reading() as session:
        now = clock.now(session)
        stuck = doctor.active_jobs(session, now - STUCK_AFTER).stuck
        stands = _stands(stuck, doctor.last_begun(session), now)
    return f"{stuck} jobs are due for more than a minute, and no job was begun in that time" if stands else None


def _stands(stuck: int, last_begun: datetime | None, now: datetime) -> bool:
    # A long queue has jobs that wait for a minute; while workers go on taking jobs, it moves.
    return stuck > 0 and (last_begun is None or last_begun <= now - STUCK_AFTER)


def _age(now: datetime, moment: datetime | None) -> float | None:
    return None if moment is None else max((now - moment).total_seconds(), 0.0)
