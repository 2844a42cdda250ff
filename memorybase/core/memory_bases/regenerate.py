"""Regenerate: build a new generation from SQL. Searches use the old one until the new one is complete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.ingestion import scheduler
from memorybase.core.ingestion.build import complete_build
from memorybase.core.memory_bases import preparation
from memorybase.core.memory_bases.manage import NewGeneration, create_collection, generation_row
from memorybase.core.models import (
    Capture,
    Generation,
    GenerationState,
    JobKind,
    JobState,
    MemoryBase,
    PreparationKind,
)
from memorybase.core.queries import cursors, jobs, memory_bases, preparations
from memorybase.core.queries.cursors import ProgressRow
from memorybase.core.queries.jobs import JobRow
from memorybase.core.queries.ownership import not_found, require_memory_base
from memorybase.core.queries.preparations import PreparationKey
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors import indexes
from memorybase.core.vectors.collection_names import store_of
from memorybase.core.vectors.store import CollectionRef

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RegenerateResult:
    generation: int
    jobs: list[JobRow]


def regenerate(
    services: Services,
    user_id: UUID,
    base_id: UUID,
    *,
    embedding_model: str | None = None,
    capture: Capture | None = None,
    vector_store: VectorStoreName | None = None,
    before_commit: Callable[[OrmSession, RegenerateResult], object] | None = None,
) -> RegenerateResult:
    """Start to build a new generation from SQL, with another embedding model, capture or vector store if given.
    `before_commit` is called in the transaction that starts it.

    Abandons a build without active jobs. Raises NotFound, BuildActive, ModelUnavailable, VectorStoreUnavailable.
    """
    with services.database.reading() as db:
        base = require_memory_base(db, user_id, base_id)
        _refuse_active_build(db, base, base_id)
        serving = memory_bases.fetch_generation(db, base_id, base.serving)
        number = memory_bases.last_generation(db, base_id) + 1
        chunks = cursors.chunks_of_generation(db, base_id, base.serving)
    # The current model may no longer be in the list of allowed models; only check a new one.
    chosen_model = services.settings.allowed_model(embedding_model) if embedding_model else serving.embedding_model
    embedder = services.embedders.get(chosen_model)
    store = _store_for(services, serving, vector_store)
    new = NewGeneration(user_id, base_id, base.flow_id, number, capture or Capture(serving.capture), embedder)
    ref = create_collection(services, new, store, expected_chunks=chunks)
    awaits_index = indexes.needs_index(services.vectors, ref, chunks)
    try:
        with services.database.transaction() as db:
            result = RegenerateResult(number, _start_build(db, services, new, ref, awaits_index=awaits_index))
            if before_commit is not None:
                before_commit(db, result)
    except errors.CallerError:
        # The base was deleted meanwhile, perhaps before this collection existed, or another regenerate was first.
        # After an environment failure the build may have been committed, so its collection stays.
        services.vectors.delete_collection(ref.name)
        raise
    log.info("regenerate_started", memory_base_id=str(base_id), generation=number, jobs=len(result.jobs))
    return result


def _store_for(services: Services, serving: Generation, asked: VectorStoreName | None) -> VectorStoreName:
    """The asked store, else the current one, else, if that cannot be reached any more, the one of the settings."""
    current = store_of(serving.collection_name)
    if asked is None and current in services.settings.known_vector_stores:
        return current
    return services.settings.known_vector_store(asked)


def _refuse_active_build(db: OrmSession, base: MemoryBase, base_id: UUID) -> None:
    if base.building is None:
        return
    building = jobs.count_active(db, base.id, base.building)
    if building:
        raise errors.BuildActive(field="memory_base_id", value=base_id, generation=base.building, active_jobs=building)


def _start_build(
    db: OrmSession, services: Services, new: NewGeneration, ref: CollectionRef, *, awaits_index: bool
) -> list[JobRow]:
    base_id = new.base_id
    base = memory_bases.lock_base(db, base_id)  # no capture, claim or advance of this base until the commit
    if base is None or base.deleting_at is not None:
        raise not_found("memory base", base_id)
    now = clock.now(db)
    _refuse_active_build(db, base, base_id)
    if memory_bases.last_generation(db, base_id) + 1 != new.number:
        raise errors.BuildActive(
            "Another regenerate started first", field="memory_base_id", value=base_id, generation=base.building
        )
    if base.building is not None:
        _abandon(db, services, base, now)
    generation = generation_row(services, new, ref, GenerationState.BUILDING, now)
    generation.awaits_index = awaits_index
    db.add(generation)
    base.building = new.number
    db.flush()
    # It replaces queued jobs by the build's. Running jobs may finish: the old generation still serves.
    row = preparation.begin(db, services, base_id, new.number, PreparationKind.BUILD, now)
    scheduled = scheduler.schedule_sessions(db, services, row, now)
    complete_build(db, services, row, now)
    return scheduled


def abandon_build(services: Services, base_id: UUID) -> None:
    """Abandon a build, if there is one: the old generation serves on."""
    with services.database.transaction() as db:
        base = memory_bases.lock_base(db, base_id)
        if base is not None and base.deleting_at is None:
            _abandon(db, services, base, clock.now(db))


def _abandon(db: OrmSession, services: Services, base: MemoryBase, now: datetime) -> None:
    """Abandon a build: the old generation serves on, and the build's pending messages become its own."""
    if base.building is None:
        return
    abandoned, base.building = base.building, None
    db.flush()
    preparations.delete(db, PreparationKey(base.id, abandoned, PreparationKind.BUILD))
    preparation.begin(db, services, base.id, abandoned, PreparationKind.ABANDON, now)
    jobs.cancel_jobs_of_base(db, base.id, now, preparation.ABANDONED, jobs.of_generation(abandoned))
    memory_bases.retire_generation(db, base.id, abandoned, now)


def cancel_job(services: Services, user_id: UUID, job_id: UUID) -> None:
    """Cancel an active job: its messages are pending again. Cancelling a job of a build abandons the build.

    A repair of the serving generation cannot be cancelled: the store must match SQL. Raises NotFound, Conflict.
    """
    with services.database.transaction() as db:
        found = jobs.fetch_owned_job(db, user_id, job_id)
        base = memory_bases.lock_base(db, found.memory_base_id) if found else None
        if found is None or base is None:
            raise not_found("job", job_id)
        # Read again: a rename before the lock gave it another session id, and none comes after it.
        locked = cursors.lock_rows(db, [base.id], jobs.session_of(db, job_id))
        job = jobs.lock_row(db, job_id)
        if job is None or job.state not in (JobState.QUEUED, JobState.RUNNING):
            raise errors.Conflict("The job has ended", field="job_id", value=job_id)
        # Any job of a build abandons it, even a repair: a stuck build may have no other job left.
        if job.kind == JobKind.REPAIR and job.generation != base.building:
            raise errors.Conflict(
                "A repair cannot be cancelled: the store must match the messages", field="job_id", value=job_id
            )
        now = clock.now(db)
        jobs.cancel_jobs(db, [job_id], now, "cancelled by request")
        if job.generation == base.building:
            _abandon(db, services, base, now)
            return
        for row in locked:
            if row.id == job.progress_id:
                put_back(db, services, row, now)


def put_back(db: OrmSession, services: Services, progress: ProgressRow, now: datetime) -> None:
    """The session's job was cancelled: its messages wait for the next trigger or flush."""
    # Its worker may still write; audit once the lease has expired.
    audit_at = scheduler.audit_time(now, services.settings)
    cursors.update(db, progress, target_seq=progress.cursor_seq, audit_at=audit_at)
