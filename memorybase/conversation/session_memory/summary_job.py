"""Making summaries, in a worker.

A worker claims the row and folds what is new into the old summary, page by page, with no transaction open over the
model. It stores the outcome only if nobody has touched the row since: an edit or a deletion of a message that it may
have read has. Now and then, when what it covers has doubled, a summary is made from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.conversation.history.session_reader import Walk, as_record
from memorybase.conversation.session_memory.summaries import SummaryKey
from memorybase.conversation.summarizers.enqueue import enqueue_after_commit
from memorybase.conversation.summarizers.llm import Summarizer, says_something, summarizer_named
from memorybase.database import clock
from memorybase.models import SessionSummary
from memorybase.queries import sessions, summaries, threads
from memorybase.services import Services
from memorybase.telemetry import describe_error, get_logger

log = get_logger(__name__)

PAGE = 200  # messages folded at once; what is folded is stored, so that a lost worker costs one page
REBUILD_SEQ = 128  # below, a summary is never made anew for its length
GIVE_UP_AFTER = 3  # attempts on messages that nothing can be made of; then until there are others
SWEEP_LIMIT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What a worker has taken on, as the row was then."""

    id: UUID
    version: int
    key: SummaryKey
    requested_seq: int
    requested_message_id: UUID | None
    attempts: int
    served_seq: int  # what readers are given meanwhile
    from_beginning: bool
    to_seq: int  # folded so far
    last_message_id: UUID | None
    text: str | None


def make_summary(services: Services, summary_id: UUID, summarizer: Summarizer | None = None) -> bool:
    """Make what is owed of a summary; False when nothing is, somebody else is at it, or it cannot be had now.

    `summarizer`: one handed in, for summaries of its name; workers make only those that the settings name."""
    claim = _claim(services, summary_id, is_handed_in=summarizer is not None)
    if claim is None:
        return False
    try:
        by = summarizer or summarizer_named(services.settings, services.embedders, claim.key.summarizer)
        folded = _fold(services, claim, by)
    except errors.DatabaseUnavailable:
        raise
    except (errors.EnvironmentFailure, errors.MessageFailure, errors.InvalidRequest) as error:
        _put_off(services, claim, error)
        return False
    return folded is not None and _store(services, folded, is_last=True)


def make_requested(services: Services, key: SummaryKey, summarizer: Summarizer) -> bool:
    """The same for a summary that was asked for by the name of a summarizer that only this process has."""
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
        lease = {"version": row.version + 1, "attempts": row.attempts + 1, "lease_until": now + _lease(services)}
        if not summaries.write(db, row.id, version=row.version, session_id=row.session_id, values=lease):
            return None
        doubled = row.requested_seq >= 2 * max(row.rebuilt_seq, REBUILD_SEQ // 2)
        anew = row.text is None or row.stale or row.rebuilt_seq == 0 or doubled
        return _Claim(
            id=row.id,
            version=row.version + 1,
            key=SummaryKey(
                flow_id=row.flow_id, session_id=row.session_id, preset=row.preset, summarizer=row.summarizer
            ),
            requested_seq=row.requested_seq,
            requested_message_id=row.requested_message_id,
            attempts=row.attempts + 1,
            served_seq=0 if row.text is None else row.to_seq,
            from_beginning=anew,
            to_seq=0 if anew else row.to_seq,
            last_message_id=None if anew else row.last_message_id,
            text=None if anew else row.text,
        )


def _fold(services: Services, claim: _Claim, by: Summarizer) -> _Claim | None:
    """The claim with everything folded in; None once the row is somebody else's."""
    with services.database.reading() as db:
        on_thread = _thread(db, claim)
    if claim.last_message_id is not None and claim.last_message_id not in on_thread:
        claim = replace(claim, from_beginning=True, to_seq=0, last_message_id=None, text=None)
    while True:
        with services.database.reading() as db:
            page = sessions.messages_after(
                db,
                claim.key.flow_id,
                claim.key.session_id,
                after_seq=claim.to_seq,
                to_seq=claim.requested_seq,
                limit=PAGE,
            )
            records = [as_record(message) for message in page if message.id in on_thread]
        text = by.summarize(claim.text, records) if says_something(records) else claim.text
        claim = replace(claim, text=text, last_message_id=UUID(records[-1].id) if records else claim.last_message_id)
        if len(page) < PAGE:
            return replace(claim, to_seq=claim.requested_seq)
        claim = replace(claim, to_seq=page[-1].seq)
        if not _store(services, claim, is_last=False):
            return None


def _thread(db: OrmSession, claim: _Claim) -> set[UUID]:
    """The messages that lead to the one that the summary is to end with, or to the newest if that is gone."""
    flow_id, session_id = claim.key.flow_id, claim.key.session_id
    newest = threads.links_down_from(db, flow_id, session_id, to_seq=claim.requested_seq, limit=1)
    if not newest:
        return set()
    leaf_id = claim.requested_message_id
    if leaf_id is None or threads.seq_of(db, flow_id, session_id, leaf_id) is None:
        leaf_id = newest[0].id
    return {link.id for link in Walk(db, flow_id, session_id).from_leaf(leaf_id)}


def _store(services: Services, claim: _Claim, *, is_last: bool) -> bool:
    """Keep what is folded so far, unless readers have more already; False once the row is somebody else's."""
    with services.database.transaction() as db:
        now = clock.now(db)
        values: dict[str, Any] = {"lease_until": now + _lease(services)}
        if is_last or claim.to_seq >= claim.served_seq:
            values |= {
                "text": claim.text,
                "to_seq": claim.to_seq if claim.text else 0,
                "last_message_id": claim.last_message_id,
                "stale": False,
                "updated_at": now,
            }
            values |= {"rebuilt_seq": claim.to_seq} if claim.from_beginning else {}
        if is_last:
            more = SessionSummary.requested_seq > claim.requested_seq
            values |= {
                "version": claim.version + 1,
                "lease_until": None,
                "attempts": 0,
                "error": None,
                "notify_at": sa.case((more, sa.literal(now, SessionSummary.notify_at.type)), else_=sa.null()),
            }
        stored = summaries.write(db, claim.id, version=claim.version, session_id=claim.key.session_id, values=values)
    if stored:
        log.info("summary_stored", summary_id=str(claim.id), to_seq=claim.to_seq)
    else:
        log.info("summary_outdated", summary_id=str(claim.id))
    return stored


def _put_off(services: Services, claim: _Claim, error: errors.MemorybaseError) -> None:
    """Try again later; where trying again cannot help, once there is more to summarise."""
    settings = services.settings
    hopeless = isinstance(error, errors.InvalidRequest) or (
        isinstance(error, errors.MessageFailure) and claim.attempts >= GIVE_UP_AFTER
    )
    pause = min(settings.backoff_seconds * 2 ** min(claim.attempts, 16), settings.notify_max_seconds)
    with services.database.transaction() as db:
        values = {
            "version": claim.version + 1,
            "lease_until": None,
            "error": describe_error(error),
            "notify_at": None if hopeless else clock.now(db) + timedelta(seconds=pause),
        }
        summaries.write(db, claim.id, version=claim.version, session_id=claim.key.session_id, values=values)
    log.warning("summary_put_off", summary_id=str(claim.id), error_code=error.code, attempts=claim.attempts)


def _lease(services: Services) -> timedelta:
    # For one page, cut by halves if need be. Whoever takes longer may lose the row, and what it made of that page.
    return timedelta(seconds=services.settings.lease_seconds + 4 * services.settings.summarizer_timeout_seconds)


def enqueue_due(services: Services) -> int:
    """Ring for summaries that nobody has made: a ring was lost, a worker too, or a pause is over."""
    with services.database.transaction() as db:
        now = clock.now(db)
        due = summaries.due(db, now, limit=SWEEP_LIMIT)
        for row in due:
            row.notify_at = now + timedelta(seconds=services.settings.notify_after_seconds)
        if due:
            enqueue_after_commit(db, services, [row.id for row in due])
    return len(due)
