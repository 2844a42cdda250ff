"""Retry dead letters with repairs, or discard them: one, or all that match a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock
from memorybase.core.described import DryRun, Remaining, Taken
from memorybase.core.ingestion import scheduler
from memorybase.core.memory_bases.session_batches import session_batches
from memorybase.core.models import DeadLetter
from memorybase.core.queries import cursors, dead_letters, memory_bases
from memorybase.core.queries.cursors import ProgressRow
from memorybase.core.queries.dead_letters import DeadLetterFilter, DeadLetterPlace
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.ownership import check_flow, not_found, require_memory_base
from memorybase.core.services import Services

MAX_AT_ONCE = 1000  # dead letters in one action
AT_ONCE = 200  # by default: it answers within about a second


class DeadLetterAction(StrEnum):
    """An action on dead letters."""

    RETRY = "retry"
    DISCARD = "discard"


class DeadLetterOutcome(StrEnum):
    """Result of an action on a dead letter."""

    RETRYING = "retrying"
    DISCARDED = "discarded"
    NOT_FOUND = "not_found"


class SkipReason(StrEnum):
    """Why an action left a dead letter alone.

    not_found: it does not exist, or an edit, a deletion or another call was first. retrying: a repair retries it
    already.
    """

    NOT_FOUND = "not_found"
    RETRYING = "retrying"


@dataclass(frozen=True, slots=True)
class DeadLetterResult:
    """Result for one dead letter."""

    id: Annotated[UUID, Field(description="The dead letter.")]
    outcome: Annotated[
        DeadLetterOutcome, Field(description="`retrying`, `discarded`, or `not_found` if there is no such dead letter.")
    ]
    memory_base_id: Annotated[
        UUID | None, Field(description="Its memory base; null if there is no such dead letter.")
    ] = None
    session_id: Annotated[str | None, Field(description="Its session; null if there is no such dead letter.")] = None
    message_id: Annotated[UUID | None, Field(description="Its message; null if there is no such dead letter.")] = None
    job_id: Annotated[
        UUID | None,
        Field(
            description="The job that tries again; null if none was started, because the session's active job "
            "comes first."
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class DeadLetterResults:
    """A result for each dead letter of this call."""

    action: Annotated[DeadLetterAction, Field(description="The action.")]
    results: Annotated[list[DeadLetterResult], Field(description="A result for each dead letter.")]
    remaining: Remaining
    taken: Taken
    skipped: Annotated[
        dict[str, int],
        Field(description="How many it left alone: `retrying` (a repair retries them already) or `not_found`."),
    ]
    dry_run: DryRun


# A retried one is not retried again: repeating an action ends.
_SHOWN = ("dead", "retrying")
_STATES = {DeadLetterAction.RETRY: ("dead",), DeadLetterAction.DISCARD: _SHOWN}


def act_on_dead_letters(
    services: Services,
    user_id: UUID,
    action: DeadLetterAction,
    wanted: DeadLetterFilter,
    *,
    limit: int = AT_ONCE,
    dry_run: bool = False,
) -> DeadLetterResults:
    """Retry or discard up to `limit` dead letters, oldest first, or with `dry_run` count them.

    Ids of dead letters that do not exist, or that another user has, are `not_found`; named ones are retried again.
    Raises NotFound for the filter's memory base or flow.
    """
    states = _SHOWN if wanted.ids is not None else _STATES[action]
    with services.database.reading() as db:
        if wanted.memory_base_id is not None:
            require_memory_base(db, user_id, wanted.memory_base_id)
        if wanted.flow_id is not None:
            check_flow(db, user_id, wanted.flow_id)
        passed_over = 0
        if set(states) < set(_SHOWN):
            passed_over = dead_letters.count_dead_letters(db, user_id, wanted, states=["retrying"])
        if dry_run:
            count = dead_letters.count_dead_letters(db, user_id, wanted, states=states)
            skipped = _skipped(passed_over, gone=len(set(wanted.ids or ())) - count if wanted.ids is not None else 0)
            left = 0 if wanted.ids is not None else count
            return DeadLetterResults(action, [], left, count, skipped, dry_run=True)
        at_most = limit if wanted.ids is None else MAX_AT_ONCE
        found = dead_letters.find_dead_letters(db, user_id, wanted, states=states, limit=at_most)
    results = {
        each: DeadLetterResult(each, DeadLetterOutcome.NOT_FOUND)
        for each in [*(wanted.ids or ()), *(place.id for place in found)]
    }
    for base_id, sessions in session_batches(found):
        results.update(_act_in_sessions(services, action, base_id, sessions))
    with services.database.reading() as db:
        left = 0 if wanted.ids is not None else dead_letters.count_dead_letters(db, user_id, wanted, states=states)
    gone = sum(each.outcome is DeadLetterOutcome.NOT_FOUND for each in results.values())
    skipped = _skipped(passed_over, gone=gone)
    return DeadLetterResults(action, list(results.values()), left, len(results) - gone, skipped, dry_run=False)


def _skipped(retrying: int, *, gone: int) -> dict[str, int]:
    counts = {SkipReason.RETRYING: retrying, SkipReason.NOT_FOUND: gone}
    return {str(reason): count for reason, count in counts.items() if count}


def _act_in_sessions(
    services: Services, action: DeadLetterAction, base_id: UUID, of_sessions: dict[str, list[DeadLetterPlace]]
) -> dict[UUID, DeadLetterResult]:
    results: dict[UUID, DeadLetterResult] = {}
    with services.database.transaction() as db:
        base = memory_bases.share_base(db, base_id)
        if base is None or base.deleting_at is not None:
            return {}
        now = clock.now(db)
        for session_id, places in of_sessions.items():
            locked = cursors.lock_rows(db, [base_id], session_id)
            letters = dead_letters.lock_dead_letters(db, base_id, [place.id for place in places])
            if action is DeadLetterAction.RETRY:
                job_id, outcome = _retry(db, services, base, locked, letters, now), DeadLetterOutcome.RETRYING
            else:
                job_id, outcome = None, DeadLetterOutcome.DISCARDED
                for letter in letters:
                    letter.state, letter.updated_at = "discarded", now
            for letter in letters:
                results[letter.id] = DeadLetterResult(
                    letter.id, outcome, base_id, session_id, letter.message_id, job_id
                )
    return results


def retry_dead_letter(services: Services, user_id: UUID, base_id: UUID, dead_letter_id: UUID) -> list[UUID]:
    """Schedule a repair that retries a dead letter; returns the ids of the jobs. Raises NotFound."""
    with services.database.transaction() as db:
        base, letter, locked = _locked_dead_letter(db, user_id, base_id, dead_letter_id)
        job_id = _retry(db, services, base, locked, [letter], clock.now(db))
        return [job_id] if job_id else []


def discard_dead_letter(services: Services, user_id: UUID, base_id: UUID, dead_letter_id: UUID) -> None:
    """Discard a dead letter; its message stays in SQL. Raises NotFound."""
    with services.database.transaction() as db:
        _base, letter, _rows = _locked_dead_letter(db, user_id, base_id, dead_letter_id)
        letter.state = "discarded"
        letter.updated_at = clock.now(db)


def _retry(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    locked: Sequence[ProgressRow],
    letters: Sequence[DeadLetter],
    now: datetime,
) -> UUID | None:
    """Schedule a repair of the session that retries these; None if a job is active, which schedules it."""
    for letter in letters:
        letter.state = "retrying"
        letter.updated_at = now
    for row in locked:
        if any(letter.progress_id == row.id for letter in letters):
            cursors.update(db, row, dirty=row.dirty + 1)
    db.flush()
    job = scheduler.schedule_next(db, services, base, locked, now)
    return job.id if job else None


def _locked_dead_letter(
    db: OrmSession, user_id: UUID, base_id: UUID, dead_letter_id: UUID
) -> tuple[BaseRow, DeadLetter, list[ProgressRow]]:
    """A dead letter, with its session's rows locked: a job that writes or clears it has ended, or waits."""
    base = memory_bases.share_base(db, base_id)
    if base is None or base.user_id != user_id or base.deleting_at is not None:
        raise not_found("memory base", base_id)
    session_id = dead_letters.session_of_dead_letter(db, base_id, dead_letter_id)
    locked = cursors.lock_rows(db, [base_id], session_id) if session_id is not None else []
    letter = dead_letters.fetch_dead_letter(db, base_id, dead_letter_id)
    if letter is None or letter.state == "discarded":
        raise not_found("dead letter", dead_letter_id)
    return base, letter, locked
