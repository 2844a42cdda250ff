"""Act on many sessions at once, with a result for each: ingest what waits, or delete, which can be undone."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID, uuid4

from memorybase import deletions, errors
from memorybase.database import clock
from memorybase.deletions import OfSession
from memorybase.ingestion import flush
from memorybase.memory_bases.planned_deletion import UNDO
from memorybase.queries import memory_bases, planned_deletions, sessions
from memorybase.queries.ownership import check_flow
from memorybase.queries.planned_deletions import Planned
from memorybase.services import Services
from memorybase.sessions import edits

MAX_SESSIONS = 1_000
SWEEP_PAGE = 200  # sessions that one pass deletes


class Chosen(NamedTuple):
    """A session by its flow and its id."""

    flow_id: UUID
    session_id: str


class Outcome(StrEnum):
    """Result for one session."""

    QUEUED = "queued"
    ACTIVE = "active"  # a job that started before handles it
    NOTHING_PENDING = "nothing_pending"
    NO_MEMORY = "no_memory"
    NOT_FOUND = "not_found"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SyncResult:
    """`jobs`: how many were queued. `error`: why a memory base queued none."""

    session: Chosen
    outcome: Outcome
    jobs: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DeletionPlan:
    """Sessions that will be deleted; `missing`: the ids that do not exist."""

    batch_id: UUID
    sessions: list[Chosen]
    missing: list[str]


# Of one session in several memory bases the first of these is shown.
_SHOWN = (Outcome.FAILED, Outcome.QUEUED, Outcome.ACTIVE, Outcome.NOTHING_PENDING, Outcome.NO_MEMORY, Outcome.NOT_FOUND)


def sync_sessions(services: Services, user_id: UUID, chosen: Sequence[Chosen]) -> list[SyncResult]:
    """Queue what is pending of each session in every memory base of its flow. Raises InvalidRequest for too many."""
    results: dict[Chosen, SyncResult] = {}
    for flow_id, ids in _by_flow(chosen).items():
        with services.database.reading() as db:
            try:
                check_flow(db, user_id, flow_id)
            except errors.NotFound:
                results |= {Chosen(flow_id, each): SyncResult(Chosen(flow_id, each), Outcome.NOT_FOUND) for each in ids}
                continue
            base_ids = memory_bases.base_ids_of_flow(db, flow_id)
            known = set(sessions.known_sessions(db, flow_id, ids))
        for each in ids:
            outcome = Outcome.NO_MEMORY if each in known else Outcome.NOT_FOUND
            results[Chosen(flow_id, each)] = SyncResult(Chosen(flow_id, each), outcome)
        for base_id in base_ids:
            for session_id, result in _sync_in_base(services, user_id, base_id, flow_id, sorted(known)).items():
                key = Chosen(flow_id, session_id)
                results[key] = _combined(results[key], result)
    return [results[each] for each in dict.fromkeys(chosen)]


def _sync_in_base(
    services: Services, user_id: UUID, base_id: UUID, flow_id: UUID, session_ids: list[str]
) -> dict[str, SyncResult]:
    def result(session_id: str, outcome: Outcome, jobs: int = 0, error: str | None = None) -> SyncResult:
        return SyncResult(Chosen(flow_id, session_id), outcome, jobs, error)

    try:
        flushed = flush.flush_sessions(services, user_id, base_id, session_ids)
    except errors.MemorybaseError as error:
        return {each: result(each, Outcome.FAILED, error=str(error)) for each in session_ids}
    found = {each: result(each, Outcome.NOTHING_PENDING) for each in session_ids}
    found |= {each.session_id: result(each.session_id, Outcome.ACTIVE) for each in flushed.conflicts}
    return found | {each.session_id: result(each.session_id, Outcome.QUEUED, 1) for each in flushed.jobs}


def _combined(one: SyncResult, other: SyncResult) -> SyncResult:
    outcome = min(one.outcome, other.outcome, key=_SHOWN.index)
    return SyncResult(one.session, outcome, one.jobs + other.jobs, one.error or other.error)


def plan_deletion(services: Services, user_id: UUID, chosen: Sequence[Chosen]) -> DeletionPlan:
    """Delete these sessions in 30 seconds, unless `undo_deletion` comes before. Raises InvalidRequest for too many,
    Held if one of them must be kept: then none is deleted."""
    batch_id = uuid4()
    planned: list[Chosen] = []
    with services.database.transaction() as db:
        due_at = clock.now(db) + UNDO
        for flow_id, ids in _by_flow(chosen).items():
            rows = sessions.rows_of_user(db, user_id, flow_id, ids)
            for row in rows:
                deletions.check(db, services, user_id, OfSession(row))
            planned_deletions.add(db, [row.id for row in rows], batch_id, user_id, due_at)
            planned += [Chosen(flow_id, row.session_id) for row in rows]
    missing = [each.session_id for each in dict.fromkeys(chosen) if each not in set(planned)]
    return DeletionPlan(batch_id, planned, missing)


def undo_deletion(services: Services, user_id: UUID, batch_id: UUID) -> int:
    """Cancel the planned deletion of a batch of sessions, and return their number. Raises NotFound if none is left to
    keep."""
    with services.database.transaction() as db:
        kept = planned_deletions.withdraw(db, user_id, batch_id)
    if not kept:
        raise errors.NotFound("There is no such planned deletion, or it is done", field="batch_id", value=batch_id)
    return kept


def delete_due_sessions(services: Services) -> int:
    """Delete the sessions whose time to undo is over, and return their number."""
    with services.database.reading() as db:
        due = planned_deletions.due(db, clock.now(db), limit=SWEEP_PAGE)
    return sum(_delete_due(services, planned) for planned in due)


def _delete_due(services: Services, planned: Planned) -> bool:
    with services.database.transaction() as db:
        if not planned_deletions.start(db, planned.session_uuid):  # withdrawn, or deleted by another sweeper
            return False
    with contextlib.suppress(errors.NotFound, errors.Held):  # deleted meanwhile, or held since: then it stays
        edits.delete_session(services, planned.user_id, planned.flow_id, planned.session_id)
    with services.database.transaction() as db:
        planned_deletions.finish(db, planned.session_uuid)
    return True


def _by_flow(chosen: Sequence[Chosen]) -> dict[UUID, list[str]]:
    if len(chosen) > MAX_SESSIONS:
        raise errors.InvalidRequest(
            f"At most {MAX_SESSIONS} sessions at once", field="sessions", value=len(chosen), limit=MAX_SESSIONS
        )
    found: dict[UUID, list[str]] = defaultdict(list)
    for each in dict.fromkeys(chosen):
        found[each.flow_id].append(each.session_id)
    return found
