"""What the job that makes summaries does for a session.

An edit or a deletion of a message that a worker may have read changes the row, so that its result is not stored. When
the covered range has doubled, the summary is rebuilt from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.history.session_reader import ThreadWalk, as_record
from memorybase.core.conversation.session_memory.presets import DIALOGUE, PAIRS
from memorybase.core.conversation.session_memory.summaries import WORK, SummaryKey
from memorybase.core.conversation.summarizers import job
from memorybase.core.conversation.summarizers.job import Folded, Plan, Summaries
from memorybase.core.conversation.summarizers.llm import Summarizer
from memorybase.core.conversation.view.records import Record
from memorybase.core.models import SessionSummary
from memorybase.core.queries import messages, summaries, threads
from memorybase.core.services import Services

REBUILD_SEQ = 128  # a shorter summary is not rebuilt for its length


class _OfSession(Summaries[SessionSummary]):
    work = WORK
    error_column = "error"

    def plan(self, db: OrmSession, row: SessionSummary) -> Plan | None:
        """The messages that lead to the last one to summarize. A summary of another thread starts from the
        beginning."""
        if row.notify_at is None and row.requested_seq <= row.to_seq:
            return None
        thread = _thread(db, row)
        has_doubled = row.requested_seq >= 2 * max(row.rebuilt_seq, REBUILD_SEQ // 2)
        is_rebuilt = row.text is None or row.stale or row.rebuilt_seq == 0 or has_doubled
        is_of_thread = row.last_message_id in {None, *thread}
        start = Folded(row.text, 1, row.to_seq, row.last_message_id) if is_of_thread and not is_rebuilt else Folded()
        read_page = partial(_read_page, row, thread)
        return Plan(start=start, to_seq=row.requested_seq, read_page=read_page, summarizer=row.summarizer)

    def values(
        self, row: SessionSummary, plan: Plan, folded: Folded, now: datetime, *, is_last: bool
    ) -> dict[str, Any]:
        """What is folded so far, unless the stored summary covers more."""
        if not is_last and row.text is not None and folded.to_seq < row.to_seq:
            return {}
        values = {
            "text": folded.text,
            "to_seq": folded.to_seq if folded.text else 0,
            "last_message_id": folded.last_message_id,
            "stale": False,
            "updated_at": now,
        }
        if plan.start.text is None:
            values["rebuilt_seq"] = folded.to_seq
        return values | ({"error": None, "notify_at": summaries.if_more_requested(row, now)} if is_last else {})


def make_summary(
    services: Services,
    summary_id: UUID,
    summarizer: Summarizer | None = None,
    *,
    before_page: Callable[[], object] = lambda: None,
) -> bool:
    """Make the pending part of a session's summary; False if nothing is pending, another worker has claimed it, or the
    job failed. `summarizer` makes summaries of its own name; without it, only those that the settings name are made."""
    return bool(job.make_summary(services, _OfSession(), summary_id, summarizer, before_page=before_page))


def make_requested(services: Services, key: SummaryKey, summarizer: Summarizer) -> bool:
    """Make the summary that was requested by the name of a summarizer that only this process has."""
    with services.database.reading() as db:
        row = summaries.fetch(db, key.flow_id, key.session_id, preset=key.preset, summarizer=summarizer.name)
    return row is not None and make_summary(services, row.id, summarizer)


def _thread(db: OrmSession, row: SessionSummary) -> set[UUID]:
    """The messages that lead to the last one to summarize, or to the newest if that one is deleted."""
    flow_id, session_id = row.flow_id, row.session_id
    newest = threads.links_down_from(db, flow_id, session_id, to_seq=row.requested_seq, limit=1)
    if not newest:
        return set()
    leaf_id = row.requested_message_id
    if leaf_id is None or threads.seq_of(db, flow_id, session_id, leaf_id) is None:
        leaf_id = newest[0].id
    return {link.id for link in ThreadWalk(db, flow_id, session_id).from_leaf(leaf_id)}


def _read_page(row: SessionSummary, thread: set[UUID], db: OrmSession, after_seq: int) -> tuple[Sequence[Record], int]:
    to_seq = row.requested_seq
    page = messages.messages_after(db, row.flow_id, row.session_id, after_seq=after_seq, to_seq=to_seq, limit=job.PAGE)
    records = [as_record(message) for message in page if message.id in thread]
    if row.preset.startswith(PAIRS):
        records = [record for record in records if record.role in DIALOGUE and not record.intermediate]
    return records, to_seq if len(page) < job.PAGE else page[-1].seq
