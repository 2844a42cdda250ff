"""Deleted messages: list them, restore one, delete one for good."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deletions, errors
from memorybase.core.callers import Caller, charge_messages, charged
from memorybase.core.database import clock
from memorybase.core.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.core.deletions import OfSession
from memorybase.core.described import (
    ChangedBy,
    Content,
    EndUserId,
    ExternalId,
    FlowId,
    Id,
    RunId,
    SenderName,
    Seq,
    SessionId,
    SpeakerRole,
    WhyChanged,
    WrittenAt,
)
from memorybase.core.extension import Charge, of_messages
from memorybase.core.ids import CallerId
from memorybase.core.ingestion import scheduler, trigger
from memorybase.core.keyword_index import index
from memorybase.core.models import Flow, RestorableMessage
from memorybase.core.queries import (
    deleted_messages,
    memory_bases,
    message_changes,
    messages,
    restorable_messages,
    sessions,
    summaries,
)
from memorybase.core.queries.expiry import expiry_of
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.message_changes import NOBODY, Attribution
from memorybase.core.queries.ownership import not_found, require, resolve_flow
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.core.sessions import relinking
from memorybase.core.sessions.edits import RemovedFrom, screened


@dataclass(frozen=True, slots=True)
class DeletedMessageView:
    """A deleted message that can be restored, or captured again."""

    id: Id
    external_id: ExternalId
    flow_id: FlowId
    session_id: SessionId
    run_id: RunId
    end_user_id: EndUserId
    seq: Seq
    role: SpeakerRole
    content: Content
    sender_name: SenderName
    version: Annotated[int, Field(description="The version that was deleted.")]
    timestamp: WrittenAt
    deleted_at: Annotated[datetime, Field(description="When it was deleted.")]
    by: ChangedBy
    reason: WhyChanged
    restorable_until: Annotated[datetime, Field(description="Until when it can be restored; null if it cannot be.")]
    removed: Annotated[
        list[RemovedFrom], Field(description="The memory bases that held it; repairs delete its chunks there.")
    ]


def list_deleted(
    services: Services,
    user_id: UUID,
    request: PageRequest,
    *,
    flow_id: UUID | None = None,
    memory_base_id: UUID | None = None,
    session_id: str | None = None,
) -> Page[DeletedMessageView]:
    """The messages that can be restored, the last deleted first. Raises NotFound, InvalidRequest."""
    with services.database.reading() as db:
        flow_id, _ = resolve_flow(db, user_id, flow_id, memory_base_id)
        since = _restorable_since(db, services)
        found = restorable_messages.page(db, user_id, request, flow_id=flow_id, session_id=session_id, since=since)
        return page_of(found, lambda row: _view(services, row))


def find_deleted(services: Services, given: CallerId, flow_id: UUID | None) -> UUID:
    """The id of the deleted message that the caller means. Raises NotFound, AmbiguousId."""
    with services.database.reading() as db:
        since = _restorable_since(db, services)
        if given.uuid is not None:
            kept = restorable_messages.fetch(db, given.user_id, given.uuid, flow_id, since)
            if kept is not None:
                return kept.message_id
        found = restorable_messages.ids_by_external_id(db, given.user_id, given.text, flow_id, since)
    if len(found) > 1:
        raise errors.AmbiguousId(
            "Several flows have a deleted message with this id. Send flow_id", field="flow_id", value=given.sent
        )
    if not found:
        raise _missing(given.sent)
    return found[0]


def restore_message(
    services: Services, user_id: UUID, message_id: UUID, attribution: Attribution = NOBODY
) -> list[UUID]:
    """Store a deleted message again: the same id and seq, a new version, its place in the thread and its changes.
    Searches find it from this commit on. Returns the ids of the repair jobs.

    Raises NotFound after `deleted_retention_days` or if the message has expired, MessageConflict if a message with its
    id was captured since, QuotaFull.
    """
    if attribution.reason is not None:
        with services.database.reading() as db:
            kept = restorable_messages.fetch(db, user_id, message_id, None, _restorable_since(db, services))
        if kept is not None:
            attribution = screened(services, user_id, kept.flow_id, attribution)
    return charged(services, user_id, lambda caller: _restore(services, user_id, message_id, attribution, caller))


def _restore(
    services: Services, user_id: UUID, message_id: UUID, attribution: Attribution, caller: Caller
) -> list[UUID]:
    with services.database.transaction() as db:
        bases, session, kept = _locked(db, services, user_id, message_id)
        now = clock.now(db)
        if _has_expired(db, session, kept, now):
            raise _missing(message_id)
        external_id = kept.message["external_id"]
        if messages.message_by_id(db, message_id) is not None or (
            external_id is not None and messages.has_external_id(db, session.flow_id, external_id)
        ):
            raise errors.MessageConflict(
                "A message with this id was captured after the deletion", field="message_id", value=message_id
            )
        row = _row(db, services, session, kept, now)
        messages.insert_messages(db, [row])
        index.add(db, session, [(row, index.analyze(services, row["role"], row["content"]))])
        deleted_messages.delete(db, session.flow_id, [message_id])
        db.flush()
        sessions.save(db, session)
        for each in of_messages(services):
            found = each.find(services, row["role"], row["content"], row["is_dialogue"])
            each.add(db, session, [(row, found, kept.message.get(each.field, ()))])
        relinking.restore(db, session, kept)
        db.delete(kept)
        message = messages.message_by_id(db, message_id)
        if message is None:
            raise errors.ConstraintViolated("The restored message is missing after its insert")
        message_changes.record(db, session, message, "restore", attribution, now)
        summaries.mark_edited(db, session.flow_id, session.session_id, message.seq, now)
        scheduled = scheduler.mark_edited(db, services, bases, session.session_id, message.seq, now)
        # Beyond the target it is pending, like a new message.
        ingestion = trigger.trigger(db, services, bases, session, now)
        charge_messages(db, services, Charge(caller=caller, messages=1, now=now, are_restored=True))
        jobs = [job.id for job in scheduled] + [state.job_id for state in ingestion if state.job_id is not None]
        return list(dict.fromkeys(jobs))


def _has_expired(db: OrmSession, session: SessionRow, kept: RestorableMessage, now: datetime) -> bool:
    """Whether a rule would delete the restored message."""
    flow = require(db.get(Flow, session.flow_id), "flow", session.flow_id)
    expiry = expiry_of(flow, session, now)
    captured_at: datetime = restorable_messages.from_json(kept.message)["captured_at"]
    return expiry is not None and captured_at <= expiry.before


def purge_message(services: Services, user_id: UUID, message_id: UUID) -> None:
    """Delete a deleted message and its changes for good, before its time is over. Raises NotFound, Held."""
    with services.database.transaction() as db:
        _, session, kept = _locked(db, services, user_id, message_id)
        deletions.check(db, services, user_id, OfSession(session))
        if messages.message_by_id(db, message_id) is None:
            message_changes.delete_of_message(db, session.flow_id, message_id)
        db.delete(kept)


def _locked(
    db: OrmSession, services: Services, user_id: UUID, message_id: UUID
) -> tuple[list[BaseRow], SessionRow, RestorableMessage]:
    """The deleted message, with its session locked. Common lock order: memory bases, session."""
    since = _restorable_since(db, services)
    kept = restorable_messages.fetch(db, user_id, message_id, None, since)
    found = None if kept is None else restorable_messages.session_of(db, kept)
    if found is not None:
        bases = memory_bases.share_bases_of_flow(db, found.flow_id)
        session = sessions.lock_session(db, found.flow_id, found.session_id)
        kept = restorable_messages.fetch(db, user_id, message_id, None, since, lock=True)
        # The session may have been renamed, and the message restored, before this transaction had the locks.
        if session is not None and kept is not None and kept.session_uuid == session.id:
            return bases, session, kept
    raise _missing(message_id)


def _row(
    db: OrmSession, services: Services, session: SessionRow, kept: RestorableMessage, now: datetime
) -> dict[str, Any]:
    """The message's row, with a version that no store has ever held."""
    row = restorable_messages.from_json(kept.message)
    past = deleted_messages.fetch(db, session.flow_id, [kept.message_id]).get(kept.message_id)
    parent, rule = relinking.parent_of_restored(db, session, kept)
    document = index.analyze(services, row["role"], row["content"])
    return {
        **row,
        "session_uuid": session.id,
        "version": max(row["version"], past.version if past else 0) + 1,
        "parent_message_id": parent,
        "parent_rule": rule,
        "edited_at": now,
        **index.columns(document),
    }


def _restorable_since(db: OrmSession, services: Services) -> datetime:
    return clock.now(db) - timedelta(days=services.settings.deleted_retention_days)


def _view(services: Services, row: AnyRow) -> DeletedMessageView:
    kept: RestorableMessage = row.RestorableMessage
    message = restorable_messages.from_json(kept.message)
    same = ("external_id", "run_id", "seq", "role", "content", "sender_name", "version", "timestamp")
    return view_of(
        DeletedMessageView,
        row,
        kept,
        id=kept.message_id,
        restorable_until=kept.deleted_at + timedelta(days=services.settings.deleted_retention_days),
        removed=[RemovedFrom(UUID(each["memory_base_id"]), each["kb_name"], each["chunks"]) for each in kept.removed],
        **{name: message[name] for name in same},
    )


def _missing(value: object) -> errors.NotFound:
    return not_found("deleted message", value, field="message_id")
