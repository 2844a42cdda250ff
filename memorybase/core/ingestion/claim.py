"""Claims a job in SQL: epoch + 1, which is the fencing token, and a lease on the database's clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from memorybase.core import tracing
from memorybase.core.database import clock
from memorybase.core.ingestion import scheduler
from memorybase.core.models import Capture, JobKind, JobState
from memorybase.core.queries import cursors, jobs, memory_bases, sessions
from memorybase.core.queries.cursors import ProgressRow
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.memory_bases import BaseRow, Projection
from memorybase.core.services import JobMessage, Services
from memorybase.core.vectors.store import CollectionRef

PAUSED = "the memory base is paused"  # why a job was cancelled


def claim_job(services: Services, message: JobMessage, owner: str) -> Claim | None:
    """Claim a queued job; None if there is nothing to claim now.

    A job that no longer matches its session's row is cancelled and replaced in the same transaction; one of a paused
    memory base is cancelled. The claim's span is open: whoever ends the job ends it.
    """
    began = tracing.now()
    claim = _claim_job(services, message, owner, began)
    if claim is not None:
        tracing.record("claim", since=began, parents=[claim.span])
    return claim


def _claim_job(services: Services, message: JobMessage, owner: str, began: int) -> Claim | None:
    # Marking the start of embedding makes a claim durable before it writes anything. A repair has no such step.
    with services.database.transaction(durable=message.kind == JobKind.REPAIR) as db:
        base = memory_bases.share_base(db, message.memory_base_id)
        if base is None or base.deleting_at is not None:
            return None
        locked = cursors.lock_rows(db, [base.id], message.session_id)
        job = jobs.lock_row(db, message.job_id)
        now = clock.now(db)
        # The session may have been renamed since the notification; the sweeper notifies again.
        if job is None or job.state != JobState.QUEUED or job.available_at > now or job.message() != message:
            return None
        progress = next((r for r in locked if r.id == job.progress_id), None)
        if base.paused_at is not None and job.kind != JobKind.REPAIR:  # its worker was lost, or it was postponed
            jobs.cancel_jobs(db, [job.id], now, PAUSED)
            return None
        if progress is None or not _still_matches(base, progress, job):
            jobs.cancel_jobs(db, [job.id], now, "superseded")
            scheduler.schedule_next(db, services, base, locked, now)
            return None
        if progress.lease_until is not None and progress.lease_until > now:
            return None  # the worker of a cancelled job still holds the lease
        lease_until = now + timedelta(seconds=services.settings.lease_seconds)
        cursors.update(db, progress, epoch=progress.epoch + 1, lease_until=lease_until, lease_owner=owner)
        job = jobs.start(db, job, progress.epoch, now)
        end_user_id = sessions.end_user_of(db, base.flow_id, progress.session_id)
        generation = memory_bases.projection(db, base, progress.generation)
        return new_claim(job, progress, base, generation, end_user_id, _begin_span(job, began))


def _begin_span(job: JobRow, began: int) -> tracing.Span | None:
    return tracing.begin(
        "job",
        "consumer",
        job.traceparent,
        since=began,
        job_id=str(job.id),
        memory_base_id=str(job.memory_base_id),
        job_kind=str(job.kind),
        from_seq=job.from_seq,
        to_seq=job.to_seq,
        attempt=job.attempts,
    )


def _still_matches(base: BaseRow, progress: ProgressRow, job: JobRow) -> bool:
    if progress.cursor_seq != job.from_seq or progress.generation not in (base.serving, base.building):
        return False
    return job.kind == JobKind.REPAIR or progress.generation == cursors.write_generation(base)


ClaimKey = tuple[UUID, int]  # job and epoch


@dataclass(frozen=True, slots=True)
class Claim:
    """Everything a worker knows about the job that it holds."""

    job: JobRow  # as it was claimed
    progress_id: UUID
    memory_base_id: UUID
    user_id: UUID
    flow_id: UUID
    session_id: str
    renamed_from: tuple[str, ...]
    generation: int
    is_build: bool
    start_seq: int
    audit_at: datetime | None  # as it was scheduled before anything was read
    dirty: int  # the count of edits before anything was read
    job_cap: int | None
    capture: Capture
    embedding_model: str
    embedder: str
    chunker: str
    token_encoding: str | None
    collection: CollectionRef
    end_user_id: str | None
    span: tracing.Span | None = field(compare=False)  # of this attempt; None: traces are off

    @property
    def retried(self) -> bool:
        """Whether an attempt before may have left chunks that are in no ledger."""
        return self.job.attempts > 1 or self.job.outages > 0

    @property
    def continues(self) -> bool:
        """Whether an attempt before may have stored chunks."""
        return self.retried or self.job.stored_chunks > 0

    @property
    def key(self) -> ClaimKey:
        """Job and epoch: a worker may lose a job and claim it again."""
        return self.job.id, self.job.epoch


def new_claim(
    job: JobRow,
    progress: ProgressRow,
    base: BaseRow,
    generation: Projection,
    end_user_id: str | None,
    span: tracing.Span | None,
) -> Claim:
    return Claim(
        job=job,
        progress_id=progress.id,
        memory_base_id=base.id,
        user_id=base.user_id,
        flow_id=base.flow_id,
        session_id=progress.session_id,
        renamed_from=tuple(progress.renamed_from or ()),
        generation=progress.generation,
        is_build=base.building is not None and progress.generation == base.building,
        start_seq=progress.start_seq,
        audit_at=progress.audit_at,
        dirty=progress.dirty,
        job_cap=progress.job_cap,
        capture=Capture(generation.capture),
        embedding_model=generation.embedding_model,
        embedder=generation.embedder,
        chunker=generation.chunker,
        token_encoding=generation.token_encoding,
        collection=CollectionRef(generation.collection_name, generation.collection_id),
        end_user_id=end_user_id,
        span=span,
    )
