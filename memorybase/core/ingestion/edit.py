"""Edits of stored messages: a new version, the keyword index, summaries, and the repairs that update the stores.

Every edit takes this path, from PATCH and from a capture with `on_conflict="update"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.extension import of_messages
from memorybase.core.ingestion import scheduler
from memorybase.core.ingestion.idempotency import Placed
from memorybase.core.keyword_index import index
from memorybase.core.messages import text_bytes
from memorybase.core.models import Message
from memorybase.core.queries import message_changes, summaries
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.message_changes import NOBODY, Attribution
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import Services

_CHANGED = ("content", "files", "tool_calls", "tool_call_id", "name", "status")


class Edit(NamedTuple):
    """New values of a message's fields, and who changed them."""

    changes: Mapping[str, Any]
    attribution: Attribution = NOBODY
    keeps_former: bool = True  # else what was replaced is gone for good


def update_changed(
    db: OrmSession,
    services: Services,
    bases: Sequence[BaseRow],
    session: SessionRow,
    placed: Iterable[Placed],
    now: datetime,
    *,
    by: str | None = None,
) -> None:
    """`on_conflict="update"`: edit the stored messages that the posted ones change. Raises MessageConflict."""
    for each in placed:
        message, current = each.prepared.message, each.stored
        if current is None:
            continue
        is_ended = current.status != message.status  # such as a stream that was stopped, or a run that failed
        if current.role != message.role or (current.is_output != message.is_output and not is_ended):
            raise errors.MessageConflict(
                "role and is_output of a message cannot change; nothing of this request was stored",
                field="messages.id",
                value=each.id if message.id is None else message.id.sent,
            )
        current.is_output, current.is_dialogue = message.is_output, message.is_dialogue
        changes = {name: getattr(message, name) for name in _CHANGED}
        apply_edit(db, services, bases, session, current, Edit(changes, Attribution(by)), now)


def apply_edit(
    db: OrmSession,
    services: Services,
    bases: Sequence[BaseRow],
    session: SessionRow,
    message: Message,
    edit: Edit,
    now: datetime,
) -> list[JobRow]:
    """Write the changed fields as a new version of the message, keep the former ones, and schedule the repairs.

    The caller holds the locks of the flow's memory bases and of the session.
    """
    changes = edit.changes
    attributes = {name: "meta" if name == "metadata" else name for name in changes}
    former = {name: getattr(message, attributes[name]) for name in changes}
    former = {name: value for name, value in former.items() if value != changes[name]}
    for name, value in changes.items():
        setattr(message, attributes[name], value)
    message.version += 1
    message.edited_at = now
    if former:
        message_changes.record(
            db, session, message, "edit", edit.attribution, now, former if edit.keeps_former else None
        )
    if "content" in changes:
        message.text_bytes = text_bytes(message.content)
        index.replace(db, services, session, message)
        for each in of_messages(services):
            each.replace(db, services, session, message)
        summaries.mark_edited(db, message.flow_id, message.session_id, message.seq, now)
    db.flush()
    return scheduler.mark_edited(db, services, bases, session.session_id, message.seq, now)
