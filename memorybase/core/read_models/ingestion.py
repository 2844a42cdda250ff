"""Progress of a run's messages, or of one message, in each memory base, and the time of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow
from memorybase.core.described import Attempts, MemoryBaseId, MemoryBaseName, MessageId
from memorybase.core.models import Capture, IngestionJob
from memorybase.core.queries import coverage, memory_bases, memory_uses
from memorybase.core.queries import jobs as job_queries
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries.coverage import SearchState
from memorybase.core.queries.ownership import require, require_flow
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services

STAGES = ("queued_at", "started_at", "embedding_at", "embedded_at", "written_at")  # in this order


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """Messages in one memory base. The times are of the jobs that ingested them; null for a step that has not ended,
    or whose job is not known."""

    memory_base_id: MemoryBaseId
    memory_base_name: MemoryBaseName
    state: Annotated[SearchState, Field(description="Whether searches by meaning find the messages.")]
    messages: Annotated[int, Field(description="Number of messages that the memory base counts.")]
    searchable: Annotated[int, Field(description="How many of them it holds.")]
    failed: Annotated[int, Field(description="How many of them could not be embedded.")]
    chunks: Annotated[int, Field(description="Number of chunks.")]
    error: Annotated[str | None, Field(description="Why the last of those could not be embedded; null without one.")]
    pending: Annotated[int, Field(description="While they wait: counted messages of the session toward the threshold.")]
    threshold: Annotated[int, Field(description="Counted messages of a session that start an ingestion.")]
    auto_capture: Annotated[bool, Field(description="Whether they start it. If false, only a flush does.")]
    job_id: Annotated[UUID | None, Field(description="The last job that ingested them; null without one.")]
    attempts: Attempts
    captured_at: Annotated[
        datetime | None,
        Field(description="When the last of them was stored. Searches by words find them from then on."),
    ]
    queued_at: Annotated[datetime | None, Field(description="When the first job was inserted.")]
    started_at: Annotated[datetime | None, Field(description="When a worker claimed it.")]
    embedding_at: Annotated[datetime | None, Field(description="When embedding began.")]
    embedded_at: Annotated[datetime | None, Field(description="When embedding ended.")]
    written_at: Annotated[datetime | None, Field(description="When the chunks were written and read back.")]
    searchable_at: Annotated[
        datetime | None, Field(description="When searches by meaning found all of them; null before.")
    ]
    searchable_after_ms: Annotated[int | None, Field(description="Milliseconds from `captured_at` to `searchable_at`.")]


@dataclass(frozen=True, slots=True)
class MessageIngestion:
    """A message in each memory base of its flow."""

    message_id: MessageId
    memories: Annotated[
        list[Ingestion], Field(description="The message in each memory base of its flow, oldest first.")
    ]
    runs: Annotated[int, Field(description="In how many runs a model received the message.")]


def message_ingestion(services: Services, user_id: UUID, message_id: UUID) -> MessageIngestion:
    """Raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        row = require(message_queries.fetch_message_view(db, user_id, message_id), "message", message_id)
        flow_id = row.Message.flow_id
        found = coverage.ingestion_by_base(db, flow_id, message_id=message_id)
        return MessageIngestion(
            message_id, ingestion_of(db, flow_id, found), memory_uses.runs_with(db, flow_id, message_id)
        )


def idle_times(services: Services, user_id: UUID, flow_id: UUID) -> dict[UUID, int]:
    """The idle time of each memory base on the flow, in seconds; 0: off. Raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        require_flow(db, user_id, flow_id)
        return memory_bases.idle_times(db, flow_id)


def ingestion_of(db: OrmSession, flow_id: UUID, rows: Sequence[AnyRow]) -> list[Ingestion]:
    """Progress for each memory base of the flow. A constant number of statements, and one for each in which messages
    wait."""
    counted = [row for row in rows if row.messages]
    jobs: list[IngestionJob] = []
    if counted:
        first, last = min(row.first_seq for row in counted), max(row.last_seq for row in counted)
        progress = [row.progress_id for row in counted if row.progress_id is not None]
        jobs = job_queries.jobs_over(db, progress, first_seq=first, last_seq=last)
    return [_ingestion(db, flow_id, row, _overlapping(jobs, row)) for row in rows]


def _overlapping(jobs: Sequence[IngestionJob], row: AnyRow) -> list[IngestionJob]:
    mine = (job for job in jobs if job.progress_id == row.progress_id)
    # A job that came after the messages were searchable is of another cursor, as after a rename.
    latest = row.searchable_at if row.held == row.messages else None
    return [
        job
        for job in mine
        if job.from_seq < row.last_seq and job.to_seq >= row.first_seq and (latest is None or job.created_at <= latest)
    ]


def _ingestion(db: OrmSession, flow_id: UUID, row: AnyRow, jobs: Sequence[IngestionJob]) -> Ingestion:
    state = _state(row, jobs)
    pending = 0
    if state == SearchState.WAITING:
        pending = message_queries.count_counted(
            db,
            flow_id=flow_id,
            session_id=row.session_id,
            capture=Capture(row.capture),
            after_seq=max(row.cursor_seq, row.target_seq),
            at_most=row.threshold,
        )
    is_whole = 0 < row.messages == row.held
    times = _times(row, jobs, is_whole=is_whole)
    searchable_at = times["searchable_at"]
    after_ms = None if searchable_at is None else (searchable_at - row.captured_at) // timedelta(milliseconds=1)
    return view_of(
        Ingestion,
        row,
        memory_base_id=row.id,
        memory_base_name=row.name,
        state=state,
        searchable=row.held,
        chunks=int(row.chunks),
        pending=pending,
        job_id=jobs[-1].id if jobs else None,
        attempts=sum(job.attempts for job in jobs),
        searchable_after_ms=after_ms,
        **times,
    )


def _state(row: AnyRow, jobs: Sequence[IngestionJob]) -> SearchState:
    """The rule of `coverage.run_state`, for one memory base."""
    last_seq = row.last_seq or 0
    is_passed = row.cursor_seq >= last_seq or row.held == row.messages
    is_due = row.target_seq >= last_seq or row.building is not None or any(job.finished_at is None for job in jobs)
    steps = (
        (row.messages == 0, SearchState.NOT_COUNTED),
        (row.failed > 0, SearchState.FAILED),
        (is_passed and row.held == 0, SearchState.SKIPPED),
        (is_passed and row.mismatch, SearchState.LOST),
        (is_passed and row.current < row.held, SearchState.UPDATING),
        (is_passed, SearchState.SEARCHABLE),
        (is_due, SearchState.INGESTING),
    )
    return next((state for holds, state in steps if holds), SearchState.WAITING)


def _times(row: AnyRow, jobs: Sequence[IngestionJob], *, is_whole: bool) -> dict[str, datetime | None]:
    """The steps in order. A step of several jobs begins with the first that began it and ends with the last.

    A worker measures the steps of its attempt on its own clock: none is shown before the one that precedes it."""
    has_ended = bool(jobs) and all(job.finished_at is not None for job in jobs)

    def first(name: str) -> datetime | None:
        return min((at for job in jobs if (at := getattr(job, name)) is not None), default=None)

    def last(name: str) -> datetime | None:
        return max((at for job in jobs if (at := getattr(job, name)) is not None), default=None) if has_ended else None

    found = {
        "captured_at": row.captured_at,
        "queued_at": first("created_at"),
        "started_at": first("started_at"),
        "embedding_at": first("embedding_at"),
        "embedded_at": last("embedded_at"),
        "written_at": last("written_at"),
        "searchable_at": row.searchable_at if is_whole else None,
    }
    reached = row.captured_at
    for name in STAGES:
        if (at := found[name]) is not None:
            reached = found[name] = max(at, reached)
    return found
