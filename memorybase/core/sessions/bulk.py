"""Ingest what waits of many sessions at once, with a result for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from memorybase.core import errors
from memorybase.core.ingestion import flush
from memorybase.core.queries import memory_bases, sessions
from memorybase.core.queries.ownership import check_flow
from memorybase.core.services import Services

MAX_SESSIONS = 1_000


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


# Of one session in several memory bases the first of these is shown.
_SHOWN = (Outcome.FAILED, Outcome.QUEUED, Outcome.ACTIVE, Outcome.NOTHING_PENDING, Outcome.NO_MEMORY, Outcome.NOT_FOUND)


def sync_sessions(services: Services, user_id: UUID, chosen: Sequence[Chosen]) -> list[SyncResult]:
    """Queue what is pending of each session in every memory base of its flow. Raises InvalidRequest for too many."""
    results: dict[Chosen, SyncResult] = {}
    for flow_id, ids in by_flow(chosen).items():
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


def by_flow(chosen: Sequence[Chosen]) -> dict[UUID, list[str]]:
    """The session ids of each flow, each once. Raises InvalidRequest for too many sessions."""
    if len(chosen) > MAX_SESSIONS:
        raise errors.InvalidRequest(
            f"At most {MAX_SESSIONS} sessions at once", field="sessions", value=len(chosen), limit=MAX_SESSIONS
        )
    found: dict[UUID, list[str]] = defaultdict(list)
    for each in dict.fromkeys(chosen):
        found[each.flow_id].append(each.session_id)
    return found
