"""Deletion: gone for the caller at once, then drained, then the collection, then the rows. Nothing comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import UUID

from memorybase import errors, knowledge
from memorybase.database import clock
from memorybase.keyword_index import queries as postings
from memorybase.queries import bases, conversations, deleted, jobs, rows
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

DRAIN_POLL_SECONDS = 0.1
LATE_WRITE = timedelta(days=1)  # no frozen worker's request to the store arrives later than this
DELETE_PAGE = 5_000  # rows a statement, so that no deletion holds its locks for long


def delete_memory_base(services: Services, user_id: UUID, base_id: UUID) -> bool:
    """Delete a memory base: True when nothing is left, False while a job drains and the sweeper will finish.

    Raises NotFound. From the first commit on the base is 404.
    """
    with services.database.transaction() as session:
        if bases.fetch_base(session, user_id, base_id) is None:
            raise errors.NotFound("There is no such memory base", field="memory_base_id", value=str(base_id))
        bases.begin_deletion(session, base_id, clock.now(session))
    log.info("memory_base_deletion_began", memory_base_id=str(base_id))
    return _drain(services, lambda: finish_deletion(services, base_id))


def delete_flow(services: Services, user_id: UUID, flow_id: UUID) -> bool:
    """Delete a flow, its memory bases, sessions, runs and messages: True when nothing is left. Raises NotFound."""
    with services.database.transaction() as session:
        if not conversations.has_flow(session, user_id, flow_id):
            raise errors.NotFound("There is no such flow", field="flow_id", value=str(flow_id))
        now = clock.now(session)
        # The flow first: a memory base made meanwhile is then either refused, or here and seen.
        conversations.begin_flow_deletion(session, flow_id, now)
        for base_id in bases.base_ids_of_flow(session, flow_id):
            bases.begin_deletion(session, base_id, now)
    log.info("flow_deletion_began", flow_id=str(flow_id))
    return _drain(services, lambda: finish_flow_deletion(services, flow_id))


def _drain(services: Services, finish: Callable[[], bool]) -> bool:
    """Try to finish for a while; what does not end in time, or while the store is away, is the sweeper's."""
    deadline = time.monotonic() + services.settings.drain_seconds
    while True:
        try:
            if finish():
                return True
        except errors.EnvironmentFailure as error:
            log.warning("deletion_waits", error_code=error.code)
            return False
        if time.monotonic() >= deadline:
            return False
        time.sleep(DRAIN_POLL_SECONDS)


def finish_deletions(services: Services) -> int:
    """Finish what requests left behind; how many memory bases and flows are gone now."""
    with services.database.reading() as session:
        doomed_bases = bases.bases_in_deletion(session)
        doomed_flows = conversations.flows_in_deletion(session)
    finished = sum(finish_deletion(services, base_id) for base_id in doomed_bases)
    return finished + sum(finish_flow_deletion(services, flow_id) for flow_id in doomed_flows)


def finish_deletion(services: Services, base_id: UUID) -> bool:
    """Collections, then rows, once no worker holds a lease on the base. Safe to repeat and to run twice at once."""
    with services.database.reading() as session:
        base = bases.fetch_any_base(session, base_id)
        if base is None:
            return True
        leased_until = rows.leased_until(session, base_id)
        if base.deleting_at is None or (leased_until is not None and leased_until > clock.now(session)):
            return False
        names = [generation.collection_name for generation in bases.generations(session, base_id)]
        entry = knowledge.entry_of_memory_base(session, base_id)
    for name in names:
        services.vectors.delete_collection(name)
    if entry is not None:
        knowledge.remove_metadata(services, entry.id)
    _delete_in_pages(services, partial(bases.delete_rows_of_base, base_id=base_id))
    with services.database.transaction() as session:
        bases.delete_base(session, base_id)
    log.info("memory_base_deleted", memory_base_id=str(base_id))
    return True


def drop_retired(services: Services) -> int:
    """Drop collections that were replaced a while ago: searches that began before are over by now."""
    with services.database.reading() as session:
        before = clock.now(session) - timedelta(seconds=services.settings.retire_seconds)
        retired = bases.retired_generations(session, before)
    for each in retired:
        base_id, generation = each.memory_base_id, each.generation
        services.vectors.delete_collection(each.collection_name)
        _delete_in_pages(services, partial(bases.delete_rows_of_generation, base_id=base_id, generation=generation))
        with services.database.transaction() as session:
            base = bases.share_base(session, base_id)  # a deletion waits, and removes what is written here
            bases.mark_dropped(session, base_id, generation)
            entry = knowledge.entry_of_memory_base(session, base_id)
            if entry is not None and base is not None and base.deleting_at is None:
                # Again: whoever let the new generation serve may have died before this.
                knowledge.write_metadata(services, entry)
    return len(retired)


def _delete_in_pages(services: Services, delete_some: Callable[..., bool]) -> None:
    """No statement takes long, no transaction holds its locks for long; after a crash the rest is found again."""
    more = True
    while more:
        with services.database.transaction() as session:
            more = delete_some(session, limit=DELETE_PAGE)


def finish_flow_deletion(services: Services, flow_id: UUID) -> bool:
    """The flow's messages, sessions and runs, once its memory bases are gone."""
    with services.database.reading() as session:
        owned = bases.base_ids_of_flow(session, flow_id)
    waiting = [base_id for base_id in owned if not finish_deletion(services, base_id)]
    if waiting:
        return False
    _delete_in_pages(services, partial(postings.remove_some_of_flow, flow_id=flow_id))
    _delete_in_pages(services, partial(conversations.delete_rows_of_flow, flow_id=flow_id))
    with services.database.transaction() as session:
        conversations.delete_flow(session, flow_id)
    log.info("flow_deleted", flow_id=str(flow_id))
    return True


def remove_deleted_sessions(services: Services) -> int:
    """Rows of deleted sessions, once every store has followed; how many sessions are gone now."""
    with services.database.reading() as session:
        doomed = [(s.flow_id, s.session_id) for s in conversations.deleted_sessions(session, limit=200)]
    return sum(_remove_session(services, flow_id, session_id) for flow_id, session_id in doomed)


def _remove_session(services: Services, flow_id: UUID, session_id: str) -> bool:
    with services.database.transaction() as session:
        living = bases.share_bases_of_flow(session, flow_id)
        conversation = conversations.lock_session(session, flow_id, session_id)
        if conversation is None or conversation.deleted_at is None:
            return False
        locked = rows.lock_rows_of_session(session, [base.id for base in living], session_id)
        # target > cursor counts as waiting too: a job may have read the messages before they went.
        waiting = [r for r in locked if r.dirty > r.repaired or r.audit_at or r.target_seq > r.cursor_seq]
        if waiting or any(jobs.active_job(session, base.id, session_id) for base in living):
            return False
        # One statement, though a retired generation may still have its ledger: it is one session's.
        rows.delete_rows_of_session(session, flow_id, session_id)
        deleted.let_expire(session, conversation, clock.now(session) + LATE_WRITE)
        conversations.delete_session(session, conversation)
        return True


def forget_deleted(services: Services) -> int:
    """Ids of deleted messages that nothing can depend on any more; how many are forgotten now."""
    with services.database.transaction() as session:
        return deleted.forget_expired(session, clock.now(session), limit=DELETE_PAGE)
