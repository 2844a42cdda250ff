"""Edits and deletes of messages and sessions: SQL changes at once, every store follows by a repair."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.conversation.chat_memory import message_log
from memorybase.conversation.memory_use import redaction
from memorybase.database import clock
from memorybase.ingestion import edit, scheduler
from memorybase.ingestion import scheduler as scheduler_
from memorybase.keyword_index import index
from memorybase.models import IngestionJob, MemoryBase, Message, Session
from memorybase.queries import (
    cursors,
    deleted_messages,
    jobs,
    memory_bases,
    memory_uses,
    node_executions,
    summaries,
)
from memorybase.queries import ledger as ledger_
from memorybase.queries import sessions as session_queries
from memorybase.queries import sessions as sessions_
from memorybase.queries.ownership import check_flow, not_found, require_session
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

ERASE_PAGE = 200  # sessions looked up at once
EDITABLE = ("content", "files", "metadata")


@dataclass(frozen=True, slots=True)
class Erasure:
    """A receipt: what is gone from SQL, and how many chunks the stores held of it by the ledgers. Chats are those of an
    end user, erased with their messages. `context_messages` are those that node executions gave out, `memory_uses` what
    models were given; summaries are those of sessions and of chats.

    The chunks go by `pending_repairs` repairs, one a memory base and session; `job_ids` are those that could be queued
    at once, the others follow the jobs that are active now. No search shows anything of it from here on.
    """

    sessions: int = 0
    runs: int = 0
    messages: int = 0
    node_executions: int = 0
    context_messages: int = 0
    memory_uses: int = 0
    summaries: int = 0
    chunks: int = 0
    pending_repairs: int = 0
    job_ids: list[UUID] = field(default_factory=list)
    chats: int = 0
    chat_messages: int = 0

    def __add__(self, other: Erasure) -> Erasure:
        return Erasure(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})


def edit_message(services: Services, user_id: UUID, message_id: UUID, changes: Mapping[str, Any]) -> list[UUID]:
    """A new version of a message; the ids of the repairs. Raises NotFound, InvalidRequest naming a fixed field."""
    for name in changes:
        if name not in EDITABLE:
            raise errors.InvalidRequest("This cannot be changed", field=name, limit=list(EDITABLE))
    with services.database.transaction() as db:
        living, session, message = _locked_message(db, user_id, message_id)
        now = clock.now(db)
        edit.apply_edit(message, changes, now)
        if "content" in changes:
            index.replace(db, services, session, message)
            summaries.mark_edited(db, message.flow_id, message.session_id, message.seq, now)
        db.flush()
        planned = scheduler.mark_edited(db, services, living, session.session_id, message.seq, now)
        return _ids(planned)


def delete_message(services: Services, user_id: UUID, message_id: UUID) -> list[UUID]:
    """Remove a message; search no longer finds it from this commit on. The ids of the repairs. Raises NotFound."""
    with services.database.transaction() as db:
        living, session, message = _locked_message(db, user_id, message_id)
        deleted_messages.remember_message(db, session, message)
        index.remove(db, session, message)
        memory_uses.redact_uses(db, [message.id])
        now = clock.now(db)
        redaction.redact_quotes(db, message, now)
        summaries.mark_deleted(db, message.flow_id, message.session_id, message.seq, now)
        db.delete(message)
        db.flush()
        return _ids(scheduler.mark_edited(db, services, living, session.session_id, message.seq, now))


def _locked_message(db: OrmSession, user_id: UUID, message_id: UUID) -> tuple[list[MemoryBase], Session, Message]:
    """The message under its session's lock, in the order of locks that everybody keeps."""
    seen = session_queries.fetch_message(db, user_id, message_id)
    if seen is not None:
        living = memory_bases.share_bases_of_flow(db, seen.flow_id)
        session = session_queries.lock_session(db, seen.flow_id, seen.session_id)
        message = session_queries.fetch_message(db, user_id, message_id)
        if session is not None and message is not None:
            db.refresh(message)
            return living, session, message
    raise not_found("message", message_id)


def update_session(
    services: Services,
    user_id: UUID,
    flow_id: UUID,
    session_id: str,
    *,
    new_session_id: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Rename a session or replace its metadata. Raises NotFound, SessionConflict when the new id is taken."""
    with services.database.transaction() as db:
        if new_session_id is not None:
            memory_bases.share_bases_of_flow(db, flow_id)
            # Both names in Python's order, as a flush takes its sessions: whoever locks two must not wait for another
            # who has the second and wants the first.
            for name in sorted({session_id, new_session_id}):
                session_queries.lock_session(db, flow_id, name)
        living, session = _locked_session(db, user_id, flow_id, session_id)
        if metadata is not None:
            session.meta = metadata
        if new_session_id is None or new_session_id == session_id:
            return
        if session_queries.fetch_session(db, flow_id, new_session_id) is not None:
            raise errors.SessionConflict("A session of that id is there", field="new_session_id", value=new_session_id)
        db.flush()
        now = clock.now(db)
        base_ids = [base.id for base in living]
        for progress in cursors.lock_session_progress(db, base_ids, session_id):
            progress.renamed_from = [*(progress.renamed_from or ()), session_id]
            progress.audit_at = scheduler_.audit_time(now, services.settings)
        db.flush()
        # A worker that holds a job of this session reads by the old id: it loses its claim and finds nothing.
        active = [jobs.active_job(db, base_id, session_id) for base_id in base_ids]
        jobs.cancel_jobs(db, [job.id for job in active if job], now, "the session was renamed")
        jobs.rename_session(db, base_ids, session_id, new_session_id)
        session_queries.rename_session(db, session, new_session_id)
        db.expire_all()
        # The session's id is part of every chunk's metadata.
        session_queries.raise_versions(db, flow_id, new_session_id)
        living = memory_bases.share_bases_of_flow(db, flow_id)
        scheduler.mark_edited(db, services, living, new_session_id, None, now)


def delete_session(services: Services, user_id: UUID, flow_id: UUID, session_id: str) -> Erasure:
    """Remove a session's messages and runs; the stores follow. Raises NotFound."""
    with services.database.transaction() as db:
        living, session = _locked_session(db, user_id, flow_id, session_id)
        now = clock.now(db)
        chunks = ledger_.chunks_of_session(db, flow_id, session_id)
        deleted_messages.remember_session(db, session)
        index.remove_all(db, session)
        uses = memory_uses.delete_uses_of_session(db, flow_id, session_id)
        summed_up = summaries.delete_of_session(db, flow_id, session_id)
        executions, contexts = node_executions.delete_executions_of_session(db, flow_id, session_id)
        messages, runs = session_queries.delete_messages_of_session(db, flow_id, session_id)
        # The row stays, and its counter goes on, until no store holds anything of it.
        session.deleted_at = now
        session.meta = {}
        db.flush()
        planned = scheduler.mark_edited(db, services, living, session_id, None, now)
        marked = cursors.lock_session_progress(db, [base.id for base in living], session_id)
        waiting = sum(progress.dirty > progress.repaired for progress in marked)
        return Erasure(
            sessions=1, runs=runs, messages=messages, node_executions=executions, context_messages=contexts,
            memory_uses=uses, summaries=summed_up, chunks=chunks, pending_repairs=waiting, job_ids=_ids(planned),
        )  # fmt: skip


def erase_end_user(services: Services, user_id: UUID, end_user_id: str) -> Erasure:
    """Delete every session and chat of an end user, in all of the user's flows. Raises NotFound when there is none.

    A session a transaction: what an error leaves behind is what the next call continues from.
    """
    total = Erasure()
    while True:
        with services.database.reading() as db:
            page = sessions_.sessions_of_end_user(db, user_id, end_user_id, limit=ERASE_PAGE)
        for flow_id, session_id in page:
            with contextlib.suppress(errors.NotFound):  # somebody else was quicker
                total += delete_session(services, user_id, flow_id, session_id)
        if len(page) < ERASE_PAGE:
            break
    erased = message_log.erase_chats(services, user_id, end_user_id)
    total += Erasure(chats=erased.chats, chat_messages=erased.messages, summaries=erased.summaries)
    if total == Erasure():
        raise errors.NotFound("There is no session or chat of this end user", field="end_user_id", value=end_user_id)
    log.info("end_user_erased", sessions=total.sessions, messages=total.messages, chunks=total.chunks)
    return total


def _locked_session(db: OrmSession, user_id: UUID, flow_id: UUID, session_id: str) -> tuple[list[MemoryBase], Session]:
    living = memory_bases.share_bases_of_flow(db, flow_id)
    check_flow(db, user_id, flow_id)
    return living, require_session(db, flow_id, session_id, lock=True)


def _ids(planned: Sequence[IngestionJob]) -> list[UUID]:
    return [job.id for job in planned]
