"""Shared by the jobs that summarize sessions and chats.

A worker claims a summary's row, folds the new records into the summary page by page while no transaction is open, and
stores the result if nothing that it may have read has changed. A failed job backs off, and the sweeper enqueues it
again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import deadlines, errors
from memorybase.conversation.summarizers import chat_completions
from memorybase.conversation.summarizers.llm import Summarizer, has_content
from memorybase.conversation.view.records import Record
from memorybase.database import engine
from memorybase.database.due import change_if_due
from memorybase.models import Chat, SessionSummary
from memorybase.queries import chats, summaries
from memorybase.services import Services, Task

SUMMARIZE = Task("memorybase.summarize", "summary_id")  # a summary of a session, or a chat
PAGE = 200  # records folded at once
SWEEP_LIMIT = 200
# What makes a job back off. For DatabaseUnavailable, which is among them, the backoff cannot be stored.
FAILURES = (errors.EnvironmentFailure, errors.MessageFailure, errors.InvalidRequest)

# The records after a seq, at most PAGE, and the seq up to which they were read.
ReadPage = Callable[[OrmSession, int], tuple[Sequence[Record], int]]


def pause_after(error: errors.MemorybaseError, own: timedelta) -> timedelta:
    """A job's own pause, or the longer one that the summarizer's endpoint asks for."""
    asked = error.details.get("retry_after_seconds")
    return max(own, timedelta(seconds=asked)) if isinstance(asked, float) else own


@dataclass(frozen=True, slots=True)
class Folded:
    """The summary of the records `from_seq` to `to_seq`."""

    text: str | None = None
    from_seq: int | None = None
    to_seq: int = 0
    last_message_id: UUID | None = None


def fold(
    services: Services,
    folded: Folded,
    to_seq: int,
    read_page: ReadPage,
    summarizer: Summarizer,
    *,
    prompt: str | None = None,
    store: Callable[[Folded], bool] = lambda _: True,
    before_page: Callable[[], object] = lambda: None,
) -> Folded | None:
    """The summary up to `to_seq`. `store` is called after each page but the last; None if it returns False."""
    while folded.to_seq < to_seq:
        before_page()
        with services.database.reading() as db:
            records, end = read_page(db, folded.to_seq)
        text = _summarize(summarizer, folded.text, records, prompt) if has_content(records) else folded.text
        from_seq = records[0].seq if records and folded.from_seq is None else folded.from_seq
        folded = Folded(text, from_seq, end, UUID(records[-1].id) if records else folded.last_message_id)
        if end < to_seq and not store(folded):
            return None
    return folded


def _summarize(summarizer: Summarizer, previous: str | None, records: Sequence[Record], prompt: str | None) -> str:
    """The new summary. A summarizer that a caller hands in may raise and return anything."""
    try:
        text: object = summarizer.summarize(previous, records, prompt)
    except errors.MemorybaseError:
        raise
    except Exception as error:
        name = type(error).__name__
        raise errors.SummarizerUnavailable(f"The summarizer {summarizer.name} raised {name}") from error
    if not isinstance(text, str) or not text.strip():
        raise errors.SummaryRejected
    return text


def lease(services: Services) -> timedelta:
    """Time that a worker may take for a page, which the summarizer may split in halves. A slower worker may lose the
    claim, and its result for that page."""
    return timedelta(seconds=services.settings.lease_seconds + 4 * chat_completions.TIMEOUT_SECONDS)


def enqueue_after_commit(db: OrmSession, services: Services, ids: Sequence[UUID]) -> None:
    """Notify workers of these summaries once the transaction is committed."""

    def enqueue() -> None:
        services.queue.notify(SUMMARIZE, ids)

    if ids:
        engine.after_commit(db, enqueue)


def enqueue_due(services: Services) -> int:
    """Notify workers of summaries that are still pending: a notification or a worker was lost, or a backoff is over."""
    of_sessions = partial(_enqueue, services, summaries.due)
    of_chats = partial(_enqueue, services, chats.due_summaries)
    enqueued = change_if_due(services.database, summaries.has_due, of_sessions)
    return enqueued + change_if_due(services.database, chats.has_due_summary, of_chats)


def _enqueue(
    services: Services, due: Callable[..., Sequence[SessionSummary | Chat]], db: OrmSession, now: datetime
) -> int:
    rows = due(db, now, limit=SWEEP_LIMIT)
    for row in rows:
        row.notify_at = now + timedelta(seconds=deadlines.NOTIFY_AFTER_SECONDS)
    enqueue_after_commit(db, services, [row.id for row in rows])
    return len(rows)
