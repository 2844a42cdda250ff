"""The workers, their jobs, and requests that one of them stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from memorybase.core import deadlines, errors
from memorybase.core.database import clock
from memorybase.core.models import Heartbeat
from memorybase.core.queries import heartbeats
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services


class WorkerState(StrEnum):
    """running: takes jobs. draining: ends its jobs and stops. lost: no heartbeat for 15 seconds."""

    RUNNING = "running"
    DRAINING = "draining"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A worker with what it holds."""

    name: Annotated[str, Field(description="Host, data directory, process and start time.")]
    state: Annotated[
        WorkerState,
        Field(
            description="`running`; `draining`: it ends its jobs and takes no others; `lost`: its heartbeats have "
            "stopped."
        ),
    ]
    started_at: Annotated[datetime, Field(description="When it started.")]
    last_seen_at: Annotated[datetime, Field(description="Its last heartbeat.")]
    drain_requested_at: Annotated[
        datetime | None, Field(description="When somebody asked it to stop; null: nobody has.")
    ]
    draining_at: Annotated[datetime | None, Field(description="Since when it takes no jobs; null: it takes them.")]
    jobs: Annotated[int, Field(description="Number of jobs that it holds.")]
    messages: Annotated[int, Field(description="Number of messages in these jobs.")]
    oldest_job_at: Annotated[
        datetime | None, Field(description="When the first of these jobs started; null without one.")
    ]


@dataclass(frozen=True, slots=True)
class Workers:
    """Every worker that has a heartbeat, the one that has run longest first. A clean stop leaves none."""

    items: Annotated[
        list[WorkerView], Field(description="Every worker that has a heartbeat, the one that has run longest first.")
    ]


def list_workers(services: Services) -> Workers:
    """Workers of all users, with numbers only. One that was killed is listed for a day."""
    with services.database.reading() as db:
        held = heartbeats.held_by_owner(db)
        fresh = clock.now(db) - timedelta(seconds=deadlines.HEARTBEAT_STALE_SECONDS)
        return Workers([_view(each, fresh, held) for each in heartbeats.workers(db)])


def _view(worker: Heartbeat, fresh: datetime, held: Mapping[str, heartbeats.HeldJobs]) -> WorkerView:
    state = WorkerState.RUNNING if worker.draining_at is None else WorkerState.DRAINING
    holds = held.get(worker.name, heartbeats.NOTHING_HELD)
    state = state if worker.beat_at >= fresh else WorkerState.LOST
    return view_of(WorkerView, worker, holds, state=state, last_seen_at=worker.beat_at)


def request_drain(services: Services, name: str) -> str:
    """Ask the worker with this name, or a part of it that no other has, to end its jobs and stop; its whole name.

    It reads the request with its next heartbeat. Raises NotFound, and InvalidRequest if several workers match, or in
    one process.
    """
    if services.settings.one_process:
        text = "The worker is in the process that serves the API, which would stop too. Stop that: its jobs end first."
        raise errors.InvalidRequest(text)
    with services.database.transaction() as db:
        now = clock.now(db)
        fresh = now - timedelta(seconds=deadlines.HEARTBEAT_STALE_SECONDS)
        names = [each.name for each in heartbeats.workers(db) if each.beat_at >= fresh]
        matching = [each for each in names if each == name] or [each for each in names if name in each]
        if not matching:
            existing = f"Running: {', '.join(names)}" if names else "No worker runs"
            raise errors.NotFound(f"There is no running worker named {name}. {existing}.", field="name", value=name)
        if len(matching) > 1:
            text = f"name must match one worker, and {name} matches {', '.join(matching)}"
            raise errors.InvalidRequest(text, field="name", value=name)
        heartbeats.request_drain(db, matching[0], now)
        return matching[0]


def find_worker(services: Services, name: str) -> WorkerView | None:
    """The worker with this name; None once it has stopped."""
    return next((each for each in list_workers(services).items if each.name == name), None)
