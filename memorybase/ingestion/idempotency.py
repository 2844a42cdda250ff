"""Idempotency of captures: which messages are new, which are known, which conflict.

Everything here runs in the capture's transaction, with the session locked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID, uuid5

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.messages import NewMessage, message_fingerprint
from memorybase.models import Message, Session
from memorybase.queries import sessions
from memorybase.queries.deleted_messages import Deleted
from memorybase.queries.ownership import not_found
from memorybase.queries.sessions import KnownMessage


def assign_ids(messages: Sequence[NewMessage], run_id: UUID) -> dict[UUID, NewMessage]:
    """Messages by id. A message without an id gets one derived from the run and its index among such messages.

    One id twice in a request with equal content is one message; with different content it raises InvalidRequest.
    """
    without_id = 0
    by_id: dict[UUID, NewMessage] = {}
    for index, message in enumerate(messages):
        message_id = message.id
        if message_id is None:
            message_id = uuid5(run_id, f"message:{without_id}")
            without_id += 1
        first = by_id.setdefault(message_id, message)
        if first is not message and message_fingerprint(first) != message_fingerprint(message):
            raise errors.InvalidRequest(
                "A message id occurs twice in this request with different content",
                field=f"messages[{index}].id",
                value=message.external_id or str(message_id),
            )
    return by_id


def bind_end_user(session: Session, end_user_id: str | None) -> None:
    """Bind the session to its end user at its first capture. Raises SessionConflict for another end user later."""
    if session.deleted_at is not None:  # deleted; this capture starts it again
        session.end_user_id = end_user_id
        return
    if end_user_id is None or session.end_user_id == end_user_id:
        return
    if session.end_user_id is not None or session.last_seq > 0:
        raise errors.SessionConflict(
            "The session belongs to another end user, or was started without one",
            field="end_user_id",
            value=end_user_id,
        )
    session.end_user_id = end_user_id


def ensure_run(
    db: OrmSession,
    session: Session,
    run_id: UUID,
    external_id: str | None,
    messages: Sequence[NewMessage],
    now: datetime,
) -> bool:
    """Insert the run; False if it exists already.

    Raises RunConflict if it belongs to another session, or came with other messages without ids.
    """
    fingerprint = _fingerprint_without_ids(messages)
    new = {
        "id": run_id, "flow_id": session.flow_id, "session_id": session.session_id,
        "external_id": external_id, "fingerprint": fingerprint, "created_at": now,
    }  # fmt: skip
    if sessions.add_run(db, new):
        return True
    run = sessions.fetch_run(db, run_id)
    if run is None:
        raise errors.ConstraintViolated("The run was deleted between insert and read")
    if (run.flow_id, run.session_id) != (session.flow_id, session.session_id):
        if sessions.owner_of_flow(db, run.flow_id) != sessions.owner_of_flow(db, session.flow_id):
            raise not_found("run", run_id)
        raise errors.RunConflict("The run belongs to another session", field="run_id", value=run_id)
    if fingerprint is not None:
        if run.fingerprint not in (None, fingerprint):
            raise errors.RunConflict(field="run_id", value=run_id)
        run.fingerprint = fingerprint
    return False


def _fingerprint_without_ids(messages: Sequence[NewMessage]) -> bytes | None:
    """One fingerprint over the messages without ids; None if all have ids."""
    digest = hashlib.sha256()
    without_ids = [message for message in messages if message.id is None]
    for message in without_ids:
        digest.update(message_fingerprint(message))
    return digest.digest() if without_ids else None


def find_known(
    db: OrmSession,
    user_id: UUID,
    session: Session,
    messages: Mapping[UUID, NewMessage],
    on_conflict: str,
) -> dict[UUID, KnownMessage]:
    """The messages that are stored already, in whatever run.

    Raises NotFound for another user's message, and MessageConflict for a message of another session or, while
    on_conflict is "error", with different content.
    """
    known = sessions.known_messages(db, messages.keys())
    for message_id, stored in known.items():
        shown_id = messages[message_id].id or message_id
        if stored.user_id != user_id:  # do not reveal the other user's external id
            raise not_found("message", shown_id, field="messages.id")
        if (stored.flow_id, stored.session_id) != (session.flow_id, session.session_id):
            raise errors.MessageConflict(
                "The message belongs to another session; nothing of this request was stored",
                field="messages.id",
                value=shown_id,
                message_id=str(message_id),
            )
        if on_conflict == "error" and _differs(db, stored, messages[message_id]):
            raise errors.MessageConflict(field="messages.id", value=shown_id, message_id=str(message_id))
    return known


def _differs(db: OrmSession, stored: KnownMessage, message: NewMessage) -> bool:
    """Whether it equals neither the message as captured nor as edited: a runtime may post its whole state again."""
    if stored.fingerprint == message_fingerprint(message):
        return False
    current = sessions.message_by_id(db, stored.id)
    return current is None or current_fingerprint(current) != message_fingerprint(message)


def current_fingerprint(message: Message) -> bytes:
    """The fingerprint of a stored message with its edits."""
    return message_fingerprint(
        NewMessage(
            id=message.id, external_id=message.external_id, role=message.role, is_output=message.is_output,
            content=message.content, tool_calls=message.tool_calls, tool_call_id=message.tool_call_id,
            name=message.name, sender_name=message.sender_name, parent_message_id=message.parent_message_id,
            files=message.files, metadata=message.meta, status=message.status, timestamp=message.timestamp,
        )
    )  # fmt: skip


def stays_deleted(past: Deleted, session: Session) -> bool:
    """A runtime that posts its whole state again does not restore a message that was deleted from its session."""
    return past.stays_deleted and past.session_uuid == session.id
