"""The job that makes summaries, in a worker; those of sessions and of chats say what differs.

It folds the new records into the summary page by page while no transaction is open, and stores the result if nothing
that it may have read has changed. A failed job backs off; the sweeper notifies again.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.conversation.summarizers import chat_completions
from memorybase.core.conversation.summarizers.llm import Summarizer, has_content, summarizer_named
from memorybase.core.conversation.view.records import Record
from memorybase.core.database import clock
from memorybase.core.models.leased_work import LeasedWork
from memorybase.core.queries import leased_work
from memorybase.core.queries.leased_work import Claim, Work
from memorybase.core.services import Services
from memorybase.core.telemetry import describe_error, get_logger

log = get_logger(__name__)

Row = TypeVar("Row", bound=LeasedWork)

PAGE = 200  # records folded at once
WASTED_WAIT = 4  # times the duration of an attempt whose result could not be stored
LONGEST_WAIT_SECONDS = 60.0
MAX_ATTEMPTS = 3  # on messages that the summarizer rejects; then the summary waits for further messages
# What makes a job back off. For DatabaseUnavailable, which is among them, the backoff cannot be stored.
FAILURES = (errors.EnvironmentFailure, errors.MessageFailure, errors.InvalidRequest)

# The records after a seq, at most PAGE, and the seq up to which they were read.
ReadPage = Callable[[OrmSession, int], tuple[Sequence[Record], int]]


@dataclass(frozen=True, slots=True)
class Folded:
    """The summary of the records `from_seq` to `to_seq`."""

    text: str | None = None
    from_seq: int | None = None
    to_seq: int = 0
    last_message_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to summarize: the records up to `to_seq` are added to `start`. `summarizer`: the one that the settings
    name if None."""

    start: Folded
    to_seq: int
    read_page: ReadPage
    summarizer: str | None = None
    prompt: str | None = None


class Summaries(ABC, Generic[Row]):
    """What differs between kinds of summaries. `error_column`: for the error of the last attempt, if the table has
    one."""

    work: Work[Row]
    error_column: str | None = None

    @abstractmethod
    def plan(self, db: OrmSession, row: Row, /) -> Plan | None:
        """What to summarize; None if nothing is due. `row` is as it was before the claim."""

    @abstractmethod
    def values(self, row: Row, plan: Plan, folded: Folded, now: datetime, /, *, is_last: bool) -> dict[str, Any]:
        """Columns to write when a page was folded. Raises SummaryRejected."""


def make_summary(
    services: Services,
    summaries: Summaries[Row],
    id_: UUID,
    summarizer: Summarizer | None = None,
    *,
    before_page: Callable[[], object] = lambda: None,
) -> bool | None:
    """Make the pending part of a summary. False if the job failed or something changed meanwhile; None if nothing is
    pending or another worker has claimed it.

    `summarizer` is one that only this process has; with it, what is not pending is made too. `before_page` is called
    before each page of messages is summarized."""
    began = time.monotonic()
    with services.database.transaction() as db:
        row = db.get(summaries.work.model, id_)
        now, lease_time = clock.now(db), lease(services)
        claim = leased_work.claim(db, row, now, lease_time, is_asked=summarizer is not None)
    if claim is None:
        return None
    with services.database.reading() as db:
        plan = summaries.plan(db, claim.row)
    if plan is None:
        with services.database.transaction() as db:
            leased_work.finish(db, claim)
        return None
    attempt = _Attempt(services, summaries, claim, plan)
    try:
        if attempt.is_made(summarizer, before_page):
            return True
    except errors.DatabaseUnavailable:
        raise
    except FAILURES as error:
        attempt.put_off(error)
        return False
    # The messages changed meanwhile: wait before the next attempt, however often they change.
    wait = timedelta(seconds=min(WASTED_WAIT * (time.monotonic() - began), LONGEST_WAIT_SECONDS))
    with services.database.transaction() as db:
        leased_work.delay(db, claim.row, clock.now(db) + wait)
    return False


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[Row]):
    services: Services
    summaries: Summaries[Row]
    claim: Claim[Row]
    plan: Plan

    def is_made(self, summarizer: Summarizer | None, before_page: Callable[[], object]) -> bool:
        settings, embedders = self.services.settings, self.services.embedders
        folded = fold(
            self.services,
            self.plan,
            summarizer or summarizer_named(settings, embedders, self.plan.summarizer),
            store=lambda folded: self._store(folded, is_last=False),
            before_page=before_page,
        )
        return folded is not None and self._store(folded, is_last=True)

    def _store(self, folded: Folded, *, is_last: bool) -> bool:
        """Store what is folded so far; False if the row has changed."""
        with self.services.database.transaction() as db:
            now = clock.now(db)
            values = self.summaries.values(self.claim.row, self.plan, folded, now, is_last=is_last)
            if is_last:
                is_stored = leased_work.finish(db, self.claim, **values)
            else:
                is_stored = leased_work.write(db, self.claim, lease_until=now + lease(self.services), **values)
        if is_stored:
            log.info("summary_stored", summary_id=str(self.claim.id), to_seq=folded.to_seq)
        else:
            log.info("summary_outdated", summary_id=str(self.claim.id))
        return is_stored

    def put_off(self, error: errors.MemorybaseError) -> None:
        """Back off. If a retry cannot help, wait until there are further messages; so does what was not pending."""
        claim, column = self.claim, self.summaries.error_column
        is_permanent = isinstance(error, errors.InvalidRequest) or (
            isinstance(error, errors.MessageFailure) and claim.attempts >= MAX_ATTEMPTS
        )
        pause = pause_after(error, leased_work.backoff(claim.attempts))
        with self.services.database.transaction() as db:
            until = None if is_permanent or claim.row.notify_at is None else clock.now(db) + pause
            leased_work.put_off(db, claim, until, **({column: describe_error(error)} if column else {}))
        log.warning("summary_put_off", summary_id=str(claim.id), error_code=error.code, attempts=claim.attempts)


def fold(
    services: Services,
    plan: Plan,
    summarizer: Summarizer,
    *,
    store: Callable[[Folded], bool] = lambda _: True,
    before_page: Callable[[], object] = lambda: None,
) -> Folded | None:
    """The summary up to `plan.to_seq`. `store` is called after each page but the last; None if it returns False."""
    folded = plan.start
    while folded.to_seq < plan.to_seq:
        before_page()
        with services.database.reading() as db:
            records, end = plan.read_page(db, folded.to_seq)
        text = _summarize(summarizer, folded.text, records, plan.prompt) if has_content(records) else folded.text
        from_seq = records[0].seq if records and folded.from_seq is None else folded.from_seq
        folded = Folded(text, from_seq, end, UUID(records[-1].id) if records else folded.last_message_id)
        if end < plan.to_seq and not store(folded):
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


def pause_after(error: errors.MemorybaseError, own: timedelta) -> timedelta:
    """A job's own pause, or the longer one that the summarizer's endpoint asks for."""
    asked = error.details.get("retry_after_seconds")
    return max(own, timedelta(seconds=asked)) if isinstance(asked, float) else own


def lease(services: Services) -> timedelta:
    """Time that a worker may take for a page, which the summarizer may split in halves. A slower worker may lose the
    claim, and its result for that page."""
    return timedelta(seconds=services.settings.lease_seconds + 4 * chat_completions.TIMEOUT_SECONDS)
