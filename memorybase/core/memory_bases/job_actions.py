"""Run jobs that wait after an outage now, or cancel them: all that match a filter, in short transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from pydantic import Field

from memorybase.core.database import clock
from memorybase.core.described import DryRun, Id, Remaining, Taken
from memorybase.core.ingestion import scheduler
from memorybase.core.memory_bases.regenerate import put_back
from memorybase.core.memory_bases.session_batches import session_batches
from memorybase.core.queries import cursors, job_lists, jobs, memory_bases
from memorybase.core.queries.job_lists import JobAction, JobFilter, JobPlace, JobSkipReason
from memorybase.core.queries.ownership import check_flow, require_memory_base
from memorybase.core.services import Services

MAX_AT_ONCE = 1000  # jobs in one action
AT_ONCE = 200  # by default: it answers within about a second


@dataclass(frozen=True, slots=True)
class JobResult:
    """Result of an action on a job."""

    id: Id
    memory_base_id: Annotated[UUID | None, Field(description="The memory base.")]
    session_id: Annotated[str | None, Field(description="The session's id, chosen by the caller.")]
    reason: Annotated[
        JobSkipReason | None,
        Field(
            description="Why the action left the job alone; null if it took it. `not_found`: it does not exist. "
            "`ended`: it is done or cancelled, or a worker or another call was first. `running`: a "
            "worker has it. `due`: it waits for a worker only. `replaced`: it failed, and other jobs "
            "took its messages. `repair`: the store must match the messages. `build`: it belongs to a "
            "regenerate."
        ),
    ]


@dataclass(frozen=True, slots=True)
class JobResults:
    """A result for each job of this call."""

    action: Annotated[JobAction, Field(description="The action.")]
    results: Annotated[list[JobResult], Field(description="A result for each job; empty after a dry run.")]
    remaining: Remaining
    taken: Taken
    skipped: Annotated[
        dict[str, int], Field(description="How many it left alone, by reason: the reasons of the results.")
    ]
    dry_run: DryRun


def act_on_jobs(
    services: Services,
    user_id: UUID,
    action: JobAction,
    wanted: JobFilter,
    *,
    limit: int = AT_ONCE,
    dry_run: bool = False,
) -> JobResults:
    """Retry or cancel up to `limit` jobs, oldest first, or with `dry_run` count them.

    Raises NotFound for the filter's memory base or flow.
    """
    skipped: Counter[str] = Counter()
    with services.database.reading() as db:
        if wanted.memory_base_id is not None:
            require_memory_base(db, user_id, wanted.memory_base_id)
        if wanted.flow_id is not None:
            check_flow(db, user_id, wanted.flow_id)
        now = clock.now(db)
        matching = 0
        if wanted.ids is None:
            counts = job_lists.count_jobs(db, user_id, action, wanted, now)
            matching = counts.pop(None, 0)
            skipped.update({name: number for name, number in counts.items() if name is not None})
            if dry_run:
                return JobResults(action, [], matching, matching, dict(skipped), dry_run=True)
        at_most = limit if wanted.ids is None else MAX_AT_ONCE
        found = job_lists.find_jobs(db, user_id, action, wanted, now, limit=at_most)
    results = {each: JobResult(each, None, None, JobSkipReason.NOT_FOUND) for each in wanted.ids or ()}
    results |= {place.id: _result(place, place.reason) for place in found}
    if not dry_run:
        results |= _act(services, action, [place for place in found if place.reason is None])
    skipped.update(result.reason for result in results.values() if result.reason is not None)
    taken = sum(result.reason is None for result in results.values())
    remaining = max(matching - len(found), 0)
    listed = [] if dry_run else list(results.values())
    return JobResults(action, listed, remaining, taken, dict(skipped), dry_run)


def _act(services: Services, action: JobAction, places: Sequence[JobPlace]) -> dict[UUID, JobResult]:
    """Apply the action in short transactions, each over sessions of one memory base."""
    results: dict[UUID, JobResult] = {}
    for base_id, sessions in session_batches(places):
        taken = _act_in_sessions(services, action, base_id, sessions)
        for place in (each for of_session in sessions.values() for each in of_session):
            results[place.id] = _result(place, None if place.id in taken else JobSkipReason.ENDED)
    return results


def _act_in_sessions(
    services: Services, action: JobAction, base_id: UUID, sessions: Mapping[str, Sequence[JobPlace]]
) -> set[UUID]:
    """The jobs that were taken; the others have ended meanwhile, or a worker has begun them."""
    with services.database.transaction() as db:
        base = memory_bases.share_base(db, base_id)
        if base is None or base.deleting_at is not None:
            return set()
        rows = {row.id: row for session_id in sessions for row in cursors.lock_rows(db, [base_id], session_id)}
        now = clock.now(db)
        ids = [place.id for places in sessions.values() for place in places]
        # A session that was renamed meanwhile is not locked; the next call finds its job.
        takeable = job_lists.lock_takeable(db, action, ids, now)
        taken = [job for job in takeable if job.progress_id in rows]
        if action is JobAction.RETRY:
            for job in taken:
                jobs.update(db, job, available_at=now, notify_at=now, notified_at=now)
            scheduler.enqueue_after_commit(db, services, taken)
        else:
            jobs.cancel_jobs(db, [job.id for job in taken], now, "cancelled by request")
            for job in taken:
                put_back(db, services, rows[job.progress_id], now)
        return {job.id for job in taken}


def _result(place: JobPlace, reason: str | None) -> JobResult:
    return JobResult(
        place.id, place.memory_base_id, place.session_id, None if reason is None else JobSkipReason(reason)
    )
