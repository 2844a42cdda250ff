"""All memory bases: how far each is, and making, changing and deleting them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from nicegui import ui

from api.web import forms, parts
from api.web.frame import frame
from api.web.parts import Bar, Live, Mood, Pager, Rows, cell
from api.web.visits import Visit, Visitor
from memorybase.memory_bases import manage
from memorybase.read_models import memory_bases, sessions
from memorybase.read_models.memory_bases import MemoryBaseStatus, MemoryBaseView
from memorybase.read_models.sessions import FlowView

MOODS: dict[MemoryBaseStatus, Mood] = {
    MemoryBaseStatus.READY: "good",
    MemoryBaseStatus.PENDING: "calm",
    MemoryBaseStatus.INGESTING: "busy",
    MemoryBaseStatus.REGENERATING: "busy",
    MemoryBaseStatus.UNAVAILABLE: "bad",
    MemoryBaseStatus.DELETING: "warn",
}


@ui.page("/", title="Memories")
async def memories(visit: Visitor) -> None:
    await MemoriesPage(visit).build()


class MemoriesPage:
    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._flows: dict[UUID, FlowView] = {}

    async def build(self) -> None:
        visit = self._visit
        with frame(visit, "Memories"):
            with ui.element("div").classes("head"):
                parts.heading("Memories", 1)
                with ui.element("div").classes("ways"):
                    if visit.may("write"):
                        parts.button("New memory", lambda: self._then(forms.create(visit)), kind="first")
            self._nothing = ui.element("div")
            self._rows = Rows[MemoryBaseView](
                "Memories",
                ("Name", "Flow", "Pending / threshold", "Processed", "Last sync", "State", "Auto-capture", ""),
                lambda base: base.id,
                self._row,
            )
            self._pager = Pager(self._again)
            self._live = Live(self._look)
            await self._look()

    async def _again(self) -> None:
        await self._live.now()

    async def _look(self) -> None:
        page = await self._visit.ask(memory_bases.list_memory_bases, self._pager.request)
        missing = {base.flow_id for base in page.items} - self._flows.keys()
        if missing:
            self._flows |= await self._visit.ask(sessions.get_flows, missing)
        self._rows.show(page.items, anew=True)
        self._pager.show(page.total)
        self._rows.set_visibility(page.total > 0)
        self._show_nothing(empty=page.total == 0)

    def _show_nothing(self, *, empty: bool) -> None:
        if not empty:
            self._nothing.clear()
        elif not self._nothing.default_slot.children:
            with (
                self._nothing,
                parts.empty(
                    "Nothing is remembered yet",
                    "A memory collects what one flow says. Make one with the button above, then send the flow's runs:",
                    parts.capture_command(self._visit, "my-flow"),
                ),
            ):
                pass

    def _row(self, base: MemoryBaseView) -> Callable[[MemoryBaseView], None]:
        visit = self._visit
        with cell():
            name = parts.link(visit, base.name, f"/memories/{base.id}").classes("name-link")
        with cell():
            flow = self._flows.get(base.flow_id)  # None: it was deleted between the two looks, and so is its memory
            ui.label(flow.name if flow else "-")
        with cell():
            bar = Bar(f"Pending messages of {base.name}")
        with cell("number"):
            processed = ui.label()
        with cell():
            last = ui.label()
        with cell():
            state = ui.label()
        with cell():
            toggle = parts.switch(f"Auto-capture of {base.name}", lambda on: self._toggle(base.id, on), shown=False)
            toggle.set_enabled(visit.may("write"))
        with cell("acts"):
            if visit.may("write"):
                parts.icon_button("edit", f"Change {base.name}", lambda: self._then(forms.change(visit, base.id)))
                parts.icon_button("delete", f"Delete {base.name}", lambda: self._then(forms.delete(visit, base.id)))

        def change(now: MemoryBaseView) -> None:
            name.set_text(now.name)
            waiting = parts.number(now.pending_messages, capped=now.pending_capped)
            bar.show(now.pending_messages, now.threshold, f"{waiting} / {parts.number(now.threshold)}")
            processed.set_text(parts.number(now.total_processed))
            last.set_text(parts.ago(now.last_sync_at))
            state.set_text(now.status.value)
            state.classes(replace=f"badge {MOODS[now.status]}")
            if toggle.value != now.auto_capture:
                toggle.value = now.auto_capture

        change(base)
        return change

    async def _toggle(self, base_id: UUID, on: bool) -> None:
        await self._then(self._visit.act(manage.update_memory_base, base_id, {"auto_capture": on}))

    async def _then(self, work: Awaitable[object]) -> None:
        await parts.attempt(work)
        await self._live.now()
