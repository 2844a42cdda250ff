"""Whether what a view was made of is still stored: what was deleted meanwhile must not be kept in a record of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.messages import message_text
from memorybase.models import NodeExecution
from memorybase.queries import chats, sessions, summaries
from memorybase.queries.memory_uses import Shown, ids_in


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOrigin:
    """What a view was made of besides the messages that it names: a session, a chat by its row, an execution as it was
    when it was last written."""

    session_id: str | None = None
    chat_row_id: UUID | None = None
    execution: tuple[UUID, datetime] | None = None


def deleted_sources(
    db: OrmSession,
    flow_id: UUID,
    origin: ViewOrigin,
    told: Sequence[Shown],
    sources: Sequence[Shown],
) -> set[UUID]:
    """What of all that has been deleted since the view was made; nothing more of it is until this transaction ends."""
    ids = ids_in(sources)
    if origin.chat_row_id is not None:
        chat = chats.share_chat(db, origin.chat_row_id)
        stands = chats.present(db, origin.chat_row_id, ids)
        summary_texts = {} if chat is None else {chat.id: chat.summary}
    else:
        sessions.share_sessions_of_messages(db, flow_id, origin.session_id, ids)
        stands = sessions.present(db, flow_id, ids)
        summary_texts = summaries.texts(db, ids - stands)
    if origin.execution is not None:
        row = db.get(NodeExecution, origin.execution[0])
        stands |= {row.id} if row is not None and row.updated_at == origin.execution[1] else set()
    stands |= {each for each in ids & summary_texts.keys() if _is_told(each, summary_texts[each], told, sources)}
    return ids - stands


def _is_told(summary_id: UUID, text: str | None, told: Sequence[Shown], sources: Sequence[Shown]) -> bool:
    """Whether the view has the summary as it is now, and not one from before a deletion."""
    holding = (message for message, source in zip(told, sources, strict=True) if summary_id in ids_in([source]))
    return text is not None and all(text in message_text(message.get("content")) for message in holding)
