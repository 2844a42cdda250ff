"""One memory base: how far it is, ingesting what is pending, and what to do when something is wrong."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from uuid import UUID

from nicegui import ui

from api.web import forms, parts
from api.web.frame import frame
from api.web.pages.memories import MOODS
from api.web.pages.memory_chart import ActivityChart
from api.web.pages.memory_sessions import Sessions
from api.web.pages.memory_store import Store
from api.web.pages.memory_sync import Sync
from api.web.parts import Bar, Live, Stat
from api.web.visits import Visit, Visitor
from memorybase.memory_bases import manage
from memorybase.models import Capture
from memorybase.read_models import memory_bases, sessions
from memorybase.read_models.memory_bases import MemoryBaseView
from memorybase.read_models.sessions import FlowView

REMEMBERED = {Capture.OUTPUTS: "answers", Capture.ALL: "questions and answers"}
# What is counted anew although no figure has changed: the chart's window moves on.
LONGEST_UNSEEN_SECONDS = 30.0


@ui.page("/memories/{memory_base_id}", title="Memory")
async def memory(visit: Visitor, memory_base_id: UUID) -> None:
    await MemoryPage(visit, memory_base_id).build()


class MemoryPage:
    """Looks at the figures every second, and at sessions and chart when a figure has changed."""

    def __init__(self, visit: Visit, base_id: UUID) -> None:
        self._visit = visit
        self._base_id = base_id
        self._path = f"/memories/{base_id}"
        self._figures: tuple[object, ...] = ()
        self._looked = 0.0

    async def build(self) -> None:
        visit = self._visit
        base = await visit.ask(memory_bases.get_memory_base, self._base_id)
        flow = await visit.ask(sessions.get_flow, base.flow_id)
        with frame(visit, base.name, back=("Memories", "/")):
            self._head()
            self._facts = ui.label().classes("quiet")
            self._flow = flow
            self._live = Live(self._look)
            self._store = Store(visit, self._base_id, self._live.now)
            self._sync = Sync(visit, self._base_id, self._live.now)
            self._store.banners()
            self._sync.build()
            self._stats()
            self._auto_capture()
            self._chart = ActivityChart(visit, self._base_id)
            self._sessions = Sessions(visit, base, flow, self._sync.start)
            self._store.build()
            await self._show(base)

    def _head(self) -> None:
        visit = self._visit
        with ui.element("div").classes("head"):
            self._name = parts.heading("", 1)
            self._state = ui.label()
            with ui.element("div").classes("ways"):
                if visit.may("write"):
                    parts.button("Sync Now", lambda: self._sync.start(None), kind="first")
                parts.link(visit, "Search", f"{self._path}/search")
                parts.link(visit, "Jobs and dead letters", f"{self._path}/jobs")
                if visit.may("write"):
                    change = forms.change
                    parts.icon_button("edit", "Change", lambda: self._then(change(visit, self._base_id)))
                    parts.icon_button("delete", "Delete", self._delete)

    def _stats(self) -> None:
        with ui.element("section").classes("stats").props('aria-label="Figures"'):
            with ui.element("div").classes("stat"):
                ui.label("Pending / threshold").classes("name")
                self._waiting = ui.label().classes("value")
                self._pending = Bar("Pending messages")
            self._processed = Stat("Processed")
            self._last = Stat("Last sync")
            self._count = Stat("Sessions")
            self._dead = Stat("Dead letters")

    def _auto_capture(self) -> None:
        with ui.element("div").classes("row-of"):
            self._auto = parts.switch("Auto-capture", self._toggle)
            self._auto.set_enabled(self._visit.may("write"))
            self._rule = ui.label().classes("quiet")

    async def _look(self) -> None:
        await self._show(await self._visit.ask(memory_bases.get_memory_base, self._base_id))

    async def _show(self, base: MemoryBaseView) -> None:
        self._show_figures(base)
        await self._store.show(base)
        await self._sync.show(base)
        figures = (
            base.pending_messages, base.total_processed, base.last_sync_at, base.sessions, base.status,
            base.dead_letters, base.threshold,
        )  # fmt: skip
        if figures != self._figures or time.monotonic() - self._looked > LONGEST_UNSEEN_SECONDS:
            self._looked = time.monotonic()
            await self._sessions.show(base)
            await self._chart.show()
            self._figures = figures

    def _show_figures(self, base: MemoryBaseView) -> None:
        self._name.set_text(base.name)
        self._state.set_text(base.status.value)
        self._state.classes(replace=f"badge {MOODS[base.status]}")
        self._facts.set_text(_facts(base, self._flow))
        waiting = parts.number(base.pending_messages, capped=base.pending_capped)
        self._waiting.set_text(f"{waiting} / {parts.number(base.threshold)}")
        self._pending.show(base.pending_messages, base.threshold, "over all sessions; the threshold is for each")
        self._processed.show(parts.number(base.total_processed))
        self._last.show(parts.ago(base.last_sync_at))
        self._count.show(parts.number(base.sessions))
        self._dead.show(parts.number(base.dead_letters))
        self._rule.set_text(_rule(base))
        if self._auto.value != base.auto_capture:
            self._auto.value = base.auto_capture

    async def _toggle(self, on: bool) -> None:
        await self._then(self._visit.act(manage.update_memory_base, self._base_id, {"auto_capture": on}))

    async def _delete(self) -> None:
        if await parts.attempt(forms.delete(self._visit, self._base_id)):
            self._live.stop()
            ui.navigate.to("/")

    async def _then(self, work: Awaitable[object]) -> None:
        await parts.attempt(work)
        await self._live.now()


def _facts(base: MemoryBaseView, flow: FlowView) -> str:
    return (
        f"Remembers the {REMEMBERED[base.capture]} of the flow {flow.name}, in the knowledge base {base.kb_name}, "
        f"embedded by {base.embedding_model}."
    )


def _rule(base: MemoryBaseView) -> str:
    """What happens by itself."""
    if not base.auto_capture:
        return "Off: runs are stored, and ingested when somebody presses Sync Now."
    at = f"On: a session is ingested at {parts.plural(base.threshold, 'pending message')}"
    return f"{at}, or {parts.span(base.idle_after)} after its last run." if base.idle_after else f"{at}."
