"""An edit of a stored message: its version, the keyword index, summaries, and the repairs that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.ingestion import scheduler
from memorybase.ingestion.idempotency import current_fingerprint
from memorybase.keyword_index import index as indexing
from memorybase.messages import NewMessage, message_fingerprint, text_bytes
from memorybase.models import MemoryBase, Message, Session
from memorybase.queries import sessions, summaries
from memorybase.queries.sessions import KnownMessage
from memorybase.services import Services


def update_changed(
    db: OrmSession,
    services: Services,
    living: Sequence[MemoryBase],
    session: Session,
    messages: Mapping[UUID, NewMessage],
    known: Mapping[UUID, KnownMessage],
    now: datetime,
) -> None:
    """on_conflict "update": known messages take the new content as an edit would; role and is_output stay."""
    for message_id in known:
        message = messages[message_id]
        current = sessions.message_by_id(db, message_id)
        if current is None or current_fingerprint(current) == message_fingerprint(message):
            continue
        if (current.role, current.is_output) != (message.role, message.is_output):
            raise errors.MessageConflict(
                "role and is_output of a message are fixed; nothing of this request was stored",
                field="messages.id",
                value=message.id or message_id,
            )
        apply_edit(current, {"content": message.content, "files": message.files}, now)
        indexing.replace(db, services, session, current)
        summaries.mark_edited(db, current.flow_id, current.session_id, current.seq, now)
        current.tool_calls = message.tool_calls
        current.tool_call_id = message.tool_call_id
        current.name = message.name
        db.flush()
        scheduler.mark_edited(db, services, living, session.session_id, current.seq, now)


def apply_edit(message: Message, changes: Mapping[str, Any], now: datetime) -> None:
    """A new version of a message, with any of content, files, metadata changed."""
    if "content" in changes:
        message.content = changes["content"]
        message.text_bytes = text_bytes(message.content)
    if "files" in changes:
        message.files = changes["files"]
    if "metadata" in changes:
        message.meta = changes["metadata"]
    message.version += 1
    message.edited_at = now
