"""A flow's sessions, and its runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.frame import frame
from api.web.parts import Live, Pager, Rows, cell
from api.web.visits import Visit, Visitor
from memorybase.database.paging import Page, PageRequest
from memorybase.messages import resolve_id
from memorybase.read_models import sessions as session_lists
from memorybase.read_models.sessions import RunView, SessionView

Item = TypeVar("Item")

# Each look counts the messages of fifty sessions or runs.
LIVE_SECONDS = 5.0


@ui.page("/flows/{flow_id}/sessions", title="Sessions")
async def sessions(visit: Visitor, flow_id: str) -> None:
    await SessionsPage(visit, resolve_id(visit.principal.user_id, "flow", flow_id)[0]).build()


@ui.page("/flows/{flow_id}/runs", title="Runs")
async def runs(visit: Visitor, flow_id: str) -> None:
    await RunsPage(visit, resolve_id(visit.principal.user_id, "flow", flow_id)[0]).build()


def run_words(external_id: str | None, run_id: UUID) -> str:
    """What a run is called: by its owner's id, else by the beginning of ours."""
    return external_id or f"Run {str(run_id)[:8]}"


class FlowPage(ABC, Generic[Item]):
    """A list of what a flow has, page by page."""

    title: str
    columns: Sequence[str]
    other: tuple[str, str]  # the words and the end of the path

    def __init__(self, visit: Visit, flow_id: UUID) -> None:
        self.visit = visit
        self.flow_id = flow_id

    async def build(self) -> None:
        flow = await self.visit.ask(session_lists.get_flow, self.flow_id)
        title = f"{self.title} of {flow.name}"
        with frame(self.visit, title, back=("All memories", "/")):
            with ui.element("div").classes("head"):
                parts.heading(title, 1)
                parts.link(self.visit, self.other[0], f"/flows/{flow.id}/{self.other[1]}")
            self._nothing = ui.element("div")
            with (
                self._nothing,
                parts.empty(
                    "None is stored yet",
                    f"{self.title} come with what is captured. Send one:",
                    parts.capture_command(self.visit, flow.external_id or str(flow.id)),
                ),
            ):
                pass
            self._rows = Rows[Item](self.title, self.columns, self.key, self.row)
            self._pager = Pager(self._again)
            self._live = Live(self._look, seconds=LIVE_SECONDS)
            await self._look()

    @abstractmethod
    async def fetch(self, request: PageRequest) -> Page[Item]: ...

    @abstractmethod
    def key(self, item: Item) -> Hashable: ...

    @abstractmethod
    def row(self, item: Item) -> Callable[[Item], None]: ...

    async def _again(self) -> None:
        await self._live.now()

    async def _look(self) -> None:
        page = await self.fetch(self._pager.request)
        self._rows.show(page.items)
        self._rows.set_visibility(page.total > 0)
        self._nothing.set_visibility(page.total == 0)
        self._pager.show(page.total)


class SessionsPage(FlowPage[SessionView]):
    title = "Sessions"
    columns = ("Session", "End user", "Messages", "Begun", "Last message")
    other = ("Runs of the flow", "runs")

    async def fetch(self, request: PageRequest) -> Page[SessionView]:
        return await self.visit.ask(session_lists.list_sessions, request, flow_id=self.flow_id, end_user_id=None)

    def key(self, item: SessionView) -> Hashable:
        return item.id, item.session_id  # renamed, it leads elsewhere

    def row(self, item: SessionView) -> Callable[[SessionView], None]:
        with cell():
            path = parts.session_path(item.flow_id, item.session_id)
            parts.link(self.visit, item.session_id, path).classes("name-link")
        with cell():
            ui.label(item.end_user_id or "-")
        with cell("number"):
            messages = ui.label()
        with cell():
            ui.label(parts.moment(item.created_at))
        with cell():
            last = ui.label()

        def change(now: SessionView) -> None:
            messages.set_text(parts.number(now.messages))
            last.set_text(parts.moment(now.last_captured_at))

        change(item)
        return change


class RunsPage(FlowPage[RunView]):
    title = "Runs"
    columns = ("Run", "Session", "End user", "Messages", "Captured")
    other = ("Sessions of the flow", "sessions")

    async def fetch(self, request: PageRequest) -> Page[RunView]:
        return await self.visit.ask(session_lists.list_runs, self.flow_id, request)

    def key(self, item: RunView) -> Hashable:
        return item.run_id

    def row(self, item: RunView) -> Callable[[RunView], None]:
        with cell():
            words = run_words(item.external_id, item.run_id)
            parts.link(self.visit, words, f"/flows/{item.flow_id}/runs/{item.run_id}").classes("name-link")
        with cell():
            parts.link(self.visit, item.session_id, parts.session_path(item.flow_id, item.session_id))
        with cell():
            ui.label(item.end_user_id or "-")
        with cell("number"):
            messages = ui.label()
        with cell():
            ui.label(parts.moment(item.created_at))

        def change(now: RunView) -> None:
            messages.set_text(parts.number(now.messages))

        change(item)
        return change
