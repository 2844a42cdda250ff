"""Summaries of chats: one per chat, extended as views leave out more messages.

A write schedules the summary by `notify_at` in the chat's row. A worker stores it if nothing of the chat was deleted or
trimmed meanwhile. If the summarizer fails, the stored summary stays, and the next attempt covers the same messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import deadlines, errors
from memorybase.conversation.chat_memory.memories import MemoryKey, checked_chat_id, config_of, require_memory
from memorybase.conversation.chat_memory.views import (
    Trimmed,
    messages_left,
    move_trimmed,
    read_view,
    record_of,
    seq_before,
    trim_state_of,
)
from memorybase.conversation.summarizers import job
from memorybase.conversation.summarizers.job import Folded
from memorybase.conversation.summarizers.llm import Summarizer, summarizer_named
from memorybase.conversation.view.records import Record
from memorybase.conversation.view.token_counters import counter_for
from memorybase.database import clock
from memorybase.models import Chat, ChatMemory
from memorybase.queries import chats
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

BATCH = 6  # unsummarized messages before a model is called; meanwhile views show them verbatim
TRIES = 3


@dataclass(frozen=True, slots=True)
class _Task:
    """Summarize the messages after `after_seq` up to `to_seq`, and add to the chat's summary."""

    chat: Chat
    after_seq: int
    to_seq: int
    prompt: str

    def read_page(self, db: OrmSession, after_seq: int) -> tuple[Sequence[Record], int]:
        rows = chats.oldest(db, self.chat, limit=job.PAGE, after=after_seq, to=self.to_seq)
        return [record_of(row) for row in rows], self.to_seq if len(rows) < job.PAGE else rows[-1].seq


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
            chat = chats.fetch_chat(db, memory.id, chat_id)
            if chat is None:
                return Trimmed(0, 0)
            trim_state = trim_state_of(db, memory, config, chat)
            left = messages_left(db, chat, trim_state)
            if left <= keep_last_n:
                return Trimmed(0, left + (chat.summary is not None), chat.summary)
            seq = seq_before(db, chat, trim_state, keep_last_n)
        folded = _folded(services, _Task(chat, _covered(chat), seq, prompt or config.summarize_prompt), summarizer)
        with services.database.transaction() as db:
            current = _lock_unchanged(db, chat)
            if current is None:
                continue
            _store(current, folded, seq)
            move_trimmed(current, seq)
            remaining = chats.count_after(db, current, seq)
            trimmed = Trimmed(left - remaining, remaining + 1, folded.text)
            if before_commit is not None:
                before_commit(db, trimmed)
            return trimmed
    raise errors.Conflict("The chat changed while it was summarized; retry", field="chat_id", value=chat_id)


def summary_text(services: Services, key: MemoryKey, chat_id: str) -> str | None:
    """The text of the chat's summary, if it has one. Raises NotFound."""
    with services.database.reading() as db:
        chat = chats.fetch_chat(db, require_memory(db, key).id, checked_chat_id(chat_id))
    return None if chat is None else chat.summary


def request_if_due(services: Services, key: MemoryKey, chat_id: str) -> bool:
    """After a write, notify a worker if a summary is due and not yet requested. Returns whether it did."""
    with services.database.reading() as db:
        memory = chats.fetch_memory(db, *key)
        chat = None if memory is None else chats.fetch_chat(db, memory.id, chat_id)
        if memory is None or chat is None or chat.notify_at is not None or _due(services, db, memory, chat) is None:
            return False
    return _request(services, chat.id)


def _request(services: Services, chat_row_id: UUID) -> bool:
    with services.database.transaction() as db:
        notify_at = clock.now(db) + timedelta(seconds=deadlines.NOTIFY_AFTER_SECONDS)
        is_new = chats.schedule_summary(db, chat_row_id, notify_at, if_scheduled=False)
        job.enqueue_after_commit(db, services, [chat_row_id] if is_new else [])
    return is_new


def make_due(
    services: Services,
    chat_row_id: UUID,
    summarizer: Summarizer | None = None,
    *,
    before_page: Callable[[], object] = lambda: None,
) -> bool:
    """Make a chat's pending summary, in a worker; False if none is pending or the job failed."""
    if not _put_off(services, chat_row_id, job.lease(services)):
        return False
    try:
        is_made = _bring_up(services, chat_row_id, summarizer, before_page=before_page)
    except errors.DatabaseUnavailable:
        raise
    except job.FAILURES as error:
        log.warning("chat_summary_failed", chat_row_id=str(chat_row_id), error_code=error.code)
        # If a retry cannot help, the summary waits for the next write.
        backoff = job.pause_after(error, timedelta(seconds=services.settings.backoff_max_seconds))
        _put_off(services, chat_row_id, backoff if isinstance(error, errors.EnvironmentFailure) else None)
        return False
    _put_off(services, chat_row_id, None)
    with services.database.reading() as db:  # while notify_at was set, writes requested nothing
        found = chats.fetch_with_memory(db, chat_row_id)
        is_due = found is not None and _due(services, db, found[1], found[0]) is not None
    if is_due:
        _request(services, chat_row_id)
    return is_made


def _put_off(services: Services, chat_row_id: UUID, pause: timedelta | None) -> bool:
    """Let the sweeper notify a worker after the pause, or never; False if no summary is pending."""
    with services.database.transaction() as db:
        notify_at = None if pause is None else clock.now(db) + pause
        return chats.schedule_summary(db, chat_row_id, notify_at, if_scheduled=True)


def summarize_due(
    services: Services, key: MemoryKey, chat_id: str, *, summarizer: Summarizer, batch: int = BATCH
) -> bool:
    """Update the summary at once if `batch` messages wait for it, by a summarizer that only this process has.

    Returns whether it was updated. A failure is logged, and the next write tries again.
    """
    with services.database.reading() as db:
        memory = chats.fetch_memory(db, *key)
        chat = None if memory is None else chats.fetch_chat(db, memory.id, chat_id)
    if chat is None:
        return False
    try:
        return _bring_up(services, chat.id, summarizer, batch)
    except job.FAILURES as error:
        log.warning("chat_summary_failed", chat_row_id=str(chat.id), error_code=error.code)
        return False


def _bring_up(
    services: Services,
    chat_row_id: UUID,
    summarizer: Summarizer | None,
    batch: int = BATCH,
    before_page: Callable[[], object] = lambda: None,
) -> bool:
    """Summarize the due messages. Returns whether a summary was stored, which a change of the chat prevents."""
    with services.database.reading() as db:
        found = chats.fetch_with_memory(db, chat_row_id)
        task = None if found is None else _due(services, db, found[1], found[0], batch)
    if task is None:
        return False
    folded = _folded(services, task, summarizer, before_page)
    with services.database.transaction() as db:
        current = _lock_unchanged(db, task.chat)
        if current is not None:
            _store(current, folded, task.to_seq)
            current.revision += 1
        return current is not None


def _due(services: Services, db: OrmSession, memory: ChatMemory, chat: Chat, batch: int = BATCH) -> _Task | None:
    config = config_of(memory)
    if not config.enable_summarization:
        return None
    view = read_view(db, memory, config, chat, counter_for(services.settings), verbatim=False)
    if not view.overflow:
        return None
    to_seq = view.overflow[-1].seq
    head = [record.seq for record in view.records if record.kind == "history" and record.seq < view.overflow[0].seq]
    after_seq = max([_covered(chat), *head])
    if chats.count_after(db, chat, after_seq, to_seq) < batch:
        return None
    return _Task(chat, after_seq, to_seq, config.summarize_prompt)


def _covered(chat: Chat) -> int:
    """The seq up to which nothing is left to summarize."""
    return max(chat.trimmed_seq, 0 if chat.summary is None else chat.summary_to_seq)


def _folded(
    services: Services,
    task: _Task,
    summarizer: Summarizer | None,
    before_page: Callable[[], object] = lambda: None,
) -> Folded:
    chat = task.chat
    start = Folded(chat.summary, None if chat.summary is None else chat.summary_from_seq, task.after_seq)
    summarizer = summarizer or summarizer_named(services.settings, services.embedders)
    folded = job.fold(
        services, start, task.to_seq, task.read_page, summarizer, prompt=task.prompt, before_page=before_page
    )
    if folded is None or folded.text is None or not folded.text.strip() or folded.from_seq is None:
        raise errors.SummaryRejected
    return folded


def _lock_unchanged(db: OrmSession, seen: Chat) -> Chat | None:
    """The chat, locked; None if something of it was deleted, trimmed or summarized since it was read."""
    current = chats.lock_chat(db, seen.chat_memory_id, seen.chat_id)
    if current is None or (current.id, current.revision) != (seen.id, seen.revision):
        return None
    return current


def _store(chat: Chat, folded: Folded, to_seq: int) -> None:
    chat.summary, chat.summary_from_seq, chat.summary_to_seq = folded.text, folded.from_seq or 0, to_seq
