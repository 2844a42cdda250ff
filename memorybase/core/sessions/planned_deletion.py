"""Sessions and memory bases that are deleted on the web page: the sweeper deletes them, unless it is undone before."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID, uuid4

from memorybase.core import deletions, errors
from memorybase.core.database import clock
from memorybase.core.deletions import OfSession
from memorybase.core.queries import memory_bases, planned_deletions, sessions
from memorybase.core.queries.ownership import require_memory_base
from memorybase.core.queries.planned_deletions import BASES, SESSIONS
from memorybase.core.services import Services
from memorybase.core.sessions import edits
from memorybase.core.sessions.bulk import Chosen, by_flow
from memorybase.core.telemetry import get_logger

log = get_logger(__name__)

UNDO = timedelta(seconds=30)
SWEEP_PAGE = 200  # of each kind that one pass deletes


class PlannedBases(NamedTuple):
    """Memory bases that will be deleted, by their names."""

    batch_id: UUID
    names: list[str]


class PlannedSessions(NamedTuple):
    """Sessions that will be deleted; `missing`: the ids that do not exist."""

    batch_id: UUID
    sessions: list[Chosen]
    missing: list[str]


def plan_bases(services: Services, user_id: UUID, base_ids: Sequence[UUID]) -> PlannedBases:
    """Delete these memory bases in 30 seconds, unless `undo` comes before. Raises NotFound for any of them."""
    batch_id = uuid4()
    with services.database.transaction() as db:
        bases = [require_memory_base(db, user_id, each) for each in dict.fromkeys(base_ids)]
        names = [each.name for each in bases]
        planned_deletions.add(db, BASES, [each.id for each in bases], batch_id, user_id, clock.now(db) + UNDO)
    return PlannedBases(batch_id, names)


def plan_sessions(services: Services, user_id: UUID, chosen: Sequence[Chosen]) -> PlannedSessions:
    """Delete these sessions in 30 seconds, unless `undo` comes before. Raises InvalidRequest for too many, Held if
    one of them must be kept: then none is deleted."""
    batch_id = uuid4()
    planned: list[Chosen] = []
    with services.database.transaction() as db:
        due_at = clock.now(db) + UNDO
        for flow_id, ids in by_flow(chosen).items():
            rows = sessions.rows_of_user(db, user_id, flow_id, ids)
            for row in rows:
                deletions.check(db, services, user_id, OfSession(row))
            planned_deletions.add(db, SESSIONS, [row.id for row in rows], batch_id, user_id, due_at)
            planned += [Chosen(flow_id, row.session_id) for row in rows]
    missing = [each.session_id for each in dict.fromkeys(chosen) if each not in set(planned)]
    return PlannedSessions(batch_id, planned, missing)


def undo(services: Services, user_id: UUID, batch_id: UUID) -> int:
    """Cancel the planned deletions of a batch, and return their number. Raises NotFound if none is left to keep."""
    with services.database.transaction() as db:
        kept = sum(planned_deletions.withdraw(db, kind, user_id, batch_id) for kind in (SESSIONS, BASES))
    if not kept:
        raise errors.NotFound("There is no such planned deletion, or it is done", field="batch_id", value=batch_id)
    return kept


def is_base_planned(services: Services, user_id: UUID, base_id: UUID) -> bool:
    """Whether this memory base of the user will be deleted."""
    with services.database.reading() as db:
        return planned_deletions.is_planned(db, BASES, user_id, base_id)


def delete_due(services: Services) -> int:
    """Delete the sessions, and start the deletion of the memory bases, whose time to undo is over; of how many. The
    sweeper's next step finishes those of memory bases."""
    with services.database.reading() as db:
        now = clock.now(db)
        due = {kind: planned_deletions.due(db, kind, now, limit=SWEEP_PAGE) for kind in (BASES, SESSIONS)}
    started = sum(_start_base(services, each) for each in due[BASES])
    return started + sum(_delete_session(services, each) for each in due[SESSIONS])


def _start_base(services: Services, base_id: UUID) -> bool:
    with services.database.transaction() as db:
        memory_bases.lock_base(db, base_id)  # before the plan's row, as a deletion locks them
        now = clock.now(db)
        if not planned_deletions.finish(db, BASES, base_id, now):  # undone, or taken by another sweeper
            return False
        memory_bases.begin_deletion(db, base_id, now)
    log.info("memory_base_deletion_started", memory_base_id=str(base_id))
    return True


def _delete_session(services: Services, session_uuid: UUID) -> bool:
    with services.database.transaction() as db:
        now = clock.now(db)
        planned = planned_deletions.start(db, session_uuid, now)
    if planned is None:  # undone, or deleted by another sweeper
        return False
    with contextlib.suppress(errors.NotFound, errors.Held):  # deleted meanwhile, or held since: then it stays
        edits.delete_session(services, *planned)
    with services.database.transaction() as db:
        planned_deletions.finish(db, SESSIONS, session_uuid, now)
    return True
