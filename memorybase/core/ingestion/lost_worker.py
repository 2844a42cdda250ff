"""A worker died: fence it off, requeue its job, split the range, and dead-letter the last message left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.ingestion import scheduler
from memorybase.core.ingestion.settlement import Settlement
from memorybase.core.models import JobKind
from memorybase.core.queries import cursors, ledger, memory_bases, messages
from memorybase.core.queries.cursors import ProgressRow
from memorybase.core.queries.dead_letters import Failure
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.messages import CountedMessage
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger

MAX_LOST_WORKERS = 3  # on one job; then its range is split

log = get_logger(__name__)


def requeue_job(
    db: OrmSession,
    services: Services,
    base: BaseRow,
    rows: list[ProgressRow],
    progress: ProgressRow,
    now: datetime,
    *,
    stopped: bool = False,
) -> JobRow | None:
    """Fence off a lost worker and requeue its job; returns the session's active job. The caller locks the session's
    rows.

    `stopped`: the worker was stopped on purpose, which does not count against the job.
    """
    settlement = Settlement.fencing(db, services, base, rows, progress, now)
    if settlement is None:
        return None
    counts = settlement.job.embedding_started and not stopped
    settlement.requeue(
        "The worker was stopped" if stopped else "The worker was lost",
        # In a batch any of the jobs may be the cause. Alone, it is this one.
        lost_workers=settlement.job.lost_workers + (counts and not settlement.job.batched),
        run_alone=settlement.job.run_alone or counts,
    )
    job = settlement.job
    log.warning("job_requeued", job_id=str(job.id), lost_workers=job.lost_workers)
    if job.lost_workers < MAX_LOST_WORKERS:
        scheduler.enqueue_after_commit(db, services, [job])
        return job
    # This job ends workers: halve its range, down to one message, which becomes a dead letter.
    failures = _last_message(settlement) if job.total <= 1 else []
    return settlement.give_up(f"{job.lost_workers} workers were lost on this job; its range is split", failures)


def _last_message(settlement: Settlement) -> list[Failure]:
    """The message that ends workers; none if it was edited since, or if only an audit could tell which."""
    db, job, progress, now = settlement.db, settlement.job, settlement.progress, settlement.now
    if job.audit:
        # The cause may be a message that is missing only in the store, and only an audit can tell which. Abandon the
        # audit: ingestion continues, and a consistency check shows what is missing.
        cursors.update(db, progress, audit_at=None)
        log.warning("audit_abandoned", job_id=str(job.id), progress_id=str(progress.id))
        return []
    suspects = _suspects(settlement)
    # The last worker has not seen a message edited after it started. If that leaves no suspect, the next job takes one
    # message again.
    unseen = messages.edited_since(db, [m.id for m in suspects], job.started_at, now) if job.started_at else set()
    error = f"{job.lost_workers} workers were lost on this message alone"
    return [Failure(m.id, m.version, "worker_lost", error) for m in suspects if m.id not in unseen]


def _suspects(settlement: Settlement) -> Sequence[CountedMessage]:
    db, job, progress = settlement.db, settlement.job, settlement.progress
    capture = memory_bases.fetch_generation(db, progress.memory_base_id, progress.generation).capture
    if job.kind != JobKind.REPAIR:
        return messages.fetch_range(
            db,
            flow_id=progress.flow_id,
            session_id=progress.session_id,
            capture=capture,
            from_seq=job.from_seq,
            to_seq=job.to_seq,
        )
    first = ledger.first_message_to_write(
        db,
        ledger.Covered(
            progress.id, progress.flow_id, progress.session_id, capture, progress.start_seq, progress.cursor_seq
        ),
    )
    return [] if first is None else [first]
