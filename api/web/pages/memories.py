"""All memory bases: their progress, and creating, editing and deleting them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from nicegui import ui

from api.web import forms, parts
from api.web.layout import page_layout
from api.web.parts import Pager, Poller, ProgressBar, Table, Tone, cell, text_cell
from api.web.visits import Visit, Visitor
from memorybase.memory_bases import manage
from memorybase.read_models import memory_bases, sessions
from memorybase.read_models.memory_bases import MemoryBaseStatus, MemoryBaseView
from memorybase.read_models.sessions import FlowView

STATUS_TONES: dict[MemoryBaseStatus, Tone] = {
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
        with page_layout(visit, "Memories"):
            with ui.element("div").classes("head"):
                parts.heading("Memories", 1)
                with ui.element("div").classes("actions"):
                    if visit.may("write"):
                        parts.button("New memory", lambda: self._run(forms.create(visit)), kind="primary")
            self._empty = ui.element("div")
            with self._empty:
                parts.empty_state(
                    "No memories yet",
                    "A memory collects the messages of one flow. Create one, then capture the flow's runs:",
                    parts.capture_command(visit, "my-flow"),
                )
            self._poller = Poller(self._refresh)
            self._rows = Table[MemoryBaseView](
                "Memories",
                ("Name", "Flow", "Pending / threshold", "Processed", "Last sync", "State", "Auto-capture", ""),
                lambda base: base.id,
                self._row,
            )
            self._pager = Pager(self._poller.refresh)
            await self._refresh()

    async def _refresh(self) -> None:
        page = await self._visit.read(memory_bases.list_memory_bases, self._pager.request)
        missing = {base.flow_id for base in page.items} - self._flows.keys()
        if missing:
            self._flows |= await self._visit.read(sessions.get_flows, missing)
        self._rows.show(page.items, update_all=True)
        self._pager.show(page.total)
        self._rows.set_visibility(page.total > 0)
        self._empty.set_visibility(page.total == 0)

    def _row(self, base: MemoryBaseView) -> Callable[[MemoryBaseView], None]:
        visit = self._visit
        with cell():
            name = parts.link(visit, base.name, f"/memories/{base.id}").classes("name-link")
        flow = self._flows.get(base.flow_id)  # None if it was deleted, with its memories, between the two reads
        text_cell(flow.name if flow else "-")
        with cell():
            pending = ProgressBar(f"Pending messages of {base.name}")
        processed = text_cell(kind="number")
        last_sync = text_cell()
        status = text_cell()
        with cell():
            toggle = parts.switch(
                f"Auto-capture of {base.name}", lambda on: self._set_auto_capture(base.id, on), show_label=False
            )
            toggle.set_enabled(visit.may("write"))
        with cell("row-actions"):
            if visit.may("write"):
                parts.icon_button("edit", f"Edit {base.name}", lambda: self._run(forms.edit(visit, base.id)))
                parts.icon_button("delete", f"Delete {base.name}", lambda: self._run(forms.delete(visit, base.id)))

        def update(base: MemoryBaseView) -> None:
            name.set_text(base.name)
            text = parts.pending(base.pending_messages, base.threshold, capped=base.pending_capped)
            pending.show(base.pending_messages, base.threshold, text)
            processed.set_text(parts.number(base.total_processed))
            last_sync.set_text(parts.ago(base.last_sync_at))
            parts.set_badge(status, base.status.value, STATUS_TONES[base.status])
            if toggle.value != base.auto_capture:
                toggle.value = base.auto_capture

        update(base)
        return update

    async def _set_auto_capture(self, base_id: UUID, on: bool) -> None:
        await self._run(self._visit.write(manage.update_memory_base, base_id, {"auto_capture": on}))

    async def _run(self, work: Awaitable[object]) -> None:
        await parts.attempt(work)
        await self._poller.refresh()
