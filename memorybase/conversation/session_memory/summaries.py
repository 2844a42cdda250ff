"""Summaries of captured sessions: what there is of them, and how one is asked for.

A read that leaves something out asks for a summary: a row says what is wanted, a ring tells a worker, and the sweeper
rings again. The read itself waits for nothing. Making them is summarising.py's part.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy.orm import Session as OrmSession

from memorybase.conversation.history.session_reader import tails
from memorybase.conversation.session_memory.presets import Call, SessionPreset, StoredSummary, session_memory
from memorybase.conversation.summarizers.job import enqueue_after_commit
from memorybase.conversation.summarizers.llm import names
from memorybase.conversation.view.budget import Summary
from memorybase.conversation.view.records import Record
from memorybase.database import clock
from memorybase.models import Session, SessionSummary
from memorybase.queries import sessions, summaries
from memorybase.queries.ownership import check_flow, not_found, require, require_session
from memorybase.services import Services

KEPT_PAIRS = 3  # what a summary that is asked for leaves to be given verbatim
PRESET_NAME = r"token_buffer|window|pairs_[1-9][0-9]?"  # summaries are made for these; see SessionPreset.summary_of


@dataclass(frozen=True, slots=True)
class Covers:
    from_seq: int
    to_seq: int


@dataclass(frozen=True, slots=True)
class SummaryView:
    """A session's summary as it is now. `summary` is null until one is made, and once what it covered is deleted.

    `stale`: a message that it covers was edited. `requested_seq`: how far the next one reaches; `error`: why it failed.
    """

    summary: str | None
    covers: Covers | None
    stale: bool
    preset: str
    summarizer: str
    requested_seq: int
    error: str | None
    updated_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryKey:
    """Whose summary, by whom."""

    flow_id: UUID
    session_id: str
    preset: str
    summarizer: str


def stored_summary(db: OrmSession, key: SummaryKey) -> StoredSummary | None:
    """The summary to give a model, if one is made."""
    row = _fetch(db, key)
    if row is None or row.text is None or row.last_message_id is None:
        return None
    # Its own id stands for what it covers: a use on record is found by it when a covered message is deleted.
    text = Summary(text=row.text, from_seq=1, to_seq=row.to_seq, message_ids=(str(row.id),))
    return StoredSummary(text, str(row.last_message_id))


def request_summary(services: Services, key: SummaryKey, expired: Record, *, anew: bool = False) -> None:
    """Ask for a summary that ends with this record; nothing happens if that is asked for already."""
    with services.database.transaction() as db:
        session = sessions.fetch_session(db, key.flow_id, key.session_id)
        if session is None or session.deleted_at is not None:
            return
        now = clock.now(db)
        is_known = key.summarizer in names(services.settings)  # else whoever has it makes it
        values: dict[str, Any] = {
            "id": _id(session, key),
            "flow_id": key.flow_id,
            "session_id": key.session_id,
            "preset": key.preset,
            "summarizer": key.summarizer,
            "requested_seq": expired.seq,
            "requested_message_id": UUID(expired.id),
            "notify_at": now + timedelta(seconds=services.settings.notify_after_seconds) if is_known else None,
            "to_seq": 0,
            "created_at": now,
            "updated_at": now,
        }
        if summaries.request(db, values, anew=anew) and is_known:
            enqueue_after_commit(db, services, [values["id"]])


def is_requested(db: OrmSession, key: SummaryKey, expired: Record) -> bool:
    """Whether a summary that far is asked for already."""
    row = _fetch(db, key)
    return row is not None and row.requested_seq >= expired.seq


def get_summary(services: Services, user_id: UUID, key: SummaryKey) -> SummaryView:
    """Raises NotFound for a flow, a session or a summary that is not there."""
    with services.database.reading() as db:
        _check_session(db, user_id, key)
        return _view(require(_fetch(db, key), "summary", key.session_id, field="session_id"))


def delete_summary(
    services: Services, user_id: UUID, flow_id: UUID, session_id: str, *, preset: str | None, summarizer: str | None
) -> None:
    """Delete a session's summaries, or those of a preset or summarizer. Raises NotFound when there is none."""
    with services.database.transaction() as db:
        asked = SummaryKey(flow_id=flow_id, session_id=session_id, preset=preset or "", summarizer=summarizer or "")
        _check_session(db, user_id, asked)
        gone = summaries.delete_of_session(db, flow_id, session_id, preset=preset, summarizer=summarizer)
        if not gone:
            raise not_found("summary", session_id, field="session_id")


def refresh_summary(services: Services, user_id: UUID, key: SummaryKey) -> SummaryView:
    """Ask for a summary of all but the latest pairs, made anew. Raises NotFound."""
    _, _, pairs = key.preset.partition("pairs_")
    keeping = SessionPreset(name=key.preset, pairs=int(pairs or KEPT_PAIRS), summary=True)
    with services.database.reading() as db:
        _check_session(db, user_id, key)
        for tail in tails(db, key.flow_id, key.session_id):
            memory = session_memory(tail, keeping, Call(), use_memory=True)
            if memory.enough:
                break
    if memory.expired is not None:
        request_summary(services, key, memory.expired, anew=True)
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
