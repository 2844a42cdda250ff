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
    MemoryBaseSession,
    Session,
)
from memorybase.queries import cursors, jobs, memory_bases, sessions
from memorybase.services import FrozenJob, Services
from memorybase.settings import Settings


class Range(NamedTuple):
    """Where a job ends, and how many counted messages it covers."""

    to_seq: int
    total: int


def fed_generation(base: MemoryBase) -> int:
    """The generation that capture, flush and idle feed: the build while there is one."""
    return base.serving if base.building is None else base.building


def fed_row(base: MemoryBase, session_rows: Iterable[MemoryBaseSession]) -> MemoryBaseSession | None:
    wanted = fed_generation(base)
    return next((r for r in session_rows if r.memory_base_id == base.id and r.generation == wanted), None)


def is_at_work(base: MemoryBase, session_rows: Iterable[MemoryBaseSession]) -> bool:
    """Whether the session may have an active job: one never goes without something owed, a mark or an audit."""
    return any(
        row.target_seq > row.cursor_seq or row.dirty > row.repaired or row.audit_at is not None
        for row in session_rows
        if row.memory_base_id == base.id
    )


def plan_next(
    session: OrmSession,
    services: Services,
    base: MemoryBase,
    session_rows: Sequence[MemoryBaseSession],
    now: datetime,
) -> IngestionJob | None:
    """Insert the session's next job if something is owed and none is active, and ring for it after the commit.

    Repairs go first: what is served must not stay wrong behind a long backlog.
    """
    if base.deleting_at is not None:
        return None
    own = [row for row in session_rows if row.memory_base_id == base.id]
    # The serving row sorts first: its edits are the ones that search sees.
    for row in sorted(own, key=lambda r: r.generation != base.serving):
        audit = row.audit_at is not None and row.audit_at <= now
        if audit or row.dirty > row.repaired:
            return _insert(session, services, row, JobKind.REPAIR, Range(row.cursor_seq, 0), now, audit=audit)
    fed = fed_row(base, own)
    if fed is None or fed.target_seq <= fed.cursor_seq:
        return None
    generation = memory_bases.fetch_generation(session, base.id, fed.generation)
    kind = JobKind.INGEST if fed.generation == base.serving else JobKind.REGENERATE
    return _insert(session, services, fed, kind, next_range(session, services.settings, fed, generation.capture), now)


def next_range(session: OrmSession, settings: Settings, row: MemoryBaseSession, capture: Capture) -> Range:
    """The next stretch toward the target: bounded in counted messages and in text, at least one message."""
    at_most = min(settings.job_max_messages, row.job_cap or settings.job_max_messages)
    sizes = sessions.sizes_after(
        session,
        flow_id=row.flow_id,
        session_id=row.session_id,
        capture=capture,
        after_seq=row.cursor_seq,
        to_seq=row.target_seq,
        at_most=at_most + 1,
    )
    taken = size = 0
    for item in sizes[:at_most]:
        size += item.text_bytes
        if taken and size > settings.job_max_bytes:
            break
        taken += 1
    # Everything fits: the job ends at the target, and covers what is not counted behind the last one too.
    return Range(row.target_seq if taken == len(sizes) else sizes[taken - 1].seq, taken)


def _insert(
    session: OrmSession,
    services: Services,
    row: MemoryBaseSession,
    kind: JobKind,
    covered: Range,
    now: datetime,
    *,
    audit: bool = False,
) -> IngestionJob | None:
    generation: Generation = memory_bases.fetch_generation(session, row.memory_base_id, row.generation)
    job = jobs.insert_job(
        session,
        {
            "id": uuid4(),
            "memory_base_id": row.memory_base_id,
            "row_id": row.id,
            "session_id": row.session_id,
            "kind": kind,
            "state": JobState.QUEUED,
            "generation": row.generation,
            "from_seq": row.cursor_seq,
            "to_seq": covered.to_seq,
            "cursor_id": row.cursor_id,
            "embedder": generation.embedder,
            "chunker": generation.chunker,
            "audit": audit,
            "total": covered.total,
            "processed": 0,
            "epoch": 0,
            "attempts": 0,
            "outages": 0,
            "deaths": 0,
            "embedding_began": False,
            "together": False,
            "suspect": False,
            "available_at": now,
            "rung_at": now,
            "rings": 1,
            "ring_at": now + timedelta(seconds=services.settings.ring_after_seconds),
            "created_at": now,
        },
    )
    if job is not None:
        ring_after_commit(session, services, [job])
    return job


def ring_after_commit(session: OrmSession, services: Services, queued: Sequence[IngestionJob]) -> None:
    """Ring once the job rows are there to be found. A lost ring costs time only: the sweeper rings again."""
    frozen = [freeze(job) for job in queued]
    pending: list[FrozenJob] = session.info.setdefault("rings", [])
    if not pending:
        # One call for all rings of the transaction, so that the bound on time is one bound.
        engine.after_commit(session, lambda: _ring(services, pending))
    pending.extend(frozen)


def _ring(services: Services, frozen: Sequence[FrozenJob]) -> None:
    services.queue.ring(frozen)


def freeze(job: IngestionJob) -> FrozenJob:
    """The job's immutable arguments."""
    return FrozenJob(
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
    session: OrmSession,
    services: Services,
    living: Sequence[MemoryBase],
    session_id: str,
    seq: int | None,
    now: datetime,
) -> list[IngestionJob]:
    """Every store that holds the message, or may be about to, has to follow: mark its rows, plan the repairs.

    The caller holds the flow's living memory bases and the session. Without a seq the whole session has changed.
    """
    planned = []
    session_rows = cursors.lock_rows_of_session(session, [base.id for base in living], session_id)
    for base in living:
        own = [row for row in session_rows if row.memory_base_id == base.id]
        # Beyond the target nothing has read the message yet: ingestion will read it as it is then.
        touched = [row for row in own if seq is None or row.start_seq < seq <= max(row.cursor_seq, row.target_seq)]
        for row in touched:
            row.dirty += 1
        session.flush()
        if touched and (job := plan_next(session, services, base, own, now)):
            planned.append(job)
    return planned


def pending_row(session: OrmSession, base: MemoryBase, conversation: Session) -> MemoryBaseSession | None:
    """The session's row, locked, if anything is pending in it."""
    locked = cursors.lock_rows_of_session(session, [base.id], conversation.session_id)
    row = fed_row(base, locked)
    generation = memory_bases.fetch_generation(session, base.id, fed_generation(base))
    pending = sessions.count_counted(
        session,
        flow_id=conversation.flow_id,
        session_id=conversation.session_id,
        capture=generation.capture,
        after_seq=row.cursor_seq if row else 0,
        at_most=1,
    )
    if not pending:
        return None
    if row is None:
        cursors.ensure_row(
            session,
            base_id=base.id,
            generation=generation.generation,
            flow_id=conversation.flow_id,
            session_id=conversation.session_id,
        )
        row = fed_row(base, cursors.lock_rows_of_session(session, [base.id], conversation.session_id))
    return row


def owe_everything(
    session: OrmSession, services: Services, base: MemoryBase, conversation: Session, now: datetime
) -> IngestionJob | None:
    """Put the target at the session's last message and plan for it; None when nothing is pending."""
    row = pending_row(session, base, conversation)
    if row is None:
        return None
    row.target_seq = conversation.last_seq
    row.idle_due_at = None
    session.flush()
    locked = cursors.lock_rows_of_session(session, [base.id], conversation.session_id)
    return plan_next(session, services, base, locked, now)


def audit_time(now: datetime, settings: Settings) -> datetime:
    """One lease later: by then no frozen worker's claim is alive, and what it wrote late is there to be found."""
    return now + timedelta(seconds=settings.lease_seconds)
