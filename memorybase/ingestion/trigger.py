"""Has a session reached a memory base's threshold? Asked in the capture's transaction.

The cost depends on the threshold, not on history or backlog.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.ingestion import scheduler
from memorybase.models import MemoryBase, MemoryBaseSession, Session
from memorybase.queries import cursors, jobs, memory_bases, sessions
from memorybase.services import Services


@dataclass(frozen=True, slots=True)
class IngestionState:
    """What a capture means for one memory base; `pending_capped`: at least so many."""

    memory_base_id: UUID
    pending_messages: int
    pending_capped: bool
    job_id: UUID | None


def trigger(
    session: OrmSession, services: Services, living: Sequence[MemoryBase], conversation: Session, now: datetime
) -> list[IngestionState]:
    """For every memory base with auto_capture: is the threshold reached? Then what is captured is owed."""
    automatic = [base for base in living if base.auto_capture]
    locked = cursors.lock_rows_of_session(session, [base.id for base in automatic], conversation.session_id)
    untracked = [base for base in automatic if scheduler.fed_row(base, locked) is None]
    for base in untracked:
        cursors.ensure_row(
            session,
            base_id=base.id,
            generation=scheduler.fed_generation(base),
            flow_id=conversation.flow_id,
            session_id=conversation.session_id,
        )
    if untracked:
        locked = cursors.lock_rows_of_session(session, [base.id for base in automatic], conversation.session_id)
    return [_trigger_base(session, services, base, locked, conversation, now) for base in automatic]


def _trigger_base(
    session: OrmSession,
    services: Services,
    base: MemoryBase,
    locked: Sequence[MemoryBaseSession],
    conversation: Session,
    now: datetime,
) -> IngestionState:
    row = scheduler.fed_row(base, locked)
    if row is None:
        raise sa.exc.NoResultFound("a session row vanished under its lock")
    generation = memory_bases.fetch_generation(session, base.id, row.generation)
    pending = sessions.count_counted(
        session,
        flow_id=conversation.flow_id,
        session_id=conversation.session_id,
        capture=generation.capture,
        after_seq=max(row.cursor_seq, row.target_seq),
        at_most=base.threshold,
    )
    was_at_work = scheduler.is_at_work(base, locked)
    reached = pending >= base.threshold
    if reached:
        row.target_seq = conversation.last_seq
    if reached or pending == 0 or base.idle_after == 0:
        row.idle_due_at = None
    elif row.idle_due_at is None:
        # Left where it is by the captures that follow: the sweep that comes then looks at the last of them.
        row.idle_due_at = conversation.last_captured_at + timedelta(seconds=base.idle_after)
    session.flush()
    # The rows are locked: an active job stays one, and who ends it plans the next.
    job = jobs.active_job(session, base.id, conversation.session_id) if was_at_work else None
    job = job or scheduler.plan_next(session, services, base, locked, now)
    return IngestionState(base.id, pending, reached, job.id if job else None)
