"""Capture: store one run's messages in one short transaction.

Lock order: memory bases (shared), the session, its progress rows by id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors, metrics
from memorybase.database import clock
from memorybase.ingestion import edit, idempotency
from memorybase.ingestion.trigger import IngestionState, trigger
from memorybase.keyword_index import index
from memorybase.keyword_index.analyzer import Document
from memorybase.messages import NewMessage, message_fingerprint, text_bytes
from memorybase.models import Session
from memorybase.queries import deleted_messages, memory_bases, sessions
from memorybase.queries.deleted_messages import Deleted
from memorybase.queries.ownership import check_flow
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

OnConflict = Literal["error", "keep", "update"]


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """One run's messages."""

    session_id: str
    messages: list[NewMessage]
    run_id: UUID | None = None
    run_external_id: str | None = None
    end_user_id: str | None = None
    on_conflict: OnConflict = "error"


@dataclass(frozen=True, slots=True)
class CapturedMessage:
    id: UUID
    external_id: str | None
    seq: int
    created: bool
    deleted: bool  # deleted before, and therefore not stored again


@dataclass(frozen=True, slots=True)
class CaptureResult:
    run_id: UUID
    run_external_id: str | None
    session_id: str
    created: bool  # False: a replay without new messages
    messages: list[CapturedMessage]
    ingestion: list[IngestionState]


def capture(services: Services, user_id: UUID, flow_id: UUID, request: CaptureRequest) -> CaptureResult:
    """Store a run's messages and evaluate the thresholds. Committed on return; needs neither Redis nor Chroma.

    Raises NotFound (unknown flow, or a message id of another user), MessageConflict, RunConflict, SessionConflict.
    """
    with metrics.CAPTURE_SECONDS.time():
        try:
            result = _capture(services, user_id, flow_id, request)
        except errors.ConstraintViolated:
            # Another session has one of these ids, perhaps since a moment ago. Look all ids up this time.
            result = _capture(services, user_id, flow_id, request, look_up_all=True)
    metrics.RUNS_CAPTURED.inc()
    metrics.MESSAGES_CAPTURED.inc(sum(message.created for message in result.messages))
    return result


def _capture(
    services: Services, user_id: UUID, flow_id: UUID, request: CaptureRequest, *, look_up_all: bool = False
) -> CaptureResult:
    run_id = request.run_id or uuid4()
    messages = idempotency.assign_ids(request.messages, run_id)
    documents = index.analyze_all(services, messages)
    with services.database.transaction() as db:
        bases = memory_bases.share_bases_of_flow(db, flow_id)
        check_flow(db, user_id, flow_id)
        # From here to the commit only this transaction assigns seqs in the session: seq order is commit order.
        session = sessions.open_session(
            db,
            flow_id=flow_id,
            session_id=request.session_id,
            end_user_id=request.end_user_id,
        )
        now = clock.now(db)  # read under the lock: captured_at rises with seq
        idempotency.bind_end_user(session, request.end_user_id)
        run_is_new = idempotency.ensure_run(db, session, run_id, request.run_external_id, request.messages, now)
        # Ids derived from a new run's id are new too.
        has_ids = any(message.id is not None for message in request.messages)
        known = (
            idempotency.find_known(db, user_id, session, messages, request.on_conflict)
            if look_up_all or has_ids or not run_is_new
            else {}
        )
        unknown = {message_id: message for message_id, message in messages.items() if message_id not in known}
        past = deleted_messages.fetch(db, flow_id, unknown.keys() | _parents_of(unknown))
        deleted = {key: past[key] for key in unknown.keys() & past.keys()}
        skipped = {key: past for key, past in deleted.items() if idempotency.stays_deleted(past, session)}
        new = {message_id: message for message_id, message in unknown.items() if message_id not in skipped}
        new = _relinked(db, session, new, past)
        first_seq = session.last_seq + 1
        rows = message_rows(new, documents, deleted, session, run_id, first_seq, now)
        sessions.insert_messages(db, rows)
        if new:
            session.last_seq += len(new)
            session.last_captured_at = now
            session.deleted_at = None
        index.add(db, session, rows, documents)
        deleted_messages.delete(db, flow_id, new.keys() & deleted.keys())
        db.flush()
        if request.on_conflict == "update":
            edit.update_changed(db, services, bases, session, messages, known, now)
        ingestion = trigger(db, services, bases, session, now)
    log.info("run_captured", run_id=str(run_id), flow_id=str(flow_id), messages=len(new), known=len(known))
    seqs = {message_id: first_seq + offset for offset, message_id in enumerate(new)}
    seqs |= {message_id: stored.seq for message_id, stored in known.items()}
    seqs |= {message_id: past.seq for message_id, past in skipped.items()}
    captured = [
        CapturedMessage(
            message_id, message.external_id, seqs[message_id], created=message_id in new, deleted=message_id in skipped
        )
        for message_id, message in messages.items()
    ]
    return CaptureResult(
        run_id, request.run_external_id, request.session_id, run_is_new or bool(new), captured, ingestion
    )


def _parents_of(messages: Mapping[UUID, NewMessage]) -> set[UUID]:
    return {message.parent_message_id for message in messages.values() if message.parent_message_id is not None}


def _relinked(
    db: OrmSession, session: Session, new: Mapping[UUID, NewMessage], past: Mapping[UUID, Deleted]
) -> dict[UUID, NewMessage]:
    """The messages with parents that were deleted replaced by what is followed in their place."""
    gone = {parent for parent, deleted in past.items() if idempotency.stays_deleted(deleted, session)}
    named = _parents_of(new) & gone
    follows = deleted_messages.followed_instead(db, session, named) if named else {}
    return {
        message_id: replace(
            message,
            parent_message_id=follows[message.parent_message_id],
            parent_rule="none" if follows[message.parent_message_id] is None else "exact",
        )
        if message.parent_message_id in follows
        else message
        for message_id, message in new.items()
    }


def message_rows(
    messages: Mapping[UUID, NewMessage],
    documents: Mapping[UUID, Document],
    deleted: Mapping[UUID, Deleted],
    session: Session,
    run_id: UUID,
    first_seq: int,
    now: datetime,
) -> list[dict[str, Any]]:
    """Rows to insert, with seqs from `first_seq` on and versions that no store has ever held."""
    return [
        {
            "id": message_id,
            "flow_id": session.flow_id,
            "session_id": session.session_id,
            "run_id": run_id,
            "external_id": message.external_id,
            "seq": first_seq + offset,
            "position": session.first_position + first_seq + offset,
            "role": message.role,
            "is_output": message.is_output,
            "is_dialogue": message.role in ("user", "assistant"),
            "content": message.content,
            "tool_calls": message.tool_calls,
            "tool_call_id": message.tool_call_id,
            "name": message.name,
            "sender_name": message.sender_name,
            "parent_message_id": message.parent_message_id,
            "parent_rule": message.parent_rule,
            "files": message.files,
            "metadata": message.metadata,
            "status": message.status,
            "version": deleted[message_id].version + 1 if message_id in deleted else 1,
            "text_bytes": text_bytes(message.content),
            **index.columns(documents[message_id]),
            "fingerprint": message_fingerprint(message),
            # The default is the time of the capture; a microsecond between messages keeps their order.
            "timestamp": message.timestamp or now + timedelta(microseconds=offset),
            "captured_at": now,
            "edited_at": None,
        }
        for offset, (message_id, message) in enumerate(messages.items())
    ]
