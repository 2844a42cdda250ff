"""A flow deleted with everything in it, and the rows of deleted sessions once every store has followed."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from uuid import UUID

from memorybase.database import clock
from memorybase.keyword_index import queries as postings
from memorybase.memory_bases.deletion import DELETE_PAGE, delete_in_pages, drain, finish_deletion
from memorybase.queries import cursors, deleted_messages, jobs, memory_bases, sessions
from memorybase.queries.ownership import check_flow
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

LATE_WRITE = timedelta(days=1)  # no frozen worker's request to the store arrives later than this


def delete_flow(services: Services, user_id: UUID, flow_id: UUID) -> bool:
    """Delete a flow, its memory bases, sessions, runs and messages: True when nothing is left. Raises NotFound."""
    with services.database.transaction() as db:
        check_flow(db, user_id, flow_id)
        now = clock.now(db)
        # The flow first: a memory base made meanwhile is then either refused, or here and seen.
        sessions.begin_flow_deletion(db, flow_id, now)
        for base_id in memory_bases.base_ids_of_flow(db, flow_id):
            memory_bases.begin_deletion(db, base_id, now)
    log.info("flow_deletion_began", flow_id=str(flow_id))
    return drain(services, lambda: finish_flow_deletion(services, flow_id))


def finish_flow_deletion(services: Services, flow_id: UUID) -> bool:
    """The flow's messages, sessions and runs, once its memory bases are gone."""
    with services.database.reading() as db:
        owned = memory_bases.base_ids_of_flow(db, flow_id)
    waiting = [base_id for base_id in owned if not finish_deletion(services, base_id)]
    if waiting:
        return False
    delete_in_pages(services, partial(postings.remove_some_of_flow, flow_id=flow_id))
    delete_in_pages(services, partial(sessions.delete_rows_of_flow, flow_id=flow_id))
    with services.database.transaction() as db:
        sessions.delete_flow(db, flow_id)
    log.info("flow_deleted", flow_id=str(flow_id))
    return True


def remove_deleted_sessions(services: Services) -> int:
    """Rows of deleted sessions, once every store has followed; how many sessions are gone now."""
    with services.database.reading() as db:
        doomed = [(s.flow_id, s.session_id) for s in sessions.deleted_sessions(db, limit=200)]
    return sum(_remove_session(services, flow_id, session_id) for flow_id, session_id in doomed)


def _remove_session(services: Services, flow_id: UUID, session_id: str) -> bool:
    with services.database.transaction() as db:
        living = memory_bases.share_bases_of_flow(db, flow_id)
        session = sessions.lock_session(db, flow_id, session_id)
        if session is None or session.deleted_at is None:
            return False
        locked = cursors.lock_session_progress(db, [base.id for base in living], session_id)
        # target > cursor counts as waiting too: a job may have read the messages before they went.
        waiting = [r for r in locked if r.dirty > r.repaired or r.audit_at or r.target_seq > r.cursor_seq]
        if waiting or any(jobs.active_job(db, base.id, session_id) for base in living):
            return False
        # One statement, though a retired generation may still have its ledger: it is one session's.
        cursors.delete_progress_of_session(db, flow_id, session_id)
        deleted_messages.let_expire(db, session, clock.now(db) + LATE_WRITE)
        sessions.delete_session(db, session)
        return True


def forget_deleted(services: Services) -> int:
    """Ids of deleted messages that nothing can depend on any more; how many are forgotten now."""
    with services.database.transaction() as db:
        return deleted_messages.forget_expired(db, clock.now(db), limit=DELETE_PAGE)
