"""Jobs and dead letters as the API shows them, and whether jobs have ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memorybase.database.batches import pages
from memorybase.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.models import ACTIVE_STATES, DeadLetter, IngestionJob, JobKind, JobState
from memorybase.queries import cursors, dead_letters, job_lists
from memorybase.queries.dead_letters import DeadLetterFilter
from memorybase.queries.ownership import require, require_memory_base
from memorybase.read_models.sessions import MessageView, message_view
from memorybase.read_models.views import view_of
from memorybase.services import Services


@dataclass(frozen=True, slots=True)
class JobView:
    """A job: it ingests the messages of one session in (from_seq, to_seq]."""

    id: UUID
    kind: JobKind
    memory_base_id: UUID
    memory_base_name: str
    flow_id: UUID
    session_id: str
    state: JobState
    from_seq: int
    to_seq: int
    processed: int
    total: int
    attempts: int
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def ended(self) -> bool:
        return self.state not in ACTIVE_STATES


@dataclass(frozen=True, slots=True)
class DeadLetterError:
    """Why the message could not be embedded."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class DeadLetterView:
    """A message that could not be embedded; `message` is null if it was deleted since."""

    id: UUID
    memory_base_id: UUID
    memory_base_name: str
    session_id: str
    message_id: UUID
    message: MessageView | None
    state: str
    error: DeadLetterError
    attempts: int
    created_at: datetime
    updated_at: datetime


def get_job(services: Services, user_id: UUID, job_id: UUID) -> JobView:
    """Raises NotFound."""
    with services.database.reading() as db:
        return _job(require(job_lists.fetch_job_view(db, user_id, job_id), "job", job_id))


def get_jobs(services: Services, job_ids: Sequence[UUID]) -> dict[UUID, JobView]:
    """These jobs, without those that are gone. It does not check their user."""
    with services.database.reading() as db:
        return {row.IngestionJob.id: _job(row) for some in pages(job_ids) for row in job_lists.job_views(db, some)}


def list_jobs(
    services: Services,
    user_id: UUID,
    base_id: UUID | None,
    request: PageRequest,
    *,
    state: JobState | None = None,
    kind: JobKind | None = None,
    session_id: str | None = None,
) -> Page[JobView]:
    """Jobs of one memory base or of all, newest first. Raises NotFound."""
    with services.database.reading() as db:
        if base_id is not None:
            require_memory_base(db, user_id, base_id)
        found = job_lists.jobs_page(db, user_id, base_id, request, state=state, kind=kind, session_id=session_id)
        return page_of(found, _job)


def list_dead_letters(
    services: Services, user_id: UUID, base_id: UUID | None, request: PageRequest, *, cause: str | None = None
) -> Page[DeadLetterView]:
    """Dead letters of one memory base or of all that are not discarded, oldest first; raises NotFound."""
    with services.database.reading() as db:
        if base_id is not None:
            require_memory_base(db, user_id, base_id)
        wanted = DeadLetterFilter(memory_base_id=base_id, cause=cause)
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
    kind, state = JobKind(job.kind), JobState(job.state)
    return view_of(JobView, job, kind=kind, state=state, memory_base_name=row.memory_base_name, flow_id=row.flow_id)


def dead_letter_view(row: AnyRow) -> DeadLetterView:
    """The view of a row with DeadLetter, Message, session_id and memory_base_name."""
    letter: DeadLetter = row.DeadLetter
    return view_of(
        DeadLetterView,
        letter,
        memory_base_name=row.memory_base_name,
        session_id=row.session_id,
        message=None if row.Message is None else message_view(row),
        error=DeadLetterError(letter.error_code, letter.error),
    )
