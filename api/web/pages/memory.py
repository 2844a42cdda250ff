"""One memory base: its figures, auto-capture, Sync Now, chart, sessions and vector store."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from uuid import UUID

from nicegui import ui

from api.web import forms, parts
from api.web.layout import page_layout
from api.web.pages.memories import STATUS_TONES
from api.web.pages.memory_chart import ActivityChart
from api.web.pages.memory_sessions import Sessions
from api.web.pages.memory_store import Store
from api.web.pages.memory_sync import Sync
from api.web.parts import Poller, ProgressBar, Stat
from api.web.visits import Visit, Visitor
from memorybase.memory_bases import manage
from memorybase.models import Capture
from memorybase.read_models import memory_bases, sessions
from memorybase.read_models.memory_bases import MemoryBaseView
from memorybase.read_models.sessions import FlowView

CAPTURED = {Capture.OUTPUTS: "answers", Capture.ALL: "questions and answers"}
# Refresh sessions and chart this often even if no figure has changed: the chart's time range moves on.
MAX_AGE_SECONDS = 30.0


@ui.page("/memories/{memory_base_id}", title="Memory")
async def memory(visit: Visitor, memory_base_id: UUID) -> None:
    await MemoryPage(visit, memory_base_id).build()


class MemoryPage:
    """Refreshes the figures every second, and sessions and chart when a figure has changed."""

    def __init__(self, visit: Visit, base_id: UUID) -> None:
        self._visit = visit
        self._base_id = base_id
        self._path = f"/memories/{base_id}"
        self._figures: tuple[object, ...] = ()
        self._shown_at = 0.0

    async def build(self) -> None:
        visit = self._visit
        base = await visit.read(memory_bases.get_memory_base, self._base_id)
        flow = await visit.read(sessions.get_flow, base.flow_id)
        with page_layout(visit, base.name, back=("Memories", "/")):
            self._header()
            self._description = parts.hint("")
            self._flow = flow
            self._poller = Poller(self._refresh)
            self._store = Store(visit, self._base_id, self._poller.refresh)
            self._sync = Sync(visit, self._base_id, self._poller.refresh)
            self._store.build_banners()
            self._sync.build()
            self._stats()
            self._auto_capture()
            self._chart = ActivityChart(visit, self._base_id)
            self._sessions = Sessions(visit, base, flow, self._sync.start)
            self._store.build()
            await self._show(base)

    def _header(self) -> None:
        visit = self._visit
        with ui.element("div").classes("head"):
            self._name = parts.heading("", 1)
            self._status = ui.label()
            with ui.element("div").classes("actions"):
                if visit.may("write"):
                    parts.button("Sync Now", lambda: self._sync.start(None), kind="primary")
                parts.link(visit, "Search", f"{self._path}/search")
                parts.link(visit, "Jobs and dead letters", f"{self._path}/jobs")
                if visit.may("write"):
                    parts.icon_button("edit", "Edit", lambda: self._run(forms.edit(visit, self._base_id)))
                    parts.icon_button("delete", "Delete", self._delete)

    def _stats(self) -> None:
        with ui.element("section").classes("stats").props('aria-label="Figures"'):
            with ui.element("div").classes("stat"):
                ui.label("Pending / threshold").classes("name")
                self._pending = ui.label().classes("value")
                self._pending_bar = ProgressBar("Pending messages")
            self._processed = Stat("Processed")
            self._last_sync = Stat("Last sync")
            self._session_count = Stat("Sessions")
            self._dead_letters = Stat("Dead letters")

    def _auto_capture(self) -> None:
        with ui.element("div").classes("hstack"):
            self._auto = parts.switch("Auto-capture", self._set_auto_capture)
            self._auto.set_enabled(self._visit.may("write"))
            self._rule = parts.hint("")

    async def _refresh(self) -> None:
        await self._show(await self._visit.read(memory_bases.get_memory_base, self._base_id))

    async def _show(self, base: MemoryBaseView) -> None:
        self._show_figures(base)
        await self._store.show(base)
        await self._sync.show(base)
        figures = (
            base.pending_messages, base.total_processed, base.last_sync_at, base.sessions, base.status,
            base.dead_letters, base.threshold,
        )  # fmt: skip
        if figures != self._figures or time.monotonic() - self._shown_at > MAX_AGE_SECONDS:
            self._shown_at = time.monotonic()
            await self._sessions.show(base)
            await self._chart.show()
            self._figures = figures

    def _show_figures(self, base: MemoryBaseView) -> None:
        self._name.set_text(base.name)
        parts.set_badge(self._status, base.status.value, STATUS_TONES[base.status])
        self._description.set_text(_description(base, self._flow))
        self._pending.set_text(parts.pending(base.pending_messages, base.threshold, capped=base.pending_capped))
        text = "Total pending; the threshold applies to each session."
        self._pending_bar.show(base.pending_messages, base.threshold, text)
        self._processed.show(parts.number(base.total_processed))
        self._last_sync.show(parts.ago(base.last_sync_at))
        self._session_count.show(parts.number(base.sessions))
        self._dead_letters.show(parts.number(base.dead_letters))
        self._rule.set_text(_rule(base))
        if self._auto.value != base.auto_capture:
            self._auto.value = base.auto_capture

    async def _set_auto_capture(self, on: bool) -> None:
        await self._run(self._visit.write(manage.update_memory_base, self._base_id, {"auto_capture": on}))

    async def _delete(self) -> None:
        if await parts.attempt(forms.delete(self._visit, self._base_id)):
            self._poller.stop()
            ui.navigate.to("/")

    async def _run(self, work: Awaitable[object]) -> None:
        await parts.attempt(work)
        await self._poller.refresh()


def _description(base: MemoryBaseView, flow: FlowView) -> str:
    return (
        f"Captures the {CAPTURED[base.capture]} of the flow {flow.name}. Knowledge base: {base.kb_name}. "
        f"Embedding model: {base.embedding_model}."
    )


def _rule(base: MemoryBaseView) -> str:
    """When sessions are ingested automatically."""
    if not base.auto_capture:
        return "Off: runs are stored; press Sync Now to ingest them."
    text = f"On: a session is ingested at {parts.plural(base.threshold, 'pending message')}"
    return f"{text}, or {parts.duration(base.idle_after)} after its last run." if base.idle_after else f"{text}."
