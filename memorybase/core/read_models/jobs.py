"""Jobs and dead letters as the API shows them, and whether jobs have ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from memorybase.core.database.batches import pages
from memorybase.core.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.core.described import (
    Attempts,
    CreatedAt,
    Id,
    MemoryBaseId,
    MemoryBaseName,
    MessageId,
    SessionId,
    UpdatedAt,
)
from memorybase.core.models import ACTIVE_STATES, DeadLetter, IngestionJob, JobKind, JobState
from memorybase.core.queries import cursors, dead_letters, job_lists
from memorybase.core.queries.dead_letters import DeadLetterFilter
from memorybase.core.queries.job_lists import JobFilter
from memorybase.core.queries.ownership import require, require_memory_base
from memorybase.core.read_models.sessions import MessageView, message_view
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services


@dataclass(frozen=True, slots=True)
class JobView:
    """A job: it ingests the messages of one session in (from_seq, to_seq]."""

    id: Id
    kind: Annotated[JobKind, Field(description="What the job does.")]
    memory_base_id: MemoryBaseId
    memory_base_name: MemoryBaseName
    flow_id: Annotated[UUID, Field(description="The flow of the session.")]
    session_id: SessionId
    state: Annotated[JobState, Field(description="The state.")]
    from_seq: Annotated[int, Field(description="The seq before the first message of the job.")]
    to_seq: Annotated[int, Field(description="The seq of the last message of the job.")]
    processed: Annotated[int, Field(description="Number of messages that are done.")]
    total: Annotated[int, Field(description="Number of messages in the job.")]
    stored_chunks: Annotated[int, Field(description="Number of their chunks that are stored, every few seconds.")]
    total_chunks: Annotated[int, Field(description="Number of their chunks; 0 before they were read.")]
    attempts: Attempts
    error: Annotated[str | None, Field(description="Code of the last error; null without one.")]
    created_at: CreatedAt
    available_at: Annotated[
        datetime, Field(description="When a worker may take it; of a queued job that is tried again, the next attempt.")
    ]
    started_at: Annotated[datetime | None, Field(description="When a worker first claimed it; null before.")]
    finished_at: Annotated[datetime | None, Field(description="When it ended; null before.")]

    @property
    def ended(self) -> bool:
        return self.state not in ACTIVE_STATES


@dataclass(frozen=True, slots=True)
class DeadLetterError:
    """Why the message could not be embedded."""

    code: Annotated[str, Field(description="Stable code of the error.")]
    message: Annotated[str, Field(description="For people; may change.")]


@dataclass(frozen=True, slots=True)
class DeadLetterView:
    """A message that could not be embedded."""

    id: Id
    memory_base_id: MemoryBaseId
    memory_base_name: MemoryBaseName
    session_id: SessionId
    message_id: MessageId
    message: Annotated[MessageView | None, Field(description="The message; null if it was deleted since.")]
    state: Annotated[str, Field(description="`dead`, or `retrying` while a job tries again.")]
    error: Annotated[DeadLetterError, Field(description="Why it could not be embedded.")]
    attempts: Attempts
    created_at: CreatedAt
    updated_at: UpdatedAt


def get_job(services: Services, user_id: UUID, job_id: UUID) -> JobView:
    """Raises NotFound."""
    with services.database.reading() as db:
        return _job(require(job_lists.fetch_job_view(db, user_id, job_id), "job", job_id))


def holding_job(services: Services, user_id: UUID) -> JobView | None:
    """Of the user's active jobs the one that others wait for: running before queued, started first."""
    with services.database.reading() as db:
        row = job_lists.fetch_holding(db, user_id)
    return None if row is None else _job(row)


def workers_of(services: Services, user_id: UUID, job_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The workers that run these jobs, by job."""
    with services.database.reading() as db:
        return job_lists.owners(db, user_id, job_ids)


def get_jobs(services: Services, job_ids: Sequence[UUID]) -> dict[UUID, JobView]:
    """Jobs by id, without those that are gone. Their user is not checked."""
    with services.database.reading() as db:
        return {row.IngestionJob.id: _job(row) for some in pages(job_ids) for row in job_lists.job_views(db, some)}


def list_jobs(services: Services, user_id: UUID, wanted: JobFilter, request: PageRequest) -> Page[JobView]:
    """Newest first. Raises NotFound for the memory base."""
    with services.database.reading() as db:
        if wanted.memory_base_id is not None:
            require_memory_base(db, user_id, wanted.memory_base_id)
        return page_of(job_lists.jobs_page(db, user_id, wanted, request), _job)


def list_dead_letters(
    services: Services, user_id: UUID, wanted: DeadLetterFilter, request: PageRequest
) -> Page[DeadLetterView]:
    """Those that are not discarded, oldest first. Raises NotFound for the memory base."""
    with services.database.reading() as db:
        if wanted.memory_base_id is not None:
            require_memory_base(db, user_id, wanted.memory_base_id)
        return page_of(dead_letters.dead_letters_page(db, user_id, wanted, request), dead_letter_view)


def job_states(services: Services, job_ids: Sequence[UUID]) -> dict[UUID, JobState]:
    """The states of these jobs. It does not check their user."""
    states: dict[UUID, JobState] = {}
    with services.database.reading() as db:
        for some in pages(job_ids):
            states.update({job.id: JobState(job.state) for job in job_lists.jobs_of_ids(db, some)})
    return states


def pending_targets(services: Services, user_id: UUID, base_id: UUID, session_ids: Sequence[str]) -> dict[str, int]:
    """The target seq of each session in the generation that captures feed."""
    targets: dict[str, int] = {}
    with services.database.reading() as db:
        base = require_memory_base(db, user_id, base_id)
        for some in pages(session_ids):
            targets.update(cursors.pending_targets(db, base, some))
    return targets


def active_jobs(services: Services, base_ids: Sequence[UUID]) -> dict[UUID, dict[str, int]]:
    """By memory base, the from_seq of each session with an active job."""
    active: dict[UUID, dict[str, int]] = {base_id: {} for base_id in base_ids}
    with services.database.reading() as db:
        for some in pages(base_ids):
            for base_id, session_id, from_seq in job_lists.active_ranges(db, some):
                earliest = active[base_id].get(session_id, from_seq)
                active[base_id][session_id] = min(earliest, from_seq)
    return active


def jobs_pending(active: Mapping[str, int], targets: Mapping[str, int]) -> bool:
    """Whether an active job still works toward one of these targets; later captures are ignored."""
    return any(session_id in active and active[session_id] < target for session_id, target in targets.items())


def _job(row: AnyRow) -> JobView:
    job: IngestionJob = row.IngestionJob
    return view_of(JobView, job, row, kind=JobKind(job.kind), state=JobState(job.state))


def dead_letter_view(row: AnyRow) -> DeadLetterView:
    """The view of a row with DeadLetter, Message, session_id and memory_base_name."""
    letter: DeadLetter = row.DeadLetter
    return view_of(
        DeadLetterView,
        letter,
        row,
        message=None if row.Message is None else message_view(row),
        error=DeadLetterError(letter.error_code, letter.error),
    )
