"""The rules of identity that a capture goes by: what is new, what is known, what conflicts.

All inside the capture's transaction, with the session locked.
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


def identify(messages: Sequence[NewMessage], run_id: UUID) -> dict[UUID, NewMessage]:
    """Messages by id: the caller's, else one that follows from the run and the place among those without.

    An id twice in one request: equal content is one message, other content raises InvalidRequest.
    """
    unnamed = 0
    by_id: dict[UUID, NewMessage] = {}
    for index, message in enumerate(messages):
        message_id = message.id
        if message_id is None:
            message_id = uuid5(run_id, f"message:{unnamed}")
            unnamed += 1
        first = by_id.setdefault(message_id, message)
        if first is not message and message_fingerprint(first) != message_fingerprint(message):
            raise errors.InvalidRequest(
                "The same message id stands twice in this request with other content",
                field=f"messages[{index}].id",
                value=message.external_id or str(message_id),
            )
    return by_id


def bind_end_user(session: Session, end_user_id: str | None) -> None:
    """A session belongs to one end user from its first capture on; raises SessionConflict."""
    if session.deleted_at is not None:  # emptied, and begun anew by this capture
        session.end_user_id = end_user_id
        return
    if end_user_id is None or session.end_user_id == end_user_id:
        return
    if session.end_user_id is not None or session.last_seq > 0:
        raise errors.SessionConflict(
            "The session belongs to another end user, or was begun without one",
            field="end_user_id",
            value=end_user_id,
        )
    session.end_user_id = end_user_id


def open_run(
    db: OrmSession,
    session: Session,
    run_id: UUID,
    external_id: str | None,
    messages: Sequence[NewMessage],
    now: datetime,
) -> bool:
    """The run's row, made when new; whether it is. Raises RunConflict for a known run in another session, or whose
    messages without ids differ from those it came with."""
    fingerprint = _fingerprint_without_ids(messages)
    new = {
        "id": run_id, "flow_id": session.flow_id, "session_id": session.session_id,
        "external_id": external_id, "fingerprint": fingerprint, "created_at": now,
    }  # fmt: skip
    if sessions.add_run(db, new):
        return True
    run = sessions.fetch_run(db, run_id)
    if run is None:
        raise errors.ConstraintViolated("The run vanished between insert and read")
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
    """What the run's messages without ids say, together; None when all have ids."""
    digest = hashlib.sha256()
    unnamed = [message for message in messages if message.id is None]
    for message in unnamed:
        digest.update(message_fingerprint(message))
    return digest.digest() if unnamed else None


def match_known(
    db: OrmSession,
    user_id: UUID,
    session: Session,
    messages: Mapping[UUID, NewMessage],
    on_conflict: str,
) -> dict[UUID, KnownMessage]:
    """Which messages are stored already, whatever their run.

    Raises NotFound for another user's id, and MessageConflict for one of another session, or of other content
    while on_conflict is "error".
    """
    known = sessions.known_messages(db, messages.keys())
    for message_id, stored in known.items():
        named = messages[message_id].id or message_id
        if stored.user_id != user_id:
            raise not_found("message", named, field="messages.id")
        if (stored.flow_id, stored.session_id) != (session.flow_id, session.session_id):
            raise errors.MessageConflict(
                "The message belongs to another session; nothing of this request was stored",
                field="messages.id",
                value=named,
                message_id=str(message_id),
            )
        if on_conflict == "error" and _differs(db, stored, messages[message_id]):
            raise errors.MessageConflict(field="messages.id", value=named, message_id=str(message_id))
    return known


def _differs(db: OrmSession, stored: KnownMessage, message: NewMessage) -> bool:
    """Equal means: as it was captured, so that a runtime may post its whole state again after an edit, or as it is."""
    if stored.fingerprint == message_fingerprint(message):
        return False
    current = sessions.message_by_id(db, stored.id)
    return current is None or current_fingerprint(current) != message_fingerprint(message)


def current_fingerprint(message: Message) -> bytes:
    """The fingerprint of a stored message as it is now."""
    return message_fingerprint(
        NewMessage(
            id=message.id, external_id=message.external_id, role=message.role, is_output=message.is_output,
            content=message.content, tool_calls=message.tool_calls, tool_call_id=message.tool_call_id,
            name=message.name, sender_name=message.sender_name, parent_message_id=message.parent_message_id,
            files=message.files, metadata=message.meta, status=message.status, timestamp=message.timestamp,
        )
    )  # fmt: skip


def stays_deleted(past: Deleted, session: Session) -> bool:
    """A runtime that posts its whole state brings no message back that was deleted out of its session."""
    return past.kept_out and past.conversation_id == session.id
