"""Schedules jobs: the pending range of a session, and the next job for it.

Everything here runs in the caller's transaction, which has locked the memory base (shared or exclusively) and the
session's progress rows. A session of a memory base has at most one active job; ending a job schedules the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deadlines, tracing
from memorybase.core.database import engine
from memorybase.core.extension import Edited, total
from memorybase.core.ingestion import fair_order
from memorybase.core.models import JobKind, Priority
from memorybase.core.queries import cursors, jobs, memory_bases, progress_rows
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries.cursors import ProgressRow
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import JobMessage, Services
from memorybase.core.settings import Settings

# Jobs are small, so that kill -9 costs seconds, and large enough to fill embedding batches.
JOB_MAX_MESSAGES = 64  # that count
JOB_MAX_BYTES = 100_000  # of text, seconds of work; one message always fits
BYTES_OF_A_MESSAGE = 1_000  # as what each of a job's messages counts, at least, where jobs take turns
SESSIONS_SCHEDULED_AT_ONCE = 100  # in the transaction of one request


class JobRange(NamedTuple):
    """What a new job covers."""

    kind: JobKind
    to_seq: int
    total: int = 0  # counted messages
    cost: int = 0  # in the fair order
    audit: bool = False


def write_row(base: BaseRow, rows: Iterable[ProgressRow]) -> ProgressRow | None:
    """The session's row in the generation that ingestion writes to; None if it has none yet."""
    generation = cursors.write_generation(base)
    return next((row for row in rows if row.memory_base_id == base.id and row.generation == generation), None)


def may_have_active_job(base: BaseRow, rows: Iterable[ProgressRow]) -> bool:
    """Whether the session may have an active job: a job exists only for pending messages, an edit or an audit."""
    return any(
        progress.target_seq > progress.cursor_seq or progress.dirty > progress.repaired or progress.audit_at is not None
        for progress in rows
        if progress.memory_base_id == base.id
    )


def schedule_next(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    rows: Sequence[ProgressRow],
    now: datetime,
) -> JobRow | None:
    """Insert the session's next job if work is pending and no job is active; enqueue it after the commit.

    Repairs go first: searches must not show outdated messages for the length of a backlog. A paused base gets nothing
    else.
    """
    if base.deleting_at is not None:
        return None
    base_rows = [progress for progress in rows if progress.memory_base_id == base.id]
    # The serving generation first: searches read it.
    for progress in sorted(base_rows, key=lambda row: row.generation != base.serving):
        audit = progress.audit_at is not None and progress.audit_at <= now
        if audit or progress.dirty > progress.repaired:
            nothing_new = JobRange(JobKind.REPAIR, progress.cursor_seq, audit=audit)
            return _insert(db, services, base, progress, nothing_new, now)
    written = write_row(base, base_rows)
    if base.paused_at is not None or written is None or written.target_seq <= written.cursor_seq:
        return None
    return _insert(db, services, base, written, _next_range(db, base, written), now)


def schedule_sessions(db: OrmSession, services: Services, base: BaseRow, now: datetime) -> list[JobRow]:
    """Schedule the first sessions of a base that has just got rows with pending messages; the sweeper does the rest."""
    pending = cursors.sessions_due(db, base.id, cursors.write_generation(base), limit=SESSIONS_SCHEDULED_AT_ONCE)
    return [job for row in pending if (job := schedule_next(db, services, base, [row], now))]


def _next_range(db: OrmSession, base: BaseRow, progress: ProgressRow) -> JobRange:
    """The next range toward the target: limited in counted messages and in bytes, but at least one message."""
    at_most = min(JOB_MAX_MESSAGES, progress.job_cap or JOB_MAX_MESSAGES)
    sizes = message_queries.sizes_after(
        db,
        flow_id=progress.flow_id,
        session_id=progress.session_id,
        capture=memory_bases.projection(db, base, progress.generation).capture,
        after_seq=progress.cursor_seq,
        to_seq=progress.target_seq,
        at_most=at_most + 1,
    )
    messages = message_queries.count_within(sizes[:at_most], JOB_MAX_BYTES)
    # If all fit, the job ends at the target, beyond messages after the last counted one.
    to_seq = progress.target_seq if messages == len(sizes) else sizes[messages - 1].seq
    kind = JobKind.INGEST if progress.generation == base.serving else JobKind.REGENERATE
    cost = sum(each.text_bytes for each in sizes[:messages]) // BYTES_OF_A_MESSAGE
    return JobRange(kind, to_seq, messages, max(messages, cost))


def _insert(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    progress: ProgressRow,
    covered: JobRange,
    now: datetime,
) -> JobRow | None:
    generation = memory_bases.projection(db, base, progress.generation)
    job = jobs.insert_job(
        db,
        memory_base_id=base.id,
        progress_id=progress.id,
        session_id=progress.session_id,
        kind=covered.kind,
        generation=progress.generation,
        from_seq=progress.cursor_seq,
        to_seq=covered.to_seq,
        cursor_id=progress.cursor_id,
        embedder=generation.embedder,
        chunker=generation.chunker,
        audit=covered.audit,
        total=covered.total,
        available_at=now,
        virtual_time=virtual_time(db, base, covered.kind, covered.cost),
        notified_at=now,
        notify_at=now + timedelta(seconds=deadlines.NOTIFY_AFTER_SECONDS),
        created_at=now,
        # For a range the request that last moved the target, whoever schedules it; for a repair what schedules it.
        traceparent=tracing.traceparent() if covered.kind == JobKind.REPAIR else progress.traceparent,
    )
    if job is not None:
        enqueue_after_commit(db, services, [job])
    return job


def virtual_time(db: OrmSession, base: BaseRow, kind: JobKind, cost: int) -> int:
    """The place of a job among those that wait. What is more than a turn's work counts when its turn comes."""
    return fair_order.virtual_time(db, base.id, kind, min(cost, JOB_MAX_MESSAGES), Priority(base.priority))


def enqueue_after_commit(db: OrmSession, services: Services, queued: Sequence[JobRow]) -> None:
    """Notify workers once the job rows are committed. A lost notification costs time only: the sweeper repeats it."""
    pending: list[tuple[JobMessage, str | None]] = db.info.setdefault("notifications", [])
    if not pending:
        # One call for all notifications of the transaction, with one timeout.
        engine.after_commit(db, lambda: _enqueue(services, pending))
    pending.extend((job.message(), job.traceparent) for job in queued)


def _enqueue(services: Services, queued: Sequence[tuple[JobMessage, str | None]]) -> None:
    parents = [tracing.remote(parent) for parent in {parent for _, parent in queued}]
    with tracing.span("notify", "producer", parents=parents, jobs=len(queued)):
        services.queue.enqueue([message for message, _ in queued])


def mark_edited(
    db: OrmSession,
    services: Services,
    bases: Sequence[BaseRow],
    session_id: str,
    seq: int | None,
    now: datetime,
) -> list[JobRow]:
    """Tell the features that a message has changed, and mark the session dirty. Returns the repairs.

    The caller has locked the flow's memory bases and the session. `seq` None: the whole session has changed.
    """
    base_ids = [base.id for base in bases]
    locked = cursors.lock_rows(db, base_ids, session_id)
    edited = Edited(base_ids=base_ids, session_id=session_id, seq=seq, to_seq=None, now=now)
    tell_edited(db, services, edited)
    return mark_dirty(db, services, bases, locked, edited)


def mark_dirty(
    db: OrmSession, services: Services, bases: Sequence[BaseRow], locked: Sequence[ProgressRow], edited: Edited
) -> list[JobRow]:
    """Mark the session dirty in every generation that has read the messages or may be reading them; schedule repairs.
    `locked`: the session's rows. The caller has told the features."""
    scheduled = []
    seq, to_seq, now = edited.seq, edited.to_seq, edited.now
    for base in bases:
        base_rows = [progress for progress in locked if progress.memory_base_id == base.id]
        # No job has read a message beyond the target yet.
        affected = [
            progress
            for progress in base_rows
            if seq is None
            or (progress.start_seq < (to_seq or seq) and seq <= max(progress.cursor_seq, progress.target_seq))
        ]
        for progress in affected:
            cursors.update(db, progress, dirty=progress.dirty + 1)
        if affected and (job := schedule_next(db, services, base, base_rows, now)):
            scheduled.append(job)
    return scheduled


def tell_edited(db: OrmSession, services: Services, edited: Edited) -> Counter[str]:
    """Tell the features that messages have changed. Returns the numbers of rows that they delete because of that."""
    return total(hooks.on_edited(db, edited) for hooks in services.hooks)


def has_pending(db: OrmSession, base: BaseRow, session: SessionRow, locked: Sequence[ProgressRow]) -> bool:
    """Whether messages of the session are pending; `locked`: its rows."""
    progress = write_row(base, locked)
    generation = memory_bases.projection(db, base, cursors.write_generation(base))
    pending = message_queries.count_counted(
        db,
        flow_id=session.flow_id,
        session_id=session.session_id,
        capture=generation.capture,
        after_seq=progress.cursor_seq if progress else 0,
        at_most=1,
    )
    return pending > 0


def schedule_all_pending(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    session: SessionRow,
    locked: Sequence[ProgressRow],
    now: datetime,
) -> JobRow | None:
    """Move the target to the session's last message and schedule a job; None if nothing is pending."""
    if not has_pending(db, base, session, locked):
        return None
    if write_row(base, locked) is None:
        locked = _insert_row(db, base, session)
    progress = write_row(base, locked)
    if progress is None:
        raise NoResultFound("a session's progress row was deleted under its lock")
    # The sweeper, which flushes idle sessions, has no trace: then it stays that of the capture.
    traceparent = tracing.traceparent() or progress.traceparent
    cursors.update(db, progress, target_seq=session.last_seq, idle_due_at=None, traceparent=traceparent)
    return schedule_next(db, services, base, locked, now)


def _insert_row(db: OrmSession, base: BaseRow, session: SessionRow) -> list[ProgressRow]:
    """All rows of the session, locked, after that of the write generation was inserted."""
    progress_rows.ensure_rows(db, base, [session.session_id])
    return cursors.lock_rows(db, [base.id], session.session_id)


def audit_time(now: datetime, settings: Settings) -> datetime:
    """One lease later: by then no frozen worker's claim is valid, and its late writes are visible."""
    return now + timedelta(seconds=settings.lease_seconds)
