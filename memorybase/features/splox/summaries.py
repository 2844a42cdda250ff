"""Summaries of chats: one per chat, extended as views leave out more messages.

A write requests the summary in the chat's row. A worker stores it if nothing of the chat was deleted or trimmed
meanwhile. If the summarizer fails, the stored summary stays, and the next attempt covers the same messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deadlines, errors
from memorybase.core.conversation.summarizers import job
from memorybase.core.conversation.summarizers.job import Folded, Plan, Summaries
from memorybase.core.conversation.summarizers.llm import Summarizer, summarizer_named
from memorybase.core.conversation.view.records import Record
from memorybase.core.conversation.view.token_counters import counter_for
from memorybase.core.database import clock
from memorybase.core.models import Chat, ChatMemory
from memorybase.core.queries import chats, leased_work
from memorybase.core.queries.leased_work import Work
from memorybase.core.services import Services, Task
from memorybase.features.splox import queries
from memorybase.features.splox.memories import MemoryKey, checked_chat_id, config_of, require_memory
from memorybase.features.splox.views import (
    Trimmed,
    messages_left,
    move_trimmed,
    read_view,
    record_of,
    seq_before,
    trim_state_of,
)

SUMMARIZE = Task("memorybase.summarize_chat", "chat_id")
WORK = Work(Chat, SUMMARIZE, job.lease)
BATCH = 6  # unsummarized messages before a model is called; meanwhile views show them verbatim
TRIES = 3


@dataclass(frozen=True)
class _OfChat(Summaries[Chat]):
    services: Services
    batch: int = BATCH

    work = WORK

    def plan(self, db: OrmSession, row: Chat) -> Plan | None:
        found = queries.fetch_with_memory(db, row.id)
        return None if found is None else _due(self.services, db, *found, self.batch)

    def values(self, _row: Chat, plan: Plan, folded: Folded, _now: datetime, *, is_last: bool) -> dict[str, Any]:
        return _stored(plan, folded) if is_last else {}


def summarize_chat(
    services: Services,
    key: MemoryKey,
    chat_id: str,
    *,
    keep_last_n: int = 2,
    prompt: str | None = None,
    summarizer: Summarizer | None = None,
    before_commit: Callable[[OrmSession, Trimmed], object] | None = None,
) -> Trimmed:
    """Replace all but the newest messages by a summary, which counts as one of the remaining messages. `before_commit`
    is called in the transaction that stores it.

    Raises NotFound, what the summarizer raises, and Conflict if the chat keeps changing meanwhile.
    """
    checked_chat_id(chat_id)
    for _ in range(TRIES):
        with services.database.reading() as db:
            memory = require_memory(db, key)
            config = config_of(memory)
            chat = queries.fetch_chat(db, memory.id, chat_id)
            if chat is None:
                return Trimmed(0, 0)
            trim_state = trim_state_of(db, memory, config, chat)
            left = messages_left(db, chat, trim_state)
            if left <= keep_last_n:
                return Trimmed(0, left + (chat.summary is not None), chat.summary)
            seq = seq_before(db, chat, trim_state, keep_last_n)
        plan = _plan(chat, _covered(chat), seq, prompt or config.summarize_prompt)
        folded = job.fold(services, plan, summarizer or summarizer_named(services.settings, services.embedders))
        with services.database.transaction() as db:
            current = _replace_unchanged(db, chat, _stored(plan, folded or Folded()), seq)
            if current is None:
                continue
            remaining = queries.count_after(db, current, seq)
            trimmed = Trimmed(left - remaining, remaining + 1, current.summary)
            if before_commit is not None:
                before_commit(db, trimmed)
            return trimmed
    raise errors.Conflict("The chat changed while it was summarized; retry", field="chat_id", value=chat_id)


def summary_text(services: Services, key: MemoryKey, chat_id: str) -> str | None:
    """The text of the chat's summary, if it has one. Raises NotFound."""
    with services.database.reading() as db:
        chat = queries.fetch_chat(db, require_memory(db, key).id, checked_chat_id(chat_id))
    return None if chat is None else chat.summary


def request_if_due(services: Services, key: MemoryKey, chat_id: str) -> bool:
    """After a write, notify a worker if a summary is due and not yet requested. Returns whether it did."""
    return _request_if_due(services, lambda db: _found(db, key, chat_id))


def make_pending(services: Services, chat_row_id: UUID, before_page: Callable[[], object]) -> None:
    """In a worker."""
    make_due(services, chat_row_id, before_page=before_page)


def make_due(
    services: Services,
    chat_row_id: UUID,
    summarizer: Summarizer | None = None,
    *,
    before_page: Callable[[], object] = lambda: None,
) -> bool:
    """Make a chat's pending summary, in a worker; False if none is pending, another worker has claimed it, or the job
    failed."""
    is_made = job.make_summary(services, _OfChat(services), chat_row_id, summarizer, before_page=before_page)
    if is_made is not False:  # while it was pending, writes requested nothing
        _request_if_due(services, lambda db: queries.fetch_with_memory(db, chat_row_id))
    return bool(is_made)


def summarize_due(
    services: Services, key: MemoryKey, chat_id: str, *, summarizer: Summarizer, batch: int = BATCH
) -> bool:
    """Update the summary at once if `batch` messages wait for it, by a summarizer that only this process has.

    Returns whether it was updated. A failure is logged, and the next write tries again.
    """
    with services.database.reading() as db:
        found = _found(db, key, chat_id)
        if found is None or _due(services, db, *found, batch) is None:
            return False
    return bool(job.make_summary(services, _OfChat(services, batch), found[0].id, summarizer))


def _found(db: OrmSession, key: MemoryKey, chat_id: str) -> tuple[Chat, ChatMemory] | None:
    memory = queries.fetch_memory(db, *key)
    chat = None if memory is None else queries.fetch_chat(db, memory.id, chat_id)
    return None if memory is None or chat is None else (chat, memory)


def _request_if_due(services: Services, find: Callable[[OrmSession], tuple[Chat, ChatMemory] | None]) -> bool:
    with services.database.reading() as db:
        found = find(db)
        if found is None or found[0].notify_at is not None or _due(services, db, *found) is None:
            return False
    chat_row_id = found[0].id
    with services.database.transaction() as db:
        notify_at = clock.now(db) + timedelta(seconds=deadlines.NOTIFY_AFTER_SECONDS)
        is_new = queries.request_summary(db, chat_row_id, notify_at)
        leased_work.enqueue_after_commit(WORK, db, services, [chat_row_id] if is_new else [])
    return is_new


def _due(services: Services, db: OrmSession, chat: Chat, memory: ChatMemory, batch: int = BATCH) -> Plan | None:
    """What views leave out and no summary covers, if that is enough for a summary."""
    config = config_of(memory)
    if not config.enable_summarization:
        return None
    view = read_view(db, memory, config, chat, counter_for(services.settings), verbatim=False)
    if not view.overflow:
        return None
    to_seq = view.overflow[-1].seq
    head = [record.seq for record in view.records if record.kind == "history" and record.seq < view.overflow[0].seq]
    after_seq = max([_covered(chat), *head])
    if queries.count_after(db, chat, after_seq, to_seq) < batch:
        return None
    return _plan(chat, after_seq, to_seq, config.summarize_prompt)


def _covered(chat: Chat) -> int:
    """The seq up to which nothing is left to summarize."""
    return max(chat.trimmed_seq, 0 if chat.summary is None else chat.summary_to_seq)


def _plan(chat: Chat, after_seq: int, to_seq: int, prompt: str) -> Plan:
    def read_page(db: OrmSession, after_seq: int) -> tuple[Sequence[Record], int]:
        rows = queries.oldest(db, chat, limit=job.PAGE, after=after_seq, to=to_seq)
        return [record_of(row) for row in rows], to_seq if len(rows) < job.PAGE else rows[-1].seq

    start = Folded(chat.summary, None if chat.summary is None else chat.summary_from_seq, after_seq)
    return Plan(start=start, to_seq=to_seq, read_page=read_page, prompt=prompt)


def _stored(plan: Plan, folded: Folded) -> dict[str, Any]:
    """The columns of a summary. Raises SummaryRejected."""
    if folded.text is None or not folded.text.strip() or folded.from_seq is None:
        raise errors.SummaryRejected
    return {"summary": folded.text, "summary_from_seq": folded.from_seq, "summary_to_seq": plan.to_seq}


def _replace_unchanged(db: OrmSession, seen: Chat, stored: Mapping[str, Any], seq: int) -> Chat | None:
    """Replace what views show up to the seq by the stored summary. None if something of the chat was deleted, trimmed
    or summarized since it was read."""
    current = chats.lock_chat(db, seen.chat_memory_id, seen.chat_id)
    if current is None or _state(current) != _state(seen):
        return None
    for name, value in stored.items():
        setattr(current, name, value)
    move_trimmed(current, seq)
    return current


def _state(chat: Chat) -> tuple[object, ...]:
    deleted = chat.last_seq - chat.messages
    return chat.id, deleted, chat.trimmed_seq, chat.summary, chat.summary_to_seq
