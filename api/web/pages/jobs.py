"""Jobs, of one memory base or of all: what is at work, what came of it. And dead letters: what cannot be embedded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.frame import frame
from api.web.parts import Bar, Live, Mood, Pager, Rows, cell
from api.web.visits import Visit, Visitor
from memorybase import errors
from memorybase.memory_bases import dead_letters, regenerate
from memorybase.messages import message_text
from memorybase.models import JobKind, JobState
from memorybase.read_models import jobs as work
from memorybase.read_models import memory_bases
from memorybase.read_models.jobs import DeadLetterView, JobView
from memorybase.read_models.memory_bases import MemoryBaseStatus, MemoryBaseView

PAGE_SIZE = 25
SHOWN_CHARS = 160
EVERY = "every state"
COLUMNS = ("Kind", "Session", "State", "Progress", "Attempts", "Duration", "Created", "")

MOODS: dict[JobState, Mood] = {
    JobState.QUEUED: "calm",
    JobState.RUNNING: "busy",
    JobState.DONE: "good",
    JobState.FAILED: "bad",
    JobState.CANCELLED: "warn",
}


@ui.page("/memories/{memory_base_id}/jobs", title="Jobs")
async def jobs(visit: Visitor, memory_base_id: UUID, state: str = "") -> None:
    base = await visit.ask(memory_bases.get_memory_base, memory_base_id)
    await JobsPage(visit, base, state).build()


@ui.page("/jobs", title="Jobs")
async def all_jobs(visit: Visitor, state: str = "") -> None:
    await AllJobsPage(visit, state).build()


class JobsPage:
    """A memory base's. Dead letters first, since they wait for somebody."""

    def __init__(self, visit: Visit, base: MemoryBaseView, state: str) -> None:
        self._visit = visit
        self._base = base
        self._wanted = state

    async def build(self) -> None:
        visit, base = self._visit, self._base
        with frame(visit, f"Jobs of {base.name}", back=(base.name, f"/memories/{base.id}")):
            with ui.element("div").classes("head"):
                parts.heading("Jobs and dead letters", 1)
                with ui.element("div").classes("ways"):
                    parts.link(visit, "Search", f"/memories/{base.id}/search")
            self._live = Live(self._look)
            self._letters = DeadLetters(visit, base, self._live.now)
            self._jobs = Jobs(visit, base, self._wanted, self._live.now)
            await self._look()

    async def _look(self) -> None:
        await self._letters.look()
        await self._jobs.look()


class AllJobsPage:
    """The jobs of all memory bases."""

    def __init__(self, visit: Visit, state: str) -> None:
        self._visit = visit
        self._wanted = state

    async def build(self) -> None:
        with frame(self._visit, "Jobs", here="/jobs"):
            parts.heading("Jobs of all memories", 1)
            self._live = Live(self._look)
            self._jobs = Jobs(self._visit, None, self._wanted, self._live.now)
            await self._look()

    async def _look(self) -> None:
        await self._jobs.look()


# ---------------------------------------------------------------------------------------------------------------
# Jobs


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A job with what of it changes by the clock alone."""

    view: JobView
    took: str
    created: str

    @classmethod
    def of(cls, job: JobView, now: datetime) -> ShownJob:
        return cls(job, _took(job, now), parts.ago(job.created_at))


class Jobs:
    """The jobs of a memory base, or without one of all, newest first."""

    def __init__(self, visit: Visit, base: MemoryBaseView | None, wanted: str, again: parts.Handler) -> None:
        self._visit = visit
        self._base = base
        self._again = again
        with ui.element("section").classes("list").props('aria-label="Jobs"'):
            with ui.element("div").classes("head"):
                parts.heading("Jobs")
                states = [EVERY, *(state.value for state in JobState)]
                self._state = ui.select(
                    states, value=wanted if wanted in states else EVERY, label="State", on_change=self._other_state
                )
                self._state.props("outlined dense").classes("state-filter")
            self._nothing = ui.label().classes("empty")
            self._rows = Rows[ShownJob](
                "Jobs",
                (*(() if base else ("Memory",)), *COLUMNS),
                lambda shown: shown.view.id,
                self._row,
            )
            self._pager = Pager(again, size=PAGE_SIZE)

    async def look(self) -> None:
        state = None if self._state.value == EVERY else JobState(self._state.value)
        base_id = self._base.id if self._base else None
        page = await self._visit.ask(work.list_jobs, base_id, self._pager.request, state=state)
        now = datetime.now(UTC)
        self._rows.show([ShownJob.of(job, now) for job in page.items])
        self._rows.set_visibility(page.total > 0)
        self._pager.show(page.total)
        self._nothing.set_text(self._nothing_of(state))
        self._nothing.set_visibility(page.total == 0)

    async def _other_state(self) -> None:
        chosen = "" if self._state.value == EVERY else f"?state={self._state.value}"
        path = f"/memories/{self._base.id}/jobs" if self._base else "/jobs"
        ui.navigate.history.replace(f"{self._visit.root}{path}{chosen}")
        await self._pager.first()

    def _nothing_of(self, state: JobState | None) -> str:
        if state is not None:
            return f"No job with the state {state.value}."
        many = parts.plural(self._base.threshold, "message") if self._base else "as many messages as its threshold"
        return f"No jobs yet. One starts when a session has {many} to ingest, and by Sync Now on the memory's page."

    def _row(self, shown: ShownJob) -> Callable[[ShownJob], None]:
        job = shown.view
        named = f"{job.kind} of {job.session_id}"
        if self._base is None:
            with cell():
                parts.link(self._visit, job.memory_base_name, f"/memories/{job.memory_base_id}/jobs")
        with cell():
            ui.label(job.kind.value)
        with cell("session"):
            if self._base is None:
                ui.label(job.session_id)
            else:
                path = parts.session_path(self._base.flow_id, job.session_id, self._base.id)
                parts.link(self._visit, job.session_id, path)
        with cell():
            state = ui.label()
            error = ui.label().classes("quiet error")
        with cell():
            bar = Bar(f"Progress of the {named}")
        with cell("number"):
            attempts = ui.label()
        with cell("number"):
            took = ui.label()
        with cell():
            created = ui.label()
        with cell("acts"):
            cancel = parts.button("Cancel", lambda: self._cancel(job)).props(f'aria-label="Cancel the {job.kind}"')

        def change(now: ShownJob) -> None:
            state.set_text(now.view.state.value)
            state.classes(replace=f"badge {MOODS[now.view.state]}")
            error.set_text(now.view.error or "")
            error.set_visibility(bool(now.view.error))
            bar.show(now.view.processed, now.view.total)
            attempts.set_text(parts.number(now.view.attempts))
            took.set_text(now.took)
            created.set_text(now.created)
            cancel.set_visibility(not now.view.ended and self._visit.may("write"))

        change(shown)
        return change

    async def _cancel(self, job: JobView) -> None:
        base = await parts.attempt(self._visit.ask(memory_bases.get_memory_base, job.memory_base_id))
        if base is None:
            return
        sure = await parts.confirm(
            f"Cancel this {job.kind} job?", _consequences(job, base), action="Cancel the job", stay="Keep it"
        )
        if sure:
            await parts.attempt(self._cancelled(job.id))
            await self._again()

    async def _cancelled(self, job_id: UUID) -> None:
        await self._visit.act(regenerate.cancel_job, job_id)
        parts.tell("The job is cancelled.")


def _took(job: JobView, now: datetime) -> str:
    if job.state == JobState.QUEUED:
        return f"waits {parts.span((now - job.created_at).total_seconds())}"
    if job.started_at is None:
        return "-"
    return parts.span(((job.finished_at or now) - job.started_at).total_seconds())


def _consequences(job: JobView, base: MemoryBaseView) -> str:
    if base.status == MemoryBaseStatus.REGENERATING:
        return (
            "If it belongs to the regenerate that is at work, the whole regenerate ends: its other jobs are cancelled "
            "too, and search goes on with what the memory holds now."
        )
    if job.kind == JobKind.REPAIR:
        return "A repair makes the store follow the messages, so it can be cancelled only as part of a regenerate."
    return (
        "What it would have ingested is pending again, and nothing is lost. The session's next run that reaches the "
        "threshold, the idle rule or Sync Now ingests it."
    )


# ---------------------------------------------------------------------------------------------------------------
# Dead letters


@dataclass(frozen=True, slots=True)
class ShownLetter:
    view: DeadLetterView
    last: str

    @property
    def waits(self) -> bool:
        """For somebody to decide."""
        return self.view.state == "dead"


class DeadLetters:
    """Messages that could not be embedded, oldest first."""

    def __init__(self, visit: Visit, base: MemoryBaseView, again: parts.Handler) -> None:
        self._visit = visit
        self._base = base
        self._again = again
        self._shown: list[ShownLetter] = []
        with ui.element("section").classes("list").props('aria-label="Dead letters"'):
            with ui.element("div").classes("head"):
                parts.heading("Dead letters")
                with ui.element("div").classes("ways") as self._ways:
                    if visit.may("write"):
                        parts.button("Retry all on this page", self._retry_all)
                        parts.button("Discard all on this page", self._discard_all, kind="danger")
            self._words = ui.label().classes("quiet")
            self._rows = Rows[ShownLetter](
                "Dead letters",
                ("Message", "Session", "What went wrong", "Attempts", "Last tried", ""),
                lambda shown: shown.view.id,
                self._row,
            )
            self._pager = Pager(again, size=PAGE_SIZE)

    async def look(self) -> None:
        page = await self._visit.ask(work.list_dead_letters, self._base.id, self._pager.request)
        self._shown = [ShownLetter(letter, parts.ago(letter.updated_at)) for letter in page.items]
        self._rows.show(self._shown)
        self._rows.set_visibility(page.total > 0)
        self._ways.set_visibility(page.total > 0)
        self._pager.show(page.total)
        self._words.set_text(
            "These messages could not be embedded, so search cannot find them by meaning. Those behind them went on."
            if page.total
            else "None: every message that was tried could be embedded."
        )

    def _row(self, shown: ShownLetter) -> Callable[[ShownLetter], None]:
        letter = shown.view
        with cell("buried"):
            message = ui.label()
        with cell("session"):
            path = parts.session_path(self._base.flow_id, letter.session_id, self._base.id)
            parts.link(self._visit, letter.session_id, path)
        with cell():
            error = ui.label()
            state = parts.badge("retrying", "busy")
        with cell("number"):
            attempts = ui.label()
        with cell():
            last = ui.label()
        with cell("acts"):
            if self._visit.may("write"):
                retry = parts.button("Retry", lambda: self._retry([letter.id]))
                parts.button("Discard", lambda: self._discard([letter.id]), kind="danger")

        def change(now: ShownLetter) -> None:
            message.set_text(_beginning(now.view))
            error.set_text(now.view.error.message)
            state.set_visibility(not now.waits)
            attempts.set_text(parts.number(now.view.attempts))
            last.set_text(now.last)
            if self._visit.may("write"):
                retry.set_enabled(now.waits)

        change(shown)
        return change

    async def _retry_all(self) -> None:
        await self._retry([shown.view.id for shown in self._shown if shown.waits])

    async def _discard_all(self) -> None:
        await self._discard([shown.view.id for shown in self._shown])

    async def _retry(self, letters: Sequence[UUID]) -> None:
        done = await parts.attempt(self._each(dead_letters.retry_dead_letter, letters))
        if done is not None:
            parts.tell(f"{parts.plural(done, 'message')} tried again. Those that cannot be embedded come back here.")
        await self._again()

    async def _discard(self, letters: Sequence[UUID]) -> None:
        count = parts.plural(len(letters), "dead letter")
        sure = await parts.confirm(
            f"Discard {count}?",
            "The messages stay stored in their sessions, but this memory gives them up: search cannot find them by "
            "meaning, and this list no longer shows them. A regenerate tries every message again.",
            action="Discard",
        )
        if not sure:
            return
        done = await parts.attempt(self._each(dead_letters.discard_dead_letter, letters))
        if done is not None:
            parts.tell(f"{parts.plural(done, 'dead letter')} discarded.")
        await self._again()

    async def _each(self, act: Callable[..., object], letters: Sequence[UUID]) -> int:
        """To each of them; those that a repair healed meanwhile are left out."""
        done = 0
        for letter_id in letters:
            try:
                await self._visit.act(act, self._base.id, letter_id)
            except errors.NotFound:
                continue
            done += 1
        return done


def _beginning(letter: DeadLetterView) -> str:
    if letter.message is None:
        return "The message was deleted meanwhile."
    text = parts.clipped(message_text(letter.message.content), SHOWN_CHARS) or "(no text)"
    return f"{letter.message.role}: {text}"
