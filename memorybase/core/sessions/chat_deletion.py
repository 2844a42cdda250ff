"""Deletions in chats of Chat Memory nodes: what follows from one, those of an end user, and of what has expired.

The last message takes its chat with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deletions
from memorybase.core.conversation.view.records import Record, call_ids
from memorybase.core.database import clock
from memorybase.core.deletions import OfChat
from memorybase.core.models import Chat
from memorybase.core.queries import chats, leased_work, memory_uses
from memorybase.core.queries.chats import DeletedRecord
from memorybase.core.services import Services

ERASE_PAGE = 200  # chats looked up at once


class ErasedChats(NamedTuple):
    """Numbers of chats, messages and summaries that were erased."""

    chats: int
    messages: int
    summaries: int


def after_deletion(db: OrmSession, chat: Chat, deleted: Sequence[DeletedRecord]) -> None:
    """Update the counters, redact recorded uses, and delete a summary that covered any of the records; views then show
    again what it had replaced."""
    if not deleted:
        return
    redacted = [record.message_id for record in deleted]
    chat.messages -= len(deleted)
    chat.tokens -= sum(record.tokens for record in deleted)
    leased_work.outdate(chat)
    chat.updated_at = clock.now(db)
    covered = chat.summary_from_seq, chat.summary_to_seq
    if chat.summary is not None and any(covered[0] <= record.seq <= covered[1] for record in deleted):
        chat.summary = None
        chat.summary_from_seq = chat.summary_to_seq = 0
        if chat.trimmed_seq <= covered[1]:
            chat.trimmed_seq = min(chat.trimmed_seq, covered[0] - 1)
        redacted.append(chat.id)  # in recorded uses the chat's id stands for its summary
    memory_uses.redact_uses(db, chat.flow_id, redacted)
    db.flush()
    if chat.messages == 0:
        chats.delete_chat(db, chat)


def expire_messages(db: OrmSession, chat: Chat, moment: datetime, *, limit: int) -> ErasedChats:
    """Delete up to `limit` of the chat's oldest messages that were posted until then, and results of their tool calls;
    the chat too if nothing is left. The caller has locked the chat."""
    to_seq = chats.last_posted_before(db, chat, moment, limit=limit)
    if to_seq is None:
        return ErasedChats(0, 0, 0)
    had_summary = chat.summary is not None
    calls = [call for message_calls in chats.calls_until(db, chat, to_seq) for call in message_calls]
    deleted = chats.delete_records(db, chat, to_seq=to_seq)
    if calls:
        ids = call_ids(Record(id="", seq=0, role="assistant", tool_calls=calls))
        deleted += chats.delete_results(db, chat, ids, after=to_seq)
    after_deletion(db, chat, sorted(deleted))
    is_empty = chat.messages == 0
    return ErasedChats(int(is_empty), len(deleted), int(had_summary and (is_empty or chat.summary is None)))


def erase_chats(services: Services, user_id: UUID, end_user_id: str) -> ErasedChats:
    """Delete every chat of an end user, in all of the user's flows.

    One transaction per chat; after an error the next call continues.
    """
    total = ErasedChats(0, 0, 0)
    while True:
        with services.database.reading() as db:
            page = chats.chats_of_end_user(db, user_id, end_user_id, limit=ERASE_PAGE)
        for memory_id, chat_id in page:
            with services.database.transaction() as db:
                chat = chats.lock_chat(db, memory_id, chat_id)
                if chat is None or chat.end_user_id != end_user_id:
                    continue
                deletions.check(db, services, user_id, OfChat(chat.flow_id, end_user_id))
                summaries = total.summaries + (chat.summary is not None)
                deleted = chats.delete_records(db, chat)
                after_deletion(db, chat, deleted)
                total = ErasedChats(total.chats + 1, total.messages + len(deleted), summaries)
        if len(page) < ERASE_PAGE:
            return total
