"""Whether what a view was built from is still stored: a memory use must not record what was deleted since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.view.budget import MARK
from memorybase.core.conversation.view.build import SUMMARY_PREFIX
from memorybase.core.messages import message_text
from memorybase.core.models import NodeExecution
from memorybase.core.queries import chats, sessions, summaries
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries.memory_uses import ViewItem, ids_in


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOrigin:
    """The sources of a view besides its messages: a session, a chat by its row id, node executions with their
    `updated_at` at that time, and the end user."""

    session_id: str | None = None
    end_user_id: str | None = None
    chat_row_id: UUID | None = None
    execution: Sequence[tuple[UUID, datetime]] = ()


def deleted_sources(
    db: OrmSession,
    flow_id: UUID,
    origin: ViewOrigin,
    messages: Sequence[ViewItem],
    sources: Sequence[ViewItem],
) -> set[UUID]:
    """The sources deleted since the view was built. Locks the others against deletion until the transaction ends."""
    ids = ids_in(sources)
    if origin.chat_row_id is not None:
        chat = chats.share_chat(db, origin.chat_row_id)
        stored = chats.present(db, origin.chat_row_id, ids)
        summary_texts = {} if chat is None else {chat.id: chat.summary}
    else:
        sessions.share_sessions_of_messages(db, flow_id, origin.session_id, ids)
        stored = message_queries.present(db, flow_id, ids)
        summary_texts = summaries.texts(db, ids - stored)
    for execution_id, written_at in origin.execution:
        row = db.get(NodeExecution, execution_id)
        stored |= {row.id} if row is not None and row.updated_at == written_at else set()
    stored |= {
        summary_id
        for summary_id in ids & summary_texts.keys()
        if _is_current(summary_id, summary_texts[summary_id], messages, sources)
    }
    return ids - stored


def _is_current(summary_id: UUID, text: str | None, messages: Sequence[ViewItem], sources: Sequence[ViewItem]) -> bool:
    """Whether the view shows the summary's present text, not one from before a deletion."""
    shown = (message for message, source in zip(messages, sources, strict=True) if summary_id in ids_in([source]))
    return text is not None and all(_shows(message_text(message.get("content")), text) for message in shown)


def _shows(shown: str, text: str) -> bool:
    """Whether a message shows this summary, complete or truncated."""
    start, mark, end = shown.partition(MARK)
    return text in shown or (bool(mark) and start.removeprefix(SUMMARY_PREFIX) in text and end in text)
