"""Retry a dead letter with a repair, or discard it."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.database import clock
from memorybase.ingestion import scheduler
from memorybase.models import DeadLetter, MemoryBase, SessionProgress
from memorybase.queries import cursors, dead_letters, memory_bases
from memorybase.queries.ownership import not_found
from memorybase.services import Services


def retry_dead_letter(services: Services, user_id: UUID, base_id: UUID, dead_letter_id: UUID) -> list[UUID]:
    """Schedule a repair that retries a dead letter; returns the ids of the jobs. Raises NotFound."""
    with services.database.transaction() as db:
        base, letter, locked = _locked_dead_letter(db, user_id, base_id, dead_letter_id)
        now = clock.now(db)
        letter.state = "retrying"
        letter.updated_at = now
        for row in locked:
            if row.id == letter.progress_id:
                row.dirty += 1
        db.flush()
        job = scheduler.schedule_next(db, services, base, locked, now)
        return [job.id] if job else []


def discard_dead_letter(services: Services, user_id: UUID, base_id: UUID, dead_letter_id: UUID) -> None:
    """Discard a dead letter; its message stays in SQL. Raises NotFound."""
    with services.database.transaction() as db:
        _base, letter, _rows = _locked_dead_letter(db, user_id, base_id, dead_letter_id)
        letter.state = "discarded"
        letter.updated_at = clock.now(db)


def _locked_dead_letter(
    db: OrmSession, user_id: UUID, base_id: UUID, dead_letter_id: UUID
) -> tuple[MemoryBase, DeadLetter, list[SessionProgress]]:
    """A dead letter, with its session's rows locked: a job that writes or clears it has ended, or waits."""
    base = memory_bases.share_base(db, base_id)
    if base is None or base.user_id != user_id or base.deleting_at is not None:
        raise not_found("memory base", base_id)
    session_id = dead_letters.session_of_dead_letter(db, base_id, dead_letter_id)
    locked = cursors.lock_session_progress(db, [base_id], session_id) if session_id is not None else []
    letter = dead_letters.fetch_dead_letter(db, base_id, dead_letter_id)
    if letter is None or letter.state == "discarded":
        raise not_found("dead letter", dead_letter_id)
    return base, letter, locked
