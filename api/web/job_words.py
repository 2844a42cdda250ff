"""What the page says of a job that has not ended: its attempt, its worker, its last error, what it waits for. Pure."""

from __future__ import annotations

from datetime import datetime

from api.web.rendering import duration, plural
from memorybase.core.models import JobState
from memorybase.core.read_models.jobs import JobView


def details_of(job: JobView, worker: str | None, running: int, now: datetime) -> list[str]:
    """In the order in which they stand below the session; the error of an ended job too. `running`: jobs that run."""
    said = [f"{plural(job.attempts, 'attempt')}" if job.ended else f"attempt {max(job.attempts, 1)}"]
    if job.ended and job.attempts <= 1:
        said = []
    if job.total_chunks and not job.ended:
        said.append(f"{job.stored_chunks:,} of {plural(job.total_chunks, 'chunk')}")
    if worker is not None:
        said.append(f"worker {short(worker)}")
    if job.error:
        said.append(job.error)
    if job.state == JobState.QUEUED:
        said.append(_waits_for(job, running, now))
    return said


def short(worker: str) -> str:
    """Host and process of a worker's name: host, data directory, process, start time."""
    host, _, rest = worker.partition(":")
    process = rest.split(":")[1:2]
    return " ".join([host, *process])


def _waits_for(job: JobView, running: int, now: datetime) -> str:
    seconds = (job.available_at - now).total_seconds()
    if seconds > 0:
        return f"next attempt in {duration(seconds)}"
    if job.stored_chunks:
        return "others take their turn"
    return f"waits behind {plural(running, 'job')}" if running else "waits for a worker"
