"""Delete flows, and remove the rows of deleted sessions once every store is repaired."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from uuid import UUID

from memorybase.core import deletions
from memorybase.core.database import clock
from memorybase.core.database.due import change_if_due
from memorybase.core.deletions import OfFlow
from memorybase.core.memory_bases.deletion import DELETE_PAGE, delete_in_pages, drain, finish_deletion
from memorybase.core.queries import cursors, deleted_messages, flows, jobs, memory_bases, residues, sessions
from memorybase.core.queries import erasure as erasure_queries
from memorybase.core.queries.ownership import check_flow
from memorybase.core.services import Services
from memorybase.core.sessions import erasure
from memorybase.core.telemetry import get_logger

log = get_logger(__name__)

ERASURES = 5  # sessions in one pass
ERASURE_PAGES = 10  # of each
LATE_WRITE = timedelta(days=1)  # a frozen worker's request to the store arrives no later


def delete_flow(services: Services, user_id: UUID, flow_id: UUID) -> bool:
    """Delete a flow with everything in it. True: nothing is left; False: the sweeper will finish. Raises NotFound,
    Held if anything of it must be kept."""
    with services.database.transaction() as db:
        check_flow(db, user_id, flow_id)
        deletions.check(db, services, user_id, OfFlow(flow_id))
        now = clock.now(db)
        # The flow first: a memory base created meanwhile is either refused or found here.
        flows.begin_flow_deletion(db, flow_id, now)
        for base_id in memory_bases.base_ids_of_flow(db, flow_id):
            memory_bases.begin_deletion(db, base_id, now)
    log.info("flow_deletion_started", flow_id=str(flow_id))
    return drain(lambda: finish_flow_deletion(services, flow_id))


def finish_flow_deletion(services: Services, flow_id: UUID) -> bool:
    """Delete the flow's messages, sessions and runs once its memory bases are deleted; False if one is not yet."""
    with services.database.reading() as db:
        base_ids = memory_bases.base_ids_of_flow(db, flow_id)
    remaining = [base_id for base_id in base_ids if not finish_deletion(services, base_id)]
    if remaining:
        return False
    if not erasure.erase_outside(services, flow_id):
        return False
    if not delete_in_pages(services, partial(flows.delete_rows_of_flow, flow_id=flow_id)):
        return False
    with services.database.transaction() as db:
        if not flows.delete_flow(db, flow_id):
            return False
    log.info("flow_deleted", flow_id=str(flow_id))
    return True


def finish_erasures(services: Services) -> int:
    """Delete what erasures that were cut off have left of sessions, a bounded part; of how many sessions."""
    with services.database.reading() as db:
        unfinished = sessions.sessions_in_erasure(db, limit=ERASURES)
    for flow_id, session_id in unfinished:
        erasure.finish(services, flow_id, session_id, pages=ERASURE_PAGES)
    return len(unfinished)


def remove_deleted_sessions(services: Services) -> int:
    """Remove the rows of deleted sessions whose stores are repaired, and return the number of sessions. What features
    keep outside the database is deleted first: as long as that fails, the row stays and the next pass tries again."""
    with services.database.reading() as db:
        deleted = erasure_queries.removable_sessions(db, limit=200)
    return sum(
        erasure.erase_outside(services, flow_id, session_id) and _remove_session(services, flow_id, session_id)
        for flow_id, session_id in deleted
    )


def _remove_session(services: Services, flow_id: UUID, session_id: str) -> bool:
    """Remove the session's row, after all that refers to it, in pages: each looks whether it is still deleted."""
    removed = None
    while removed is None:
        removed = _remove_some(services, flow_id, session_id)
    return removed


def _remove_some(services: Services, flow_id: UUID, session_id: str) -> bool | None:
    """None if something is left."""
    with services.database.transaction() as db:
        bases = memory_bases.share_bases_of_flow(db, flow_id)
        session = sessions.lock_session(db, flow_id, session_id)
        if session is None or session.deleted_at is None or sessions.has_rows(db, session):
            return False
        locked = cursors.lock_rows(db, [base.id for base in bases], session_id)
        # A target ahead of the cursor counts too: a job may have read the messages before they were deleted.
        pending = [r for r in locked if r.dirty > r.repaired or r.audit_at or r.target_seq > r.cursor_seq]
        if pending or any(jobs.active_job(db, base.id, session_id) for base in bases):
            return False
        # A retired generation may still have its ledger.
        if erasure_queries.delete_progress_of_session(db, flow_id, session_id, limit=DELETE_PAGE):
            return None
        if deleted_messages.set_expiry(db, session, clock.now(db) + LATE_WRITE, limit=DELETE_PAGE) >= DELETE_PAGE:
            return None
        sessions.delete_session(db, session)
        residues.note_files(db)
        return True


def delete_expired_ids(services: Services) -> int:
    """Delete the ids of deleted messages that no late write can reach any more, and return their number."""
    delete = partial(deleted_messages.delete_expired, limit=DELETE_PAGE)
    return change_if_due(services.database, deleted_messages.has_expired, delete)
