"""Knowledge bases: those that memories manage, and ordinary ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from api.web import forms, parts
from api.web.layout import page_layout
from api.web.parts import Pager, Poller, Table, Tone, cell, text_cell
from api.web.visits import Visit, Visitor
from memorybase.knowledge_bases import registry
from memorybase.knowledge_bases.registry import KnowledgeBaseView

PATH = "/knowledge-bases"
STATE_TONES: dict[str, Tone] = {"ready": "good", "pending": "calm"}


@ui.page(PATH, title="Knowledge bases")
async def knowledge_bases(visit: Visitor) -> None:
    await KnowledgePage(visit).build()


class KnowledgePage:
    """The user's knowledge bases, oldest first."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    async def build(self) -> None:
        visit = self._visit
        with page_layout(visit, "Knowledge bases", section=PATH):
            with ui.element("div").classes("head"):
                parts.heading("Knowledge bases", 1)
                if visit.may("write"):
                    with ui.element("div").classes("actions"):
                        parts.button("New knowledge base", lambda: self._run(self._create()), kind="primary")
            parts.hint(
                "Each memory manages its own knowledge base. The others hold documents that programs add over the API."
            )
            self._hide_memories = ui.switch("Hide memory-managed knowledge bases")
            self._empty = ui.element("div")
            with self._empty:
                parts.empty_state("No knowledge bases", "Create a memory, or a knowledge base for documents.")
            self._poller = Poller(self._refresh, seconds=5.0)
            self._rows = Table[KnowledgeBaseView](
                "Knowledge bases",
                ("Name", "Content", "Embedding model", "Documents", "State", "Created", ""),
                lambda entry: entry.id,
                self._row,
            )
            self._pager = Pager(self._poller.refresh)
            self._hide_memories.on_value_change(self._pager.first)
            await self._refresh()

    async def _run(self, work: Awaitable[object]) -> None:
        await parts.attempt(work)
        await self._poller.refresh()

    async def _refresh(self) -> None:
        page = await self._visit.read(
            registry.list_knowledge_bases, self._pager.request, for_retrieval=bool(self._hide_memories.value)
        )
        self._rows.show(page.items)
        self._rows.set_visibility(page.total > 0)
        self._pager.show(page.total)
        self._empty.set_visibility(page.total == 0)

    def _row(self, entry: KnowledgeBaseView) -> Callable[[KnowledgeBaseView], None]:
        text_cell(entry.name).classes("strong")
        with cell():
            if entry.memory_base_id:
                parts.badge("memory", "busy")
                parts.link(self._visit, "Open", f"/memories/{entry.memory_base_id}")
            else:
                ui.label("documents")
        text_cell(entry.embedding_model)
        documents = text_cell(kind="number")
        state = text_cell()
        text_cell(parts.utc_time(entry.created_at))
        with cell("row-actions"):
            if not entry.is_memory_base and self._visit.may("write"):
                parts.icon_button("delete", f"Delete {entry.name}", lambda: self._run(self._delete(entry.name)))

        def update(entry: KnowledgeBaseView) -> None:
            documents.set_text(parts.number(entry.documents))
            parts.set_badge(state, entry.status, STATE_TONES.get(entry.status, "warn"))

        update(entry)
        return update

    async def _create(self) -> None:
        with forms.dialog("New knowledge base") as form:
            name = forms.field(ui.input("Name").props("autofocus"))

            async def submit() -> None:
                if await parts.attempt(self._visit.write(registry.create, name=str(name.value or ""))):
                    form.submit(True)

            forms.buttons(form, "Create", submit)
        await forms.result_of(form, bool)

    async def _delete(self, name: str) -> None:
        confirmed = await parts.confirm(
            f"Delete {name}?", "This permanently deletes all of its documents.", action="Delete", typed=name
        )
        if confirmed:
            await self._visit.write(registry.delete, name)
            parts.notify(f"{name} deleted.")
