"""Edit and delete messages and sessions: SQL changes at once, repairs update the stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deletions, errors, events, tracing
from memorybase.core.callers import forget_end_user
from memorybase.core.conversation.memory_use import redaction
from memorybase.core.database import clock
from memorybase.core.deletions import OfChat, OfEndUser, OfSession
from memorybase.core.described import ChangedBy, MemoryBaseId, MessageId, WhyChanged
from memorybase.core.events import Event, EventType
from memorybase.core.extension import of_messages
from memorybase.core.ingestion import edit, scheduler
from memorybase.core.keyword_index import index
from memorybase.core.messages import message_fingerprint, message_text
from memorybase.core.models import Message
from memorybase.core.queries import (
    deleted_messages,
    ledger,
    memory_bases,
    memory_uses,
    message_changes,
    messages,
    restorable_messages,
    sessions,
    summaries,
)
from memorybase.core.queries.expiry import check_days
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.message_changes import NOBODY, Attribution, ChangeKind
from memorybase.core.queries.ownership import not_found, require_locked_session, share_bases
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.screening import screen
from memorybase.core.services import Services
from memorybase.core.sessions import chat_deletion, erasure, receipts, relinking, renaming
from memorybase.core.sessions.erasure import Erasure
from memorybase.core.sessions.receipts import ErasureReceipt
from memorybase.core.telemetry import get_logger
from memorybase.core.tracing import ShownRecord

log = get_logger(__name__)

ERASE_PAGE = 200  # sessions looked up at once
EDITABLE = ("content", "files", "metadata")
REDACTABLE = (*EDITABLE, "tool_calls", "name", "sender_name")
FLAGS: Mapping[str, tuple[ChangeKind, ChangeKind]] = {"muted": ("mute", "unmute"), "pinned": ("pin", "unpin")}


@dataclass(frozen=True, slots=True)
class NewExpiry:
    """New expiry of a session: at a time, in a number of days by the database's clock, or never with neither."""

    at: datetime | None = None
    in_days: int | None = None

    def expires_at(self, now: datetime) -> datetime | None:
        """Raises InvalidRequest for a time that has passed, and for both or too many days."""
        if self.at is not None and self.in_days is not None:
            raise errors.InvalidRequest("expire_in_days cannot be combined with expires_at", field="expire_in_days")
        if self.at is not None and self.at <= now:
            raise errors.InvalidRequest(
                "expires_at must be in the future", field="expires_at", value=self.at.isoformat(), limit=now.isoformat()
            )
        if self.in_days is not None:
            check_days("expire_in_days", self.in_days)
            return now + timedelta(days=self.in_days)
        return self.at


@dataclass(frozen=True, slots=True)
class RemovedFrom:
    """A memory base that held a deleted message, and in how many chunks; a repair deletes them."""

    memory_base_id: MemoryBaseId
    kb_name: Annotated[str, Field(description="The name of its knowledge base; unique for the user.")]
    chunks: Annotated[int, Field(description="Number of its chunks there, in all generations.")]


@dataclass(frozen=True, slots=True)
class DeletionReceipt:
    """A deleted message: author and reason of the deletion, the memory bases that it is removed from, and until when it
    can be restored."""

    message_id: MessageId
    deleted_at: Annotated[datetime, Field(description="When it was deleted.")]
    by: ChangedBy
    reason: WhyChanged
    restorable_until: Annotated[
        datetime | None, Field(description="Until when it can be restored; null if it cannot be.")
    ]
    removed: Annotated[
        list[RemovedFrom], Field(description="The memory bases that held it; repairs delete its chunks there.")
    ]
    job_ids: Annotated[list[UUID], Field(description="The repairs that update the knowledge bases.")]


def edit_message(
    services: Services,
    user_id: UUID,
    message_id: UUID,
    changes: Mapping[str, Any],
    attribution: Attribution = NOBODY,
    *,
    version: int | None = None,
) -> list[UUID]:
    """Write a new version of a message, or mute, unmute, pin or unpin it, which holds from this commit on. Returns the
    ids of the repair jobs. Raises NotFound, InvalidRequest, MessageConflict if its version is not `version`."""
    for name in changes:
        if name not in (*EDITABLE, *FLAGS):
            raise errors.InvalidRequest(f"{name} of a message cannot be changed", field=name, limit=[*EDITABLE, *FLAGS])
    flags = {name: value for name, value in changes.items() if name in FLAGS}
    edited = {name: value for name, value in changes.items() if name in EDITABLE}
    with services.database.reading() as db:
        found = messages.fetch_message(db, user_id, message_id)
    if found is not None:
        edited = screen(services, user_id, found.flow_id, edited)
        attribution = screened(services, user_id, found.flow_id, attribution)
    spanned = tracing.memory_span("update_memory", record_id=str(message_id), record_count=1)
    with spanned, services.database.transaction() as db:
        bases, session, message = _locked_message(db, user_id, message_id)
        _note_message(bases, message_id, edited.get("content"))
        if version not in (None, message.version):
            text = f"version must be {message.version}, the message's version now (got {version}); nothing was changed"
            raise errors.MessageConflict(text, field="version", value=version, limit=message.version)
        now = clock.now(db)
        scheduled: Sequence[JobRow] = ()
        if edited or not flags:
            scheduled = edit.apply_edit(db, services, bases, session, message, edit.Edit(edited, attribution), now)
        for name, value in flags.items():
            if getattr(message, name) != value:
                setattr(message, name, value)
                kind = FLAGS[name][not value]
                message_changes.record(db, session, message, kind, attribution, now)
        return _ids(scheduled)


def screened(services: Services, user_id: UUID, flow_id: UUID, attribution: Attribution) -> Attribution:
    """It with the reason as the flow may store it. Raises InvalidRequest for what the flow refuses."""
    if attribution.reason is None:
        return attribution
    return replace(attribution, reason=screen(services, user_id, flow_id, attribution.reason, "reason"))


def redact_message(
    services: Services,
    user_id: UUID,
    message_id: UUID,
    redacted: Callable[[dict[str, Any]], dict[str, Any]],
    attribution: Attribution = NOBODY,
) -> list[UUID]:
    """Replace parts of a message for good: no former version is kept. `redacted` takes and returns its fields. Returns
    the ids of the repair jobs. Raises NotFound, Held."""
    with services.database.transaction() as db:
        bases, session, message = _locked_message(db, user_id, message_id)
        deletions.check(db, services, user_id, OfSession(session))
        before = {name: getattr(message, "meta" if name == "metadata" else name) for name in REDACTABLE}
        after = redacted(before)
        changes = {name: value for name, value in after.items() if value is not before[name]}
        is_as_captured = message.fingerprint == message_fingerprint(message)
        done = edit.Edit(changes, attribution, keeps_former=False)
        scheduled = edit.apply_edit(db, services, bases, session, message, done, clock.now(db))
        if is_as_captured:
            message.fingerprint = message_fingerprint(message)
        return _ids(scheduled)


def delete_message(
    services: Services, user_id: UUID, message_id: UUID, attribution: Attribution = NOBODY
) -> DeletionReceipt:
    """Delete a message; no search finds it from this commit on. Raises NotFound, Held.

    While `deleted_retention_days` has not passed, `restoring.restore_message` stores it again.
    """
    restorable_for = timedelta(days=services.settings.deleted_retention_days)
    if attribution.reason is not None:
        with services.database.reading() as db:
            found = messages.fetch_message(db, user_id, message_id)
        if found is not None:
            attribution = screened(services, user_id, found.flow_id, attribution)
    spanned = tracing.memory_span("delete_memory", record_id=str(message_id), record_count=1)
    with spanned, services.database.transaction() as db:
        bases, session, message = _locked_message(db, user_id, message_id)
        _note_message(bases, message_id)
        deletions.check(db, services, user_id, OfSession(session))
        now = clock.now(db)
        held = ledger.chunks_of_message(db, message.flow_id, message.session_id, message.id)
        removed = [RemovedFrom(*each) for each in held]
        copy = _restorable(db, services, message, removed, attribution, now)
        if restorable_for:
            message_changes.record(db, session, message, "delete", attribution, now)
        else:
            message_changes.delete_of_message(db, message.flow_id, message.id)
        bypass, links = remove_message(db, session, message, now)
        if restorable_for:
            restorable_messages.keep(db, session, {**copy, "links": links, "follows_id": bypass.follows})
        scheduled = scheduler.mark_edited(db, services, bases, session.session_id, message.seq, now)
        return DeletionReceipt(
            message.id,
            now,
            attribution.by,
            attribution.reason,
            now + restorable_for if restorable_for else None,
            removed,
            _ids(scheduled),
        )


def _note_message(bases: Sequence[BaseRow], message_id: UUID, content: Any = None) -> None:
    """Add to the span of a change which memory base has the message, and its new text if texts are asked for."""
    tracing.note(memory_base_id=tracing.only_base([base.id for base in bases]))
    if content is not None:
        tracing.note_texts(records=[ShownRecord(message_text(content), message_id)])


def _restorable(
    db: OrmSession,
    services: Services,
    message: Message,
    removed: Sequence[RemovedFrom],
    attribution: Attribution,
    now: datetime,
) -> dict[str, Any]:
    """What is kept of a message that is deleted now, besides its place in threads."""
    row = restorable_messages.as_json(message)
    for each in of_messages(services):
        row[each.field] = each.copies(db, [message.id]).get(message.id, [])
    return {
        "flow_id": message.flow_id,
        "message_id": message.id,
        "message": row,
        "removed": [{**asdict(each), "memory_base_id": str(each.memory_base_id)} for each in removed],
        "deleted_at": now,
        "by": attribution.by,
        "reason": attribution.reason,
    }


def remove_message(
    db: OrmSession, session: SessionRow, message: Message, now: datetime
) -> tuple[relinking.Bypass, list[Any]]:
    """Delete a message everywhere but in the stores, with all that quotes it, and lead threads around it.

    The caller has locked the session, marks it as edited, and decides what becomes of the message's changes. Returns
    what a restoration needs."""
    bypass = relinking.find_bypass(db, message)
    deleted_messages.remember_message(db, session, message, bypass.follows_id)
    index.remove(db, session, message)
    memory_uses.redact_uses(db, message.flow_id, [message.id])
    redaction.redact_quotes(db, message, now)
    summaries.mark_deleted(db, message, bypass.follows, now)
    db.delete(message)
    db.flush()
    return bypass, relinking.relink(db, bypass)


def _locked_message(db: OrmSession, user_id: UUID, message_id: UUID) -> tuple[list[BaseRow], SessionRow, Message]:
    """The message, with its session locked. Common lock order: memory bases, session."""
    found = messages.fetch_message(db, user_id, message_id)
    if found is not None:
        bases = memory_bases.share_bases_of_flow(db, found.flow_id)
        session = sessions.lock_session(db, found.flow_id, found.session_id)
        message = messages.fetch_message(db, user_id, message_id)
        if session is not None and message is not None:
            db.refresh(message)
            return bases, session, message
    raise not_found("message", message_id)


def update_session(
    services: Services,
    user_id: UUID,
    flow_id: UUID,
    session_id: str,
    *,
    new_session_id: str | None = None,
    metadata: dict[str, Any] | None = None,
    expiry: NewExpiry | None = None,
) -> None:
    """Rename a session, replace its metadata, or set when it expires. Raises NotFound, SessionConflict if the new id
    exists, InvalidRequest."""
    if new_session_id is not None:
        renaming.finish(services, flow_id, session_id)
    if metadata is not None:
        metadata = screen(services, user_id, flow_id, metadata, "metadata")
    with services.database.transaction() as db:
        if new_session_id is not None:
            memory_bases.share_bases_of_flow(db, flow_id)
            # Lock both ids in Python's sort order, as a flush does: two lockers must not wait for each other.
            for name in sorted({session_id, new_session_id}):
                sessions.lock_session(db, flow_id, name)
        bases, session = _locked_session(db, user_id, flow_id, session_id)
        if metadata is not None:
            sessions.update(db, session, metadata=metadata)
        if expiry is not None:
            sessions.update(db, session, expires_at=expiry.expires_at(clock.now(db)))
        if new_session_id is not None and new_session_id != session_id:
            renaming.rename(db, services, bases, session, new_session_id)
    if new_session_id is not None:
        renaming.finish(services, flow_id, new_session_id)


def delete_session(services: Services, user_id: UUID, flow_id: UUID, session_id: str) -> ErasureReceipt:
    """Delete a session's messages and runs, and what features keep of it; repairs update the stores. A session that was
    never captured may have memory uses alone. Raises NotFound, Held.

    From the first commit on the session is not found. What a crash leaves is deleted by the sweeper.
    """
    with tracing.memory_span("delete_memory", flow_id=str(flow_id)):
        erased = erase_session(services, user_id, flow_id, session_id)
        tracing.note(record_count=erased.messages)
    return receipts.keep(services, user_id, "delete_session", f"{flow_id}:{session_id}", erased, flow_id=flow_id)


def erase_session(services: Services, user_id: UUID, flow_id: UUID, session_id: str) -> Erasure:
    """`delete_session` without a receipt."""
    renaming.finish(services, flow_id, session_id)
    with services.database.transaction() as db:
        bases = share_bases(db, user_id, flow_id)
        session = sessions.lock_session(db, flow_id, session_id)
        if session is None or session.deleted_at is not None:
            return _delete_uses_of_unknown(db, services, user_id, flow_id, session_id)
        deletions.check(db, services, user_id, OfSession(session))
        now = clock.now(db)
        erased, is_complete = erasure.begin(db, services, bases, session, now)
        gone = {
            "flow_id": flow_id,
            "session_id": session_id,
            "messages": erased.messages,
            "runs": erased.runs,
            "chunks": erased.chunks,
            "pending_repairs": erased.pending_repairs,
        }
        events.record(db, services, user_id, [Event(EventType.SESSION_ERASED, gone)], now)
    if not is_complete:
        erased.job_ids.extend(erasure.finish(services, flow_id, session_id) or ())
    erasure.erase_outside(services, flow_id, session_id)  # if it fails, the sweeper tries again
    return erased


def _delete_uses_of_unknown(
    db: OrmSession, services: Services, user_id: UUID, flow_id: UUID, session_id: str
) -> Erasure:
    """Delete what models were given for a session that is not stored. Raises NotFound if there is nothing, Held."""
    end_users = memory_uses.end_users_of_session(db, flow_id, session_id)
    if not end_users:
        raise not_found("session", session_id)
    for end_user_id in end_users:
        deletions.check(db, services, user_id, OfChat(flow_id, end_user_id))
    return Erasure(memory_uses=memory_uses.delete_uses(db, memory_uses.ids_of_session(flow_id, session_id)))


def erase_end_user(services: Services, user_id: UUID, end_user_id: str) -> ErasureReceipt:
    """Delete every session and chat of an end user, and what models were given for them, in all of the user's flows.
    Raises NotFound if there is none, Held if any of it must be kept: then nothing is deleted.

    Each session has its own transaction. What fails is left for the next call, and raised when the rest is erased.
    """
    with tracing.memory_span("delete_memory"):
        receipt = _erase_end_user(services, user_id, end_user_id)
        tracing.note(record_count=receipt.messages)
        return receipt


def _erase_end_user(services: Services, user_id: UUID, end_user_id: str) -> ErasureReceipt:
    with services.database.transaction() as db:
        deletions.check(db, services, user_id, OfEndUser(end_user_id))
    total, failed = _erase_sessions(services, user_id, end_user_id)
    erased = chat_deletion.erase_chats(services, user_id, end_user_id)
    total += Erasure(
        memory_uses=_erase_uses(services, user_id, end_user_id),
        chats=erased.chats,
        chat_messages=erased.messages,
        summaries=erased.summaries,
    )
    if failed:
        if total != Erasure():
            receipts.keep(services, user_id, "erase_end_user", end_user_id, total)
        log.warning("end_user_erased_in_part", failed=len(failed), sessions=total.sessions)
        raise next(iter(failed.values()))
    with services.database.transaction() as db:
        forget_end_user(db, services, user_id, end_user_id)
    if total == Erasure():
        text = "There is no session, chat or memory use of this end user"
        raise errors.NotFound(text, field="end_user_id", value=end_user_id)
    log.info("end_user_erased", sessions=total.sessions, messages=total.messages, chunks=total.chunks)
    return receipts.keep(services, user_id, "erase_end_user", end_user_id, total)


def _erase_sessions(
    services: Services, user_id: UUID, end_user_id: str
) -> tuple[Erasure, dict[tuple[UUID, str], errors.MemorybaseError]]:
    """Erase every session of the end user that can be erased. Also returns the errors of the others."""
    total = Erasure()
    failed: dict[tuple[UUID, str], errors.MemorybaseError] = {}
    while True:
        with services.database.reading() as db:
            most = ERASE_PAGE + len(failed)
            page = sessions.sessions_of_end_user(db, user_id, end_user_id, limit=most)
        for flow_id, session_id in page:
            if (flow_id, session_id) in failed:
                continue
            try:
                total += erase_session(services, user_id, flow_id, session_id)
            except errors.NotFound:
                pass  # deleted meanwhile
            except errors.MemorybaseError as error:
                failed[flow_id, session_id] = error
        if len(page) < most:
            return total, failed


def _erase_uses(services: Services, user_id: UUID, end_user_id: str) -> int:
    """Delete the memory that models were given for an end user in chats and in sessions that are not stored. Returns
    the number of uses deleted."""
    deleted = 0
    while True:
        with services.database.transaction() as db:
            deletions.check(db, services, user_id, OfEndUser(end_user_id))
            page = memory_uses.delete_uses_of_end_user(db, user_id, end_user_id, limit=ERASE_PAGE)
        deleted += page
        if page < ERASE_PAGE:
            return deleted


def _locked_session(db: OrmSession, user_id: UUID, flow_id: UUID, session_id: str) -> tuple[list[BaseRow], SessionRow]:
    bases = share_bases(db, user_id, flow_id)
    return bases, require_locked_session(db, flow_id, session_id)


def _ids(scheduled: Sequence[JobRow]) -> list[UUID]:
    return [job.id for job in scheduled]
