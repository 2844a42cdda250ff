"""Summaries of chats: one a chat, rolling, in place of what views leave out.

A summary is made without a transaction, then stored if nothing of the chat was deleted or trimmed meanwhile. Whoever
makes it may fail: then what was stored stays, and what would have been summarised is there for the next try.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.conversation.chat_memory import MemoryKey, checked_chat_id, config_of, found_memory
from memorybase.conversation.chat_views import (
    Trimmed,
    messages_left,
    move_trimmed,
    place_before,
    read_view,
    record_of,
    standing_of,
)
from memorybase.conversation.summarizers import Summarizer, summarizer_named
from memorybase.models import Chat
from memorybase.queries import chats
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

BATCH = 6  # messages that wait for a summary, given verbatim meanwhile, so that not each message asks a model
PAGE = 200  # records folded into the summary at once
TRIES = 3


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
        with services.database.reading() as session:
            memory = found_memory(session, key)
            config = config_of(memory)
            chat = chats.fetch_chat(session, memory.id, chat_id)
            if chat is None:
                return Trimmed(0, 0)
            standing = standing_of(session, memory, config, chat)
            left = messages_left(session, chat, standing)
            if left <= keep_last_n:
                return Trimmed(0, left + (chat.summary is not None), chat.summary)
            place = place_before(session, chat, standing, keep_last_n)
        made = _made(services, _Task(chat, _covered(chat), place, prompt or config.summarize_prompt), summarizer)
        with services.database.transaction() as session:
            current = _unchanged(session, chat)
            if current is None:
                continue
            _store(current, made, place)
            move_trimmed(current, place)
            remaining = chats.count_behind(session, current, place)
            return Trimmed(left - remaining, remaining + 1, made.text)
    raise errors.Conflict("The chat is being changed; try again", field="chat_id")


def summarise_due(
    services: Services, key: MemoryKey, chat_id: str, *, summarizer: Summarizer | None = None, batch: int = BATCH
) -> bool:
    """Bring the summary up to what views leave out, where the memory makes summaries and enough waits for one.

    Whether it was brought up. After a write, and never in the way of one: a failure is logged, and the next write tries
    again.
    """
    with services.database.reading() as session:
        task = _due(session, key, chat_id, batch)
    if task is None:
        return False
    try:
        made = _made(services, task, summarizer)
    except (errors.EnvironmentFailure, errors.MessageFailure) as error:
        log.warning("chat_summary_failed", chat_row_id=str(task.chat.id), error_code=error.code)
        return False
    with services.database.transaction() as session:
        current = _unchanged(session, task.chat)
        if current is not None:
            _store(current, made, task.to_seq)
            current.revision += 1
        return current is not None


def _due(session: OrmSession, key: MemoryKey, chat_id: str, batch: int) -> _Task | None:
    memory = chats.fetch_memory(session, *key)
    config = config_of(memory) if memory is not None else None
    if memory is None or config is None or not config.enable_summarization:
        return None
    chat = chats.fetch_chat(session, memory.id, chat_id)
    if chat is None:
        return None
    view = read_view(session, memory, config, chat, verbatim=False)
    if not view.overflow:
        return None
    to_seq = view.overflow[-1].seq
    head = [record.seq for record in view.records if record.kind == "history" and record.seq < view.overflow[0].seq]
    after_seq = max([_covered(chat), *head])
    if chats.count_behind(session, chat, after_seq, to_seq) < batch:
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
        with services.database.reading() as session:
            rows = chats.oldest(session, task.chat, limit=PAGE, after=after, to=task.to_seq)
        if rows:
            text = summarizer.summarize(text, [record_of(row) for row in rows], task.prompt)
            from_seq = rows[0].seq if from_seq is None else from_seq
            after = rows[-1].seq
        if len(rows) < PAGE:
            break
    if text is None or not text.strip() or from_seq is None:
        raise errors.SummaryRejected
    return _Made(text, from_seq)


def _unchanged(session: OrmSession, seen: Chat) -> Chat | None:
    """The chat, locked, unless something of it was deleted, trimmed or summarised since it was seen."""
    current = chats.lock_chat(session, seen.chat_memory_id, seen.chat_id)
    if current is None or (current.id, current.revision) != (seen.id, seen.revision):
        return None
    return current


def _store(chat: Chat, made: _Made, to_seq: int) -> None:
    chat.summary, chat.summary_from_seq, chat.summary_to_seq = made.text, made.from_seq, to_seq
