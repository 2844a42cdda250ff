"""Jobs of one memory base or of all, and dead letters: messages that cannot be embedded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.layout import page_layout
from api.web.parts import Pager, Poller, ProgressBar, Table, Tone, cell, text_cell
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
ALL_STATES = "All states"
COLUMNS = ("Kind", "Session", "State", "Progress", "Attempts", "Duration", "Created", "")

JOB_TONES: dict[JobState, Tone] = {
    JobState.QUEUED: "calm",
    JobState.RUNNING: "busy",
    JobState.DONE: "good",
    JobState.FAILED: "bad",
    JobState.CANCELLED: "warn",
}


@ui.page("/memories/{memory_base_id}/jobs", title="Jobs")
async def jobs(visit: Visitor, memory_base_id: UUID, state: str = "") -> None:
    base = await visit.read(memory_bases.get_memory_base, memory_base_id)
    await JobsPage(visit, base, state).build()


@ui.page("/jobs", title="Jobs")
async def all_jobs(visit: Visitor, state: str = "") -> None:
    await AllJobsPage(visit, state).build()


class JobsPage:
    """The jobs of one memory base, after its dead letters, which need a decision."""

    def __init__(self, visit: Visit, base: MemoryBaseView, state: str) -> None:
        self._visit = visit
        self._base = base
        self._state = state

    async def build(self) -> None:
        visit, base = self._visit, self._base
        with page_layout(visit, f"Jobs: {base.name}", back=(base.name, f"/memories/{base.id}")):
            with ui.element("div").classes("head"):
                parts.heading("Jobs and dead letters", 1)
                with ui.element("div").classes("actions"):
                    parts.link(visit, "Search", f"/memories/{base.id}/search")
            self._poller = Poller(self._refresh)
            self._letters = DeadLetters(visit, base, self._poller.refresh)
            self._jobs = Jobs(visit, base, self._state, self._poller.refresh)
            await self._refresh()

    async def _refresh(self) -> None:
        await self._letters.refresh()
        await self._jobs.refresh()


class AllJobsPage:
    """The jobs of all memory bases."""

    def __init__(self, visit: Visit, state: str) -> None:
        self._visit = visit
        self._state = state

    async def build(self) -> None:
        with page_layout(self._visit, "Jobs", section="/jobs"):
            parts.heading("All jobs", 1)
            self._poller = Poller(self._refresh)
            self._jobs = Jobs(self._visit, None, self._state, self._poller.refresh)
            await self._refresh()

    async def _refresh(self) -> None:
        await self._jobs.refresh()


# ---------------------------------------------------------------------------------------------------------------
# Jobs


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A job with the texts that change as time passes."""

    view: JobView
    duration: str
    created: str

    @classmethod
    def of(cls, job: JobView, now: datetime) -> ShownJob:
        return cls(job, _duration(job, now), parts.ago(job.created_at))


class Jobs:
    """The jobs of a memory base, or of all without one, newest first."""

    def __init__(self, visit: Visit, base: MemoryBaseView | None, state: str, refresh: parts.Handler) -> None:
        self._visit = visit
        self._base = base
        self._reload = refresh
        with ui.element("section").classes("list").props('aria-label="Jobs"'):
            with ui.element("div").classes("head"):
                parts.heading("Jobs")
                states = [ALL_STATES, *(state.value for state in JobState)]
                self._state = ui.select(
                    states, value=state if state in states else ALL_STATES, label="State", on_change=self._on_state
                )
                self._state.props("outlined dense").classes("state-filter")
            self._empty = ui.label().classes("empty")
            self._rows = Table[ShownJob](
                "Jobs",
                (*(() if base else ("Memory",)), *COLUMNS),
                lambda shown: shown.view.id,
                self._row,
            )
            self._pager = Pager(refresh, size=PAGE_SIZE)

    async def refresh(self) -> None:
        state = None if self._state.value == ALL_STATES else JobState(self._state.value)
        base_id = self._base.id if self._base else None
        page = await self._visit.read(work.list_jobs, base_id, self._pager.request, state=state)
        now = datetime.now(UTC)
        self._rows.show([ShownJob.of(job, now) for job in page.items])
        self._rows.set_visibility(page.total > 0)
        self._pager.show(page.total)
        self._empty.set_text(self._empty_text(state))
        self._empty.set_visibility(page.total == 0)

    async def _on_state(self) -> None:
        query = "" if self._state.value == ALL_STATES else f"?state={self._state.value}"
        path = f"/memories/{self._base.id}/jobs" if self._base else "/jobs"
        ui.navigate.history.replace(f"{self._visit.root}{path}{query}")
        await self._pager.first()

    def _empty_text(self, state: JobState | None) -> str:
        if state is not None:
            return f"No {state.value} jobs."
        count = parts.plural(self._base.threshold, "pending message") if self._base else "enough pending messages"
        return f"No jobs yet. A job starts when a session has {count}, or when you press Sync Now on a memory's page."

    def _row(self, shown: ShownJob) -> Callable[[ShownJob], None]:
        job = shown.view
        if self._base is None:
            with cell():
                parts.link(self._visit, job.memory_base_name, f"/memories/{job.memory_base_id}/jobs")
        text_cell(job.kind.value)
        with cell("session"):
            if self._base is None:
                ui.label(job.session_id)
            else:
                path = parts.session_path(self._base.flow_id, job.session_id, self._base.id)
                parts.link(self._visit, job.session_id, path)
        with cell():
            state = ui.label()
            error = ui.label().classes("muted error")
        with cell():
            bar = ProgressBar(f"Progress: {job.kind} {job.session_id}")
        attempts = text_cell(kind="number")
        duration = text_cell(kind="number")
        created = text_cell()
        with cell("row-actions"):
            cancel = parts.button("Cancel", lambda: self._cancel(job)).props(f'aria-label="Cancel {job.kind} job"')

        def update(shown: ShownJob) -> None:
            job = shown.view
            parts.set_badge(state, job.state.value, JOB_TONES[job.state])
            error.set_text(job.error or "")
            error.set_visibility(bool(job.error))
            bar.show(job.processed, job.total)
            attempts.set_text(parts.number(job.attempts))
            duration.set_text(shown.duration)
            created.set_text(shown.created)
            cancel.set_visibility(not job.ended and self._visit.may("write"))

        update(shown)
        return update

    async def _cancel(self, job: JobView) -> None:
        base = await parts.attempt(self._visit.read(memory_bases.get_memory_base, job.memory_base_id))
        if base is None:
            return
        text = _consequences(job, base)
        if await parts.confirm(f"Cancel this {job.kind} job?", text, action="Cancel job", cancel="Keep job"):
            await parts.attempt(self._cancel_confirmed(job.id))
            await self._reload()

    async def _cancel_confirmed(self, job_id: UUID) -> None:
        await self._visit.write(regenerate.cancel_job, job_id)
        parts.notify("Job cancelled.")


def _duration(job: JobView, now: datetime) -> str:
    if job.state == JobState.QUEUED:
        return f"waiting {parts.duration((now - job.created_at).total_seconds())}"
    if job.started_at is None:
        return "-"
    return parts.duration(((job.finished_at or now) - job.started_at).total_seconds())


def _consequences(job: JobView, base: MemoryBaseView) -> str:
    if base.status == MemoryBaseStatus.REGENERATING:
        return (
            "If this job belongs to the running regenerate, all jobs of the regenerate are cancelled, and search "
            "continues to use the current knowledge base."
        )
    if job.kind == JobKind.REPAIR:
        return (
            "A repair updates the vector store after edits and deletes. It can be cancelled only with its regenerate."
        )
    return (
        "Its messages become pending again; nothing is lost. They are ingested when the session's next run reaches the "
        "threshold, after the idle timeout, or by Sync Now."
    )


# ---------------------------------------------------------------------------------------------------------------
# Dead letters


@dataclass(frozen=True, slots=True)
class ShownLetter:
    """A dead letter with the text that changes as time passes."""

    view: DeadLetterView
    last_attempt: str

    @property
    def can_retry(self) -> bool:
        return self.view.state == "dead"


class DeadLetters:
    """Messages that could not be embedded, oldest first."""

    def __init__(self, visit: Visit, base: MemoryBaseView, refresh: parts.Handler) -> None:
        self._visit = visit
        self._base = base
        self._reload = refresh
        self._shown: list[ShownLetter] = []
        with ui.element("section").classes("list").props('aria-label="Dead letters"'):
            with ui.element("div").classes("head"):
                parts.heading("Dead letters")
                with ui.element("div").classes("actions") as self._actions:
                    if visit.may("write"):
                        parts.button("Retry all on this page", self._retry_all)
                        parts.button("Discard all on this page", self._discard_all, kind="danger")
            self._hint = parts.hint("")
            self._rows = Table[ShownLetter](
                "Dead letters",
                ("Message", "Session", "Error", "Attempts", "Last attempt", ""),
                lambda shown: shown.view.id,
                self._row,
            )
            self._pager = Pager(refresh, size=PAGE_SIZE)

    async def refresh(self) -> None:
        page = await self._visit.read(work.list_dead_letters, self._base.id, self._pager.request)
        self._shown = [ShownLetter(letter, parts.ago(letter.updated_at)) for letter in page.items]
        self._rows.show(self._shown)
        self._rows.set_visibility(page.total > 0)
        self._actions.set_visibility(page.total > 0)
        self._pager.show(page.total)
        self._hint.set_text(
            "These messages could not be embedded. Search cannot find them by meaning; other messages are not blocked."
            if page.total
            else "No dead letters: every attempted message was embedded."
        )

    def _row(self, shown: ShownLetter) -> Callable[[ShownLetter], None]:
        letter = shown.view
        message = text_cell(kind="message-cell")
        with cell("session"):
            path = parts.session_path(self._base.flow_id, letter.session_id, self._base.id)
            parts.link(self._visit, letter.session_id, path)
        with cell():
            error = ui.label()
            state = parts.badge("retrying", "busy")
        attempts = text_cell(kind="number")
        last_attempt = text_cell()
        with cell("row-actions"):
            if self._visit.may("write"):
                retry = parts.button("Retry", lambda: self._retry([letter.id]))
                parts.button("Discard", lambda: self._discard([letter.id]), kind="danger")

        def update(shown: ShownLetter) -> None:
            message.set_text(_excerpt(shown.view))
            error.set_text(shown.view.error.message)
            state.set_visibility(not shown.can_retry)
            attempts.set_text(parts.number(shown.view.attempts))
            last_attempt.set_text(shown.last_attempt)
            if self._visit.may("write"):
                retry.set_enabled(shown.can_retry)

        update(shown)
        return update

    async def _retry_all(self) -> None:
        await self._retry([shown.view.id for shown in self._shown if shown.can_retry])

    async def _discard_all(self) -> None:
        await self._discard([shown.view.id for shown in self._shown])

    async def _retry(self, letters: Sequence[UUID]) -> None:
        count = await parts.attempt(self._for_each(dead_letters.retry_dead_letter, letters))
        if count is not None:
            parts.notify(f"Retrying {parts.plural(count, 'message')}. Messages that fail again return to this list.")
        await self._reload()

    async def _discard(self, letters: Sequence[UUID]) -> None:
        confirmed = await parts.confirm(
            f"Discard {parts.plural(len(letters), 'dead letter')}?",
            "The messages stay stored in their sessions, but this memory stops trying to embed them: search cannot "
            "find them by meaning, and this list no longer shows them. A regenerate retries every message.",
            action="Discard",
        )
        if not confirmed:
            return
        count = await parts.attempt(self._for_each(dead_letters.discard_dead_letter, letters))
        if count is not None:
            parts.notify(f"{parts.plural(count, 'dead letter')} discarded.")
        await self._reload()

    async def _for_each(self, action: Callable[..., object], letters: Sequence[UUID]) -> int:
        """Apply the action to each; returns the count without those that a repair has removed since."""
        count = 0
        for letter_id in letters:
            try:
                await self._visit.write(action, self._base.id, letter_id)
            except errors.NotFound:
                continue
            count += 1
        return count


def _excerpt(letter: DeadLetterView) -> str:
    if letter.message is None:
        return "Message deleted."
    text = parts.truncate(message_text(letter.message.content), SHOWN_CHARS) or "(no text)"
    return f"{letter.message.role}: {text}"
