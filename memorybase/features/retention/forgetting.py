"""Let the knowledge base of a memory base forget what is older than its rule says; the conversation stays.

The start of a session's progress moves up: messages before it are neither ingested nor held. A repair deletes the
chunks, as after a deletion. Pending messages that are as old are passed over; a job that is about to ingest them is
cancelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import messages
from memorybase.core.database import clock
from memorybase.core.extension import total
from memorybase.core.ingestion import scheduler
from memorybase.core.models import MemoryBase
from memorybase.core.queries import (
    cursors,
    dead_letters,
    jobs,
    memory_bases,
    progress_rows,
    sessions,
)
from memorybase.core.queries.cursors import ProgressRow
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import Services
from memorybase.features.retention import passes, receipts
from memorybase.features.retention.budget import NOTHING, Budget, Deleted
from memorybase.features.retention.queries import expired
from memorybase.features.retention.receipts import Subject

BASES = 20  # in one pass
PAGE = 500  # messages of one memory base whose sessions one pass looks at, beyond those of one run
LEASE = timedelta(minutes=1)  # in which no other sweeper takes the memory base


def forget_expired(services: Services) -> int:
    """Forget messages that have expired by the rules of memory bases, and return their number."""
    with services.database.reading() as db:
        due = expired.due_bases(db, clock.now(db), limit=BASES)
    return Budget().over(due, partial(_forget_in_base, services))


def _forget_in_base(services: Services, base_id: UUID, budget: Budget) -> None:
    with services.database.transaction() as db:
        now = clock.now(db)
        if not expired.take_base(db, base_id, now, now + LEASE):
            return
    # Of one run all messages have the same time, so a page must be longer.
    limit = messages.MAX_MESSAGES + PAGE
    with services.database.reading() as db:
        base = db.get(MemoryBase, base_id)
        if base is None or base.retain_days is None:
            return
        days, before = base.retain_days, clock.now(db) - timedelta(days=base.retain_days)
        found = expired.captured_between(db, base.flow_id, base.forgotten_until, before, limit=limit)
    reached, is_complete = found[-1][1] if found else before, len(found) < limit
    for session_id, captured_at in _first_of_each(found):
        if budget.is_spent or not budget.spend(forget_session, services, base.flow_id, base_id, session_id):
            reached, is_complete = captured_at, False
            break
    with services.database.transaction() as db:
        now = clock.now(db)
        if is_complete:
            receipts.close(db, services, "memory_base", base_id, now)
            now += passes.INTERVAL
        expired.release_base(db, base_id, days, now, before if is_complete else reached)


def _first_of_each(found: Iterable[tuple[str, datetime]]) -> Iterable[tuple[str, datetime]]:
    """Each session with the time of its first message, in the order of these."""
    firsts: dict[str, datetime] = {}
    for session_id, captured_at in found:
        firsts.setdefault(session_id, captured_at)
    return firsts.items()


def forget_session(services: Services, flow_id: UUID, base_id: UUID, session_id: str) -> Deleted:
    """Forget the expired messages of one session. Of the rows only the messages count that the knowledge base held."""
    with services.database.transaction() as db:
        shared = memory_bases.share_bases_of_flow(db, flow_id)
        base = next((each for each in shared if each.id == base_id), None)
        session = None if base is None else sessions.lock_session(db, flow_id, session_id)
        if base is None or session is None or session.deleted_at is not None:
            return NOTHING
        days = memory_bases.retain_days_of(db, base_id)
        if days is None:
            return NOTHING
        now = clock.now(db)
        before = now - timedelta(days=days)
        start = expired.last_expired_seq(db, session, before)
        # A session without a row would be ingested from its beginning later.
        progress_rows.ensure_rows(db, base, [session_id], start_seq=start)
        rows = cursors.lock_rows(db, [base_id], session_id)
        counts = Counter[str]()
        for progress in rows:
            if progress.start_seq < start:
                if progress.generation == base.serving:
                    counts["messages"], counts["chunks"] = expired.held_up_to(db, progress.id, start)
                counts += _start_after(db, services, base, session, progress, start, now)
        scheduler.schedule_next(db, services, base, rows, now)
        receipts.add(db, Subject("memory_base", base.user_id, flow_id, days, base_id), before, counts, now)
        return Deleted({"messages": counts["messages"]})


def _start_after(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    session: SessionRow,
    progress: ProgressRow,
    start: int,
    now: datetime,
) -> Counter[str]:
    """Let the progress of a session start after this seq; a repair deletes what the store holds from before. Returns
    the numbers of rows that features delete."""
    changes: dict[str, Any] = {"start_seq": start, "dirty": progress.dirty + 1}
    if progress.cursor_seq < start:
        job = jobs.active_job(db, base.id, session.session_id)
        if job is not None:  # its range begins at the old cursor, so it cannot advance
            jobs.cancel_jobs(db, [job.id], now, "the messages have expired")
            changes["audit_at"] = scheduler.audit_time(now, services.settings)
        changes |= {"cursor_seq": start, "target_seq": max(progress.target_seq, start)}
    cursors.update(db, progress, **changes)
    dead_letters.clear_forgotten(db, progress, start)
    return total(hooks.on_forgotten(db, base, session, start) for hooks in services.hooks)
