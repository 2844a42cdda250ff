"""Sync Now: ingesting what is pending, its jobs as they go on, and what to do when another job is active."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.pages.jobs import MOODS
from api.web.parts import Bar, Rows, cell
from api.web.visits import Visit
from memorybase import errors
from memorybase.database.paging import PageRequest
from memorybase.ingestion import flush
from memorybase.ingestion.flush import FlushResult, JobConflict
from memorybase.models import ACTIVE_STATES, JobState
from memorybase.read_models import jobs, memory_bases
from memorybase.read_models.jobs import JobView
from memorybase.read_models.memory_bases import MemoryBaseStatus, MemoryBaseView

SHOWN = 20
NAMED = 3  # conflicts that get a link each
NOT_DONE = {JobState.FAILED, JobState.CANCELLED}


@dataclass(frozen=True, slots=True)
class Going:
    """One Sync Now of this page: how far its sessions have to come, and the figures when it was pressed."""

    targets: dict[str, int]
    pending: int
    processed: int
    dead_letters: int


class Sync:
    """Hidden until it is asked for, or until a job waits for something that is away."""

    def __init__(self, visit: Visit, base_id: UUID, look: Callable[[], Awaitable[None]]) -> None:
        self._visit = visit
        self._base_id = base_id
        self._look = look
        self._asking = False
        self._going: Going | None = None
        self._since: datetime | None = None
        self._conflicts: list[JobConflict] = []
        self._jobs: list[JobView] = []

    def build(self) -> None:
        with ui.element("section").classes("card").props('aria-label="Sync Now"') as self._card:
            with ui.element("div").classes("head"):
                parts.heading("Sync Now")
                with ui.element("div").classes("ways"):
                    parts.link(self._visit, "All jobs", self._jobs_path())
                    parts.icon_button("close", "Close", self._close)
            self._trouble = ui.element("div")
            self._words = ui.label().props("role=status")
            self._bar = Bar("Sync Now")
            self._rows = Rows[JobView]("Jobs", ("Session", "Progress", "State"), lambda job: job.id, self._row)
        self._card.set_visibility(False)

    async def start(self, session_id: str | None, pending: int | None = None) -> None:
        """Ingest what is pending in one session, which has so much, or in all."""
        if self._asking:
            return
        self._asking = True
        try:
            await parts.attempt(self._start(session_id, pending))
        finally:
            self._asking = False
        await self._look()

    async def show(self, base: MemoryBaseView) -> None:
        """What has changed since the last look."""
        waiting = base.status == MemoryBaseStatus.UNAVAILABLE
        if not (waiting or self._going or self._conflicts or any(not job.ended for job in self._jobs)):
            return
        self._jobs = await self._found()
        if self._going:
            await self._follow(base, self._going)
        elif not self._conflicts:
            self._words.set_text(
                "A job waits for something that is away. It goes on by itself once that is back or mended."
                if waiting
                else ""
            )
        if self._conflicts and await self._let_go():
            self._conflicts = []
            self._trouble.clear()
            self._words.set_text("What was in the way has ended. Press Sync Now again for what is still pending.")
        self._rows.show(self._jobs)
        self._rows.set_visibility(bool(self._jobs))
        self._card.set_visibility(bool(self._jobs or self._since or waiting))

    async def _start(self, session_id: str | None, pending: int | None) -> None:
        ask = self._visit.ask
        before = await ask(memory_bases.get_memory_base, self._base_id)
        try:
            result = await self._visit.act(flush.flush, self._base_id, session_id)
        except errors.IngestionActive as error:
            result = FlushResult([], _conflicts_of(error))
        if result.jobs:
            sessions = [job.session_id for job in result.jobs]
            targets = await ask(jobs.pending_targets, self._base_id, sessions)
            wanted = before.pending_messages if pending is None else pending
            self._going = Going(targets, wanted, before.total_processed, before.dead_letters)
            self._since = (await ask(jobs.get_job, result.jobs[0].id)).created_at
        elif not result.conflicts:
            parts.tell("Nothing is pending: all that is stored is ingested.", "info")
            return
        self._bar.element.set_visibility(bool(result.jobs))
        self._say_conflicts(result.conflicts)
        if result.conflicts:
            self._jobs = await self._found()

    async def _found(self) -> list[JobView]:
        """The jobs of this Sync Now, those that continue them, those in its way, and whatever is active beside them."""
        running = await self._list(JobState.RUNNING)
        recent = await self._list(None)
        refusing = {conflict.job_id for conflict in self._conflicts}
        found = {job.id: job for job in (*await self._named(), *running, *recent)}
        shown = [
            job
            for job in found.values()
            if not job.ended or job.id in refusing or (self._since and job.created_at >= self._since)
        ]
        by_session = sorted(shown, key=lambda job: job.session_id)
        return sorted(by_session, key=lambda job: job.created_at, reverse=True)[:SHOWN]

    async def _list(self, state: JobState | None) -> Sequence[JobView]:
        request = PageRequest(size=SHOWN)
        return (await self._visit.ask(jobs.list_jobs, self._base_id, request, state=state)).items

    async def _follow(self, base: MemoryBaseView, going: Going) -> None:
        pending = await self._visit.ask(
            lambda services, _user: jobs.jobs_pending(services, self._base_id, going.targets)
        )
        if not pending:
            base = await self._visit.ask(memory_bases.get_memory_base, self._base_id)
        done = max(0, base.total_processed - going.processed)
        if pending:
            self._bar.show(min(done, going.pending), going.pending, f"{parts.number(done)} of {_messages(going)}")
            self._words.set_text("Ingesting what was pending.")
            return
        self._going = None
        self._bar.show(1, 1, "ended")
        self._words.set_text(self._outcome(done, base.dead_letters - going.dead_letters))
        self._jobs = await self._found()

    def _outcome(self, done: int, dead: int) -> str:
        words = f"{parts.plural(done, 'message')} ingested."
        if dead > 0:
            words += f" {parts.plural(dead, 'message')} could not be embedded: see the dead letters."
        if any(job.state in NOT_DONE for job in self._jobs):
            return f"Sync Now has ended, and not every job is done: see below. {words}"
        return f"Sync Now is done: {words}"

    def _say_conflicts(self, conflicts: list[JobConflict]) -> None:
        self._conflicts = conflicts
        self._trouble.clear()
        self._words.set_text("")
        if not conflicts:
            return
        with self._trouble, parts.banner("Already being ingested", _why(conflicts)):
            for conflict in conflicts[:NAMED]:
                parts.link(self._visit, f"The job of {conflict.session_id}", self._jobs_path(conflict.state))

    async def _named(self) -> list[JobView]:
        """The jobs in the way that have a link, but for those that a deletion took away."""
        named: list[JobView] = []
        for conflict in self._conflicts[:NAMED]:
            with suppress(errors.NotFound):
                named.append(await self._visit.ask(jobs.get_job, conflict.job_id))
        return named

    async def _let_go(self) -> bool:
        """Whether no job is in the way any more."""
        ids = [conflict.job_id for conflict in self._conflicts]
        states = await self._visit.ask(lambda services, _user: jobs.job_states(services, ids))
        return not any(state in ACTIVE_STATES for state in states.values())

    def _close(self) -> None:
        self._going = self._since = None
        self._jobs = []
        self._say_conflicts([])
        self._rows.show([])
        self._card.set_visibility(False)

    def _jobs_path(self, state: str = "") -> str:
        return f"/memories/{self._base_id}/jobs" + (f"?state={state}" if state else "")

    def _row(self, job: JobView) -> Callable[[JobView], None]:
        with cell():
            ui.label(job.session_id)
        with cell():
            bar = Bar(f"Messages of {job.session_id} in this job")
        with cell():
            state = ui.label()
            error = ui.label().classes("quiet")

        def change(now: JobView) -> None:
            bar.show(now.processed, now.total)
            state.set_text(now.state.value)
            state.classes(replace=f"badge {MOODS[now.state]}")
            error.set_text(now.error or "")

        change(job)
        return change


def _messages(going: Going) -> str:
    return parts.plural(going.pending, "message")


def _conflicts_of(error: errors.IngestionActive) -> list[JobConflict]:
    given: Any = error.details["conflicts"]
    return [JobConflict(each["session_id"], UUID(each["job_id"]), each["state"]) for each in given]


def _why(conflicts: Sequence[JobConflict]) -> str:
    first = conflicts[0]
    which = (
        f"The session {first.session_id} has a job that is {first.state}"
        if len(conflicts) == 1
        else f"{parts.number(len(conflicts))} sessions have a job that is queued or running"
    )
    return (
        f"{which}, and a session has one job at a time: nothing was started there. What came in after that job began "
        "stays pending. Wait until it has ended and press Sync Now again; a job that does not move can be cancelled."
    )
