"""What is owed to a session, and the next job for it.

Everything here runs inside a caller's transaction that has locked the memory base (shared is enough) and the
session's rows. A session of a memory base has at most one active job; whoever ends one plans the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase.database import engine
from memorybase.models import (
    Capture,
    Generation,
    IngestionJob,
    JobKind,
    JobState,
    MemoryBase,
    Session,
    SessionProgress,
)
from memorybase.queries import cursors, jobs, memory_bases, sessions
from memorybase.services import JobMessage, Services
from memorybase.settings import Settings


class Range(NamedTuple):
    """Where a job ends, and how many counted messages it covers."""

    to_seq: int
    total: int


def write_generation(base: MemoryBase) -> int:
    """The generation that capture, flush and idle feed: the build while there is one."""
    return base.serving if base.building is None else base.building


def write_row(base: MemoryBase, rows: Iterable[SessionProgress]) -> SessionProgress | None:
    wanted = write_generation(base)
    return next((r for r in rows if r.memory_base_id == base.id and r.generation == wanted), None)


def may_have_active_job(base: MemoryBase, rows: Iterable[SessionProgress]) -> bool:
    """Whether the session may have an active job: one never goes without something owed, a mark or an audit."""
    return any(
        progress.target_seq > progress.cursor_seq or progress.dirty > progress.repaired or progress.audit_at is not None
        for progress in rows
        if progress.memory_base_id == base.id
    )


def schedule_next(
    db: OrmSession,
    services: Services,
    base: MemoryBase,
    rows: Sequence[SessionProgress],
    now: datetime,
) -> IngestionJob | None:
    """Insert the session's next job if something is owed and none is active, and ring for it after the commit.

    Repairs go first: what is served must not stay wrong behind a long backlog.
    """
    if base.deleting_at is not None:
        return None
    own = [progress for progress in rows if progress.memory_base_id == base.id]
    # The serving row sorts first: its edits are the ones that search sees.
    for progress in sorted(own, key=lambda r: r.generation != base.serving):
        audit = progress.audit_at is not None and progress.audit_at <= now
        if audit or progress.dirty > progress.repaired:
            return _insert(db, services, progress, JobKind.REPAIR, Range(progress.cursor_seq, 0), now, audit=audit)
    fed = write_row(base, own)
    if fed is None or fed.target_seq <= fed.cursor_seq:
        return None
    generation = memory_bases.fetch_generation(db, base.id, fed.generation)
    kind = JobKind.INGEST if fed.generation == base.serving else JobKind.REGENERATE
    return _insert(db, services, fed, kind, next_range(db, services.settings, fed, generation.capture), now)


def next_range(db: OrmSession, settings: Settings, progress: SessionProgress, capture: Capture) -> Range:
    """The next stretch toward the target: bounded in counted messages and in text, at least one message."""
    at_most = min(settings.job_max_messages, progress.job_cap or settings.job_max_messages)
    sizes = sessions.sizes_after(
        db,
        flow_id=progress.flow_id,
        session_id=progress.session_id,
        capture=capture,
        after_seq=progress.cursor_seq,
        to_seq=progress.target_seq,
        at_most=at_most + 1,
    )
    taken = size = 0
    for item in sizes[:at_most]:
        size += item.text_bytes
        if taken and size > settings.job_max_bytes:
            break
        taken += 1
    # Everything fits: the job ends at the target, and covers what is not counted behind the last one too.
    return Range(progress.target_seq if taken == len(sizes) else sizes[taken - 1].seq, taken)


def _insert(
    db: OrmSession,
    services: Services,
    progress: SessionProgress,
    kind: JobKind,
    covered: Range,
    now: datetime,
    *,
    audit: bool = False,
) -> IngestionJob | None:
    generation: Generation = memory_bases.fetch_generation(db, progress.memory_base_id, progress.generation)
    job = jobs.insert_job(
        db,
        {
            "id": uuid4(),
            "memory_base_id": progress.memory_base_id,
            "progress_id": progress.id,
            "session_id": progress.session_id,
            "kind": kind,
            "state": JobState.QUEUED,
            "generation": progress.generation,
            "from_seq": progress.cursor_seq,
            "to_seq": covered.to_seq,
            "cursor_id": progress.cursor_id,
            "embedder": generation.embedder,
            "chunker": generation.chunker,
            "audit": audit,
            "total": covered.total,
            "processed": 0,
            "epoch": 0,
            "attempts": 0,
            "outages": 0,
            "lost_workers": 0,
            "embedding_started": False,
            "batched": False,
            "run_alone": False,
            "available_at": now,
            "notified_at": now,
            "notify_count": 1,
            "notify_at": now + timedelta(seconds=services.settings.notify_after_seconds),
            "created_at": now,
        },
    )
    if job is not None:
        enqueue_after_commit(db, services, [job])
    return job


def enqueue_after_commit(db: OrmSession, services: Services, queued: Sequence[IngestionJob]) -> None:
    """Ring once the job rows are there to be found. A lost ring costs time only: the sweeper rings again."""
    message = [job_message(job) for job in queued]
    pending: list[JobMessage] = db.info.setdefault("notifications", [])
    if not pending:
        # One call for all rings of the transaction, so that the bound on time is one bound.
        engine.after_commit(db, lambda: _enqueue(services, pending))
    pending.extend(message)


def _enqueue(services: Services, message: Sequence[JobMessage]) -> None:
    services.queue.enqueue(message)


def job_message(job: IngestionJob) -> JobMessage:
    """The job's immutable arguments."""
    return JobMessage(
        job_id=job.id,
        memory_base_id=job.memory_base_id,
        session_id=job.session_id,
        kind=str(job.kind),
        generation=job.generation,
        from_seq=job.from_seq,
        to_seq=job.to_seq,
        cursor_id=job.cursor_id,
        embedder=job.embedder,
        chunker=job.chunker,
    )


def mark_edited(
    db: OrmSession,
    services: Services,
    bases: Sequence[MemoryBase],
    session_id: str,
    seq: int | None,
    now: datetime,
) -> list[IngestionJob]:
    """Every store that holds the message, or may be about to, has to follow: mark its rows, plan the repairs.

    The caller holds the flow's living memory bases and the session. Without a seq the whole session has changed.
    """
    planned = []
    rows = cursors.lock_session_progress(db, [base.id for base in bases], session_id)
    for base in bases:
        own = [progress for progress in rows if progress.memory_base_id == base.id]
        # Beyond the target nothing has read the message yet: ingestion will read it as it is then.
        touched = [
            progress
            for progress in own
            if seq is None or progress.start_seq < seq <= max(progress.cursor_seq, progress.target_seq)
        ]
        for progress in touched:
            progress.dirty += 1
        db.flush()
        if touched and (job := schedule_next(db, services, base, own, now)):
            planned.append(job)
    return planned


def pending_progress(db: OrmSession, base: MemoryBase, session: Session) -> SessionProgress | None:
    """The session's row, locked, if anything is pending in it."""
    locked = cursors.lock_session_progress(db, [base.id], session.session_id)
    progress = write_row(base, locked)
    generation = memory_bases.fetch_generation(db, base.id, write_generation(base))
    pending = sessions.count_counted(
        db,
        flow_id=session.flow_id,
        session_id=session.session_id,
        capture=generation.capture,
        after_seq=progress.cursor_seq if progress else 0,
        at_most=1,
    )
    if not pending:
        return None
    if progress is None:
        cursors.ensure_progress(
            db,
            base_id=base.id,
            generation=generation.generation,
            flow_id=session.flow_id,
            session_id=session.session_id,
        )
        progress = write_row(base, cursors.lock_session_progress(db, [base.id], session.session_id))
    return progress


def schedule_all_pending(
    db: OrmSession, services: Services, base: MemoryBase, session: Session, now: datetime
) -> IngestionJob | None:
    """Put the target at the session's last message and plan for it; None when nothing is pending."""
    progress = pending_progress(db, base, session)
    if progress is None:
        return None
    progress.target_seq = session.last_seq
    progress.idle_due_at = None
    db.flush()
    locked = cursors.lock_session_progress(db, [base.id], session.session_id)
    return schedule_next(db, services, base, locked, now)


def audit_time(now: datetime, settings: Settings) -> datetime:
    """One lease later: by then no frozen worker's claim is alive, and what it wrote late is there to be found."""
    return now + timedelta(seconds=settings.lease_seconds)
