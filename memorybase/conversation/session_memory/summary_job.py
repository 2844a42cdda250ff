"""The job that summarizes a session, in a worker.

A result is stored only if the row is unchanged since the claim: an edit or a deletion of a message that the worker may
have read changes it. When the covered range has doubled, the summary is rebuilt from the beginning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import deadlines, errors
from memorybase.conversation.history.session_reader import ThreadWalk, as_record
from memorybase.conversation.session_memory.presets import DIALOGUE, PAIRS
from memorybase.conversation.session_memory.summaries import SummaryKey
from memorybase.conversation.summarizers import job
from memorybase.conversation.summarizers.job import Folded
from memorybase.conversation.summarizers.llm import Summarizer, summarizer_named
from memorybase.conversation.view.records import Record
from memorybase.database import clock
from memorybase.models import SessionSummary
from memorybase.queries import messages, summaries, threads
from memorybase.services import Services
from memorybase.telemetry import describe_error, get_logger

log = get_logger(__name__)

REBUILD_SEQ = 128  # a shorter summary is not rebuilt for its length
WASTED_WAIT = 4  # times the duration of an attempt whose result could not be stored
LONGEST_WAIT_SECONDS = 60.0
MAX_ATTEMPTS = 3  # on messages that the summarizer rejects; then the summary waits for further messages


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    row: SessionSummary  # as it was before the claim
    thread: set[UUID]
    from_beginning: bool
    start: Folded

    @property
    def version(self) -> int:
        return self.row.version + 1

    @property
    def attempts(self) -> int:
        return self.row.attempts + 1

    def read_page(self, db: OrmSession, after_seq: int) -> tuple[Sequence[Record], int]:
        to_seq = self.row.requested_seq
        page = messages.messages_after(
            db, self.row.flow_id, self.row.session_id, after_seq=after_seq, to_seq=to_seq, limit=job.PAGE
        )
        records = [as_record(message) for message in page if message.id in self.thread]
        if self.row.preset.startswith(PAIRS):
            records = [record for record in records if record.role in DIALOGUE and not record.intermediate]
        return records, to_seq if len(page) < job.PAGE else page[-1].seq


def make_summary(
    services: Services,
    summary_id: UUID,
    summarizer: Summarizer | None = None,
    *,
    before_page: Callable[[], object] = lambda: None,
) -> bool:
    """Make the pending part of a summary; False if nothing is pending, another worker has claimed it, or the job
    failed.

    `summarizer` makes summaries of its own name; without it, only those that the settings name are made.
    `before_page` is called before each page of messages is summarized."""
    began = time.monotonic()
    claim = _claim(services, summary_id, is_handed_in=summarizer is not None)
    if claim is None:
        return False
    with services.database.reading() as db:
        claim = _with_thread(db, claim)
    try:
        folded = job.fold(
            services,
            claim.start,
            claim.row.requested_seq,
            claim.read_page,
            summarizer or summarizer_named(services.settings, services.embedders, claim.row.summarizer),
            store=lambda folded: _store(services, claim, folded, is_last=False),
            before_page=before_page,
        )
    except errors.DatabaseUnavailable:
        raise
    except job.FAILURES as error:
        _put_off(services, claim, error)
        return False
    if folded is not None and _store(services, claim, folded, is_last=True):
        return True
    _wait(services, claim, min(WASTED_WAIT * (time.monotonic() - began), LONGEST_WAIT_SECONDS))
    return False


def make_requested(services: Services, key: SummaryKey, summarizer: Summarizer) -> bool:
    """Make the summary that was requested by the name of a summarizer that only this process has."""
    with services.database.reading() as db:
        row = summaries.fetch(db, key.flow_id, key.session_id, preset=key.preset, summarizer=summarizer.name)
    return row is not None and make_summary(services, row.id, summarizer)


def _claim(services: Services, summary_id: UUID, *, is_handed_in: bool) -> _Claim | None:
    with services.database.transaction() as db:
        row = summaries.fetch_by_id(db, summary_id)
        now = clock.now(db)
        if row is None or (row.lease_until is not None and row.lease_until > now):
            return None
        if row.notify_at is None and not (is_handed_in and row.requested_seq > row.to_seq):
            return None
        has_doubled = row.requested_seq >= 2 * max(row.rebuilt_seq, REBUILD_SEQ // 2)
        rebuild = row.text is None or row.stale or row.rebuilt_seq == 0 or has_doubled
        start = Folded() if rebuild else Folded(row.text, 1, row.to_seq, row.last_message_id)
        claim = _Claim(row=row, thread=set(), from_beginning=rebuild, start=start)
        values = {"version": claim.version, "attempts": claim.attempts, "lease_until": now + job.lease(services)}
        is_claimed = summaries.write(db, row.id, version=row.version, session_id=row.session_id, values=values)
        return claim if is_claimed else None


def _with_thread(db: OrmSession, claim: _Claim) -> _Claim:
    """The messages that lead to the last one to summarize, or to the newest if that one is deleted. A summary of
    another thread starts from the beginning."""
    flow_id, session_id = claim.row.flow_id, claim.row.session_id
    thread: set[UUID] = set()
    newest = threads.links_down_from(db, flow_id, session_id, to_seq=claim.row.requested_seq, limit=1)
    if newest:
        leaf_id = claim.row.requested_message_id
        if leaf_id is None or threads.seq_of(db, flow_id, session_id, leaf_id) is None:
            leaf_id = newest[0].id
        thread = {link.id for link in ThreadWalk(db, flow_id, session_id).from_leaf(leaf_id)}
    if claim.start.last_message_id in {None, *thread}:
        return replace(claim, thread=thread)
    return replace(claim, thread=thread, from_beginning=True, start=Folded())


def _store(services: Services, claim: _Claim, folded: Folded, *, is_last: bool) -> bool:
    """Store what is folded so far, unless the stored summary covers more; False if the row has changed."""
    row = claim.row
    with services.database.transaction() as db:
        now = clock.now(db)
        values: dict[str, Any] = {"lease_until": now + job.lease(services)}
        if is_last or row.text is None or folded.to_seq >= row.to_seq:
            values |= {
                "text": folded.text,
                "to_seq": folded.to_seq if folded.text else 0,
                "last_message_id": folded.last_message_id,
                "stale": False,
                "updated_at": now,
            }
            values |= {"rebuilt_seq": folded.to_seq} if claim.from_beginning else {}
        if is_last:
            values |= {
                "version": claim.version + 1,
                "lease_until": None,
                "attempts": 0,
                "error": None,
                "notify_at": summaries.if_more_requested(row, now),
            }
        is_stored = summaries.write(db, row.id, version=claim.version, session_id=row.session_id, values=values)
    if is_stored:
        log.info("summary_stored", summary_id=str(row.id), to_seq=folded.to_seq)
    else:
        log.info("summary_outdated", summary_id=str(row.id))
    return is_stored


def _wait(services: Services, claim: _Claim, seconds: float) -> None:
    """The messages changed while they were summarized: wait before the next attempt, however often they change."""
    with services.database.transaction() as db:
        summaries.wait(db, claim.row.id, clock.now(db) + timedelta(seconds=seconds))


def _put_off(services: Services, claim: _Claim, error: errors.MemorybaseError) -> None:
    """Back off; if a retry cannot help, wait until there are further messages."""
    row = claim.row
    is_permanent = isinstance(error, errors.InvalidRequest) or (
        isinstance(error, errors.MessageFailure) and claim.attempts >= MAX_ATTEMPTS
    )
    own = min(deadlines.BACKOFF_SECONDS * 2 ** min(claim.attempts, 16), deadlines.NOTIFY_MAX_SECONDS)
    pause = job.pause_after(error, timedelta(seconds=own))
    with services.database.transaction() as db:
        values = {
            "version": claim.version + 1,
            "lease_until": None,
            "error": describe_error(error),
            "notify_at": None if is_permanent else clock.now(db) + pause,
        }
        summaries.write(db, row.id, version=claim.version, session_id=row.session_id, values=values)
    log.warning("summary_put_off", summary_id=str(row.id), error_code=error.code, attempts=claim.attempts)
