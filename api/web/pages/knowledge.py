"""Knowledge bases: those of memories, marked, and ordinary ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from api.web import forms, parts
from api.web.frame import frame
from api.web.parts import Live, Mood, Pager, Rows, cell
from api.web.visits import Visit, Visitor
from memorybase.knowledge_bases import registry
from memorybase.knowledge_bases.registry import KnowledgeBaseView

PLACE = "/knowledge-bases"
MOODS: dict[str, Mood] = {"ready": "good", "pending": "calm"}


@ui.page(PLACE, title="Knowledge bases")
async def knowledge_bases(visit: Visitor) -> None:
    await KnowledgePage(visit).build()


class KnowledgePage:
    """All of the user's knowledge bases, oldest first."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    async def build(self) -> None:
        visit = self._visit
        with frame(visit, "Knowledge bases", here=PLACE):
            with ui.element("div").classes("head"):
                parts.heading("Knowledge bases", 1)
                if visit.may("write"):
                    with ui.element("div").classes("ways"):
                        parts.button("New knowledge base", lambda: self._then(self._create()), kind="first")
            parts.words(
                "A memory keeps its knowledge base itself. Ordinary ones hold documents that programs add over the API."
            )
            self._only_ordinary = ui.switch("Leave out those of memories", on_change=self._first)
            self._nothing = ui.element("div")
            self._rows = Rows[KnowledgeBaseView](
                "Knowledge bases",
                ("Name", "Belongs to", "Embedding model", "Documents", "State", "Made", ""),
                lambda entry: entry.id,
                self._row,
            )
            self._pager = Pager(self._again)
            self._live = Live(self._look, seconds=5.0)
            await self._look()

    async def _first(self) -> None:
        await self._pager.first()

    async def _again(self) -> None:
        await self._live.now()

    async def _then(self, work: Awaitable[object]) -> None:
        await parts.attempt(work)
        await self._live.now()

    async def _look(self) -> None:
        page = await self._visit.ask(
            registry.list_knowledge_bases, self._pager.request, for_retrieval=bool(self._only_ordinary.value)
        )
        self._rows.show(page.items)
        self._rows.set_visibility(page.total > 0)
        self._pager.show(page.total)
        self._nothing.clear()
        if page.total == 0:
            with (
                self._nothing,
                parts.empty(
                    "No knowledge base is here",
                    "Make a memory, or a knowledge base for documents with the button above.",
                ),
            ):
                pass

    def _row(self, entry: KnowledgeBaseView) -> Callable[[KnowledgeBaseView], None]:
        with cell():
            ui.label(entry.name).classes("strong")
        with cell():
            if entry.memory_base_id:
                parts.badge("memory", "busy")
                parts.link(self._visit, "Open", f"/memories/{entry.memory_base_id}")
            else:
                ui.label("documents")
        with cell():
            ui.label(entry.embedding_model)
        with cell("number"):
            documents = ui.label()
        with cell():
            state = ui.label()
        with cell():
            ui.label(parts.moment(entry.created_at))
        with cell("acts"):
            if not entry.is_memory_base and self._visit.may("write"):
                parts.icon_button("delete", f"Delete {entry.name}", lambda: self._then(self._delete(entry.name)))

        def change(now: KnowledgeBaseView) -> None:
            documents.set_text(parts.number(now.documents))
            state.set_text(now.status)
            state.classes(replace=f"badge {MOODS.get(now.status, 'warn')}")

        change(entry)
        return change

    async def _create(self) -> None:
        with forms.dialog("New knowledge base") as dialog:
            name = forms.field(ui.input("Name").props("autofocus"))

            async def make() -> None:
                if await parts.attempt(self._visit.act(registry.create, name=str(name.value or ""))):
                    dialog.submit(True)

            forms.ways(dialog, "Create", make)
        await forms.asked(dialog, bool)

    async def _delete(self, name: str) -> None:
        sure = await parts.confirm(
            f"Delete {name}?", "All of its documents are deleted, for good.", action="Delete", typed=name
        )
        if sure:
            await self._visit.act(registry.delete, name)
            parts.tell(f"{name} is deleted.")
