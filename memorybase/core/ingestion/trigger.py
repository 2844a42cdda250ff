"""Decides, in the capture's transaction, whether a session has reached a memory base's threshold.

The cost depends on the threshold, not on history or backlog.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import tracing
from memorybase.core.described import MemoryBaseId
from memorybase.core.ingestion import scheduler
from memorybase.core.queries import cursors, jobs, memory_bases, messages, progress_rows
from memorybase.core.queries.cursors import ProgressRow
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import Services


@dataclass(frozen=True, slots=True)
class IngestionState:
    """The effect of a capture on one memory base."""

    memory_base_id: MemoryBaseId
    pending_messages: Annotated[
        int, Field(description="Number of pending messages that no job covers yet: they count towards the threshold.")
    ]
    pending_capped: Annotated[bool, Field(description="Whether `pending_messages` is only a lower bound.")]
    job_id: Annotated[UUID | None, Field(description="The active job of the session; null if there is none.")]


def trigger(
    db: OrmSession, services: Services, bases: Sequence[BaseRow], session: SessionRow, now: datetime
) -> list[IngestionState]:
    """For every memory base with auto_capture: move the target if its threshold is reached, else set the time at which
    the session is idle. Schedules a job for each that has pending work."""
    automatic = [base for base in bases if base.auto_capture]
    locked = cursors.lock_rows(db, [base.id for base in automatic], session.session_id)
    untracked = [base for base in automatic if scheduler.write_row(base, locked) is None]
    for base in untracked:
        progress_rows.ensure_rows(db, base, [session.session_id])
    if untracked:
        locked = cursors.lock_rows(db, [base.id for base in automatic], session.session_id)
    return [_trigger_base(db, services, base, locked, session, now) for base in automatic]


def _trigger_base(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    locked: Sequence[ProgressRow],
    session: SessionRow,
    now: datetime,
) -> IngestionState:
    progress = scheduler.write_row(base, locked)
    if progress is None:
        raise NoResultFound("a session's progress row was deleted under its lock")
    generation = memory_bases.projection(db, base, progress.generation)
    pending = messages.count_counted(
        db,
        flow_id=session.flow_id,
        session_id=session.session_id,
        capture=generation.capture,
        after_seq=max(progress.cursor_seq, progress.target_seq),
        at_most=base.threshold,
    )
    may_have_job = scheduler.may_have_active_job(base, locked)
    reached = pending >= base.threshold
    target_seq = session.last_seq if reached else progress.target_seq
    if reached or pending == 0 or base.idle_after == 0:
        idle_due_at = None
    else:
        # Later captures leave it as it is: the sweeper then reads the time of the last capture.
        idle_due_at = progress.idle_due_at or session.last_captured_at + timedelta(seconds=base.idle_after)
    if (target_seq, idle_due_at) != (progress.target_seq, progress.idle_due_at):
        cursors.update(db, progress, target_seq=target_seq, idle_due_at=idle_due_at, traceparent=tracing.traceparent())
    # The rows are locked: an active job stays active, and its worker schedules the next one.
    job = jobs.active_job(db, base.id, session.session_id) if may_have_job else None
    job = job or scheduler.schedule_next(db, services, base, locked, now)
    return IngestionState(base.id, pending, reached, job.id if job else None)
