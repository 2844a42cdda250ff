"""Summaries of captured sessions: read, requested and deleted.

A read that leaves messages out requests a summary: it writes a row and notifies a worker, and the sweeper notifies
again. The read does not wait. summary_job.py makes the summaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID, uuid5

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deadlines, errors
from memorybase.core.conversation.session_memory.presets import SessionPreset
from memorybase.core.conversation.session_memory.session_view import ModelCall, SessionHistory, StoredSummary
from memorybase.core.conversation.summarizers.job import lease
from memorybase.core.conversation.summarizers.llm import names
from memorybase.core.conversation.view.budget import Summary
from memorybase.core.conversation.view.records import Record
from memorybase.core.database import clock
from memorybase.core.models import Session, SessionSummary
from memorybase.core.queries import leased_work, sessions, summaries
from memorybase.core.queries.leased_work import Work
from memorybase.core.queries.ownership import check_flow, not_found, require, require_session
from memorybase.core.services import Services, Task
from memorybase.core.telemetry import get_logger

log = get_logger(__name__)

SUMMARIZE = Task("memorybase.summarize", "summary_id")
WORK = Work(SessionSummary, SUMMARIZE, lease)
KEPT_PAIRS = 3  # the latest pairs, which a refreshed summary leaves out
PRESET_NAME = r"token_buffer|window|pairs_[1-9][0-9]?"  # summaries are made for these; see SessionPreset.summary_of


@dataclass(frozen=True, slots=True)
class Covers:
    """The messages that a summary covers, by seq."""

    from_seq: Annotated[int, Field(description="The seq of the first message that the summary covers.")]
    to_seq: Annotated[int, Field(description="The seq of the last message.")]


@dataclass(frozen=True, slots=True)
class SummaryView:
    """A session's summary: null until one is made, and after a covered message was deleted."""

    summary: Annotated[str | None, Field(description="The text of the summary; null if there is none.")]
    covers: Annotated[Covers | None, Field(description="The messages that the summary covers; null if there is none.")]
    stale: Annotated[bool, Field(description="Whether a covered message was edited since.")]
    preset: Annotated[str, Field(description="The preset whose summary it is.")]
    summarizer: Annotated[str, Field(description="What wrote the summary.")]
    requested_seq: Annotated[int, Field(description="The last message that the next summary must cover.")]
    error: Annotated[str | None, Field(description="Code of the last error; null without one.")]
    updated_at: Annotated[datetime | None, Field(description="When it last changed.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryKey:
    """Identifies a summary: its session, preset and summarizer."""

    flow_id: UUID
    session_id: str
    preset: str
    summarizer: str


@dataclass(frozen=True, slots=True)
class SummaryState:
    """The stored summary: its text if a model may be given it, and the seq up to which one is requested."""

    key: SummaryKey
    stored: StoredSummary | None = None
    requested_seq: int = 0


def stored_summary(db: OrmSession, key: SummaryKey, *, as_of: datetime | None = None) -> SummaryState:
    """With a date only a summary that was made by then: a later one says what was said later."""
    row = _fetch(db, key)
    if row is None:
        return SummaryState(key)
    is_later = as_of is not None and row.updated_at > as_of
    if row.text is None or row.last_message_id is None or is_later:
        return SummaryState(key, None, row.requested_seq)
    # A deletion of a covered message finds recorded uses by the summary's own id.
    text = Summary(text=row.text, from_seq=1, to_seq=row.to_seq, message_ids=(str(row.id),))
    return SummaryState(key, StoredSummary(text, str(row.last_message_id)), row.requested_seq)


def request_summary(
    services: Services, key: SummaryKey, expired: Record, *, rebuild: bool = False, wait: bool = True
) -> None:
    """Request a summary that ends with this record, unless that is requested already; `rebuild`: in any case. `wait`:
    see `Database.transaction`."""
    with services.database.transaction(wait=wait) as db:
        session = sessions.fetch_session(db, key.flow_id, key.session_id)
        if session is None or session.deleted_at is not None:
            return
        now = clock.now(db)
        is_known = key.summarizer in names(services.settings)  # else the process that has this summarizer makes it
        values: dict[str, Any] = {
            "id": _id(session, key),
            "flow_id": key.flow_id,
            "session_id": key.session_id,
            "preset": key.preset,
            "summarizer": key.summarizer,
            "requested_seq": expired.seq,
            "requested_message_id": UUID(expired.id),
            "notify_at": now + timedelta(seconds=deadlines.NOTIFY_AFTER_SECONDS) if is_known else None,
            "to_seq": 0,
            "created_at": now,
            "updated_at": now,
        }
        if summaries.request(db, values, rebuild=rebuild) and is_known:
            leased_work.enqueue_after_commit(WORK, db, services, [values["id"]])


def request_if_needed(services: Services, summary: SummaryState, expired: Record | None) -> None:
    """Request the summary that a history needs, unless it is requested already or the history would wait for it. A
    failure is logged only."""
    if expired is None or expired.seq <= summary.requested_seq:
        return
    try:
        request_summary(services, summary.key, expired, wait=False)
    except (errors.DatabaseUnavailable, errors.ConstraintViolated) as error:
        # The view is complete without it, and the next read requests it again.
        log.warning("summary_not_requested", error_code=error.code)


def get_summary(services: Services, user_id: UUID, key: SummaryKey) -> SummaryView:
    """Raises NotFound for an unknown flow, session or summary."""
    with services.database.reading() as db:
        _check_session(db, user_id, key)
        return _view(require(_fetch(db, key), "summary", key.session_id, field="session_id"))


def delete_summary(
    services: Services, user_id: UUID, flow_id: UUID, session_id: str, *, preset: str | None, summarizer: str | None
) -> None:
    """Delete a session's summaries, or those of a preset or summarizer. Raises NotFound if there are none."""
    with services.database.transaction() as db:
        key = SummaryKey(flow_id=flow_id, session_id=session_id, preset=preset or "", summarizer=summarizer or "")
        _check_session(db, user_id, key)
        deleted = summaries.delete_of_session(db, flow_id, session_id, preset=preset, summarizer=summarizer)
        if not deleted:
            raise not_found("summary", session_id, field="session_id")


def refresh_summary(services: Services, user_id: UUID, key: SummaryKey) -> SummaryView:
    """Request a rebuilt summary of all but the latest pairs. Raises NotFound."""
    _, _, pairs = key.preset.partition("pairs_")
    preset = SessionPreset(name=key.preset, pairs=int(pairs or KEPT_PAIRS), summary=True)
    with services.database.reading() as db:
        _check_session(db, user_id, key)
        history = SessionHistory(preset, ModelCall()).read(db, key.flow_id, key.session_id)
    expired = history.shown().expired
    if expired is not None:
        request_summary(services, key, expired, rebuild=True)
    with services.database.reading() as db:
        row = _fetch(db, key)
    if row is None:
        return SummaryView(None, None, False, key.preset, key.summarizer, 0, None, None)
    return _view(row)


def _fetch(db: OrmSession, key: SummaryKey) -> SessionSummary | None:
    return summaries.fetch(db, key.flow_id, key.session_id, preset=key.preset, summarizer=key.summarizer)


def _check_session(db: OrmSession, user_id: UUID, key: SummaryKey) -> None:
    check_flow(db, user_id, key.flow_id)
    require_session(db, key.flow_id, key.session_id)


def _id(session: Session, key: SummaryKey) -> UUID:
    return uuid5(session.id, f"summary:{key.preset}:{key.summarizer}")


def _view(row: SessionSummary) -> SummaryView:
    covers = None if row.text is None else Covers(1, row.to_seq)
    return SummaryView(
        row.text, covers, row.stale, row.preset, row.summarizer, row.requested_seq, row.error, row.updated_at
    )
