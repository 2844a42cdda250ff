"""Erase a session: marked as deleted at once, then its rows are deleted in pages, each in a short transaction.

Whoever removes the last rows schedules the repairs, in the same transaction. Until then the sweeper continues where a
request was cut off, and a capture into the session is refused with an error that can be retried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock
from memorybase.core.extension import SessionRows, total
from memorybase.core.ingestion import scheduler
from memorybase.core.queries import (
    cursors,
    deleted_messages,
    ledger,
    memory_bases,
    memory_uses,
    node_executions,
    sessions,
    summaries,
)
from memorybase.core.queries import erasure as rows
from memorybase.core.queries import keyword_index as postings
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import Services

POSTINGS = 20  # cost as much as another row
PAGE = 500  # rows in one transaction, about 0.1 s on SQLite, where all other writers wait for it


@dataclass(frozen=True, slots=True)
class Erasure:
    """Rows deleted from SQL, and the number of their chunks in the stores by the ledgers; no search returns them."""

    sessions: Annotated[int, Field(description="Number of deleted sessions.")] = 0
    runs: Annotated[int, Field(description="Number of deleted runs.")] = 0
    messages: Annotated[int, Field(description="Number of deleted messages.")] = 0
    node_executions: Annotated[int, Field(description="Number of deleted node executions.")] = 0
    context_messages: Annotated[
        int, Field(description="How many of the messages were in contexts of node executions.")
    ] = 0
    memory_uses: Annotated[int, Field(description="Number of deleted or redacted records of what models received.")] = 0
    summaries: Annotated[int, Field(description="Number of deleted summaries, of sessions and of chats.")] = 0
    chunks: Annotated[int, Field(description="Number of chunks that the ledgers held.")] = 0
    pending_repairs: Annotated[int, Field(description="Number of repairs that delete the chunks.")] = 0
    job_ids: Annotated[
        list[UUID], Field(description="The repairs that are queued; the others follow the active jobs.")
    ] = field(default_factory=list)
    chats: Annotated[int, Field(description="Number of deleted chats.")] = 0
    chat_messages: Annotated[int, Field(description="Number of deleted messages of chats.")] = 0
    message_changes: Annotated[
        int, Field(description="Number of deleted records of changes, with former versions of messages.")
    ] = 0
    restorable_messages: Annotated[
        int, Field(description="Number of messages that had been deleted one by one and could still be restored.")
    ] = 0
    standing_statements: Annotated[int, Field(description="Number of deleted standing statements.")] = 0
    facts: Annotated[int, Field(description="Number of deleted facts that a model had derived from the messages.")] = 0

    def __add__(self, other: Erasure) -> Erasure:
        return Erasure(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})


def begin(
    db: OrmSession, services: Services, bases: Sequence[BaseRow], session: SessionRow, now: datetime
) -> tuple[Erasure, bool]:
    """Mark a session as deleted and delete its first page. Returns what is being deleted, and whether nothing is left.

    The caller has locked the flow's memory bases and the session. The sweeper deletes the session's row.
    """
    progress = cursors.lock_rows(db, [base.id for base in bases], session.session_id)
    erasure = _counted(db, services, session, pending_repairs=len(progress))
    # The row stays, with its seq counter, until no store holds anything of the session.
    # Without expiry: a capture may begin the session again before the row is gone.
    sessions.update(db, session, deleted_at=now, expires_at=None, metadata={})
    scheduled = _continue(db, services, bases, session, now)
    if scheduled is not None:
        erasure.job_ids.extend(job.id for job in scheduled)
    return erasure, scheduled is not None


def erase_outside(services: Services, flow_id: UUID, session_id: str | None = None) -> bool:
    """Delete what features keep outside the database of a flow, or of one session. False: try again."""
    return all(hooks.erase_outside(services, flow_id, session_id) for hooks in services.hooks)


def finish(services: Services, flow_id: UUID, session_id: str, *, pages: int | None = None) -> list[UUID] | None:
    """Delete the rest of a session that is marked as deleted, or at most `pages` of it. Returns the ids of the repairs
    that this call has scheduled, or None if something is left."""
    while pages is None or pages > 0:
        # A page that a power cut undoes is deleted again: the mark is on the disk.
        with services.database.transaction(durable=False) as db:
            bases = memory_bases.share_bases_of_flow(db, flow_id)
            session = sessions.lock_session(db, flow_id, session_id)
            if session is None or session.deleted_at is None or not sessions.has_rows(db, session):
                return []
            scheduled = _continue(db, services, bases, session, clock.now(db))
        if scheduled is not None:
            services.database.wait_for_disk()
            return [job.id for job in scheduled]
        pages = None if pages is None else pages - 1
    return None


def _counted(db: OrmSession, services: Services, session: SessionRow, *, pending_repairs: int) -> Erasure:
    flow_id, session_id = session.flow_id, session.session_id
    executions, contexts = node_executions.count_of_session(db, flow_id, session_id)
    messages, runs = rows.count_of_session(db, flow_id, session_id)
    of_features: dict[str, Any] = total(each.counts(db, session) for each in _rows_of_features(services))
    return Erasure(
        sessions=1,
        runs=runs,
        messages=messages,
        node_executions=executions,
        context_messages=contexts,
        memory_uses=memory_uses.count_of_session(db, flow_id, session_id),
        summaries=summaries.count_of_session(db, flow_id, session_id),
        chunks=ledger.chunks_of_session(db, flow_id, session_id),
        pending_repairs=pending_repairs,
        **rows.count_rows_about(db, session)._asdict(),
        **of_features,
    )


def _continue(
    db: OrmSession, services: Services, bases: Sequence[BaseRow], session: SessionRow, now: datetime
) -> list[JobRow] | None:
    """Delete a page: the repairs that are scheduled once nothing is left, or None."""
    cursors.lock_rows(db, [base.id for base in bases], session.session_id)  # in the common order
    while _delete_page(db, services, session) >= PAGE:
        if sessions.has_rows(db, session):  # else nothing would show that the repairs are not scheduled yet
            return None
    _take_out_of_index(db, session, limit=None)
    db.flush()
    return scheduler.mark_edited(db, services, bases, session.session_id, None, now)


def _rows_of_features(services: Services) -> list[SessionRows]:
    return [each for hooks in services.hooks for each in hooks.session_rows]


def _delete_page(db: OrmSession, services: Services, session: SessionRow) -> int:
    """Delete up to PAGE rows of the session, and return their number."""
    deleted = 0
    for each in _rows_of_features(services):
        if deleted < PAGE:
            deleted += each.delete(db, session, PAGE - deleted)
    if deleted < PAGE:
        deleted += rows.delete_rows_about(db, session, limit=PAGE - deleted)
    if deleted < PAGE and session.documents:
        deleted += _take_out_of_index(db, session, limit=PAGE - deleted)
    if deleted >= PAGE:
        return deleted
    summaries.delete_of_session(db, session.flow_id, session.session_id)  # a few
    deleted += _delete_messages(db, session, limit=PAGE - deleted)
    if deleted < PAGE:
        deleted += rows.delete_runs(db, session, limit=PAGE - deleted)
    return deleted


def _delete_messages(db: OrmSession, session: SessionRow, *, limit: int) -> int:
    """Delete the oldest messages of the session, and redact their quotations. Returns the number of both."""
    found = rows.oldest_messages(db, session, limit=limit)
    ids = [message_id for message_id, _ in found]
    redacted = memory_uses.redact_uses(db, session.flow_id, ids, limit=limit) if found else 0
    if found and redacted < limit:
        last = found[-1][1]
        deleted_messages.remember_messages(db, session, to_seq=last)
        rows.delete_messages(db, session, to_seq=last)
    return max(len(found), redacted)


def _take_out_of_index(db: OrmSession, session: SessionRow, *, limit: int | None) -> int:
    """Remove the session from the keyword index, and let messages that were deleted from it before be posted again, up
    to `limit` rows. Returns the number of rows; while the session has `documents`, this is not complete."""
    allowed = deleted_messages.allow_all(db, session, limit=limit)
    if limit is None or allowed < limit:
        removed = 0 if limit is None else postings.remove_rows(db, session, limit=(limit - allowed) * POSTINGS)
        allowed += -(-removed // POSTINGS)
    if limit is None or allowed < limit:
        sessions.update(db, session, documents=0, terms=0)
    return allowed
