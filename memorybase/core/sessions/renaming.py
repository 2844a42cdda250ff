"""Rename a session: one short transaction, whatever its length, and pages for what must follow.

Messages, runs, node executions and more refer to `sessions.id`, so that readers see all of them under the new id at
once. Two things follow in pages, the first of them in the same transaction: memory uses, which may be of a session that
is not stored and name it by its id, and the versions of messages, so that repairs write every chunk with the new id.
Until then stores are asked under both ids. The sweeper does what a crash leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.ingestion import scheduler
from memorybase.core.queries import cursors, jobs, memory_bases, memory_uses, messages, sessions
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.sessions import Rename, SessionRow
from memorybase.core.services import Services

PAGE = 4_000  # messages, and memory uses, in one transaction
SESSIONS = 20  # that one pass of the sweeper looks at


def rename(
    db: OrmSession, services: Services, bases: Sequence[BaseRow], session: SessionRow, new_session_id: str
) -> None:
    """The caller has locked both ids, calls `finish` before and after, and commits. Raises SessionConflict if the new
    id exists."""
    if (other := sessions.fetch_session(db, session.flow_id, new_session_id)) is not None:
        state = "exists" if other.deleted_at is None else "was deleted and is not removed everywhere yet: try later"
        raise errors.SessionConflict(f"A session with this id {state}", field="new_session_id", value=new_session_id)
    if sessions.unfinished_rename(db, session) is not None:
        raise errors.DatabaseUnavailable("The session is being renamed. Repeat the call in a few seconds")
    now = clock.now(db)
    # A worker with a job of this session still has the old id: revoke its claim.
    active = [jobs.active_job(db, base.id, session.session_id) for base in bases]
    jobs.cancel_jobs(db, [job.id for job in active if job], now, "the session was renamed")
    former_id = session.session_id
    sessions.rename_session(db, session, new_session_id, now)
    db.expire_all()
    for hooks in services.hooks:
        hooks.on_renamed(db, services, session, former_id)
    _go_on(db, services, session, now)


def finish(services: Services, flow_id: UUID, session_id: str) -> None:
    """Do what is left of the session's rename."""
    with services.database.reading(snapshot=False) as db:
        is_done = not sessions.is_being_renamed(db, flow_id, session_id)
    while not is_done:
        with services.database.transaction() as db:
            memory_bases.share_bases_of_flow(db, flow_id)
            session = sessions.lock_session(db, flow_id, session_id)
            is_done = session is None or _go_on(db, services, session, clock.now(db))


def finish_all(services: Services) -> int:
    """The sweeper's step: finish renames, and return the number of sessions."""
    with services.database.reading() as db:
        renamed = sessions.renamed_sessions(db, limit=SESSIONS)
    for flow_id, session_id in renamed:
        finish(services, flow_id, session_id)
    return len(renamed)


def _go_on(db: OrmSession, services: Services, session: SessionRow, now: datetime) -> bool:
    """Do the next page of a rename. Returns whether nothing is left."""
    left = sessions.unfinished_rename(db, session)
    if left is None:
        return True
    bases = memory_bases.share_bases_of_flow(db, session.flow_id)
    _expect_late_writes(db, services, bases, session, left, now)
    moved = memory_uses.rename_session(db, session, left, limit=PAGE)
    after = max(0, left.seq - PAGE)
    # The session's id is part of every chunk's metadata.
    messages.raise_versions(db, session, after=after, to_seq=left.seq)
    for hooks in services.hooks:
        hooks.on_versions_raised(db, session, after, left.seq)
    scheduler.mark_edited(db, services, bases, session.session_id, None, now)
    is_done = moved < PAGE and after == 0
    sessions.update(db, session, renamed_seq=after, **(sessions.RENAMED if is_done else {}))
    return is_done


def _expect_late_writes(
    db: OrmSession,
    services: Services,
    bases: Sequence[BaseRow],
    session: SessionRow,
    left: Rename,
    now: datetime,
) -> None:
    """Let an audit look for chunks under the former id."""
    audit_at = scheduler.audit_time(now, services.settings)
    for progress in cursors.lock_rows(db, [base.id for base in bases], session.session_id):
        former = dict.fromkeys([*(progress.renamed_from or ()), left.former_id])
        cursors.update(db, progress, renamed_from=list(former), audit_at=audit_at)
