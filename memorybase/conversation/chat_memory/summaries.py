"""Summaries of chats: one a chat, rolling, in place of what views leave out.

A write schedules the summary by `notify_at` in the chat's row. A worker makes it with no transaction open and stores it
if nothing of the chat was deleted or trimmed meanwhile. If the summarizer fails, the stored summary stays, and the next
attempt covers the same messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.conversation.chat_memory.memories import MemoryKey, checked_chat_id, config_of, found_memory
from memorybase.conversation.chat_memory.views import (
    Trimmed,
    messages_left,
    move_trimmed,
    read_view,
    record_of,
    seq_before,
    trim_state_of,
)
from memorybase.conversation.summarizers.enqueue import enqueue_after_commit
from memorybase.conversation.summarizers.llm import Summarizer, summarizer_named
from memorybase.database import clock
from memorybase.models import Chat, ChatMemory
from memorybase.queries import chats
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

BATCH = 6  # messages that wait for a summary, given verbatim meanwhile, so that not each message asks a model
PAGE = 200  # records folded into the summary at once
TRIES = 3
SWEEP_LIMIT = 200


@dataclass(frozen=True, slots=True)
class _Task:
    """What is to be summarised: behind `after_seq`, up to and with `to_seq`, on top of what the chat has."""

    chat: Chat
    after_seq: int
    to_seq: int
    prompt: str


@dataclass(frozen=True, slots=True)
class _Made:
    text: str
    from_seq: int


def summarize_chat(
    services: Services,
    key: MemoryKey,
    chat_id: str,
    *,
    keep_last_n: int = 2,
    prompt: str | None = None,
    summarizer: Summarizer | None = None,
) -> Trimmed:
    """A summary in place of all but the newest messages, which counts as one of those remaining.

    Raises NotFound, what the summarizer raises, and Conflict where the chat is changed again and again meanwhile.
    """
    checked_chat_id(chat_id)
    for _ in range(TRIES):
        with services.database.reading() as db:
            memory = found_memory(db, key)
            config = config_of(memory)
            chat = chats.fetch_chat(db, memory.id, chat_id)
            if chat is None:
                return Trimmed(0, 0)
            trim_state = trim_state_of(db, memory, config, chat)
            left = messages_left(db, chat, trim_state)
            if left <= keep_last_n:
                return Trimmed(0, left + (chat.summary is not None), chat.summary)
            seq = seq_before(db, chat, trim_state, keep_last_n)
        made = _made(services, _Task(chat, _covered(chat), seq, prompt or config.summarize_prompt), summarizer)
        with services.database.transaction() as db:
            current = _unchanged(db, chat)
            if current is None:
                continue
            _store(current, made, seq)
            move_trimmed(current, seq)
            remaining = chats.count_behind(db, current, seq)
            return Trimmed(left - remaining, remaining + 1, made.text)
    raise errors.Conflict("The chat is being changed; try again", field="chat_id", value=chat_id)


def ask_if_due(services: Services, key: MemoryKey, chat_id: str) -> bool:
    """After a write, have a worker make the summary, where one is due and not asked for already; whether it was."""
    with services.database.reading() as db:
        memory = chats.fetch_memory(db, *key)
        chat = None if memory is None else chats.fetch_chat(db, memory.id, chat_id)
        if memory is None or chat is None or chat.notify_at is not None or _due(db, memory, chat) is None:
            return False
    return _ask(services, chat.id)


def _ask(services: Services, chat_row_id: UUID) -> bool:
    with services.database.transaction() as db:
        notify_at = clock.now(db) + timedelta(seconds=services.settings.notify_after_seconds)
        asked = chats.schedule_summary(db, chat_row_id, notify_at, if_scheduled=False)
        if asked:
            enqueue_after_commit(db, services, [chat_row_id])
    return asked


def make_due(services: Services, chat_row_id: UUID, summarizer: Summarizer | None = None) -> bool:
    """Make the summary that a chat is owed, in a worker; False when none is, or it cannot be had now."""
    settings = services.settings
    lease = settings.lease_seconds + 4 * settings.summarizer_timeout_seconds  # for a page, cut by halves if need be
    if not _put_off(services, chat_row_id, lease):
        return False
    try:
        made = _bring_up(services, chat_row_id, summarizer)
    except errors.DatabaseUnavailable:
        raise
    except (errors.EnvironmentFailure, errors.MessageFailure, errors.InvalidRequest) as error:
        log.warning("chat_summary_failed", chat_row_id=str(chat_row_id), error_code=error.code)
        # What nothing can be made of waits for the next write.
        again = settings.backoff_max_seconds if isinstance(error, errors.EnvironmentFailure) else None
        _put_off(services, chat_row_id, again)
        return False
    _put_off(services, chat_row_id, None)
    with services.database.reading() as db:  # what was written meanwhile has asked for nothing
        found = chats.fetch_with_memory(db, chat_row_id)
        is_due = found is not None and _due(db, found[1], found[0]) is not None
    if is_due:
        _ask(services, chat_row_id)
    return made


def _put_off(services: Services, chat_row_id: UUID, seconds: float | None) -> bool:
    """Ring no earlier, or no more; False when nothing was owed."""
    with services.database.transaction() as db:
        notify_at = None if seconds is None else clock.now(db) + timedelta(seconds=seconds)
        return chats.schedule_summary(db, chat_row_id, notify_at, if_scheduled=True)


def enqueue_due(services: Services) -> int:
    """Ring for chats whose summaries nobody has made: a ring was lost, a worker too, or a pause is over."""
    with services.database.transaction() as db:
        now = clock.now(db)
        pending = chats.due_summaries(db, now, limit=SWEEP_LIMIT)
        for chat in pending:
            chat.notify_at = now + timedelta(seconds=services.settings.notify_after_seconds)
        if pending:
            enqueue_after_commit(db, services, [chat.id for chat in pending])
    return len(pending)


def summarise_due(
    services: Services, key: MemoryKey, chat_id: str, *, summarizer: Summarizer, batch: int = BATCH
) -> bool:
    """Bring the summary up to what views leave out at once, where the memory makes summaries and enough waits for one.

    Whether it was brought up. For a summarizer that only this process has. A failure is logged, and the next write
    tries again.
    """
    with services.database.reading() as db:
        memory = chats.fetch_memory(db, *key)
        chat = None if memory is None else chats.fetch_chat(db, memory.id, chat_id)
    if chat is None:
        return False
    try:
        return _bring_up(services, chat.id, summarizer, batch)
    except (errors.EnvironmentFailure, errors.MessageFailure) as error:
        log.warning("chat_summary_failed", chat_row_id=str(chat.id), error_code=error.code)
        return False


def _bring_up(services: Services, chat_row_id: UUID, summarizer: Summarizer | None, batch: int = BATCH) -> bool:
    """Summarise what is due, unless the chat is changed meanwhile; whether a summary was stored."""
    with services.database.reading() as db:
        found = chats.fetch_with_memory(db, chat_row_id)
        task = None if found is None else _due(db, found[1], found[0], batch)
    if task is None:
        return False
    made = _made(services, task, summarizer)
    with services.database.transaction() as db:
        current = _unchanged(db, task.chat)
        if current is not None:
            _store(current, made, task.to_seq)
            current.revision += 1
        return current is not None


def _due(db: OrmSession, memory: ChatMemory, chat: Chat, batch: int = BATCH) -> _Task | None:
    config = config_of(memory)
    if not config.enable_summarization:
        return None
    view = read_view(db, memory, config, chat, verbatim=False)
    if not view.overflow:
        return None
    to_seq = view.overflow[-1].seq
    head = [record.seq for record in view.records if record.kind == "history" and record.seq < view.overflow[0].seq]
    after_seq = max([_covered(chat), *head])
    if chats.count_behind(db, chat, after_seq, to_seq) < batch:
        return None
    return _Task(chat, after_seq, to_seq, config.summarize_prompt)


def _covered(chat: Chat) -> int:
    """Up to where nothing is to be summarised any more."""
    return max(chat.trimmed_seq, 0 if chat.summary is None else chat.summary_to_seq)


def _made(services: Services, task: _Task, summarizer: Summarizer | None) -> _Made:
    summarizer = summarizer or summarizer_named(services.settings, services.embedders)
    text = task.chat.summary
    from_seq = task.chat.summary_from_seq if text is not None else None
    after = task.after_seq
    while True:
        with services.database.reading() as db:
            rows = chats.oldest(db, task.chat, limit=PAGE, after=after, to=task.to_seq)
        if rows:
            text = summarizer.summarize(text, [record_of(row) for row in rows], task.prompt)
            from_seq = rows[0].seq if from_seq is None else from_seq
            after = rows[-1].seq
        if len(rows) < PAGE:
            break
    if text is None or not text.strip() or from_seq is None:
        raise errors.SummaryRejected
    return _Made(text, from_seq)


def _unchanged(db: OrmSession, seen: Chat) -> Chat | None:
    """The chat, locked, unless something of it was deleted, trimmed or summarised since it was seen."""
    current = chats.lock_chat(db, seen.chat_memory_id, seen.chat_id)
    if current is None or (current.id, current.revision) != (seen.id, seen.revision):
        return None
    return current


def _store(chat: Chat, made: _Made, to_seq: int) -> None:
    chat.summary, chat.summary_from_seq, chat.summary_to_seq = made.text, made.from_seq, to_seq
