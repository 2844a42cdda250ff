"""Sync Now: ingests pending messages, shows the progress of its jobs, and explains conflicts with active jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.pages.jobs import JOB_TONES
from api.web.parts import ProgressBar, Table, cell, text_cell
from api.web.visits import Visit
from memorybase import errors
from memorybase.database.paging import PageRequest
from memorybase.ingestion import flush
from memorybase.ingestion.flush import FlushResult, JobConflict
from memorybase.models import ACTIVE_STATES, JobState
from memorybase.read_models import jobs, memory_bases
from memorybase.read_models.jobs import JobView
from memorybase.read_models.memory_bases import MemoryBaseStatus, MemoryBaseView

MAX_JOBS = 20
MAX_CONFLICT_LINKS = 3
NOT_DONE = {JobState.FAILED, JobState.CANCELLED}


@dataclass(frozen=True, slots=True)
class Progress:
    """A running Sync Now: the target of each session, and the figures when it was pressed."""

    targets: dict[str, int]
    pending: int
    processed: int
    dead_letters: int


class Sync:
    """A card, hidden until Sync Now is pressed or a job waits for an unavailable service."""

    def __init__(self, visit: Visit, base_id: UUID, refresh: Callable[[], Awaitable[None]]) -> None:
        self._visit = visit
        self._base_id = base_id
        self._refresh = refresh
        self._is_starting = False
        self._progress: Progress | None = None
        self._since: datetime | None = None
        self._conflicts: list[JobConflict] = []
        self._jobs: list[JobView] = []

    def build(self) -> None:
        with ui.element("section").classes("card").props('aria-label="Sync Now"') as self._card:
            with ui.element("div").classes("head"):
                parts.heading("Sync Now")
                with ui.element("div").classes("actions"):
                    parts.link(self._visit, "All jobs", self._jobs_path())
                    parts.icon_button("close", "Close", self._close)
            self._conflict_area = ui.element("div")
            self._status = ui.label().props("role=status")
            self._bar = ProgressBar("Sync Now")
            self._rows = Table[JobView]("Jobs", ("Session", "Progress", "State"), lambda job: job.id, self._row)
        self._card.set_visibility(False)

    async def start(self, session_id: str | None, pending: int | None = None) -> None:
        """Ingest the pending messages of one session or of all. `pending` is that session's count."""
        if self._is_starting:
            return
        self._is_starting = True
        try:
            await parts.attempt(self._start(session_id, pending))
        finally:
            self._is_starting = False
        await self._refresh()

    async def show(self, base: MemoryBaseView) -> None:
        is_waiting = base.status == MemoryBaseStatus.UNAVAILABLE
        if not (is_waiting or self._progress or self._conflicts or any(not job.ended for job in self._jobs)):
            return
        self._jobs = await self._fetch_jobs()
        if self._progress:
            await self._follow(base, self._progress)
        elif not self._conflicts:
            self._status.set_text(
                "A job is waiting because of the error below. It resumes automatically when the cause is fixed."
                if is_waiting
                else ""
            )
        if self._conflicts and await self._conflicts_ended():
            self._conflicts = []
            self._conflict_area.clear()
            self._status.set_text("The previous job finished. Press Sync Now again to ingest what is still pending.")
        self._rows.show(self._jobs)
        self._rows.set_visibility(bool(self._jobs))
        self._card.set_visibility(bool(self._jobs or self._since or is_waiting))

    async def _start(self, session_id: str | None, pending: int | None) -> None:
        read = self._visit.read
        before = await read(memory_bases.get_memory_base, self._base_id)
        try:
            result = await self._visit.write(flush.flush, self._base_id, session_id)
        except errors.IngestionActive as error:
            result = FlushResult([], _conflicts_of(error))
        if result.jobs:
            sessions = [job.session_id for job in result.jobs]
            targets = await read(jobs.pending_targets, self._base_id, sessions)
            total = before.pending_messages if pending is None else pending
            self._progress = Progress(targets, total, before.total_processed, before.dead_letters)
            self._since = (await read(jobs.get_job, result.jobs[0].id)).created_at
        elif not result.conflicts:
            parts.notify("Nothing pending: all stored messages are ingested.", "info")
            return
        self._bar.element.set_visibility(bool(result.jobs))
        self._show_conflicts(result.conflicts)
        if result.conflicts:
            self._jobs = await self._fetch_jobs()

    async def _fetch_jobs(self) -> list[JobView]:
        """The jobs of this Sync Now and their continuations, the conflicting jobs, and all other active jobs."""
        running = await self._list(JobState.RUNNING)
        recent = await self._list(None)
        conflicting = {conflict.job_id for conflict in self._conflicts}
        by_id = {job.id: job for job in (*await self._conflicting_jobs(), *running, *recent)}
        shown = [
            job
            for job in by_id.values()
            if not job.ended or job.id in conflicting or (self._since and job.created_at >= self._since)
        ]
        by_session = sorted(shown, key=lambda job: job.session_id)
        return sorted(by_session, key=lambda job: job.created_at, reverse=True)[:MAX_JOBS]

    async def _list(self, state: JobState | None) -> Sequence[JobView]:
        request = PageRequest(size=MAX_JOBS)
        return (await self._visit.read(jobs.list_jobs, self._base_id, request, state=state)).items

    async def _follow(self, base: MemoryBaseView, progress: Progress) -> None:
        pending = await self._visit.read(
            lambda services, _user: jobs.jobs_pending(
                jobs.active_jobs(services, [self._base_id])[self._base_id], progress.targets
            )
        )
        if not pending:
            base = await self._visit.read(memory_bases.get_memory_base, self._base_id)
        done = max(0, base.total_processed - progress.processed)
        if pending:
            self._bar.show(
                min(done, progress.pending),
                progress.pending,
                f"{parts.number(done)} of {parts.plural(progress.pending, 'message')}",
            )
            self._status.set_text("Ingesting pending messages.")
            return
        self._progress = None
        self._bar.show(1, 1, "finished")
        self._status.set_text(self._outcome(done, base.dead_letters - progress.dead_letters))
        self._jobs = await self._fetch_jobs()

    def _outcome(self, done: int, dead: int) -> str:
        text = f"{parts.plural(done, 'message')} ingested."
        if dead > 0:
            text += f" {parts.plural(dead, 'message')} could not be embedded; see Jobs and dead letters."
        if any(job.state in NOT_DONE for job in self._jobs):
            return f"Sync Now finished with failed or cancelled jobs. {text}"
        return f"Sync Now complete: {text}"

    def _show_conflicts(self, conflicts: list[JobConflict]) -> None:
        self._conflicts = conflicts
        self._conflict_area.clear()
        self._status.set_text("")
        if not conflicts:
            return
        with self._conflict_area, parts.banner("Ingestion already running", _explain(conflicts)):
            for conflict in conflicts[:MAX_CONFLICT_LINKS]:
                parts.link(self._visit, f"Job for {conflict.session_id}", self._jobs_path(conflict.state))

    async def _conflicting_jobs(self) -> list[JobView]:
        """The conflicting jobs that have a link, without deleted ones."""
        found: list[JobView] = []
        for conflict in self._conflicts[:MAX_CONFLICT_LINKS]:
            with suppress(errors.NotFound):
                found.append(await self._visit.read(jobs.get_job, conflict.job_id))
        return found

    async def _conflicts_ended(self) -> bool:
        ids = [conflict.job_id for conflict in self._conflicts]
        states = await self._visit.read(lambda services, _user: jobs.job_states(services, ids))
        return not any(state in ACTIVE_STATES for state in states.values())

    def _close(self) -> None:
        self._progress = self._since = None
        self._jobs = []
        self._show_conflicts([])
        self._rows.show([])
        self._card.set_visibility(False)

    def _jobs_path(self, state: str = "") -> str:
        return f"/memories/{self._base_id}/jobs" + (f"?state={state}" if state else "")

    def _row(self, job: JobView) -> Callable[[JobView], None]:
        text_cell(job.session_id)
        with cell():
            bar = ProgressBar(f"Messages of {job.session_id} in this job")
        with cell():
            state = ui.label()
            error = ui.label().classes("muted")

        def update(job: JobView) -> None:
            bar.show(job.processed, job.total)
            parts.set_badge(state, job.state.value, JOB_TONES[job.state])
            error.set_text(job.error or "")

        update(job)
        return update


def _conflicts_of(error: errors.IngestionActive) -> list[JobConflict]:
    conflicts: Any = error.details["conflicts"]
    return [JobConflict(each["session_id"], UUID(each["job_id"]), each["state"]) for each in conflicts]


def _explain(conflicts: Sequence[JobConflict]) -> str:
    first = conflicts[0]
    text = (
        f"Session {first.session_id} has a {first.state} job"
        if len(conflicts) == 1
        else f"{parts.number(len(conflicts))} sessions have a queued or running job"
    )
    return (
        f"{text}. A session can have one active job, so none was started there, and newer messages stay pending. Wait "
        "until the job finishes and press Sync Now again. You can cancel a job that makes no progress."
    )
